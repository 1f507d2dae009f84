"""Columns that are stored as categories: ordered ones, and ones of numbers, flags and dates, in every library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.studies.cli import main

N = 24
Y = np.arange(N) % 2
PLACES = np.r_[np.arange(N - 4) % 3, 0, 0, 2, 2]
SIZE = np.linspace(0.0, 1.0, N)
CELLS = {
    "whole": [[10, 9, 2][place] for place in PLACES],
    "broken": [[1.5, 2.0, -3.0][place] for place in PLACES],
    "text": ["bca"[place] for place in PLACES],
    "missing": [None if row == 5 else [10, 9, 2][place] for row, place in enumerate(PLACES)],
}


def dictionary(cells):
    return pa.array(cells).dictionary_encode()


FORMS = {
    "pandas": lambda cells: pd.DataFrame({"c": pd.Categorical(cells), "size": SIZE}),
    "ordered": lambda cells: pd.DataFrame({"c": pd.Categorical(cells, ordered=True), "size": SIZE}),
    "arrow in pandas": lambda cells: pd.DataFrame(
        {"c": pd.Series(pd.arrays.ArrowExtensionArray(dictionary(cells))), "size": SIZE}
    ),
    "pyarrow": lambda cells: pa.table({"c": dictionary(cells), "size": SIZE}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
def test_a_column_of_categories_is_taken_at_every_door(form, cells, tmp_path):
    frame = FORMS[form](cells)
    clf = nb.NaiveBayesClassifier(method="posterior").fit(frame, Y)
    plain = pd.DataFrame({"c": cells, "size": SIZE})
    other = nb.NaiveBayesClassifier({"c": "categorical", "size": "normal"}, method="posterior").fit(plain, Y)
    assert clf.likelihoods_ == {"c": "categorical", "size": "normal"}
    expected = other.predict_proba(plain)
    for rows in (frame, plain, [{"c": cell, "size": size} for cell, size in zip(cells, SIZE, strict=True)]):
        assert_allclose(clf.predict_proba(rows), expected, rtol=1e-12)
        assert_allclose(other.predict_proba(rows), expected, rtol=1e-12)
    assert_allclose(clf.predict_proba({"c": cells[0], "size": SIZE[0]}), expected[:1], rtol=1e-12)
    if form != "pyarrow":
        assert_allclose(clf.predict_proba(frame.iloc[3:6]), expected[3:6], rtol=1e-12)
        batches = nb.NaiveBayesClassifier({"c": "categorical", "size": "normal"}, method="posterior")
        batches.partial_fit(frame.iloc[:12], Y[:12]).partial_fit(plain.iloc[12:], Y[12:])
        assert_allclose(batches.predict_proba(frame), expected, rtol=1e-6)
    nb.save(clf, tmp_path / "model")
    plain.to_csv(tmp_path / "rows.csv", index=False)
    table = frame if form == "pyarrow" else pa.Table.from_pandas(frame)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        places = [str(tmp_path / one) for one in ("model", name, "p.csv")]
        main(["predict", *places[:2], "--out", places[2]], standalone_mode=False)
        assert_allclose(pd.read_csv(tmp_path / "p.csv").to_numpy()[:, 1:].astype(float), expected, rtol=1e-6)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("categories", "kind"),
    [
        ([False, True], "bernoulli"),
        (list(pd.to_datetime(["2020-01-01", "2021-01-01"])), "skip"),
        ([0, 1], "categorical"),
    ],
)
def test_categories_of_flags_and_dates(categories, kind, ordered):
    column = pd.Series(pd.Categorical([categories[place] for place in Y], ordered=ordered))
    assert nb.infer_likelihoods(pd.DataFrame({"c": column}))["c"] == kind
    assert_array_equal(nb.NaiveBayesClassifier("normal").fit(SIZE[:, None], column).classes_, np.unique(column))


def test_unused_categories_of_numbers_are_categories():
    column = pd.Series(pd.Categorical(CELLS["whole"], categories=[10, 9, 2, 7], ordered=True))
    clf = nb.NaiveBayesClassifier().fit(pd.DataFrame({"c": column}), Y)
    assert clf.schema_.columns[0].values == (2.0, 7.0, 9.0, 10.0)
    assert nb.infer_likelihoods(pd.DataFrame({"c": column}))["c"] == "categorical"
    many = pd.DataFrame({"c": pd.Categorical(np.arange(60) / 7)})
    assert nb.infer_likelihoods(many)["c"] == "normal"  # each occurs once


def test_numbers_in_categories_may_have_a_likelihood_of_numbers():
    frame = pd.DataFrame({"c": pd.Categorical(CELLS["broken"], ordered=True)})
    plain = pd.DataFrame({"c": CELLS["broken"]})
    clf, other = (nb.NaiveBayesClassifier("normal").fit(rows, Y) for rows in (frame, plain))
    assert_array_equal(clf.predict_proba(frame), other.predict_proba(plain))


def test_polars_enums_are_text():
    column = pl.Series([str(place) for place in PLACES], dtype=pl.Enum(["0", "1", "2", "3"]))
    clf = nb.NaiveBayesClassifier().fit(pl.DataFrame({"c": column}), Y)
    assert clf.schema_.columns[0].values == ("0", "1", "2", "3")
    assert clf.predict({"c": "1"}) in (0, 1)


def test_huge_numbers_in_categories_stay_text():
    column = pd.Series(pd.Categorical([2**60 + place for place in PLACES.tolist()]))
    with pytest.warns(UserWarning, match="would be rounded"):
        clf = nb.NaiveBayesClassifier().fit(pd.DataFrame({"c": column}), Y)
    assert clf.schema_.columns[0].values == tuple(str(2**60 + place) for place in range(3))


@pytest.mark.parametrize("form", ["pandas", "ordered", "pyarrow"])
def test_a_model_of_texts_that_are_numbers_takes_categories_of_numbers(form):
    texts = pd.DataFrame({"c": [str(cell) for cell in CELLS["whole"]], "size": SIZE})
    clf = nb.NaiveBayesClassifier(temper=False).fit(texts, Y)  # as in files of earlier versions
    assert_array_equal(clf.predict_proba(FORMS[form](CELLS["whole"])), clf.predict_proba(texts))
