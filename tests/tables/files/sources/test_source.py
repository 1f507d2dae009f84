"""Files that cannot be read to their end, and runs that are stopped: what came before stays, and is taken up again."""

import pytest

from bayesnb.tables.files._counting import stream
from bayesnb.tables.files.sources._source import StreamError
from tests.tables.files.stream_tables import NORMAL, TABLE, K, pq

pytestmark = pytest.mark.usefixtures("small_batches")


# what is wrong


def test_a_csv_that_changes_half_way(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n1,2,0\n1,2\n")
    with pytest.raises(StreamError, match=r"line 3 of '.*rows\.csv' has 2 cells where the header has 3"):
        stream(NORMAL, path, label="label", num_classes=2)
    path.write_text("a,b,label\n" + "1,2,0\n" * 3000 + "1,word,0\n")
    with pytest.raises(
        StreamError, match=r"rows\.csv', line 3,002: column 'b' holds 'word', which is not a number"
    ) as caught:
        stream(NORMAL, path, label="label", num_classes=2)
    assert caught.value.rows > 0


def test_paths_that_hold_nothing(tmp_path):
    with pytest.raises(StreamError, match=r"there is no file '.*nowhere'"):
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
    with pytest.raises(StreamError, match=r"c\.txt' is empty: give a file with a header line"):
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
