"""Names of data are looked up before anything is read."""

import os

import pytest

from bayesnb.tables.files.sources._places import BUILT_IN, require_data, require_path
from bayesnb.tables.frames._values import DataError


def test_what_is_there_may_be_named(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n1\n")
    for data in (*BUILT_IN, str(tmp_path), str(tmp_path / "rows.csv")):
        require_data(data)
    require_path(str(tmp_path / "rows.csv"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("irs", "there is no file 'irs'; did you mean 'iris'"),
        ("no.csv", "the built-in data sets are iris, wine"),
        ("x" * 5000, "cannot be read: File name too long"),
    ],
    ids=["irs", "no.csv", "long"],
)
def test_what_is_not_there_is_named(data, words):
    with pytest.raises(DataError, match=words):
        require_data(data)


def test_a_pipe_is_not_opened(tmp_path):
    """Nobody may ever write to it."""
    os.mkfifo(tmp_path / "pipe")
    require_path(str(tmp_path / "pipe"))
    with pytest.raises(DataError, match="'nowhere' cannot be read: No such file"):
        require_path("nowhere")
