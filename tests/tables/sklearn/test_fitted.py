"""A fit from checked rows: when powers and dependence are learned again, and when they stay."""

import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.tables.frames._series import as_frame
from bayesnb.tables.sklearn._fitted import Batch, add_with_rows, add_without_rows, fit_rows, take_away
from bayesnb.tables.sklearn._settings import Parameters

NUM = 120
DRAWN = np.random.default_rng(2)
NUMBERS = np.arange(NUM) % 2
WORDS = np.array(["no", "yes"])[NUMBERS]
PAIRED = pd.DataFrame({"a": DRAWN.normal(NUMBERS), "b": DRAWN.choice([*"uvw"], NUM)})
PAIRED["c"] = np.where(DRAWN.random(NUM) < 0.8, PAIRED["b"], "w")


def in_batches(ends=(30, 31, 80), **options):
    clf = nb.NaiveBayesClassifier(**options)
    for rows in np.split(np.arange(NUM), ends):
        clf.partial_fit(PAIRED.iloc[rows], WORDS[rows])
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
    found, expected = in_batches(**options), nb.NaiveBayesClassifier(**options).fit(PAIRED, WORDS)
    assert_allclose(found.predict_log_proba(PAIRED), expected.predict_log_proba(PAIRED), rtol=1e-8)
    assert found.learned_.summary == expected.learned_.summary


def test_without_kept_rows_the_powers_of_the_first_batch_remain():
    clf = nb.NaiveBayesClassifier(keep_rows=False)
    clf.partial_fit(PAIRED[:60], WORDS[:60])
    first = clf.learned_
    with pytest.warns(UserWarning, match="partial_fit after fit drops the learned dependence .* fit keeps no rows"):
        clf.partial_fit(PAIRED[60:90], WORDS[60:90])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        clf.partial_fit(PAIRED[90:], WORDS[90:])
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
    clf = nb.NaiveBayesClassifier(dependence=False).fit(PAIRED[:60], WORDS[:60]).partial_fit(PAIRED[60:], WORDS[60:])
    assert clf._kept is None
    again = clf.fit(PAIRED, WORDS)
    assert_allclose(again.predict_proba(PAIRED), in_batches(dependence=False).predict_proba(PAIRED), rtol=1e-9)


def test_an_invalid_batch_loses_no_rows():
    clf = in_batches()
    before, kept = clf.predict_log_proba(PAIRED), clf._kept
    with pytest.raises(ValueError, match="infinite"):
        clf.partial_fit(PAIRED.assign(a=np.inf), WORDS)
    assert clf._kept is kept
    assert_array_equal(clf.predict_log_proba(PAIRED), before)


def batch(rows):
    classes = np.array(["no", "yes"])
    return Batch(as_frame(PAIRED.iloc[rows]), classes, NUMBERS[rows], None)


def test_each_step_returns_a_fit_and_changes_none():
    """First rows, more with those that were kept, more without, and fewer: the posterior is that of all at once."""
    asked, halves = Parameters(dependence=False), (np.arange(70), np.arange(70, NUM))
    first = fit_rows(asked, batch(halves[0]), is_first=True)
    before = first.fit.predict_log_proba(first.kept.given[0])
    whole = fit_rows(asked, batch(np.arange(NUM)), is_first=False)
    more = add_with_rows(asked, first, first.kept, batch(halves[1]))
    X = whole.schema.encode(batch(np.arange(NUM)).X)
    assert_allclose(more.fit.predict_log_proba(X), whole.fit.predict_log_proba(X), rtol=1e-9)
    assert (whole.kept, more.num_learned, more.kept.rows.num_rows) == (None, NUM, NUM)
    fewer = take_away(asked, more, batch(halves[1]))
    assert_allclose(fewer.fit.predict_log_proba(first.kept.given[0]), before, rtol=1e-9)
    alone = add_without_rows(asked, first, batch(halves[1]))
    assert_array_equal(alone.fit.powers["categorical"], first.fit.powers["categorical"])
    assert_allclose(np.asarray(alone.counts.class_counts), [60.0, 60.0])
    assert_allclose(first.fit.predict_log_proba(first.kept.given[0]), before, rtol=0)
    with pytest.raises(FrozenInstanceError):
        first.fit = more.fit
