"""Labels of any type as classes: their own type is kept, and missing or mixed ones are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", None, "a", "b"], "y holds a missing label in row 1"),
        (pl.Series(["a", "b", None, "b"]), "y holds a missing label in row 2"),
        (pd.Series(["a", "b", "a", None], dtype="string"), "y holds a missing label in row 3"),
        ([0.0, 1.0, np.nan, 1.0], "y holds a missing label in row 2"),
        (np.array(["a", 1, "a", 2], object), "y holds labels of several types, 'int', 'str'"),
    ],
)
def test_labels_that_are_missing_or_mixed_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        nb.NaiveBayesClassifier().fit(pd.DataFrame({"d": [0.1, 0.9, 0.2, 0.8]}), labels)


@pytest.mark.parametrize(
    "labels", [pd.Series([3, 4, 3, 4], dtype="Int64"), np.array([3, 4, 3, 4], object), [3, 4, 3, 4]]
)
def test_labels_keep_their_type(labels):
    clf = nb.NaiveBayesClassifier().fit(pl.DataFrame({"d": [0.1, 0.9, 0.2, 0.8]}), labels)
    assert clf.classes_.dtype.kind == "i"
    flags = nb.NaiveBayesClassifier().fit([[0.1], [0.9]], np.array([True, False], object))
    assert_array_equal(flags.classes_, [False, True])
