"""Rows that an estimator learns from: when powers and dependence are learned again, and when they stay."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb

N = 120
RNG = np.random.default_rng(2)
CODES = np.arange(N) % 2
Y = np.array(["no", "yes"])[CODES]
FRAME = pd.DataFrame({"a": RNG.normal(CODES), "b": RNG.choice([*"uvw"], N)})
FRAME["c"] = np.where(RNG.random(N) < 0.8, FRAME["b"], "w")


def in_batches(ends=(30, 31, 80), **options):
    clf = nb.NaiveBayesClassifier(**options)
    for rows in np.split(np.arange(N), ends):
        clf.partial_fit(FRAME.iloc[rows], Y[rows])
    return clf


@pytest.mark.parametrize(
    "options",
    [
        {"temper": True},
        {"temper": "per_feature"},
        {"method": "posterior", "temper": "per_feature"},
        {"method": "empirical", "temper": True},
        {"dependence": "aode"},
        {"class_weight": "balanced", "class_prior": {"no": 0.3, "yes": 0.7}},
    ],
)
def test_batches_are_the_fit_whatever_is_learned(options):
    found, expected = in_batches(**options), nb.NaiveBayesClassifier(**options).fit(FRAME, Y)
    assert_allclose(found.predict_log_proba(FRAME), expected.predict_log_proba(FRAME), rtol=1e-8)
    assert found.learned_.summary == expected.learned_.summary


def test_without_kept_rows_the_powers_of_the_first_batch_remain():
    clf = nb.NaiveBayesClassifier(keep_rows=False)
    clf.partial_fit(FRAME[:60], Y[:60])
    first = clf.learned_
    with pytest.warns(UserWarning, match="fit keeps no rows, so the dependence .* is left out from now on"):
        clf.partial_fit(FRAME[60:90], Y[60:90])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        clf.partial_fit(FRAME[90:], Y[90:])
    assert clf._kept is None
    assert clf.learned_.parts == {}
    for name, power in clf.learned_.powers.items():
        assert_array_equal(power, first.powers[name])
    assert_allclose(clf.class_count_, [60.0, 60.0])


@pytest.mark.parametrize("options", [{"method": "posterior"}, {"temper": False}, {"method": "map"}])
def test_what_learns_nothing_keeps_no_rows(options):
    clf = in_batches(**options)
    assert clf._kept is None
    assert clf.learned_.powers == clf.learned_.parts == {}


def test_rows_after_a_fit_are_not_kept():
    """A part of the rows is no ground to learn on."""
    clf = nb.NaiveBayesClassifier(dependence=False).fit(FRAME[:60], Y[:60]).partial_fit(FRAME[60:], Y[60:])
    assert clf._kept is None
    again = clf.fit(FRAME, Y)
    assert_allclose(again.predict_proba(FRAME), in_batches(dependence=False).predict_proba(FRAME), rtol=1e-9)


def test_an_invalid_batch_loses_no_rows():
    clf = in_batches()
    before, kept = clf.predict_log_proba(FRAME), clf._kept
    with pytest.raises(ValueError, match="infinite"):
        clf.partial_fit(FRAME.assign(a=np.inf), Y)
    assert clf._kept is kept
    assert_array_equal(clf.predict_log_proba(FRAME), before)
