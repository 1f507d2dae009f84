"""Comparisons that several tests look at, and the files of a made-up one, written once."""

import pytest

from bayesnb.studies.report._page import write_report
from bayesnb.studies.report._summary import summarise
from tests.comparisons import compared, synthetic
from tests.studies.report.pages import hostile, made_up


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A folder with the files of a comparison on a table of odd names, the table, and the summary."""
    folder, table = tmp_path_factory.mktemp("page"), hostile()
    findings = made_up(table)
    summary = summarise(findings, "bayesnb compare '<data>.csv'")
    write_report(folder, findings, summary)
    return folder, table, summary


@pytest.fixture(scope="session")
def counted():
    """A table of categories and flags, where MAP with Laplace 1 is full Bayes, and its comparison."""
    table = synthetic("bc")
    return table, compared(table, (10,), 2)
