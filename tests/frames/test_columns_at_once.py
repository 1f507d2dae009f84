"""Columns of numbers that are read together, against the same columns one by one."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesnb.frames import schema as schemas
from bayesnb.frames.columns import Column
from bayesnb.frames.schema import encode_columns
from bayesnb.frames.series import DataError

NUMBERS = pl.DataFrame({"a": [1.5, None, -3.0], "b": [0.0, 1e20, float("nan")], "c": [2.0, 4.0, 8.0]})
FRAMES = {
    "pandas": NUMBERS.to_pandas(),
    "pandas of Arrow types": NUMBERS.to_pandas(use_pyarrow_extension_array=True),
    "pandas of nullable types": NUMBERS.to_pandas().astype("Float64"),
    "polars": NUMBERS,
    "pyarrow": NUMBERS.to_arrow(),
}
COLUMNS = [Column("c", "normal"), Column("a", "normal"), Column("b", "own")]


@pytest.mark.parametrize("kind", FRAMES)
def test_each_column_is_as_by_itself(kind):
    frame = nw.from_native(FRAMES[kind])
    alone = np.stack([column.encode(frame[column.name]) for column in COLUMNS], axis=1)
    together = encode_columns(COLUMNS, frame)
    np.testing.assert_array_equal(together, alone)
    assert together.dtype == alone.dtype
    assert together.flags.c_contiguous


def test_floats_are_read_at_once():
    frame = nw.from_native(FRAMES["pandas"])
    assert schemas._read_floats(COLUMNS, frame) is not None
    assert schemas._read_floats([*COLUMNS, Column("d", "normal")], frame.with_columns(nw.lit(1).alias("d"))) is None


@pytest.mark.parametrize("cell", [np.inf, 1e200])
@pytest.mark.parametrize("columns", [COLUMNS[:1], COLUMNS[1:2] + COLUMNS[:1]])
def test_a_cell_that_is_refused_alone_is_refused_among_others(cell, columns):
    frame = nw.from_native(FRAMES["pandas"].assign(c=[1.0, cell, 2.0]))
    with pytest.raises(DataError, match="column 'c' holds"):
        encode_columns(columns, frame)


def test_a_column_without_a_cell_in_the_fit_stays_missing():
    frame = nw.from_native(pd.DataFrame({"a": [1.0, 2.0]}))
    assert np.isnan(encode_columns([Column("a", "normal", text=None)], frame)).all()


ODD = {
    "coded numbers": pa.table({"a": pa.array([-1.0, 3.0, None]).dictionary_encode()}),
    "coded text that is missing": pa.table({"a": pa.array([None, None], pa.string()).dictionary_encode()}),
    "numbers as pandas categories": pd.DataFrame({"a": pd.Series([1.5, 2.5], dtype="category")}),
    "a sparse column": pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.5])}),
    "a whole number that would be rounded": pl.DataFrame({"a": [2**53 + 1, None]}),
    "nullable whole numbers": pd.DataFrame({"a": pd.array([3, None], dtype="Int64")}),
    "whole numbers of 128 bits": pl.DataFrame({"a": [1, 0]}, schema={"a": pl.Int128}),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_columns_are_as_by_themselves(kind):
    frame, column = nw.from_native(ODD[kind]), Column("a", "normal")

    def outcome(function):
        try:
            return function().ravel().tolist()
        except DataError as error:
            return str(error)

    found = outcome(lambda: encode_columns([column], frame))
    assert repr(found) == repr(outcome(lambda: column.encode(frame["a"])))
    assert isinstance(found, str) == kind.startswith("a whole")


@pytest.mark.filterwarnings("ignore:column 'a' holds no value that the model was fitted to")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64", "bool"])
@pytest.mark.parametrize("values", [(1.0, 2.0, 5.0), (-3.0, 0.5, 1.0), (0.0,), (0.0, 1e6), (1.0, 2.0**53), (1e19,)])
def test_whole_numbers_have_the_codes_of_the_same_floats(values, dtype):
    cells = pd.Series([0, 1, 2, 3, 5, 7, 100, 1]).astype(dtype)
    column = Column("a", "categorical", values, False)
    np.testing.assert_array_equal(column.encode(cells), column.encode(cells.astype(float)))
    if dtype[0] == "i":
        np.testing.assert_array_equal(column.encode(-cells), column.encode(-cells.astype(float)))
