"""Columns of frames side by side, and odd types of them: those of numbers are numbers, others refused by name."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.frames._columns import Column
from bayesnb.tables.frames._schema import encode_columns
from bayesnb.tables.frames._series import DataError

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


@pytest.mark.parametrize("cell", [np.inf, 1e200])
@pytest.mark.parametrize("columns", [COLUMNS[:1], COLUMNS[1:2] + COLUMNS[:1]])
def test_a_cell_that_is_refused_alone_is_refused_among_others(cell, columns):
    frame = nw.from_native(FRAMES["pandas"].assign(c=[1.0, cell, 2.0]))
    with pytest.raises(DataError, match="column 'c' holds"):
        encode_columns(columns, frame)


def test_a_column_without_a_cell_in_the_fit_stays_missing():
    frame = nw.from_native(pd.DataFrame({"a": [1.0, 2.0]}))
    assert np.isnan(encode_columns([Column("a", "normal", text=None)], frame)).all()


@pytest.mark.filterwarnings("ignore:column 'a' holds no value that the model was fitted to")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64", "bool"])
@pytest.mark.parametrize("values", [(1.0, 2.0, 5.0), (-3.0, 0.5, 1.0), (0.0,), (0.0, 1e6), (1.0, 2.0**53), (1e19,)])
def test_whole_numbers_have_the_codes_of_the_same_floats(values, dtype):
    cells = pd.Series([0, 1, 2, 3, 5, 7, 100, 1]).astype(dtype)
    column = Column("a", "categorical", values, False)
    np.testing.assert_array_equal(column.encode(cells), column.encode(cells.astype(float)))
    if dtype[0] == "i":
        np.testing.assert_array_equal(column.encode(-cells), column.encode(-cells.astype(float)))


# odd types of columns at every door: those of numbers are numbers, others are refused by name


RNG = np.random.default_rng(0)
N = 60
Y = RNG.integers(0, 2, N)
ODD_NUMBERS, CODES = RNG.normal(Y, 1.0, N).round(2), RNG.integers(0, 3, N)
SOME = np.where(CODES, ODD_NUMBERS, np.nan)
TEXTS = RNG.choice(["u", "v", "w"], N)

TAKEN = {
    ">f8": (ODD_NUMBERS, ODD_NUMBERS.astype(">f8")),
    ">f4": (ODD_NUMBERS.astype("f4"), ODD_NUMBERS.astype(">f4")),
    ">i4": (CODES, CODES.astype(">i4")),
    ">u2": (CODES, CODES.astype(">u2")),
    "long double": (ODD_NUMBERS, ODD_NUMBERS.astype(np.longdouble)),
    "sparse": (ODD_NUMBERS, pd.arrays.SparseArray(ODD_NUMBERS)),
    "sparse with missing cells": (SOME, pd.arrays.SparseArray(SOME)),
    "sparse whole numbers": (CODES, pd.arrays.SparseArray(CODES)),
    "sparse booleans": (CODES == 1, pd.arrays.SparseArray(CODES == 1)),
}  # fmt: skip

REFUSED = {
    "complex of 128 bits": ODD_NUMBERS + 1j,
    "complex of 64 bits": (ODD_NUMBERS + 1j).astype(np.complex64),
    "complex as objects": pd.Series((ODD_NUMBERS + 1j).tolist(), dtype=object),
    "complex in a sparse array": pd.arrays.SparseArray(ODD_NUMBERS + 1j),
    "period": pd.period_range("2020", periods=N, freq="D"),
    "interval": pd.interval_range(0, N),
    "interval as objects": pd.Series(list(pd.interval_range(0, N)), dtype=object),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_numbers_of_odd_types_are_numbers_at_every_door(kind):
    plain, odd = (pd.DataFrame({"a": cells, "b": ODD_NUMBERS, "label": Y}) for cells in TAKEN[kind])
    X, rows = plain[["a", "b"]], odd[["a", "b"]]
    assert nb.infer_likelihoods(rows).choices == nb.infer_likelihoods(X).choices
    clf = nb.NaiveBayesClassifier(temper=False).fit(X, Y)
    expected = clf.predict_proba(X)
    assert_array_equal(clf.predict_proba(rows), expected)
    assert_array_equal(clf.predict_proba(rows[:2]), clf.predict_proba(X[:2]))
    assert_array_equal(clf.predict_proba({"a": odd["a"].iloc[0], "b": ODD_NUMBERS[0]}), clf.predict_proba(X[:1]))
    assert_array_equal(nb.NaiveBayesClassifier(temper=False).fit(rows, Y).predict_proba(X), expected)
    parts = nb.NaiveBayesClassifier(temper=False).partial_fit(rows[:30], Y[:30], [0, 1]).partial_fit(rows[30:], Y[30:])
    np.testing.assert_allclose(parts.predict_proba(X), expected, rtol=1e-6)
    model = nb.NaiveBayes(nb.Normal())
    found, streamed = (nb.stream(model, frame, label="label", num_classes=2).blocks["x"] for frame in (plain, odd))
    assert_array_equal(streamed.mean, found.mean)


@pytest.mark.parametrize("kind", REFUSED)
def test_columns_that_no_likelihood_takes_are_left_out_and_refused_where_they_are_chosen(kind):
    rows = pd.DataFrame({"a": REFUSED[kind], "b": ODD_NUMBERS})
    clf = nb.NaiveBayesClassifier(temper=False).fit(pd.DataFrame({"a": ODD_NUMBERS, "b": ODD_NUMBERS}), Y)
    held, *_ = kind.split()
    sentence = f"column 'a' holds {held}.*, expected numbers, booleans or text: give the whole column one of these"
    assert dict(nb.infer_likelihoods(rows)) == {"a": "skip", "b": "normal"}
    for fit in (nb.NaiveBayesClassifier().fit, nb.NaiveBayesClassifier().partial_fit):
        with pytest.warns(UserWarning, match=f"column 'a' has cells of type {held}.* left out; to keep it, convert it"):
            assert fit(rows, Y).likelihoods_ == {"a": "skip", "b": "normal"}
    for door in (
        lambda: nb.NaiveBayesClassifier("normal").fit(rows, Y),
        lambda: nb.NaiveBayesClassifier({"a": "categorical"}).partial_fit(rows, Y, [0, 1]),
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
    plain, odd = (pa.table({"a": cells, "b": ODD_NUMBERS}) for cells in (pa.array(TEXTS), TEXT_TYPES[kind]))
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


def test_the_cell_that_is_no_boolean_is_named(tmp_path):
    fitted = pd.DataFrame({"smokes": [True, False, True, False], "age": [1.0, 2.0, 3.0, 4.0]})
    clf = nb.NaiveBayesClassifier(method="posterior").fit(fitted, [0, 1, 0, 1])
    words = "column 'smokes' holds text, '{}', and the model was fitted to true and false in it"
    for odd in ("yes", "3"):
        wrong = pd.DataFrame({"smokes": ["True", "False", odd], "age": [1.0, 2.0, 3.0]})
        wrong.to_csv(path := tmp_path / "t.csv", index=False)
        for call in (lambda: clf.predict(wrong), lambda: nb.predict_table(clf, wrong)):  # noqa: B023
            with pytest.raises(ValueError, match=words.format(odd)):
                call()
        with pytest.raises(ValueError, match=f"line 4: {words.format(odd)}"):
            nb.predict_table(clf, path)
    of_numbers = nb.NaiveBayesClassifier({"*": "normal"}).fit(fitted, [0, 1, 0, 1])
    for cells, odd in ((["True", "no"], "no"), (["1", "True"], "True")):
        with pytest.raises(DataError, match=f"holds text, '{odd}', and the model was fitted to"):
            of_numbers.predict(pd.DataFrame({"smokes": [1.0, 2.0], "age": cells}))


def test_the_cell_that_is_no_boolean_is_named_at_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 64)
    (path := tmp_path / "t.csv").write_text("y,smokes\n" + "0,True\n1,False\n" * 20 + "0,True\n1,yes\n")
    with pytest.raises(nb.StreamError, match="line 43: column 'smokes' holds 'yes', which is not a number"):
        nb.stream(nb.NaiveBayes(nb.Bernoulli()), path, label="y")


FAMILIES = {
    "size": (nb.LogNormal(), 0.0, "LogNormal: a cell is a number above 0 .*got 0; .*nb.Hurdle"),
    "share": (nb.LogitNormal(), 1.0, "LogitNormal: a cell is a number above 0 and below 1 .*Hurdle"),
    "income": (nb.Hurdle(nb.LogNormal(), at=99.0), -1.0, "Hurdle: a cell is a number above 0, 99"),
    "count": (nb.Poisson(), 0.5, "Poisson: a cell is a count"),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_cell_outside_the_support_of_a_family_is_refused_by_the_column(name):
    family, bad, sentence = FAMILIES[name]
    frame = pd.DataFrame({"other": [1.0, 2.0, 3.0], name: [0.5, bad, 0.25] if name != "count" else [1.0, bad, 2.0]})
    with pytest.raises(DataError, match=f"column '{name}' cannot be {sentence}"):
        nb.NaiveBayesClassifier(likelihoods={name: family}).fit(frame, [0, 1, 0])
    good = frame.assign(**{name: frame[name].where(frame[name] != bad)})
    with pytest.raises(DataError, match=f"column '{name}' cannot be {sentence}"):
        nb.NaiveBayesClassifier(likelihoods={name: family}, method="posterior").fit(good, [0, 1, 0]).predict(frame)
