"""The files of a made-up comparison, written once."""

import pytest

from bayesnb.report._folder import write_files
from bayesnb.report._summary import summarise
from tests.report.pages import hostile, made_up


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A folder with the files of a comparison on a table of odd names, the table, and the summary."""
    folder, table = tmp_path_factory.mktemp("page"), hostile()
    findings = made_up(table)
    summary = summarise(findings, "bayesnb compare '<data>.csv'")
    write_files(folder, findings, summary)
    return folder, table, summary
