"""The table of left-out log ratios against fits without each row, and its loss against automatic differentiation."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.learned.validation._ratio_table import left_out_log_ratios, part_of
from tests.learned.validation.left_out_tables import F, K, N, features_of, loss_of, make_table

CERTAIN = [pytest.param(0.0, id="all"), pytest.param(0.9, id="few probable")]


@pytest.mark.parametrize("forest", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("certain", CERTAIN)
def test_slopes_are_those_of_automatic_differentiation(monkeypatch, rng, forest, certain):
    """Of many blocks of rows, and where few classes are probable, whose places are then taken alone."""
    monkeypatch.setattr(limits, "IN_CACHE", 8 * (K - 1) * F * 13)
    table, powers = make_table(rng, forest=forest, certain=certain), rng.random(F + forest)
    found = table.loss(powers)
    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(lambda at: loss_of(table, at))(powers)
        hessian = np.asarray(jax.hessian(lambda at: loss_of(table, at))(powers))
    assert_allclose(found.value, value, rtol=1e-12)
    assert_allclose(found.gradient, gradient, rtol=1e-9)
    assert (found.probs > 1e-9).mean() == pytest.approx(1.0 - certain, abs=0.1)
    assert_allclose(table.hessian(found.probs), hessian, rtol=1e-6, atol=1e-7)
    scales = rng.uniform(0.1, 1.0, F + forest)
    assert_allclose(table.log_volume(powers, scales), log_volume(hessian, scales), rtol=1e-6)


def log_volume(hessian, scales):
    return np.linalg.slogdet(np.eye(len(scales)) + scales[:, None] * hessian * scales)[1]


@pytest.mark.parametrize("num_classes", [2, K])
@pytest.mark.parametrize("forest", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_volume_of_more_features_than_rows(rng, forest, num_classes):
    table = make_table(rng, forest=forest, num_rows=3, num_features=40)
    table = replace(table, prior=table.prior[:, 1 - num_classes :], ratios=table.ratios[:, 1 - num_classes :])
    table = replace(table, forest=table.forest[:, 1 - num_classes :]) if forest else table
    powers, scales = rng.random(40 + forest) / 10, rng.uniform(0.1, 1.0, 40 + forest)
    with jax.enable_x64(True):
        hessian = np.asarray(jax.hessian(lambda at: loss_of(table, at))(powers))
    assert_allclose(table.log_volume(powers, scales), log_volume(hessian, scales), rtol=1e-9)


def test_rows_of_a_table(rng):
    table, powers = make_table(rng, forest=True), rng.random(F + 1)
    joint = table.prior + features_of(table) @ powers
    assert_allclose(table.joint(powers), joint, rtol=1e-12)
    assert_allclose(table.joint(powers, slice(7, 20)), joint[7:20], rtol=1e-12)
    assert_allclose(table.summed(), features_of(table).sum(axis=2), rtol=1e-12)
    one = table.with_one_feature()
    assert one.num_features == 2
    assert_allclose(one.summed(), table.summed(), rtol=1e-12)
    y = rng.integers(0, K, N)
    log_ratio = rng.normal(size=(N, K))
    own = np.arange(K) == y[:, None]
    relative = (log_ratio - log_ratio[own][:, None])[~own].reshape(N, K - 1)
    assert_array_equal(table.with_forest(log_ratio, y).forest, relative)
    some = table.select(np.array([0, 2]), np.array([2.0, 0.5]))
    assert_allclose(some.ratios, table.ratios[:, :, [0, 2]] * [2.0, 0.5])
    assert some.forest is table.forest


def rows_of(rng, num_rows=30):
    y = rng.integers(0, 3, num_rows)
    numbers = rng.normal(size=(num_rows, 2)) + y[:, None]
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    X = {"numbers": numbers, "flags": rng.random((num_rows, 3)) < 0.2 + 0.3 * y[:, None]}
    return X, y, rng.choice([0.4, 1.0, 2.0, 3.0], num_rows)


MODEL = nb.NaiveBayes({"numbers": nb.Normal(), "flags": nb.Bernoulli()}, class_probs=[0.2, 0.3, 0.5])


def test_a_row_leaves_as_if_it_had_never_been(rng):
    """One copy of it, under class probabilities that are those of the labels whatever the model's are."""
    X, y, weight = rows_of(rng)
    fit = nb.fit_posterior(MODEL, X, y, sample_weight=weight)
    tables = [left_out_log_ratios(fit, label_rows(MODEL, X, y, weight), by_feature=by) for by in (True, {"numbers"})]
    assert [table.sizes for table in tables] == [{"numbers": 2, "flags": 3}, {"numbers": 2, "flags": 1}]
    learned = nb.NaiveBayes(fit.prior.families, num_classes=3)
    for n in range(30):
        left = np.where(np.arange(30) == n, np.maximum(weight - 1.0, 0.0), weight)
        others, row = np.arange(3) != y[n], {name: x[[n]] for name, x in X.items()}
        refit = nb.fit_posterior(learned, X, y, sample_weight=left).model
        prior = np.log(np.asarray(refit.class_mean()))
        terms = [np.asarray(refit.families[name].log_predictive_terms(x))[0] for name, x in row.items()]
        expected = [terms[0], terms[1]], [terms[0], terms[1].sum(axis=1, keepdims=True)]
        for table, parts in zip(tables, expected, strict=True):
            each = np.concatenate(parts, axis=1)
            assert_allclose(table.prior[n], (prior - prior[y[n]])[others], rtol=1e-10)
            assert_allclose(table.ratios[n], (each - each[y[n]])[others], rtol=1e-4, atol=1e-4)
    assert_allclose(tables[0].weight, weight)


def test_a_part_weighs_as_much_as_all_rows_of_its_class(monkeypatch, rng):
    for name, value in {"LEARNED_RATIOS": 1, "ROWS_A_POWER": 4, "FEWEST_LEARNED": 10, "FEWEST_OF_CLASS": 5}.items():
        monkeypatch.setattr(limits, name, value)
    X, y, weight = rows_of(rng, 200)
    weight[y == 2] *= rng.random((y == 2).sum()) > 0.95
    rows = label_rows(MODEL, X, y, weight)
    fit = nb.fit_posterior(MODEL, X, y, sample_weight=weight)
    part = part_of(fit, rows, 5)
    assert 20 <= part.num_rows < 40
    table = left_out_log_ratios(fit, part, by_feature=True)
    totals = np.bincount(part.labels.y, table.weight, minlength=3)
    assert_allclose(totals, np.bincount(y, weight), rtol=1e-12)
    assert np.ptp(table.weight[part.labels.y == 0] / part.weight()[part.labels.y == 0]) < 1e-12
