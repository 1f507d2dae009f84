"""The table of differences of a study: signs, missing splits, designs, and sets put together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesnb.studies.comparison._differences import ALL_SETS, COLUMNS, COUNTS, differences
from bayesnb.studies.comparison._over_sets import signed_rank
from bayesnb.studies.comparison._paired import corrected, crossed
from tests.studies.comparison.studies import random_study


@pytest.fixture
def study():
    return random_study()


def row(table, data_set, size, method):
    (found,) = table[
        (table["data_set"] == data_set) & (table["size"] == size) & (table["method"] == method)
    ].itertuples()
    return found


def test_small_sizes_are_crossed_and_large_ones_corrected(study):
    table = differences(study, "MLE")
    assert [*table] == [*COLUMNS, "estimator", *COUNTS]
    assert len(table) == 3 * 2 * 2 + 2 * 2
    d = study.losses("b", 16, "MAP", "log_loss") - study.losses("b", 16, "MLE", "log_loss")
    expected, found = crossed(d, 16, 100, skewed=True), row(table, "b", 16, "MAP")
    assert_allclose([found.mean, found.low, found.high], [d.mean(), *expected.interval()])
    assert_allclose([found.p_better, found.p_equal, found.p_worse], expected.regions(0.01))
    d = study.losses("b", 64, "MAP", "log_loss") - study.losses("b", 64, "MLE", "log_loss")
    found = row(table, "b", 64, "MAP")
    assert_allclose([found.low, found.high], corrected(d.mean(axis=1), 25 / 64).interval())
    assert [row(table, "b", size, "MAP").estimator for size in (16, 64)] == ["crossed", "corrected resampled t"]


def test_accuracies_have_their_own_sign(study):
    table = differences(study, "MLE", metric="accuracy", size=16)
    found, d = row(table, "b", 16, "full Bayes"), study.losses("b", 16, "full Bayes", "accuracy")
    assert_allclose(found.mean, -(d - study.losses("b", 16, "MLE", "accuracy")).mean())
    assert found.low < found.mean < found.high < 0
    assert found.p_worse > 0.99


def test_missing_splits_are_counted_never_dropped_in_silence(study):
    found = row(differences(study, "MLE"), "a", 16, "MAP")
    assert (found.splits, found.missing) == (5, 1)
    assert row(differences(study, "MAP"), "a", 16, "full Bayes").missing == 1
    study.losses("c", 16, "MAP", "log_loss")[:] = np.nan
    table = differences(study, "MLE", size=16)
    assert row(table, "c", 16, "MAP").estimator == "no interval: no split where both have a value"
    assert row(table, ALL_SETS, 16, "MAP")[-3:] == (2, 11, 7)


def test_sets_are_put_together_by_the_signed_rank(study):
    table = differences(study, "MLE", rope=0.02, seed=3)
    means = [row(table, name, 64, "MAP").mean for name in study.sets]
    expected, found = signed_rank(means, 0.02, seed=3), row(table, ALL_SETS, 64, "MAP")
    assert (found.p_better, found.p_equal, found.p_worse) == expected.regions
    assert (found.posterior_mean, found.low, found.high) == expected[:3]
    assert found.estimator == "Bayesian signed rank"


@pytest.mark.parametrize("over", ["signed rank", pytest.param("hierarchical", marks=pytest.mark.slow)])
def test_the_mean_over_sets_is_that_of_their_rows(study, over):
    study.losses("c", 16, "MAP", "log_loss")[:] = np.nan
    table = differences(study, "MLE", over=over)
    sets, together = (table[(table["data_set"] == ALL_SETS) == whole] for whole in (False, True))
    expected = sets.groupby(["size", "method"])["mean"].mean()
    assert_allclose(together.set_index(["size", "method"])["mean"].sort_index(), expected, rtol=1e-14)
    assert (together["posterior_mean"] != together["mean"]).all()
    assert sets["posterior_mean"].equals(sets["mean"])


def test_metrics_that_are_no_means_over_rows_have_intervals_where_test_rows_differ(study):
    table = differences(study, "MLE", metric="ece")
    assert row(table, "a", 16, "full Bayes").estimator.startswith("no interval: ECE is no mean over rows")
    d = study.losses("b", 64, "MAP", "brier") - study.losses("b", 64, "MLE", "brier")
    assert_allclose(row(table, "b", 64, "MAP").low, corrected(d.mean(axis=1), 25 / 64).interval()[0])


@pytest.mark.slow
def test_sets_are_put_together_by_a_hierarchical_model_on_request(study):
    table = differences(study, "MLE", size=64, over="hierarchical")
    found = row(table, ALL_SETS, 64, "full Bayes")
    assert found.estimator.startswith("hierarchical model")
    assert found.p_worse > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "MEL"}, "no method 'MEL' among MLE, MAP, full Bayes; did you mean 'MLE'"),
        ({"reference": "MLE", "metric": "logloss"}, "no metric 'logloss'"),
        ({"reference": "MLE", "size": 17}, "no size of training sets 17 among 16, 64"),
        ({"reference": "MLE", "over": "bayes"}, "signed rank, hierarchical"),
        ({"reference": "MLE", "rope": -0.1}, "rope"),
    ],
)
def test_bad_input_is_a_sentence(study, options, message):
    with pytest.raises(ValueError, match=message):
        differences(study, **options)
