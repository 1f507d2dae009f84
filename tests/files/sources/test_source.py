"""Files that cannot be read to their end, and runs that are stopped: what came before stays, and is taken up again."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.files._counting import stream
from bayesnb.files.sources._parquet import ParquetFile
from bayesnb.files.sources._source import StreamError
from tests.files.stream_tables import FORMS, NORMAL, TABLE, K, X, Y, in_words, pa, pq, small_batches, sources, whole
from tests.files.streams import Stop, assert_same, stop_after


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    small_batches(monkeypatch)


# what is wrong


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "label is missing: give the name of the column of labels"),
        ({"label": "specie"}, "no column 'specie', its columns are"),
        ({"label": "species", "weight": "w"}, "no column 'w'"),
        ({"label": "species", "columns": ["first", "fourth"]}, "no column 'fourth'"),
        ({"label": "species", "columns": ["species"]}, "'species' is a feature as well as the label"),
        ({"label": "species", "columns": {"x": ["first"]}}, "columns must be a list of names"),
        ({"label": "species", "columns": "first"}, "columns must be a list of names"),
        ({"label": "species", "columns": []}, "columns must be a list of names"),
        ({"label": "species", "columns": [1]}, "columns must be a list of names"),
        ({"label": "first"}, "label column 'first' holds double, expected whole numbers or text"),
        ({"label": "species", "classes": ["a", "b"]}, "the classes are .*'a', 'b'.* label column holds int64"),
        ({"label": "species", "classes": [0, 1]}, "the label 2 in column 'species' is not one of"),
        ({"label": "species", "num_classes": 2}, r"table 0, row 1: y holds 2, expected integers 0\.\.1"),
    ],
)
def test_arguments_that_do_not_fit(keywords, message):
    with pytest.raises(ValueError, match=message) as caught:
        stream(NORMAL, TABLE, **keywords)
    assert "\n" not in str(caught.value)


def test_blocks_need_their_columns():
    model = nb.NaiveBayes({"a": nb.Normal(), "b": nb.Normal()})
    for columns in (None, {"a": ["first"]}, ["first"], {"a": ["first"], "b": "second"}, {"a": ["first"], "c": []}):
        with pytest.raises(ValueError, match=r"columns must be a dict, a list of names for each of \['a', 'b'\]"):
            stream(model, TABLE, label="species", columns=columns)


def test_text_is_no_feature():
    words = in_words(TABLE, Y).append_column("label", TABLE["species"])
    with pytest.raises(StreamError, match=r"'species' holds string where numbers are expected; .* nb\.fit_file, which"):
        stream(NORMAL, words, label="label")


def test_text_that_cannot_be_read_twice():
    with pytest.raises(StreamError, match="holds text: give its labels as classes="):
        stream(NORMAL, in_words(TABLE, Y).to_reader(), label="species", num_classes=K)


@pytest.fixture
def folder(tmp_path):
    """Two files of 200 rows, in row groups of 50; the second is to be spoilt."""
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(TABLE[:200], folder / "a.parquet", row_group_size=50)
    pq.write_table(TABLE[200:], folder / "b.parquet", row_group_size=50)
    return folder


def replaced(table, name, values):
    return table.set_column(table.schema.names.index(name), name, values)


def spoil_page(path):
    column = pq.ParquetFile(path).metadata.row_group(2).column(1)
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)


SPOILT = {
    "cut short": (
        lambda path, _: path.write_bytes(path.read_bytes()[:-200]),
        r"b\.parquet' cannot be read as Parquet: Parquet magic bytes not found in footer",
        200,
    ),
    "empty": (lambda path, _: path.write_bytes(b""), r"b\.parquet' cannot be read as Parquet: .*0 bytes", 200),
    "a page": (lambda path, _: spoil_page(path), r"b\.parquet', row group 2, cannot be read: ", 300),
    "a column less": (
        lambda path, t: pq.write_table(t.drop("second"), path),
        r"b\.parquet' has no column 'second'",
        200,
    ),
    "text": (
        lambda path, t: pq.write_table(replaced(t, "second", pa.array(["x"] * 200)), path),
        r"b\.parquet': column 'second' holds string",
        200,
    ),
    "null labels": (
        lambda path, t: pq.write_table(replaced(t, "species", pa.array([None] * 200, pa.int64())), path),
        r"b\.parquet', row 1: the label in column 'species' is missing",
        200,
    ),
    "text labels": (
        lambda path, t: pq.write_table(replaced(t, "species", pa.array(["x"] * 200)), path),
        r"b\.parquet', row 1: column 'species' holds text",
        200,
    ),
    "a label": (
        lambda path, t: pq.write_table(
            replaced(t, "species", pa.array(np.r_[np.asarray(t["species"])[:128], np.full(72, 4)])), path
        ),
        r"b\.parquet', row 129: y holds 4, expected integers 0\.\.2",
        328,
    ),
    "an infinity": (
        lambda path, t: pq.write_table(
            replaced(t, "first", pa.array(np.r_[np.asarray(t["first"])[:64], np.full(136, np.inf)])), path
        ),
        r"b\.parquet', row 65: block 'x', column 0: .*inf",
        264,
    ),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_file_is_named_and_what_came_before_stays(how, folder, tmp_path):
    spoil, message, rows = SPOILT[how]
    spoil(folder / "b.parquet", TABLE[200:])
    path = tmp_path / "run"
    with pytest.raises(StreamError, match=message) as caught:
        stream(NORMAL, folder, label="species", num_classes=K, checkpoint=path)
    assert "\n" not in str(caught.value)
    assert caught.value.rows == rows
    assert_same(caught.value.statistics, nb.sufficient_statistics(NORMAL, X[:rows], Y[:rows], num_classes=K))
    pq.write_table(TABLE[200:], folder / "b.parquet")  # mended
    if rows == 200:
        assert_same(stream(NORMAL, folder, label="species", checkpoint=path), whole())
    else:
        with pytest.raises(StreamError, match=r"run' is of other files: .*b\.parquet"):
            stream(NORMAL, folder, label="species", checkpoint=path)


def test_a_csv_that_changes_half_way(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n1,2,0\n1,2\n")
    with pytest.raises(StreamError, match=r"line 3 of '.*rows\.csv' has 2 cells where the header has 3"):
        stream(NORMAL, path, label="label", num_classes=2)
    path.write_text("a,b,label\n" + "1,2,0\n" * 3000 + "1,word,0\n")
    with pytest.raises(
        StreamError, match=r"column 'b' holds 'word' on line 3002 of '.*rows\.csv', which is not a number"
    ) as caught:
        stream(NORMAL, path, label="label", num_classes=2)
    assert caught.value.rows > 0


def test_paths_that_hold_nothing(tmp_path):
    with pytest.raises(StreamError, match=r"there is no file or folder '.*nowhere'"):
        stream(NORMAL, tmp_path / "nowhere", label="label")
    with pytest.raises(StreamError, match=r"holds no files that end in \.parquet, \.csv or \.tsv"):
        stream(NORMAL, tmp_path, label="label")
    (tmp_path / "a.parquet").touch()
    with pytest.raises(StreamError, match=r"a\.parquet' cannot be read as Parquet: .*0 bytes"):
        stream(NORMAL, tmp_path, label="label")
    (tmp_path / "b.csv").touch()
    with pytest.raises(StreamError, match=r"holds csv and parquet files: give a folder with files of one kind"):
        stream(NORMAL, tmp_path, label="label")
    with pytest.raises(StreamError, match=r"b\.csv' is empty: give a file with a header line"):
        stream(NORMAL, tmp_path / "b.csv", label="label")
    (tmp_path / "c.txt").touch()
    with pytest.raises(StreamError, match=r"c\.txt' is not a file that ends in \.parquet, \.csv or \.tsv"):
        stream(NORMAL, tmp_path / "c.txt", label="label")
    pq.write_table(TABLE[:0], tmp_path / "d.parquet")
    with pytest.raises(StreamError, match="has no rows"):
        stream(NORMAL, tmp_path / "d.parquet", label="species", num_classes=K)
    (tmp_path / "b.csv").write_text("a,label\n")
    with pytest.raises(StreamError, match="has no rows"):
        stream(NORMAL, tmp_path / "b.csv", label="label")
    (tmp_path / "b.csv").write_text("a,label\n1,\n2,\n")
    with pytest.raises(StreamError, match=r"b\.csv', line 2: the label in column 'label' is missing"):
        stream(NORMAL, tmp_path / "b.csv", label="label")


# checkpoints of files


@pytest.mark.parametrize("form", FORMS)
def test_files_are_taken_up_where_they_were_left(form, tmp_path, monkeypatch):
    source = sources(TABLE, tmp_path)[form]
    uninterrupted = stream(NORMAL, source, label="species")
    for batches in (1, 4, 3):
        with monkeypatch.context() as changed:
            stop_after(changed, batches)
            with pytest.raises(Stop):
                stream(NORMAL, source, label="species", checkpoint=tmp_path / "run")
    answer = stream(NORMAL, source, label="species", checkpoint=tmp_path / "run")
    jax.tree.map(assert_array_equal, answer, uninterrupted)


def test_a_folder_that_has_grown(folder, tmp_path, monkeypatch):
    later = TABLE[200:]
    (folder / "b.parquet").unlink()
    run = tmp_path / "run"
    half = stream(NORMAL, folder, label="species", checkpoint=run)
    assert_same(half, nb.sufficient_statistics(NORMAL, X[:200], Y[:200]))
    with monkeypatch.context() as changed:
        changed.setattr(ParquetFile, "batches", lambda *_: pytest.fail("a file is read again"))
        assert_same(stream(NORMAL, folder, label="species", checkpoint=run), half)
    pq.write_table(later, folder / "b.parquet")
    assert_same(stream(NORMAL, folder, label="species", checkpoint=run), whole())


def test_other_files_or_columns(folder, tmp_path):
    run = tmp_path / "run"
    stream(NORMAL, folder, label="species", checkpoint=run)
    with pytest.raises(StreamError, match=r"another source: columns x .*'third'.* instead of"):
        stream(NORMAL, folder, label="species", columns=["first", "second"], checkpoint=run)
    with pytest.raises(StreamError, match="is of other classes"):
        stream(NORMAL, folder, label="species", classes=[2, 1, 0], checkpoint=run)
    with pytest.raises(StreamError, match="is of other files"):
        stream(NORMAL, folder / "b.parquet", label="species", checkpoint=run)
    pq.write_table(TABLE[:199], folder / "a.parquet")
    with pytest.raises(StreamError, match=r"is of other files: .*a\.parquet"):
        stream(NORMAL, folder, label="species", checkpoint=run)
