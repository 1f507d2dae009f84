"""A fit from checked rows: when powers and dependence are learned again, and when they stay."""

import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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
    fewer = take_away(asked, batch(halves[1]), more)
    assert_allclose(fewer.fit.predict_log_proba(first.kept.given[0]), before, rtol=1e-9)
    alone = add_without_rows(asked, first, batch(halves[1]))
    assert_array_equal(alone.fit.powers["categorical"], first.fit.powers["categorical"])
    assert_allclose(np.asarray(alone.counts.class_counts), [60.0, 60.0])
    assert_allclose(first.fit.predict_log_proba(first.kept.given[0]), before, rtol=0)
    with pytest.raises(FrozenInstanceError):
        first.fit = more.fit


PARTLY = NUMBERS.copy()
PARTLY[np.random.default_rng(6).random(NUM) < 0.6] = -1
"""Numbers of classes, -1 where a row has no label."""

LABELS = {
    "objects": np.where(PARTLY < 0, None, WORDS),
    "a list": [None if code < 0 else str(word) for code, word in zip(PARTLY, WORDS, strict=True)],
    "pandas": pd.Series(np.where(PARTLY < 0, None, WORDS), dtype="category"),
    "polars": pl.Series([None if code < 0 else str(word) for code, word in zip(PARTLY, WORDS, strict=True)]),
    "numbers": np.where(PARTLY < 0, np.nan, PARTLY),
    "whole numbers": pd.array([None if code < 0 else code for code in PARTLY.tolist()], "Int64"),
    "minus one": PARTLY,
}


@pytest.mark.parametrize("method", ["default", "map", "mle"])
@pytest.mark.parametrize("kind", LABELS)
def test_rows_without_a_label_are_used_as_by_fit_em(kind, method, tmp_path):
    """With weights, some of them zero, and a prior of its own; a file holds what was learned."""
    weight = np.where(np.arange(NUM) % 9 == 0, 0.0, np.random.default_rng(7).uniform(0.5, 2.0, NUM))
    clf = nb.NaiveBayesClassifier(method=method, unlabelled="use", smoothing=2.0)
    clf.fit(PAIRED, LABELS[kind], sample_weight=weight)
    how, added, rows = (nb.fit_mle, 1.0, 1.0) if method == "mle" else (nb.fit_map, 3.0, 2.0)  # 1 + l, and l
    families = {"categorical": nb.Categorical([3, 3], added), "numeric": nb.Normal(strength=rows, shape=rows)}
    model = nb.NaiveBayes(families)
    rows = clf.encoded(PAIRED)
    expected = nb.fit_em(model, rows, PARTLY, fit=how, sample_weight=weight)
    assert_allclose(clf.predict_proba(PAIRED), expected.predict_proba(rows), rtol=1e-6)
    labelled = (weight > 0) & (PARTLY >= 0)
    without = how(model, {b: x[labelled] for b, x in rows.items()}, PARTLY[labelled], sample_weight=weight[labelled])
    used = weight > 0
    moved = np.abs(expected.predict_proba(rows) - without.predict_proba(rows)).max(axis=1)[used].mean()
    unlabelled = (used & (PARTLY < 0)).sum()
    said = f"{unlabelled} rows without a label moved probabilities by {moved:.2g} on average"
    nb.save(clf, tmp_path / "model")
    assert clf.learned_.summary == nb.load(tmp_path / "model").learned_.summary == said
    assert set(map(str, clf.classes_)) <= {"no", "yes", "0", "1", "0.0", "1.0"}


def test_minus_one_is_a_class_where_only_one_other_remains_and_all_labelled_is_the_fit():
    for y in (np.where(NUMBERS, 1, -1), WORDS):
        found = nb.NaiveBayesClassifier(unlabelled="use").fit(PAIRED, y)
        assert_array_equal(found.predict_proba(PAIRED), nb.NaiveBayesClassifier().fit(PAIRED, y).predict_proba(PAIRED))
        assert len(found.classes_) == 2


def test_codes_of_arrays_that_only_unlabelled_rows_have_are_categories():
    X, y = np.array([[0], [1], [0], [1], [2]]), [0, 1, 0, 1, np.nan]
    clf = nb.NaiveBayesClassifier("categorical", unlabelled="use").fit(X, y)
    expected = nb.fit_em(nb.NaiveBayes(nb.Categorical([3], 2.0)), X, [0, 1, 0, 1, -1])
    assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-6)


def test_what_unlabelled_rows_cannot_do_is_said():
    clf = nb.NaiveBayesClassifier(unlabelled="use").fit(PAIRED, LABELS["objects"])
    for more in (clf.partial_fit, clf.forget):
        with pytest.raises(ValueError, match="rows without a label, which statistics do not hold: fit all rows again"):
            more(PAIRED, WORDS)
    for options in ({"method": "posterior"}, {"temper": True}, {"dependence": "aode"}):
        with pytest.raises(ValueError, match="unlabelled='use' is expectation maximisation"):
            nb.NaiveBayesClassifier(unlabelled="use", **options).fit(PAIRED, LABELS["objects"])
    with pytest.raises(ValueError, match="unlabelled must be None or 'use', got True"):
        nb.NaiveBayesClassifier(unlabelled=True).fit(PAIRED, WORDS)
    with pytest.raises(ValueError, match="y has no label"):
        nb.NaiveBayesClassifier(unlabelled="use").fit(PAIRED, [None] * NUM)
    with pytest.raises(ValueError, match=r"holds a missing label in row .*unlabelled='use'.*nb\.fit_em"):
        nb.NaiveBayesClassifier().fit(PAIRED, LABELS["objects"])


def test_labels_that_are_nearly_alike_and_classes_of_one_row_are_named():
    y = WORDS.astype(object)
    y[:20:2] = "no "
    for fit in (
        lambda: nb.NaiveBayesClassifier(method="posterior").fit(PAIRED, y),
        lambda: nb.fit_table(pa.Table.from_pandas(PAIRED.assign(y=y)), "y", method="posterior"),
    ):
        with pytest.warns(UserWarning, match="the labels 'no' and 'no ' differ only in case or blanks"):
            assert fit().classes_.tolist() == ["no", "no ", "yes"]
    y[:20:2], y[0] = "no", "other"
    for fit in (
        lambda: nb.NaiveBayesClassifier(method="posterior").fit(PAIRED, y),
        lambda: nb.fit_table(PAIRED.assign(y=y), "y", method="posterior"),
    ):
        with pytest.warns(UserWarning, match="the class 'other' has one row, which says little: join it with"):
            fit()


def test_a_measurement_as_labels_is_pointed_out():
    measured = np.r_[np.arange(20.0), 1.0, 1.0]
    with pytest.warns(UserWarning, match=r"the classes '0', .* have one row.*; numbers that measure are not classes"):
        nb.NaiveBayesClassifier(method="posterior").fit(measured[:, None], measured.astype(int))
    named = np.array(["cat", "dog", "cow", "pig", "fox", *["cat"] * 7])
    with pytest.warns(UserWarning, match=r"have one row, which says little: join each with another, or leave it out$"):
        nb.NaiveBayesClassifier(method="posterior").fit(measured[:12, None], named)


@pytest.mark.parametrize("kinds", [{"agee": "normal"}, {"age": "norml"}])
def test_a_likelihood_that_does_not_exist_is_no_fault_of_a_row(kinds):
    frame = pd.DataFrame({"age": np.arange(12.0)})
    with pytest.raises(ValueError, match=r"^(there is no column|'norml' is not a likelihood)"):
        nb.NaiveBayesClassifier(likelihoods=kinds).fit(frame, np.arange(12) % 2)
