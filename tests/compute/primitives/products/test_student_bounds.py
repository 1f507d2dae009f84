"""Student's t in a box of hyperparameters: scipy's density inside the box, and numpy's rows beside JAX's."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from bayesnb.compute.arrays._compute import compute
from bayesnb.core.families.priors._normal_inverse_gamma import NormalInverseGamma
from bayesnb.core.results._outer_bounds import normal_box

RNG = np.random.default_rng(0)
PRIOR = NormalInverseGamma(*(0.5 + 3.0 * RNG.random((3, 4)) for _ in range(4)))
RANGE = np.full((1, 4), -3.0), np.full((1, 4), 6.0)
X = RNG.normal(size=(50, 4), scale=4.0)


def box(s):
    return compute(normal_box, nb.Normal()._replace(**PRIOR._asdict()), np.full((1, 1, 1), s), RANGE)


def log_density(x, loc, strength, shape, rate):
    """Of Student's t that a Normal with such hyperparameters predicts, [N, K, F]."""
    scale = np.sqrt(rate * (strength + 1.0) / (shape * strength))
    return stats.t.logpdf(x[:, None], 2.0 * shape, loc, scale)


bounds_of = jax.jit(lambda box, x: box.terms(x))


def test_without_pseudo_rows_both_are_the_density():
    for part in compute(bounds_of, box(0.0), X):
        assert_allclose(part, log_density(X, *PRIOR), rtol=1e-10)


@pytest.mark.parametrize("s", [0.2, 3.0, 50.0])
def test_any_pseudo_rows_are_inside(s):
    low, high = compute(bounds_of, box(s), X)
    for _ in range(500):
        # rows of a mean in the range, and of a variance that it allows
        added, mean = s * RNG.random((3, 4)), RNG.uniform(*(end[0, 0] for end in RANGE), (3, 4))
        squares = added * RNG.random((3, 4)) * (RANGE[1] - mean) * (mean - RANGE[0])
        loc, strength, shape, rate = PRIOR
        squares += strength * added / (strength + added) * (mean - loc) ** 2
        inside = (loc * strength + mean * added) / (strength + added), strength + added, shape + 0.5 * added
        found = log_density(X, *inside, rate + 0.5 * squares)
        assert (low <= found + 1e-9).all()
        assert (found <= high + 1e-9).all()


@pytest.mark.parametrize("s", [0.0, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("origin", [0.0, 3000.0])
def test_numpy_rows_have_the_sums_of_the_terms(s, dtype, origin):
    """Also of rows with missing cells, columns without a scale and with powers, and far from the origin."""
    prior = PRIOR._replace(loc=PRIOR.loc + origin, rate=PRIOR.rate * [1.0, 0.0, 1.0, 1.0])
    ends = RANGE[0] + origin, RANGE[1] + origin
    own = compute(normal_box, nb.Normal()._replace(**prior._asdict()), np.full((1, 1, 1), s), ends)
    rows, powers = (X + origin).astype(dtype), np.array([1.0, 0.5, 2.0, 0.0])
    rows[::3, 0] = np.nan
    expected = [(part * powers).sum(axis=2) for part in compute(bounds_of, own, rows.astype(float))]
    rtol = 1e-11 if dtype is np.float64 else 1e-5
    assert_allclose(own.scores(rows, powers), np.concatenate(expected, axis=1), rtol=rtol)
    if not origin:
        assert_allclose(jax.jit(type(own).scores)(own, rows, powers), np.concatenate(expected, axis=1), rtol=1e-4)


def test_rows_that_overflow_in_single_precision_are_scored_again():
    rows = np.array([[1e25, 0.0, 0.0, 0.0]], np.float32)
    assert np.isfinite(box(1.0).scores(rows, np.ones(1))).all()
