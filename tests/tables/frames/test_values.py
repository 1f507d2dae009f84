"""What cells say: texts that are meant as numbers are named, with what to write instead."""

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb


@pytest.mark.parametrize(("cell", "number"), [("1,876.40", "1876.40"), ("-1,234,567", "-1234567")])
def test_commas_between_thousands_are_named_with_what_to_write(cell, number):
    frame = pd.DataFrame({"price": [cell, "3.5", cell, "4.25"], "size": [1.0, 2.5, 0.5, 3.0]})
    words = f"because of '{cell}' in row 0, which looks like a number with commas between thousands: write {number}"
    with pytest.warns(UserWarning, match=words):
        nb.NaiveBayesClassifier().fit(frame, [0, 1, 0, 1])


def test_decimal_commas_in_a_frame_are_warned_of_unless_the_column_is_declared():
    frame, y = pd.DataFrame({"price": ["0,5", "1,5", "0,5", None]}), [0, 1, 0, 1]
    with pytest.warns(
        UserWarning, match="because of '0,5' in row 0, which looks like a number with a decimal comma: write 0.5"
    ):
        nb.NaiveBayesClassifier().fit(frame, y)
    nb.NaiveBayesClassifier({"price": "categorical"}).fit(frame, y)
    nb.NaiveBayesClassifier().fit(frame.assign(price=["0,5", "many", "more", None]), y)


SPANS = np.array([[1, 2], [3, 4]], "timedelta64[s]")


@pytest.mark.parametrize(
    "fit",
    [
        lambda: nb.fit_posterior(nb.NaiveBayes(nb.Normal()), SPANS, [0, 1]),
        lambda: nb.NaiveBayesClassifier().fit(SPANS, [0, 1]),
        lambda: nb.NaiveBayesClassifier("normal").fit(pd.DataFrame(SPANS), [0, 1]),
        lambda: nb.NaiveBayesClassifier("normal").fit(pd.DataFrame(SPANS, columns=["a", "b"]), [0, 1]),
    ],
)
def test_durations_are_refused_with_how_to_make_them_numbers(fit):
    with pytest.raises(ValueError, match=r"numpy\.timedelta64\(1, 'D'\)"):
        fit()


def test_durations_are_no_labels():
    with pytest.raises(ValueError, match=r"y holds strings, dates or objects, expected integers 0\.\.K-1"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), np.eye(2), SPANS[0])
    with pytest.raises(ValueError, match="Y must be zeros and ones"):
        nb.fit_multilabel(nb.NaiveBayes(nb.Normal()), np.eye(2), SPANS)
