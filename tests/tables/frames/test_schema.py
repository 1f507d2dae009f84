"""Column names that are not text: integers, as `read_csv(header=None)` gives them, tuples, or mixed."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb

FRAME = pd.DataFrame({"t": ["a", "b", "a", "b"], "f": [True, False, True, True], "x": [1.0, 2.0, 3.5, 4.0]})
Y = [0, 1, 0, 1]
NAMES = {
    "integers": [0, 1, 2],
    "tuples": pd.MultiIndex.from_tuples([("a", 1), ("b", 1), ("b", 2)]),
    "mixed": pd.Index([0, "x", 2.5], dtype=object),
}


def renamed(names, frame=FRAME):
    return frame.set_axis(names, axis=1)


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_the_fit_is_that_of_columns_named_by_text(names):
    frame, plain = renamed(names), nb.NaiveBayesClassifier(temper=False).fit(FRAME, Y)
    clf = nb.NaiveBayesClassifier(temper=False).fit(frame, Y)
    assert list(clf.likelihoods_.values()) == ["categorical", "bernoulli", "normal"]
    assert not hasattr(clf, "feature_names_in_")
    assert clf.n_features_in_ == 3
    assert_array_equal(clf.predict_proba(frame), plain.predict_proba(FRAME))
    assert_array_equal(clf.predict_proba(frame.to_numpy()), plain.predict_proba(FRAME))
    again = clf.partial_fit(frame, Y).predict_proba(frame)
    assert_array_equal(again, plain.partial_fit(FRAME, Y).predict_proba(FRAME))


def test_a_file_without_a_header():
    frame = pd.read_csv(io.StringIO("red,True,1.5\ngreen,False,2.5\nred,True,3.5\n"), header=None)
    assert list(nb.NaiveBayesClassifier(temper=False).fit(frame, [0, 1, 0]).likelihoods_.values()) == [
        "categorical", "bernoulli", "normal",
    ]  # fmt: skip


def test_likelihoods_by_names_that_are_not_text():
    flags = renamed([0, 1, 2], FRAME.assign(f=[1, 0, 1, 1]))
    assert nb.NaiveBayesClassifier({1: "bernoulli"}).fit(flags, Y).likelihoods_["1"] == "bernoulli"


def test_a_fit_to_such_columns_is_saved_and_loaded(tmp_path):
    frame = renamed([0, 1, 2])
    clf = nb.NaiveBayesClassifier(temper=False).fit(frame, Y)
    nb.save(clf, tmp_path / "a.model")
    assert_array_equal(nb.load(tmp_path / "a.model").predict_proba(frame), clf.predict_proba(frame))


def test_other_columns_are_refused_at_predict_time_and_by_partial_fit():
    clf = nb.NaiveBayesClassifier(temper=False).fit(renamed([0, 1, 2]), Y)
    other = renamed([0, 1, 2])[[0, 1]]
    with pytest.raises(ValueError, match="give the same, or an array in their order"):
        clf.predict(other)
    with pytest.raises(ValueError, match="give the same, or an array in their order"):
        clf.partial_fit(other, Y)


BY_NAME = pd.DataFrame(
    {"Age": [1.0, 2.5, 3.0, 4.5] * 5, "city": [*"uuvv"] * 5, "score": np.random.default_rng(1).normal(size=20)}
)
OF_NAME = pd.Series([*"abab"] * 5, name="kind")
LIBRARIES = {"pandas": lambda one: one, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_match_by_name_in_any_order_at_every_door(library, tmp_path):
    """Beside the target of the fit, about which nothing is said, also after a file; of other columns a warning is."""
    fits = [nb.NaiveBayesClassifier(method="posterior").fit(BY_NAME, OF_NAME)]
    fits.append(nb.fit_table(BY_NAME.assign(kind=OF_NAME), "kind", method="posterior"))
    nb.save(fits[0], tmp_path / "model")
    expected = fits[0].predict_proba(BY_NAME)
    moved = LIBRARIES[library](BY_NAME.assign(kind=OF_NAME)[["kind", "score", "city", "Age"]])
    alone = LIBRARIES[library](BY_NAME[["score", "Age", "city"]])
    for clf in (*fits, nb.load(tmp_path / "model")):
        for given in (moved, alone):
            assert_array_equal(clf.predict_proba(given), expected)
            assert [*map(str, nb.predict_table(clf, given)["prediction"])] == clf.predict(BY_NAME).tolist()
            assert nb.explain(clf, given[:1]).feature_names == nb.explain(clf, BY_NAME[:1]).feature_names
        row = {"kind": "a", **BY_NAME[["score", "city", "Age"]].iloc[0]}
        assert_array_equal(clf.predict_proba(row), expected[:1])
        assert clf.score(moved, OF_NAME) == clf.score(BY_NAME, OF_NAME)
    more = nb.NaiveBayesClassifier(method="posterior").fit(BY_NAME, OF_NAME).partial_fit(moved, OF_NAME)
    assert_allclose(more.class_count_, [20.0, 20.0])
    assert_allclose(more.forget(alone, OF_NAME).predict_proba(BY_NAME), expected, rtol=1e-9)
    other = LIBRARIES[library](BY_NAME.assign(height=1.0)[["height", "score", "city", "Age"]])
    with pytest.warns(UserWarning, match="the rows have columns that the fit did not have.*: 'height'"):
        assert_array_equal(fits[0].predict_proba(other), expected)


def test_columns_of_numbered_names_match_by_name_too():
    clf = nb.NaiveBayesClassifier(temper=False).fit(renamed([0, 1, 2]), Y)
    assert_array_equal(clf.predict_proba(renamed([0, 1, 2])[[2, 0, 1]]), clf.predict_proba(renamed([0, 1, 2])))


@pytest.mark.parametrize("name", ["age", " Age", "Age ", "AGE", "A ge"])
def test_a_name_that_differs_in_case_or_blanks_is_named(name):
    clf = nb.NaiveBayesClassifier(method="posterior").fit(BY_NAME, OF_NAME)
    other = BY_NAME.rename(columns={"Age": name})
    for given in (other, pl.from_pandas(other), other.to_dict("records"), other.to_dict("records")[0]):
        for call in (clf.predict_proba, lambda rows: nb.explain(clf, rows)):
            with pytest.raises(ValueError, match=f"no column 'Age', .*; did you mean '{name}'"):
                call(given)
    with pytest.raises(ValueError, match=f"no column 'Age', .*; did you mean '{name}'"):
        nb.predict_table(clf, other)
    both = other.rename(columns={"city": "City"})
    with pytest.raises(ValueError, match=f"no column 'Age', 'city', .*; did you mean '{name}', 'City'"):
        clf.partial_fit(both, OF_NAME)


def test_an_array_of_another_width_is_refused():
    clf = nb.NaiveBayesClassifier(temper=False).fit(renamed([0, 1, 2]), Y)
    with pytest.raises(ValueError, match="2 features"):
        clf.predict(np.zeros((2, 2)))


def test_a_fit_to_an_array_takes_such_a_frame_by_position():
    rows = np.array([[1.0, 5.0], [2.0, 3.0], [4.0, 4.0], [3.0, 1.0]])
    clf = nb.NaiveBayesClassifier(temper=False).fit(rows, Y)
    assert_array_equal(clf.predict_proba(pd.DataFrame(rows)), clf.predict_proba(rows))
    assert_array_equal(clf.partial_fit(pd.DataFrame(rows), Y).class_count_, [4, 4])


@pytest.mark.parametrize("names", [[0, "0", 1], ["a", "a", "b"], [0, 0, 1]])
def test_two_columns_of_one_name_are_refused(names):
    with pytest.raises(ValueError, match=r"more than one column named '(0|a)': rename one"):
        nb.NaiveBayesClassifier(temper=False).fit(renamed(pd.Index(names, dtype=object)), Y)


def test_a_frame_of_sparse_columns_stays_an_array():
    rows = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_array(np.eye(4)))
    clf = nb.NaiveBayesClassifier("multinomial").fit(rows, Y)
    assert_array_equal(clf.predict(rows), nb.NaiveBayesClassifier("multinomial").fit(np.eye(4), Y).predict(np.eye(4)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_name_with_a_nul_character_is_refused(make):
    frame = make({"a": list("xyxy"), "b\0c": list("yxxy")})
    with pytest.raises(ValueError, match=r"NUL character in the column name 'b\\x00c': rename the column"):
        nb.NaiveBayesClassifier(temper=False).fit(frame, Y)
    with pytest.raises(ValueError, match="NUL character"):
        nb.stream(nb.NaiveBayes({"a": nb.Categorical(2)}), frame, label="a")
