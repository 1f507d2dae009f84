"""Weights whose sum is so large that the posterior is a point: it predicts as the maximum of the likelihood."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from tests import cases

LARGE = [1e14, 1e16, 4e28]
"""The weight of each of 24 rows: 1e30 together is the most."""

SOME = cases.by_default(cases.NAMES[:-1], "ragged", "normal", "covariance")


@pytest.mark.parametrize("weight", [1e6, *LARGE])
@pytest.mark.parametrize("variance", ["own", "shared"])
def test_the_student_t_becomes_the_normal(variance, weight):
    """The t with n degrees of freedom is the Normal to order 1 / n, against scipy's density."""
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X, rows = rng.normal(y[:, None], 1.0, (20, 2)), rng.normal(size=(5, 2)) * 3
    mean = np.stack([X[y == k].mean(axis=0) for k in range(2)])
    squares = np.stack([X[y == k].var(axis=0) for k in range(2)])
    deviation = np.sqrt(squares if variance == "own" else squares.mean(axis=0, keepdims=True))
    expected = np.log(0.5) + stats.norm.logpdf(rows[:, None], mean[None], deviation[None]).sum(axis=-1)
    for dtype in (np.float64, np.float32):
        fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance=variance)), X, y, sample_weight=np.full(20, weight))
        found = fit.log_joint(rows.astype(dtype))
        assert_allclose(found, expected, rtol=max(1e-9, 40 / weight) if dtype is np.float64 else 1e-5)
        assert_allclose(jax.jit(fit.log_joint)(jnp.asarray(rows)), expected, rtol=1e-4)
        assert_allclose(fit.log_density(rows), np.logaddexp(*expected.T), rtol=max(1e-9, 40 / weight))


@pytest.mark.slow
@pytest.mark.parametrize("weight", [pytest.param(LARGE[0], marks=pytest.mark.slow), LARGE[2]])
@pytest.mark.parametrize("name", SOME)
def test_predictions_are_those_of_the_likelihood(name, weight):
    case = cases.make(name)
    weights = np.full(len(case.y), weight)
    fit = nb.fit_posterior(case.model, case.X, case.y, sample_weight=weights)
    exact = nb.fit_mle(case.model, case.X, case.y, sample_weight=weights).log_joint(case.X)
    found, possible = fit.log_joint(case.X), np.isfinite(exact)
    assert_allclose(found[possible], exact[possible], rtol=1e-9)
    assert (found[~possible] < np.log(1 / weight)).all()
    assert_allclose(fit.log_evidence / weight, exact[np.arange(len(case.y)), case.y].sum(), rtol=1e-9)
    if name == "histogram":  # which total is how probable is a matter of nats, of 1e15: float32 does not hold them
        return
    rows, labels, as_jax = jax.tree.map(jnp.asarray, (case.X, case.y, weights))
    on_device = nb.fit_posterior(case.model, rows, labels, sample_weight=as_jax)
    assert_allclose(on_device.log_joint(rows), found, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("name", SOME)
def test_a_row_leaves_as_if_it_had_never_been(name):
    """Also the one that alone shows something: what is left is then the prior, which the weight had drowned."""
    case = cases.make(name)
    size = len(case.y)
    for weight in (1e15, 4e28):
        weights = np.full(size, weight)
        folds = nb.cross_validate(case.model, case.X, case.y, sample_weight=weights, folds=np.arange(size))
        assert_allclose(nb.leave_one_out(case.model, case.X, case.y, sample_weight=weights), folds, rtol=1e-9)
        rows, labels, as_jax = jax.tree.map(jnp.asarray, (case.X, case.y, weights))
        found = nb.leave_one_out(case.model, rows, labels, sample_weight=as_jax)
        assert_allclose(found, folds, rtol=1e-3, atol=1e-3)


ALONE = {
    "normal": (nb.Normal(), [[0.3], [1.0], [1.7], [2.9]]),
    "shared": (nb.Normal(variance="shared"), [[0.3], [1.0], [1.7], [2.9]]),
    "covariance": (nb.MultivariateNormal(), [[0.3, 1.0], [1.0, 0.2], [1.7, 1.1], [2.9, -1.0]]),
    "discriminant": (nb.MultivariateNormal("shared"), [[0.3, 1.0], [1.0, 0.2], [1.7, 1.1], [2.9, -1.0]]),
    "bernoulli": (nb.Bernoulli(), [[0], [1], [1], [0]]),
    "poisson": (nb.Poisson(), [[0], [1], [3], [2]]),
    "multinomial": (nb.Multinomial(), [[0, 2], [1, 1], [3, 0], [2, 5]]),
}


@pytest.mark.parametrize("weight", [1.0, 1e20])
@pytest.mark.parametrize("name", ALONE)
def test_the_only_row_of_its_class_leaves_the_prior(name, weight):
    family, X = ALONE[name]
    X, y, weights = np.array(X), np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, weight])
    found = nb.leave_one_out(nb.NaiveBayes(family), X, y, sample_weight=weights)
    folds = nb.cross_validate(nb.NaiveBayes(family), X, y, sample_weight=weights, folds=np.arange(4))
    assert_allclose(found[3], folds[3], rtol=1e-8)
