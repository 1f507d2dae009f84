"""Powers learned from a table, against scipy's minimum of the same penalised loss in JAX."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, minimize, minimize_scalar

from bayesnb.learned.validation import _learn_powers as module
from bayesnb.learned.validation._learn_powers import learn_deviations, learn_powers, learn_temperature
from bayesnb.learned.validation._ratio_table import Groups
from bayesnb.learned.validation._temper_in_jax import SCALES
from tests.learned.validation.left_out_tables import F, features_of, loss, loss_of, make_table


def penalised(delta, scales, temperature, *arrays):
    return loss(temperature * (1.0 + delta), *arrays) + 0.5 * (delta @ (delta / scales**2))


slopes, curvature = jax.jit(jax.value_and_grad(penalised)), jax.jit(jax.hessian(penalised))


def by_scipy(table, temperature):
    """delta at the scale of the largest evidence, and that evidence by Laplace's approximation at each scale.

    The scale of forests is always 1.
    """
    found, arrays = [], (temperature, table.prior, features_of(table), table.weight)
    start = np.zeros(arrays[2].shape[2])
    bounds, exact = [(-1.0, None)] * len(start), {"ftol": 1e-16, "gtol": 1e-9}
    with jax.enable_x64(True):
        for scale in SCALES:
            scales = np.where((table.forest is not None) & (np.arange(len(start)) == len(start) - 1), 1.0, scale)
            best = minimize(slopes, start, (scales, *arrays), jac=True, method="L-BFGS-B", bounds=bounds, options=exact)
            spread = scales[:, None] * np.asarray(curvature(best.x, scales, *arrays)) * scales
            found.append((-best.fun - 0.5 * np.linalg.slogdet(spread)[1], best.x))
    return max(found, key=lambda pair: pair[0])[1], np.array([evidence for evidence, _ in found])


@pytest.fixture(params=[False, True], ids=["", "forest"])
def table(request, rng):
    return make_table(rng, forest=request.param, num_rows=150)


def test_the_common_power_is_the_optimum(table):
    def of_power(log_t):
        return float(loss_of(table, np.full(table.num_features, np.exp(log_t)))) + 0.5 * log_t**2

    with jax.enable_x64(True):
        best = minimize_scalar(of_power, bounds=(-12.0, 0.0), method="bounded", options={"xatol": 1e-9}).x
    assert -3.0 < best < -0.05
    assert_allclose(learn_temperature(table), np.exp(best), rtol=1e-6)


@pytest.mark.parametrize("most", [module.MOST_NEWTON, 0], ids=["Newton", "L-BFGS"])
def test_deviations_are_the_optimum_at_the_best_scale(monkeypatch, table, rng, most):
    """A power of 0 among them, as the last feature is worse than useless; and of features that are worth the same."""
    monkeypatch.setattr(module, "MOST_NEWTON", most)
    alike = make_table(rng, num_rows=200, worth=(0.3, 0.3))
    for one, first in ((table, True), (alike, False)):
        temperature = learn_temperature(one)
        expected, evidences = by_scipy(one, temperature)
        assert (evidences.argmax() == 0) == first
        found = learn_deviations(one, temperature)
        assert (found.min() == -1.0) == first
        assert_allclose(found, expected, atol=2e-3)


def test_a_search_from_another_start_finds_the_same(table, rng):
    temperature = learn_temperature(table)
    for scale in SCALES:
        cold = module._at_scale(table, temperature, scale, np.zeros(table.num_features), -np.inf)[1]
        for start in (cold, rng.uniform(-1.0, 2.0, table.num_features)):
            assert_allclose(module._at_scale(table, temperature, scale, start, -np.inf)[1], cold, atol=2e-3)


def test_only_a_scale_without_the_evidence_is_given_up(monkeypatch, table):
    steps, hessian = [], type(table).hessian
    monkeypatch.setattr(type(table), "hessian", lambda *args: steps.append(1) or hessian(*args))
    temperature, start = learn_temperature(table), np.zeros(table.num_features)
    for scale in SCALES:
        evidence, mode = module._at_scale(table, temperature, scale, start, -np.inf)
        most = len(steps)
        for more in (-50.0, -1.0, -1e-3):
            again, same = module._at_scale(table, temperature, scale, start, evidence + more)
            assert again == evidence
            assert_array_equal(same, mode)
        steps.clear()
        assert module._at_scale(table, temperature, scale, start, evidence + 50.0)[0] == -np.inf
        assert len(steps) < most
        steps.clear()


@pytest.mark.parametrize("seed", range(20))
def test_a_step_is_the_best_above_its_bounds(seed):
    """As scipy finds it: s g + s C s / 2 is |R s + R^-T g|^2 / 2 up to a constant, where C = R' R."""
    rng = np.random.default_rng(seed)
    root = np.triu(rng.normal(size=(8, 8))) + 2.0 * np.eye(8)
    least, gradient = -rng.choice([0.0, 0.1, 1.0, 5.0], 8), 5.0 * rng.normal(size=8)
    found = module._step_above(least, gradient, root.T @ root)
    expected = lsq_linear(root, -np.linalg.solve(root.T, gradient), (least - 1e-12, np.inf), method="bvls").x
    assert (found >= least).all()
    assert_allclose(found, expected, atol=1e-9)


def test_groups_learn_by_themselves_and_are_averaged(rng):
    """Two of features that overlap, each with multiples of its features; the forests' ratio is in both."""
    whole, y = make_table(rng, num_rows=150), rng.integers(0, 4, 150)
    factors = np.array([[2.0, 2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 3.0, 0.5, 1.0]])
    groups = Groups(factors)
    powers = learn_powers(groups, whole)
    expected = np.zeros(F)
    for each in factors:
        own = each > 0
        table = replace(whole, ratios=whole.ratios[:, :, own] * each[own])
        temperature = learn_temperature(table)
        expected[own] += each[own] * temperature * (1.0 + by_scipy(table, temperature)[0]) / 2.0
    assert_allclose(powers, expected, atol=2e-3)
    ratio = rng.normal(size=(150, 4)) + 1.5 * np.eye(4)[y]
    with_forest = learn_powers(groups, whole.with_forest(ratio, y))
    expected = [learn_powers(Groups(factors[one : one + 1]), whole.with_forest(ratio, y)) for one in (0, 1)]
    assert_allclose(with_forest, np.mean(expected, axis=0), atol=1e-12)
    assert with_forest.shape == (F + 1,)
    assert with_forest[-1] > 0.5
    assert_array_equal(learn_powers(Groups(np.zeros((1, 0))), make_table(rng, num_features=0)), np.zeros(0))
