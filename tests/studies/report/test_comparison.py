"""The splits, the comparison on them, and comparisons that take long."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_wine

import bayesnb as nb
from bayesnb.core.fits._closed_form import fit_posterior
from bayesnb.studies.comparison._data_sets import bayes_model
from bayesnb.studies.comparison._journal import Journal
from bayesnb.studies.comparison._method_fits import FIT_OF
from bayesnb.studies.comparison._metrics import log_loss
from bayesnb.studies.report._comparison import compare, plan_comparison
from bayesnb.studies.report._summary import _say_where_it_stopped
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame
from bayesnb.tables.frames._series import DataError
from tests.comparisons import QUICK, MadeUp, by_hand, compared, data_of, record, synthetic

NO_ECE = "no interval: ECE is no mean over rows; give design='resplit'"


@pytest.fixture(scope="module")
def counted():
    table = synthetic("bc")
    return table, compared(table, (10, 40), 3)


def test_every_size_method_and_split_is_there(mixed):
    _, result = mixed
    assert (result.sizes, result.methods, result.repeats) == ((10, 84), QUICK, 4)
    for size in result.sizes:
        for method in QUICK:
            assert np.isfinite([result.values(size, method, name) for name in ("log_loss", "brier", "ece")]).all()
            assert (result.values(size, method, "fit_ms") > 0).all()


def test_map_and_full_bayes_make_the_same_predictions_from_counts_alone(counted):
    _, result = counted
    for size in result.sizes:
        for metric in ("log_loss", "brier", "accuracy"):
            assert_allclose(
                result.values(size, "MAP", metric), result.values(size, "full Bayes", metric), rtol=1e-4, err_msg=metric
            )


def test_full_bayes_is_laplaces_rule_written_out_on_the_same_split(counted):
    table, result = counted
    split = result.study.splits(table.name, 40)[2]
    (X, y), (X_test, y_test) = table.rows(split.train[:40]), table.rows(split.test)
    joint = np.tile(np.log((np.bincount(y, minlength=3) + 1) / (40 + 3)), (len(y_test), 1))
    for block, categories in (("binary", 2), ("categorical", 5)):
        x, x_test = np.nan_to_num(X[block][:, 0], nan=-1).astype(int), np.nan_to_num(X_test[block][:, 0], nan=-1)
        for k in range(3):
            counts = np.array([np.sum((x == c) & (y == k)) for c in range(categories)])
            log_probs = np.log((counts + 1) / (counts.sum() + categories))
            joint[:, k] += np.where(x_test >= 0, log_probs[x_test.astype(int)], 0.0)
    log_proba = joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))
    assert_allclose(result.values(40, "full Bayes", "log_loss")[2], log_loss(log_proba, y_test), rtol=1e-5)


def test_full_bayes_beats_the_plug_ins_on_few_numbers(mixed):
    _, result = mixed
    assert result.difference(10, "MLE", "log_loss")[0] > 0.1
    assert result.values(10, "MLE", "log_loss").mean() > result.values(84, "MLE", "log_loss").mean()


@pytest.mark.slow
def test_a_class_that_a_training_set_lacks_is_no_obstacle():
    frame = pd.DataFrame({"x": np.arange(40) % 2 * 1.0, "z": np.sin(np.arange(40.0))})
    frame["label"] = pd.Series(["a", "b"] * 19 + ["a", "rare"], dtype=object)
    table = make_table(of_frame("rare", frame), "label")
    methods, found = (*QUICK, "averaged", "tempered", "feature weights"), []
    for seed in range(4):  # one test part a seed
        result = compared(table, (5,), 2, seed, methods)
        held_out = [39 in split.test for split in result.study.splits(table.name, 5)]
        found += held_out
        # a class without rows has probability zero
        assert_array_equal(result.values(5, "MLE", "impossible") > 0, held_out)
        for method in result.methods[2:]:
            assert not result.values(5, method, "impossible").any()
    assert any(found)


def test_progress_is_reported_after_every_fit():
    seen = []
    table = synthetic("b", rows=40)
    compared(table, (5, 10), 2, on_fit=lambda *step: seen.append(step))
    every = sorted((size, method) for size in (5, 10) for _ in range(2) for method in QUICK)
    assert sorted((place.size, place.method) for place, _ in seen) == every
    assert all(seconds > 0.0 for _, seconds in seen)


def test_confidence_is_the_mean_of_the_largest_probabilities(mixed):
    table, result = mixed
    found = []
    for split in result.study.splits(table.name, 10):
        (X, y), (X_test, _) = table.rows(split.train[:10]), table.rows(split.test)
        proba = fit_posterior(bayes_model(table), X, y).predict_proba(X_test)
        found.append(np.mean(proba.max(axis=1)))
    assert_allclose(result.confidence(10, "full Bayes"), np.mean(found), atol=1e-6)


def test_a_cure_is_a_difference_whose_interval_is_without_0():
    result, table, t = by_hand(), synthetic("b"), stats.t.ppf(0.975, 2)
    for method, errors, cures in (("tempered", [0.01, 0.02, 0.02], 1), ("tempered", [0.0, 0.08, 0.05], 0)):
        records = tuple(record(i, method, 1.0, ece=ece, brier=0.3) for i, ece in enumerate(errors))
        found = MadeUp({**result.priors, method: "none"}, result.records + records).on(table)
        assert found.cures(20) == (method,) * cures
        assert_allclose(found.difference(20, method, "brier"), (0.2, 0.0), atol=1e-7)
        if cures:
            assert_allclose(
                found.difference(20, method, "ece"), (-0.1 / 3, t * np.sqrt(1 / 3 + 0.2) * 0.01 / np.sqrt(3)), rtol=1e-9
            )
    records = result.records[6], record(0, "tempered", 1.0, ece=0.0)
    one = MadeUp({**result.priors, "tempered": "none"}, records).on(table)
    assert one.cures(20) == ()  # one split has no interval


def test_differences_are_paired():
    result, factor = by_hand().on(synthetic("b")), stats.t.ppf(0.975, 2) * np.sqrt(1 / 3 + 0.2)
    for found, values in (
        (result.mean(20, "MLE", "log_loss"), [1.1, 5.2, 9.0]),
        (result.difference(20, "MLE", "log_loss"), [0.1, 0.2, 0.0]),
    ):
        assert_allclose(found, [np.mean(values), factor * np.std(values, ddof=1)], rtol=1e-5)
    assert result.difference(20, "full Bayes", "log_loss") == (0.0, 0.0)


# stopping, methods by name


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), ValueError("too much")], ids=str)
def test_a_stopped_comparison_has_the_splits_that_are_complete(error):
    fits, last = [], len(QUICK) * 2
    whole = compared(synthetic(), (10, 84), 2)

    def stop(*fit):
        fits.append(fit)
        if len(fits) == at:
            raise error

    at = 2 * last + 1
    result = compared(synthetic(), (10, 84), 4, on_fit=stop)
    assert (result.sizes, result.repeats) == ((10, 84), 2)
    assert result.stopped == {"": "interrupted", "too much": "too much"}.get(str(error)) or "out of memory"
    for name in QUICK:
        assert_array_equal(result.values(84, name, "brier"), whole.values(84, name, "brier"))
    said = _say_where_it_stopped(result)
    assert "stopped after 2 splits" in said
    assert ("the same command goes on" in said) == (result.stopped in ("interrupted", "out of memory"))
    assert whole.stopped is None
    at = len(fits) + 1
    with pytest.raises(type(error)):
        compared(synthetic(), (10, 84), 4, on_fit=stop)


def test_a_method_that_fails_ends_it_with_the_reason(monkeypatch):
    def fail(*_):
        raise ValueError("no answer")

    monkeypatch.setitem(FIT_OF, "averaged", fail)
    with pytest.raises(DataError, match="averaged failed at n = 5, ValueError: no answer"):
        compared(synthetic("b", rows=40), (5,), 2, methods=(*QUICK, "averaged"))


def test_a_method_that_fails_in_a_later_split_ends_every_run_there(monkeypatch):
    def fail_once(*args, **options):
        nonlocal left
        left -= 1
        if not left:
            raise ValueError("no answer")
        return fit(*args, **options)

    fit, left = FIT_OF["averaged"], 2
    monkeypatch.setitem(FIT_OF, "averaged", fail_once)
    plan, journal = plan_comparison(data_of(synthetic("b", rows=40), 1), (5,), 2, (*QUICK, "averaged")), Journal()
    for _ in range(2):  # the failure is kept
        result = compare(plan, journal)
        assert (result.repeats, result.stopped) == (1, "averaged failed at n = 5, ValueError: no answer")
        assert _say_where_it_stopped(result).endswith(
            "others are missing, and the same command ends there again: leave out what fails, by --methods."
        )


def test_the_scores_are_those_of_an_experiment_of_one_table():
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(X, columns=[f"x{d}" for d in range(13)]).assign(target=y)
    result = compared(make_table(of_frame("wine", frame)), (20, 90), 3, 5, (*QUICK, "tempered"))
    study = nb.experiment({"wine": (X, y)}, [*result.methods], [20, 90], 3, ("brier", "ece"), seed=5)
    for metric in study.metrics:
        table = study.differences("full Bayes", metric=metric)
        for row in table.itertuples():
            assert row.estimator == (result.estimator(row.size) if (metric, row.size) != ("ece", 20) else NO_ECE)
            half = np.nan if row.estimator == NO_ECE else (row.high - row.low) / 2
            assert_allclose(result.difference(row.size, row.method, metric), (row.mean, half), atol=1e-12)
        for size in (20, 90):
            for method, own in study.scores(metric, size).loc["wine"].items():
                assert_allclose(result.mean(size, method, metric)[0], own, rtol=1e-7)
    assert (result.estimator(20), result.estimator(90)) == ("crossed", "corrected resampled t")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("posterior", "called 'full Bayes'"), ("temper", "called 'tempered'"), ("per_feature", "'feature weights'"),
        ("empirical", "'learned prior'"), ("map", "did you mean 'MAP'"), ("nuts", "--nuts"),
        ("svm", "there is no method"),
    ],
)  # fmt: skip
def test_methods_of_other_names_are_pointed_at(name, advice):
    with pytest.raises(DataError, match=advice):
        compared(synthetic("b", rows=40), (5,), 1, methods=("full Bayes", name))
    with pytest.raises(DataError, match="must include 'full Bayes'"):
        compared(synthetic("b", rows=40), (5,), 1, methods=("MLE",))
