"""Columns of frames in the type of their values."""

from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesnb.tables.frames._series import declared_categories, numbers, texts, to_plain


def series(native):
    return nw.from_native(native, series_only=True)


@pytest.mark.parametrize("library", [pd.Series, pl.Series, lambda cells: pa.chunked_array([cells[:1], cells[1:]])])
def test_texts_are_objects(library):
    assert texts(series(library(["b", None, "TRUE", "b"]))).tolist() == ["b", None, "True", "b"]


def test_a_dictionary_of_texts_stays_one_and_one_of_numbers_becomes_numbers():
    column = pa.chunked_array([pa.array(["b", None, "a", "b"]).dictionary_encode()])
    assert to_plain(series(column)).to_native().type == column.type
    numbers = pa.chunked_array([pa.array([2.5, None, 2.5]).dictionary_encode()])
    np.testing.assert_array_equal(to_plain(series(numbers)).to_numpy(), [2.5, np.nan, 2.5])


def test_declared_categories_have_one_spelling():
    values = ["true", "True", "a", "5"]
    for native in (pd.Series(pd.Categorical(["a"], values)), pl.Series(["a"], dtype=pl.Enum(values))):
        assert declared_categories(series(native)) == ["True", "a", "5"]
    assert declared_categories(series(pd.Series(pd.Categorical([2], [3, 2]))), text=False) == [3.0, 2.0]


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_decimals_are_the_numbers_that_python_reads(library):
    cells = [*(Decimal(n).scaleb(-3) for n in range(-5000, 5000, 7)), None, Decimal("123456789012.345")]
    column = pa.chunked_array([pa.array(cells, pa.decimal128(18, 3))])
    made = {"pandas": lambda: pd.Series(column, dtype=pd.ArrowDtype(column.type)), "polars": lambda: pl.Series(column)}
    found = numbers(nw.from_native(made.get(library, lambda: column)(), series_only=True))
    np.testing.assert_array_equal(found, [np.nan if cell is None else float(str(cell)) for cell in cells])
