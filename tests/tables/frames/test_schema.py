"""Column names that are not text: integers, as `read_csv(header=None)` gives them, tuples, or mixed."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

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


@pytest.mark.parametrize("columns", [[1, 0, 2], [0, 1]])
def test_other_columns_are_refused_at_predict_time_and_by_partial_fit(columns):
    clf = nb.NaiveBayesClassifier(temper=False).fit(renamed([0, 1, 2]), Y)
    other = renamed([0, 1, 2])[columns]
    with pytest.raises(ValueError, match="give the same in the same order, or an array"):
        clf.predict(other)
    with pytest.raises(ValueError, match="give the same in the same order, or an array"):
        clf.partial_fit(other, Y)


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
