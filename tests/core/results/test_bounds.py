"""Bounds over sets of priors: thousands of priors inside them, scipy's optimiser, and the corners where they are."""

from itertools import pairwise, product

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

import bayesnb as nb
from tests.inspection.sensitivity.credal_sets import fitted, tables

X, Y = tables()
POST = fitted(X, Y)
NEW = tables(1, rows=6)[0]


def probabilities(post, x, more_classes, more_cells, s, power=1.0):
    """p(k | x) where sites have such shares of s pseudo-rows, [..., K] and [..., K, D] for the row's own category."""
    counts = post.model.families["x"].concentration.reshape(3, x.size, 3)
    own = np.take_along_axis(counts, x[None, :, None], axis=2)[..., 0]
    cells = np.log(own + s * more_cells) - np.log(counts.sum(axis=2) + s)
    logs = power * np.log(post.model.class_concentration + s * more_classes) + cells.sum(axis=-1)
    return np.exp(logs - special.logsumexp(logs, axis=-1, keepdims=True))


@pytest.mark.parametrize("s", [0.5, 4.0])
def test_random_priors_are_inside(s):
    rng = np.random.default_rng(0)
    low, high = POST.predict_bounds(NEW, s)
    for n, x in enumerate(NEW):
        classes = rng.dirichlet([0.2] * 3, 10_000)
        found = probabilities(POST, x, classes, rng.beta(0.2, 0.2, (10_000, 3, 4)), s)
        assert (found >= low[n] - 1e-12).all()
        assert (found <= high[n] + 1e-12).all()


@pytest.mark.parametrize("num_starts", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_an_optimiser_reaches_them(num_starts):
    x, s, rng = NEW[0], 2.0, np.random.default_rng(0)
    low, high = POST.predict_bounds(x[None], s)

    def signed(at, k, sign):
        return sign * probabilities(POST, x, at[:3], at[3:].reshape(3, 4), s)[k]

    whole = {"type": "eq", "fun": lambda at: at[:3].sum() - 1.0}
    for k, (sign, bound) in product(range(3), ((1, low), (-1, high))):
        starts = np.c_[rng.dirichlet([1.0] * 3, num_starts), rng.random((num_starts, 12))]
        found = [
            optimize.minimize(signed, start, (k, sign), "SLSQP", bounds=[(0, 1)] * 15, constraints=whole, tol=1e-12).fun
            for start in starts
        ]
        assert_allclose(min(found), sign * bound[0, k], rtol=1e-8)


def test_without_pseudo_rows_it_is_the_prediction():
    for end in POST.predict_bounds(NEW, 0.0):
        assert_allclose(end, POST.predict_proba(NEW), rtol=1e-9)


@pytest.mark.parametrize("prior", [None, "vacuous"])
def test_they_widen_with_s_and_contain_the_prediction(prior):
    ends = [POST.predict_bounds(NEW, s, prior) for s in (0.1, 1.0, 3.0, 30.0)]
    for (low, high), (lower, higher) in pairwise(ends):
        assert (lower <= low).all()
        assert (high <= higher).all()
    assert (ends[-1].low <= POST.predict_proba(NEW)).all()


def test_copies_of_rows_and_pseudo_rows_change_nothing():
    many = fitted(np.repeat(X, 3, axis=0), np.repeat(Y, 3))
    for one, other in zip(
        POST.predict_bounds(NEW, 2.0, "vacuous"), many.predict_bounds(NEW, 6.0, "vacuous"), strict=True
    ):
        assert_allclose(one, other, rtol=1e-9)


def test_a_missing_cell_is_no_feature():
    with_gap, narrow = np.array([[0.0, np.nan, 1.0, 2.0]]), fitted(X[:, [0, 2, 3]], Y)
    assert_allclose(POST.predict_bounds(with_gap), narrow.predict_bounds([[0, 1, 2]]), rtol=1e-9)


def test_impossible_cells_and_classes_of_the_vacuous_prior():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), num_classes=3), [[0], [0], [1]], [0, 0, 1])
    low, high = post.predict_bounds([[1]], prior="vacuous")
    assert low[0].tolist() == [0.0, pytest.approx(1 / 2 / (1 / 2 + 2 / 3 + 1)), 0.0]
    assert (high > 0.4).all()


def test_powers_multiply_logarithms():
    powers = np.array([0.5, 2.0, 0.0, 1.0])
    low, high = POST.with_powers(powers).predict_bounds(NEW[:1], 1.5)
    counts = POST.model.families["x"].concentration.reshape(3, 4, 3)
    own = np.take_along_axis(counts, NEW[0][None, :, None], axis=2)[..., 0]
    least, most = (((own + m) / (counts.sum(axis=2) + 1.5)) ** powers for m in (0.0, 1.5))
    n, U, L = POST.model.class_concentration, most.prod(axis=1), least.prod(axis=1)
    expected = n[0] * L[0] / (n[0] * L[0] + n[1] * U[1] + n[2] * U[2] + 1.5 * max(U[1:]))
    assert_allclose(low[0, 0], expected, rtol=1e-9)
    assert_allclose(high[0, 0], 1 / (1 + (n[1] * L[1] + n[2] * L[2]) / (n[0] + 1.5) / U[0]), rtol=1e-9)


def test_a_class_power_and_fixed_class_probabilities():
    tempered = POST.with_powers(1.0, class_power=0.5)
    low, high = tempered.predict_bounds(NEW, 0.0)
    assert_allclose(low, tempered.predict_proba(NEW), rtol=1e-9)
    assert_allclose(high, low, rtol=1e-9)
    rng = np.random.default_rng(0)
    low, high = tempered.predict_bounds(NEW[:1], 2.0)
    inside = probabilities(POST, NEW[0], rng.dirichlet([0.2] * 3, 2000), rng.beta(0.2, 0.2, (2000, 3, 4)), 2.0, 0.5)
    assert (low[0] <= inside).all()
    assert (inside <= high[0]).all()
    other = POST.with_class_probs([0.2, 0.3, 0.5])
    assert_allclose(other.predict_bounds(NEW, 0.0).low, other.predict_proba(NEW), rtol=1e-9)
    with pytest.raises(ValueError, match="not both"):
        tempered.with_class_probs([0.2, 0.3, 0.5]).predict_bounds(NEW)


def test_far_rows_do_not_underflow():
    """A thousand columns, ten pseudo-rows: a class may be e^-1000 times as probable."""
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 2, (12, 1500))
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), wide, [0, 1, 2] * 4)
    low, high = post.predict_bounds(wide, 10.0)
    assert np.isfinite(low).all()
    assert (low <= post.predict_proba(wide)).all()
    assert (post.predict_proba(wide) <= high).all()


def test_inside_jit_and_vmap():
    expected = POST.predict_bounds(NEW, 1.5)
    found = jax.jit(lambda post, x, s: post.predict_bounds(x, s))(POST, NEW, 1.5)
    assert_allclose(found, expected, rtol=1e-5)
    several = jax.vmap(lambda s: POST.predict_bounds(NEW, s).low)(np.array([0.5, 1.5]))
    assert_allclose(several[1], expected.low, rtol=1e-5)


@pytest.mark.parametrize("s", [-1.0, np.inf, np.nan, [1.0, 2.0], True, "1"])
def test_s_is_a_number(s):
    with pytest.raises(ValueError, match="s must be a number of pseudo-rows"):
        POST.predict_bounds(NEW, s)


def test_a_wrong_prior_and_a_family_without_bounds():
    with pytest.raises(ValueError, match="prior must be None"):
        POST.predict_bounds(NEW, prior="flat")
    with pytest.raises(ValueError, match="above 0"):
        POST.predict_bounds(NEW, 0.0, "vacuous")
