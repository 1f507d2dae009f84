"""Parquet files of a stream: spoilt ones are named, and those that were read are not read again."""

import numpy as np
import pytest

import bayesnb as nb
from bayesnb.tables.files._counting import stream
from bayesnb.tables.files.sources._source import StreamError
from tests.tables.files.stream_tables import NORMAL, TABLE, K, X, Y, pa, pq, whole
from tests.tables.files.streams import assert_same

pytestmark = pytest.mark.usefixtures("small_batches")


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
        r"b\.parquet', row 1: column 'second' holds 'x'",
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
def test_a_spoilt_file_is_named_and_what_came_before_stays(how, folder):
    spoil, message, rows = SPOILT[how]
    spoil(folder / "b.parquet", TABLE[200:])
    with pytest.raises(StreamError, match=message) as caught:
        stream(NORMAL, folder, label="species", num_classes=K)
    assert "\n" not in str(caught.value)
    assert caught.value.rows == rows
    assert_same(caught.value.statistics, nb.sufficient_statistics(NORMAL, X[:rows], Y[:rows], num_classes=K))
    rest = stream(NORMAL, TABLE[rows:], label="species", num_classes=K)
    assert_same(nb.merge(caught.value.statistics, rest), whole())
