"""What a checkpoint knows of the parts of a source, and how far they are."""

import pyarrow as pa

import bayesnb as nb
from bayesnb.files.sources._source import Position
from bayesnb.files.sources._streams import open_source

TABLE = pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1]})


def rows_of(source):
    return open_source(nb.NaiveBayes(nb.Normal()), source, "y", None, None, None)


def test_the_size_of_a_stream_is_unknown():
    assert rows_of(TABLE).total == 3
    assert rows_of(TABLE.to_reader()).total is None


def test_the_marks_of_what_was_read():
    both = rows_of([TABLE, TABLE.to_reader()])
    assert both.read(Position(0, 0, 0)) == []
    marks = both.read(Position(1, 1, 4))
    assert len(marks) == 2
    assert marks == rows_of([TABLE, TABLE.to_reader()]).read(Position(2, 0, 6))
    assert marks != rows_of([TABLE, TABLE[1:].to_reader()]).read(Position(2, 0, 6))
