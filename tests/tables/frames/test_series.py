"""Columns of frames in the type of their values."""

import datetime
import uuid
from decimal import Decimal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesnb as nb
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


ROWS = 40
KNOWN = np.random.default_rng(0).normal(np.arange(ROWS) % 2).round(3)
LABEL = np.array(["a", "b"])[np.arange(ROWS) % 2]
WITHOUT = {
    "UUID": [uuid.UUID(int=n) for n in range(ROWS)],
    "list": [[n] for n in range(ROWS)],
    "dict": [{"a": n} for n in range(ROWS)],
    "bytes": [b"%d" % n for n in range(ROWS)],
    "period": pd.period_range("2020", periods=ROWS, freq="D"),
    "dates or times": [datetime.time(n % 24) for n in range(ROWS)],
    "whole numbers beyond 2\\^63": np.array([2**63 + 7 * n for n in range(ROWS)], np.uint64),
    "whole numbers beyond 2\\^63 ": [2**80 + 7 * n for n in range(ROWS)],
    "whole numbers beyond 2\\^63  ": [Decimal(2**80 + 7 * n) for n in range(ROWS)],
}


@pytest.mark.parametrize("held", WITHOUT)
def test_columns_of_databases_that_are_no_numbers_are_left_out_with_a_warning(held):
    """By frames, by rows as dicts and by tables; what remains is the fit of the other columns."""
    frame = pd.DataFrame({"x": KNOWN}).assign(odd=pd.Series(WITHOUT[held]))
    expected = nb.NaiveBayesClassifier(method="posterior").fit(frame[["x"]], LABEL).predict_proba(frame[["x"]])
    rows = frame.to_dict("records")
    for given in (frame, rows):
        with pytest.warns(UserWarning, match=f"column 'odd' has .*{held.strip()}.* and is left out"):
            clf = nb.NaiveBayesClassifier(method="posterior").fit(given, LABEL)
        np.testing.assert_array_equal(clf.predict_proba(given), expected)
        np.testing.assert_array_equal(clf.predict_proba(rows[0]), expected[:1])
    with pytest.warns(UserWarning, match="column 'odd' (has .* left out|is read as text because)"):
        table = nb.fit_table(frame.assign(label=LABEL), "label", method="posterior")
    assert table.likelihoods_ == {"x": "normal", "odd": "skip"}
    np.testing.assert_allclose(table.predict_proba(frame), expected, rtol=1e-12)


def test_a_target_of_another_type_is_refused_by_name():
    frame = pd.DataFrame({"x": KNOWN}).assign(label=WITHOUT["list"])
    with pytest.raises(ValueError, match=r"the target 'label' holds cells of type List\(Int64\); convert it to text"):
        nb.fit_table(frame, "label")


@pytest.mark.parametrize("gap", [None, 0.5, 2, Decimal("NaN")])
def test_decimals_are_numbers_at_every_door(gap):
    """Alone and beside other numbers or missing cells: what floats give."""
    cells = [Decimal(str(x)) for x in KNOWN]
    cells[3] = gap
    plain = KNOWN.copy()
    plain[3] = np.nan if gap is None else float(gap)
    frame, floats = pd.DataFrame({"x": pd.Series(cells, dtype=object)}), pd.DataFrame({"x": plain})
    clf = nb.NaiveBayesClassifier(method="posterior").fit(floats, LABEL)
    rows, expected = [{"x": cell} for cell in cells], clf.predict_proba(floats)
    assert dict(nb.infer_likelihoods(frame)) == {"x": "normal"}
    for given in (frame, rows):
        own = nb.NaiveBayesClassifier(method="posterior").fit(given, LABEL)
        for one in (clf, own):
            np.testing.assert_allclose(one.predict_proba(given), expected, rtol=1e-12)
            np.testing.assert_allclose(one.predict_proba(rows[0]), expected[:1], rtol=1e-12)
    table = nb.fit_table(frame.assign(label=LABEL), "label", method="posterior")
    np.testing.assert_allclose(table.predict_proba(frame), expected, rtol=1e-12)
