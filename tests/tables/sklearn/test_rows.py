"""Few rows of plain cells are encoded one by one: answers, errors and warnings are those of many rows."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.frames._series import DataError
from tests import cases
from tests.tables.sklearn.frame_of_every_kind import FRAME, KINDS, Y, outcome

USED = [name for name in FRAME if name != "note"]
CELLS = [
    None, np.nan, pd.NA, pd.NaT, "", "S", "s", " S", "unseen", "nan", "3", "1.5", "1,5", "True", "true", "TRUE", "0",
    True, False, np.True_, 0, 1, 2, 7, -1, -0.0, 1.0, 0.5, 2.5, 1e-320, 1e60, 1e200, 2**53 + 1, 2**53 + 2, 2**70,
    np.inf, -np.inf, np.int64(2), np.int8(1), np.float64(1), np.float32(1.5), np.str_("C"), 1j, b"S", [1], (1, 2),
    {"a": 1}, decimal.Decimal(1), datetime.date(2020, 1, 1), np.datetime64("NaT", "s"), pd.Timestamp(0),
]  # fmt: skip


@pytest.fixture(scope="module")
def clf():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the empty column
        return nb.NaiveBayesClassifier(KINDS).fit(FRAME, Y)


@pytest.mark.slow
def test_a_row_of_any_cell_is_answered_as_many_are(clf):
    row = FRAME.iloc[0].to_dict()
    direct = 0
    for name in USED:
        for cell in CELLS:
            changed = row | {name: cell}
            many = outcome(clf, [changed] * (limits.ROWS_ONE_BY_ONE + 1))
            assert outcome(clf, changed) == many, (name, cell)
            assert outcome(clf, pd.DataFrame([changed])) == many, (name, cell)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                direct += clf.schema_.plain.encode(changed) is not None
    assert direct > len(USED) * len(CELLS) / 3


@pytest.mark.parametrize("first", cases.by_default([0, 5, "S", True, None, 1.5, np.nan], 5, "S", None))
def test_few_rows_of_any_two_cells_are_answered_as_many_are(clf, first):
    row = FRAME.iloc[0].to_dict()
    for name in ("age", "port", "class", "alone"):
        for second in (0, 2, 1.5, "C", "unseen", True, None, pd.NA):
            few = [row | {name: first}, row | {name: second}]
            many = [few[n % 2] for n in range(limits.ROWS_ONE_BY_ONE + 1)]
            assert outcome(clf, few) == outcome(clf, many), (name, first, second)


@pytest.mark.parametrize(
    "types",
    [
        {"age": "float32", "visits": "float32", "stays": "float32"},
        {"age": "Float64", "class": "Int64", "alone": "boolean", "port": "string"},
        {"port": "category", "class": "int8", "seen": "uint64"},
        {"class": "category"},
        {"alone": "category"},
        {"age": "Float32", "seen": "Int8"},
        {"age": "float16"},
        {"port": "string[pyarrow]", "age": "double[pyarrow]", "class": "int64[pyarrow]", "alone": "bool[pyarrow]"},
        {"age": pd.SparseDtype(float), "seen": pd.SparseDtype(int)},
    ],
    ids=str,
)
def test_every_type_of_column_is_encoded_as_in_many_rows(clf, types):
    frame = FRAME.astype(types)
    for missing in (False, True):
        if missing:
            frame = frame.astype({"age": types.get("age", "float64")})
            frame.loc[0, "port"] = None
        assert outcome(clf, frame[:2]) == outcome(clf, frame[:2].loc[[0, 1] * limits.ROWS_ONE_BY_ONE])


def test_precision_is_that_of_many_rows():
    wide = FRAME[["age"]].assign(size=1.1).astype(np.float32)
    numeric = nb.NaiveBayesClassifier("normal").fit(wide, Y)
    for frame in (wide, wide.astype({"size": float}), wide.assign(size=np.float32(np.nan))):
        sizes = limits.ROWS_ONE_BY_ONE, limits.ROWS_ONE_BY_ONE + 1
        few, many = (numeric.encoded(frame[:rows])["numeric"] for rows in sizes)
        assert few.dtype == many.dtype
        assert_array_equal(few, many[: limits.ROWS_ONE_BY_ONE])


def test_dicts_are_rows_of_a_frame_in_any_order(clf):
    expected = clf.predict_proba(FRAME)
    records = FRAME.to_dict("records")
    backwards = [dict(reversed(row.items())) for row in records]
    for given in (records, backwards, pl.DataFrame(FRAME.drop(columns="empty")).to_dicts()):
        given = [{"empty": None} | row for row in given]
        assert_array_equal(clf.predict_proba(given), expected)
        assert_array_equal(clf.predict(given[:3]), clf.predict(FRAME)[:3])
        assert_array_equal(clf.predict_log_proba(given[4]), clf.predict_log_proba(FRAME)[4:5])
    fitted = nb.NaiveBayesClassifier("normal").fit([{"a": 1.0, "b": 2}, {"a": 2.0}, {"b": 3, "a": 5.0}], [0, 1, 1])
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    assert fitted.predict({"b": 2.0, "a": None}).shape == (1,)


def test_dicts_need_the_columns_of_the_fit(clf):
    row = FRAME.iloc[0].to_dict()
    without_note = {name: row[name] for name in USED}
    assert_array_equal(clf.predict_proba(without_note), clf.predict_proba(row))  # left out of the fit
    for given in ({**without_note} | {"age": 1}, [row] * 3):
        assert clf.predict_proba(given).shape[1] == 2
    del without_note["age"]
    for given in (without_note, [row, without_note], [without_note] * 20):
        with pytest.raises(ValueError, match="the rows have no column 'age', which the model was fitted to"):
            clf.predict_proba(given)
    for given in (row | {"id": 7}, [row, row | {"id": 7}]):
        with pytest.warns(UserWarning, match="which are left out: 'id'"):
            assert_array_equal(clf.predict_proba(given)[-1:], clf.predict_proba(row))
    with pytest.raises(ValueError, match="fitted to an array, whose columns have no names"):
        nb.NaiveBayesClassifier().fit(np.eye(3), [0, 1, 1]).predict({"x0": 1, "x1": 0, "x2": 0})


def test_frames_of_other_columns_and_counts_are_refused_as_many_rows_are(clf):
    words = nb.NaiveBayesClassifier("multinomial").fit(FRAME[["class", "visits", "stays"]], Y)
    for fitted, frame in (
        (clf, FRAME.rename(columns={"age": "Age"})),
        (clf, FRAME.drop(columns="age")),
        (words, FRAME[["class", "visits", "stays"]].assign(stays=-1)),
        (words, FRAME[["class", "visits", "stays"]].assign(stays=np.nan)),
    ):
        answer, warned = outcome(fitted, frame[: limits.ROWS_ONE_BY_ONE])
        assert isinstance(answer, str)
        assert (answer, warned) == outcome(fitted, frame[: limits.ROWS_ONE_BY_ONE + 1])


NAMED = pd.DataFrame({"size": [1.0, 1.2, 3.0, 3.1] * 3, "town": ["u", "v", "w", "u"] * 3})
LABELS = ["a", "a", "b", "b"] * 3
ROWS = {
    "series": [row for _, row in NAMED.iterrows()],
    "named tuples": [*NAMED.itertuples(index=False)],
    "dicts": NAMED.to_dict("records"),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_with_names_are_rows_of_a_frame(kind):
    clf, rows = nb.NaiveBayesClassifier(method="posterior"), ROWS[kind]
    expected = clf.fit(NAMED, LABELS).predict_proba(NAMED)
    assert_array_equal(clf.predict_proba(rows), expected)
    assert_array_equal(clf.predict_proba(rows[2]), expected[2:3])
    again = nb.NaiveBayesClassifier(method="posterior").partial_fit(rows, LABELS)
    assert_array_equal(again.predict_proba(NAMED), expected)
    assert clf.predict_proba([]).shape == (0, 2)
    with pytest.raises(DataError, match="the rows have no column 'town'"):
        clf.predict(pd.Series({"size": 1.0}))


def test_rows_with_names_are_rows_of_an_array_that_was_fitted():
    X = np.c_[NAMED["size"], -NAMED["size"]]
    clf = nb.NaiveBayesClassifier().fit(X, LABELS)
    rows = [pd.Series(row, ["a", "b"]) for row in X]
    assert_array_equal(clf.predict_proba(rows), clf.predict_proba(X))
    assert clf.predict_proba([]).shape == (0, 2)
    with pytest.raises(DataError, match="X has 0 rows and 0 columns: give at least one of each"):
        nb.NaiveBayesClassifier().fit([], [])


@pytest.mark.parametrize("likelihoods", ["categorical", ["categorical"] * 2, {"*": "categorical"}, "auto", "bernoulli"])
@pytest.mark.parametrize("kind", [str, object, np.dtypes.StringDType()])
def test_text_in_an_array_is_refused_in_a_sentence(likelihoods, kind):
    X = np.array([["u", "v"], ["w", "u"]] * 6, kind)
    words = r"with the text 'u' in row 0, column 0, .* give a data frame, such as pandas"
    for call in (nb.NaiveBayesClassifier(likelihoods).fit, nb.NaiveBayesClassifier(likelihoods).partial_fit):
        with pytest.raises(DataError, match=words):
            call(X, LABELS)
    with pytest.raises(DataError, match=words):
        nb.NaiveBayesClassifier().fit({"texts": X}, LABELS)
    fitted = nb.NaiveBayesClassifier("categorical").fit([[0, 1], [1, 0]] * 6, LABELS)
    with pytest.raises(DataError, match=words):
        fitted.predict(X.tolist())
    by_name = nb.NaiveBayesClassifier("categorical", method="posterior").fit(pd.DataFrame(X), LABELS)  # as it says
    assert by_name.predict(X).shape == (12,)
