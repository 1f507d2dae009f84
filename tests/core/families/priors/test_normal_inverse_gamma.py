"""The exact predictive of a Normal becomes the Normal itself as weights grow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb


@pytest.mark.parametrize("weight", [1e6, 4e28])  # of each of 20 rows: 1e30 together is the most
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
