"""Names of data are looked up before anything is read."""

import gzip
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files._description import describe
from bayesnb.tables.files.sources._paths import open_data
from bayesnb.tables.files.sources._places import BUILT_IN, require_column, require_data, require_path, split_target
from bayesnb.tables.frames._values import READING, DataError


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


def test_a_column_follows_a_colon_and_may_have_some(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("rows.csv", "12:30.csv"):
        (tmp_path / name).write_text("a\n1\n")
    found = {"rows.csv": None, "rows.csv:a": "a", "rows.csv:a:b": "a:b", "12:30.csv": None, "12:30.csv:a": "a"}
    for text, target in {**found, "iris": None, "iris:class": "class", "rows.csv:": ""}.items():
        data = text if target is None else text.removesuffix(f":{target}")
        assert split_target(text) == (data, target)
    assert split_target("no.csv:a") == ("no.csv", "a")


def refusal(call):
    try:
        call()
    except DataError as error:
        return str(error)
    return None


def both(data, column, sep=None):
    """What is said before the file is read, and when it is."""
    late = refusal(lambda: describe(open_data(str(data), READING.declare({"sep": sep})), column))
    return refusal(lambda: require_column(str(data), column, sep)), late


ROWS = "size,kind,label\n" + "1.5,u,a\n2.5,v,b\n2,u,a\n1,v,b\n" * 3


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        "\n  \n" + ROWS,
        ROWS.replace(",", ";"),
        ROWS.replace(",", "\t"),
        "\ufeff" + ROWS,
        ROWS.replace("size", '"si\nze"'),
    ],
)
def test_a_wrong_column_is_refused_in_the_words_of_those_who_read_the_file(tmp_path, text):
    (tmp_path / "rows.csv").write_text(text)
    early, late = both(tmp_path / "rows.csv", "lable")
    assert early == late
    assert "has no column 'lable'; did you mean 'label'?" in early
    assert both(tmp_path / "rows.csv", "label") == (None, None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (ROWS.replace(",", "|").encode(), "is no header"),
        (b"# of 2020\n" + ROWS.encode(), "is no header"),
        (b"sep=,\n" + ROWS.encode(), "is no header"),
        (ROWS.encode("utf-16-le"), "is UTF-16 text"),
        (ROWS.replace("kind", "k\xfcnd").encode("latin-1"), "is not UTF-8 text"),
        (ROWS.replace("kind", "size").encode(), "more than one column named 'size'"),
        (b"PK\x03\x04" + bytes(40), "an Excel workbook"),
        (gzip.compress(ROWS.encode(), mtime=0), "compressed by gzip"),  # the bytes name the test: no time in them
    ],
)
def test_another_fault_of_a_file_is_left_to_those_who_read_it(tmp_path, content, words):
    (tmp_path / "rows.csv").write_bytes(content)
    early, late = both(tmp_path / "rows.csv", "lable")
    assert early is None
    assert words in late


def test_headers_that_are_not_at_hand_are_read_later(tmp_path):
    require_column("iris", "lable")
    require_column(str(tmp_path), "lable")
    os.mkfifo(tmp_path / "pipe")
    require_column(str(tmp_path / "pipe"), "lable")
    wide = [f"column_{n}" for n in range(limits.CSV_HEAD_BYTES // 8)]
    (tmp_path / "wide.csv").write_text(",".join(wide) + "\n" + ",".join("1" for _ in wide) + "\n")
    require_column(str(tmp_path / "wide.csv"), wide[-1])
    (tmp_path / "bars.csv").write_text(ROWS.replace(",", "|"))
    assert "has no column 'lable'" in refusal(lambda: require_column(str(tmp_path / "bars.csv"), "lable", "|"))


NAME = st.text('ab ,;\t"\n\r#é1|', max_size=4)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=st.lists(NAME, min_size=1, max_size=4), mark=st.sampled_from(",;\t|"), column=NAME)
def test_no_column_is_refused_that_the_file_has(tmp_path, header, mark, column):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([mark.join(header), *[mark.join("1" for _ in header)] * 3]), newline="")
    names = refusal(lambda: open_data(str(path))) or open_data(str(path)).names
    if column in names and not isinstance(names, str):
        require_column(str(path), column)
