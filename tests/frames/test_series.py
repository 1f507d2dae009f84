"""Distinct texts of a column: the same in every library, and Python sees each of them once, not every cell."""

import tracemalloc

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesnb.frames import _series as series
from bayesnb.frames._series import factorise
from bayesnb.frames._summaries import summarise_column

CELLS = ["b", "TRUE", None, "a", "true", "b", "True", "5"]
CODES, TEXTS = [0, 1, -1, 2, 1, 0, 1, 3], ["b", "True", "a", "5"]


def dictionary(codes, values, kind="int8"):
    return pa.DictionaryArray.from_arrays(pa.array(codes, kind), pa.array(values))


COLUMNS = {
    "pandas": pd.Series(CELLS),
    "pandas objects": pd.Series(CELLS, dtype=object),
    "pandas categories": pd.Series(pd.Categorical(CELLS, ["none", "5", "a", "b", "TRUE", "True", "true"])),
    "polars": pl.Series(CELLS),
    "polars categories": pl.Series(CELLS, dtype=pl.Categorical),
    "polars enum": pl.Series(CELLS, dtype=pl.Enum(["none", "5", "a", "b", "TRUE", "True", "true"])),
    "arrow": pa.chunked_array([CELLS[:3], CELLS[3:]]),
    "arrow large": pa.chunked_array([pa.array(CELLS, pa.large_string())]),
    "arrow view": pa.chunked_array([pa.array(CELLS, pa.string_view())]),
    "arrow chunks of dictionaries": pa.chunked_array(
        [dictionary([1, 0, None], ["TRUE", "b"]), dictionary([1, 2, 3, 4, 0], ["5", "a", "true", "b", "True"])]
    ),
    "arrow dictionary with a null, a repetition and values that do not occur": pa.chunked_array(
        [dictionary([3, 5, 1, 4, 6, 2, 5, 0], ["5", None, "b", "b", "a", "True", "true", "none"], "uint32")]
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_distinct_texts_are_the_same_in_every_library(name):
    codes, texts = factorise(nw.from_native(COLUMNS[name], series_only=True))
    assert (codes.tolist(), texts) == (CODES, TEXTS)


@pytest.mark.parametrize("name", COLUMNS)
def test_no_cells(name):
    empty = COLUMNS[name][:0] if "pa" in type(COLUMNS[name]).__module__ else COLUMNS[name].slice(0, 0)
    codes, texts = factorise(nw.from_native(empty, series_only=True))
    assert (codes.tolist(), texts) == ([], [])


@pytest.mark.parametrize("cells", [[1, None, 2**60, 1], [True, None, False, True]])
def test_numbers_and_booleans_as_text(cells):
    for column in (pd.Series(cells, dtype=object), pl.Series(cells), pa.chunked_array([cells])):
        codes, texts = factorise(nw.from_native(column, series_only=True))
        assert (codes.tolist(), texts) == ([0, -1, 1, 0], [str(cells[0]), str(cells[2])])


def test_python_sees_each_distinct_text_once(monkeypatch):
    seen = []
    for name in ("reads_as_number", "is_meant_as_number"):
        monkeypatch.setattr("bayesnb.frames._summaries." + name, lambda text: seen.append(text) or False)
    monkeypatch.setattr(series, "label", lambda text: seen.append(text) or text)
    for number, library in enumerate((pd.Series, pl.Series, lambda cells: pa.chunked_array([cells]))):
        cells = np.array([f"x{number}", f"y{number}", f"z{number}"])[np.arange(5000) % 3]
        column = library(cells)
        seen.clear()
        summarise_column(nw.from_native(column, series_only=True))
        assert len(seen) == 9


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_no_object_for_each_cell(library):
    words, cells = np.array([f"a long word {i}" for i in range(50)]), 100_000
    column = pa.chunked_array([pa.array(words).take(pa.array(np.arange(cells) % 50))])
    column = nw.from_native(column if library == "pyarrow" else pl.Series(column), series_only=True)
    tracemalloc.start()
    try:
        summarise_column(column)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * cells  # a text of its own for each cell takes more than 60 bytes


def test_texts_that_appear_late_and_in_another_order():
    codes = np.r_[np.tile([3, 1], 5000), [4, 0, 1]].astype(np.int64)  # 2 does not occur
    column = pa.chunked_array([dictionary(codes, [*"abcde"], "int64")])
    found, texts = factorise(nw.from_native(column, series_only=True))
    expected, values = pd.factorize(np.array([*"abcde"])[codes])
    np.testing.assert_array_equal(found, expected)
    assert texts == values.tolist() == [*"dbea"]
