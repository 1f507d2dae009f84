"""Odd types of columns at every door: those of numbers are numbers, others are refused by name."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb

RNG = np.random.default_rng(0)
N = 60
Y = RNG.integers(0, 2, N)
NUMBERS, CODES = RNG.normal(Y, 1.0, N).round(2), RNG.integers(0, 3, N)
SOME = np.where(CODES, NUMBERS, np.nan)
TEXTS = RNG.choice(["u", "v", "w"], N)

TAKEN = {
    ">f8": (NUMBERS, NUMBERS.astype(">f8")),
    ">f4": (NUMBERS.astype("f4"), NUMBERS.astype(">f4")),
    ">i4": (CODES, CODES.astype(">i4")),
    ">u2": (CODES, CODES.astype(">u2")),
    "long double": (NUMBERS, NUMBERS.astype(np.longdouble)),
    "sparse": (NUMBERS, pd.arrays.SparseArray(NUMBERS)),
    "sparse with missing cells": (SOME, pd.arrays.SparseArray(SOME)),
    "sparse whole numbers": (CODES, pd.arrays.SparseArray(CODES)),
    "sparse booleans": (CODES == 1, pd.arrays.SparseArray(CODES == 1)),
}  # fmt: skip

REFUSED = {
    "complex of 128 bits": NUMBERS + 1j,
    "complex of 64 bits": (NUMBERS + 1j).astype(np.complex64),
    "complex as objects": pd.Series((NUMBERS + 1j).tolist(), dtype=object),
    "complex in a sparse array": pd.arrays.SparseArray(NUMBERS + 1j),
    "period": pd.period_range("2020", periods=N, freq="D"),
    "interval": pd.interval_range(0, N),
    "interval as objects": pd.Series(list(pd.interval_range(0, N)), dtype=object),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_numbers_of_odd_types_are_numbers_at_every_door(kind):
    plain, odd = (pd.DataFrame({"a": cells, "b": NUMBERS, "label": Y}) for cells in TAKEN[kind])
    X, rows = plain[["a", "b"]], odd[["a", "b"]]
    assert nb.infer_likelihoods(rows).choices == nb.infer_likelihoods(X).choices
    clf = nb.NaiveBayesClassifier(temper=False).fit(X, Y)
    expected = clf.predict_proba(X)
    assert_array_equal(clf.predict_proba(rows), expected)
    assert_array_equal(clf.predict_proba(rows[:2]), clf.predict_proba(X[:2]))
    assert_array_equal(clf.predict_proba({"a": odd["a"].iloc[0], "b": NUMBERS[0]}), clf.predict_proba(X[:1]))
    assert_array_equal(nb.NaiveBayesClassifier(temper=False).fit(rows, Y).predict_proba(X), expected)
    parts = nb.NaiveBayesClassifier(temper=False).partial_fit(rows[:30], Y[:30], [0, 1]).partial_fit(rows[30:], Y[30:])
    np.testing.assert_allclose(parts.predict_proba(X), expected, rtol=1e-6)
    model = nb.NaiveBayes(nb.Normal())
    found, streamed = (nb.stream(model, frame, label="label", num_classes=2).blocks["x"] for frame in (plain, odd))
    assert_array_equal(streamed.mean, found.mean)


@pytest.mark.parametrize("kind", REFUSED)
def test_columns_that_no_likelihood_takes_are_refused_by_name(kind):
    rows = pd.DataFrame({"a": REFUSED[kind], "b": NUMBERS})
    clf = nb.NaiveBayesClassifier(temper=False).fit(pd.DataFrame({"a": NUMBERS, "b": NUMBERS}), Y)
    held, *_ = kind.split()
    sentence = f"column 'a' holds {held}.*, expected numbers, booleans or text: give the whole column one of these"
    for door in (
        lambda: nb.infer_likelihoods(rows),
        lambda: nb.NaiveBayesClassifier().fit(rows, Y),
        lambda: nb.NaiveBayesClassifier().partial_fit(rows, Y, [0, 1]),
        lambda: clf.predict_proba(rows),
        lambda: clf.predict_proba(rows[:2]),
        lambda: clf.predict_proba(rows.iloc[0].to_dict()),
    ):
        with pytest.raises(ValueError, match=sentence):
            door()
    left_out = nb.NaiveBayesClassifier({"a": "skip"}, temper=False).fit(rows, Y)
    assert left_out.likelihoods_ == {"a": "skip", "b": "normal"}
    with pytest.raises(nb.StreamError, match=r"column 'a' holds .*(complex|period|interval)"):
        nb.stream(nb.NaiveBayes(nb.Normal()), rows.assign(label=Y), label="label", num_classes=2)


def coded(values, indices):
    """The texts as a dictionary in another order, with a value that does not occur."""
    known = ["w", "z", "u", "v"]
    return pa.DictionaryArray.from_arrays(
        pa.array([known.index(text) for text in TEXTS], indices), pa.array(known).cast(values)
    )


TEXT_TYPES = {
    "a view": pa.array(TEXTS).cast(pa.string_view()),
    "large": pa.array(TEXTS, pa.large_string()),
    "a dictionary": coded(pa.string(), pa.int8()),
    "a dictionary of views": coded(pa.string_view(), pa.uint32()),
    "dictionaries that differ": pa.chunked_array(
        [pa.array(TEXTS[:30]).dictionary_encode(), pa.array(TEXTS[30:]).dictionary_encode()]
    ),
}


@pytest.mark.parametrize("kind", TEXT_TYPES)
def test_texts_of_every_type_of_arrow_are_the_same_texts(kind, tmp_path):
    plain, odd = (pa.table({"a": cells, "b": NUMBERS}) for cells in (pa.array(TEXTS), TEXT_TYPES[kind]))
    assert nb.infer_likelihoods(odd).choices == nb.infer_likelihoods(plain).choices
    clf = nb.NaiveBayesClassifier(temper=False).fit(plain, Y)
    expected = clf.predict_proba(plain)
    assert_array_equal(clf.predict_proba(odd), expected)
    assert_array_equal(nb.NaiveBayesClassifier(temper=False).fit(odd, Y).predict_proba(plain), expected)
    model = nb.NaiveBayes(nb.Normal())
    pq.write_table(plain, tmp_path / "1.parquet")
    if kind != "a dictionary of views":  # which Arrow does not write
        pq.write_table(odd, tmp_path / "2.parquet")
    for source, declared in ((odd, None), (odd.to_reader(), ["u", "v", "w"]), (tmp_path, None)):
        found = nb.stream(model, source, label="a", columns=["b"], classes=declared)
        assert found.classes == ("u", "v", "w")


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_missing_flags_of_a_frame_are_missing_for_a_fit_of_an_array():
    X, y = np.array([[0.0, 2.5], [1.0, 3.5], [1.0, 0.5], [0.0, 4.5]] * 3), [0, 1, 1, 0] * 3
    flags = pd.array([True, None, False, True] * 3, dtype="boolean")
    clf, frame = nb.NaiveBayesClassifier().fit(X, y), pd.DataFrame({"a": flags, "b": X[:, 1]})
    rows = np.column_stack([np.where(flags.isna(), np.nan, flags.fillna(False).astype(float)), X[:, 1]])
    assert_array_equal(clf.predict_proba(frame), clf.predict_proba(rows))
