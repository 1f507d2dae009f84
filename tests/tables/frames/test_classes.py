"""Labels of any type as classes: their own type is kept, and missing or mixed ones are refused."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.sklearn import GaussianNB


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", None, "a", "b"], "y holds a missing label in row 1"),
        (pl.Series(["a", "b", None, "b"]), "y holds a missing label in row 2"),
        (pd.Series(["a", "b", "a", None], dtype="string"), "y holds a missing label in row 3"),
        ([0.0, 1.0, np.nan, 1.0], "y holds a missing label in row 2"),
        (np.array(["a", 1, "a", 2], object), "y holds labels of several types, 'int', 'str'"),
        (["a", pd.NA, "a", "b"], "y holds a missing label in row 1"),
        (pd.array(["a", "b", None, "b"], dtype="string"), "y holds a missing label in row 2"),
        (pd.Categorical(["a", "b", "a", None]), "y holds a missing label in row 3"),
        (np.array(["2020-01-01", "NaT", "2020-01-01", "2020-01-02"], "M8[D]"), "y holds a missing label in row 1"),
        (np.array(["a", None, "a", "b"], np.dtypes.StringDType(na_object=None)), "y holds a missing label in row 1"),
        (pd.cut([1.0, 2.0, 1.0, 2.0], 2), r"y holds labels of type .Interval., .* give text, y.astype\(str\)"),
        (pd.Series(pd.PeriodIndex(["2020-01", "2020-02"] * 2, freq="M")), r"type .Period., .* y.astype\(str\)"),
        ([date(2020, 1, 1), date(2020, 1, 2)] * 2, r"type .date., .* of a list \[str\(label\) for label in y\]"),
        ([Decimal(1), Decimal(2)] * 2, "type .Decimal."),
        ([b"a", b"b"] * 2, "type .bytes_."),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)] * 2), "type .tuple."),
        ((n % 2 for n in range(4)), "y must be the label of each row, in a list or an array, got generator"),
        ({1: "a", 2: "b", 3: "a", 4: "b"}.values(), "in a list or an array, got dict_values"),
        ("abab", "in a list or an array, got str"),
    ],
)
def test_labels_that_are_missing_or_mixed_or_of_odd_types_are_refused(labels, words):
    X = pd.DataFrame({"d": [0.1, 0.9, 0.2, 0.8]})
    fitted = nb.NaiveBayesClassifier(method="posterior").fit(X, [0, 1, 0, 1])
    calls = [nb.NaiveBayesClassifier().fit, nb.NaiveBayesClassifier().partial_fit, fitted.score, GaussianNB().fit]
    for call in calls if hasattr(labels, "__len__") else calls[:1]:
        with pytest.raises(ValueError, match=words):
            call(X, labels)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array(["a", "b"] * 2, np.dtypes.StringDType()), ["a", "b"]),
        (pd.array(["a", "b"] * 2, dtype="string"), ["a", "b"]),
        (pd.Categorical(["a", "b"] * 2), ["a", "b"]),
        (pd.Index([3, 4] * 2, dtype="Int64"), [3, 4]),
        (pd.array([True, False] * 2, dtype="boolean"), [False, True]),
        (pl.Series([date(2020, 1, 1), date(2020, 1, 2)] * 2), None),
    ],
)
def test_labels_of_every_array_are_scored_as_they_are_fitted(labels, classes):
    X = pd.DataFrame({"d": [0.1, 0.9, 0.2, 0.8]})
    for make in (lambda: nb.NaiveBayesClassifier(method="posterior"), GaussianNB):
        clf = make().fit(X, labels)
        assert clf.score(X, labels) == make().partial_fit(X, labels, labels).score(X, labels) == 1.0
        assert classes is None or clf.classes_.tolist() == classes
    with pytest.raises(ValueError, match=r"integers 0\.\.K-1: .* numpy\.unique"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, np.array(["a", "b"] * 2, np.dtypes.StringDType()))
    with pytest.raises(ValueError, match=r"integers 0\.\.K-1: .* numpy\.unique"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, np.array(["2020-01-01", "2020-01-02"] * 2, "M8[D]"))


@pytest.mark.parametrize(
    "labels", [pd.Series([3, 4, 3, 4], dtype="Int64"), np.array([3, 4, 3, 4], object), [3, 4, 3, 4]]
)
def test_labels_keep_their_type(labels):
    clf = nb.NaiveBayesClassifier().fit(pl.DataFrame({"d": [0.1, 0.9, 0.2, 0.8]}), labels)
    assert clf.classes_.dtype.kind == "i"
    flags = nb.NaiveBayesClassifier().fit([[0.1], [0.9]], np.array([True, False], object))
    assert_array_equal(flags.classes_, [False, True])
