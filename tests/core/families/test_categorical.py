"""Categorical columns against shares worked out on paper, and codes that are none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests.both_lanes import FITS
from tests.both_lanes import both as on_numpy_and_in_jit
from tests.core.families.count_rows import RANDOM, K, N, Y, both, class_counts, log_class_mean, tolerance

SIZES = (2, 5, 3)
CODES = np.stack([RANDOM.integers(0, size, N) for size in SIZES], axis=1)
ALPHA = RANDOM.uniform(0.5, 3.0, (K, sum(SIZES)))


def shares(concentration):
    """The share of each cell of CODES among those of its column in each class, with pseudo-counts [K, C], [N, K, D]."""
    places, starts = CODES + np.array([0, 2, 7]), [0, 2, 7]
    counts = np.array([np.bincount(places[k == Y].ravel(), minlength=sum(SIZES)) for k in range(K)]) + concentration
    totals = np.repeat(np.add.reduceat(counts, starts, axis=1), SIZES, axis=1)
    return np.moveaxis((counts / totals)[:, places], 0, 1)


@both
def test_the_predictive_is_the_share_with_pseudo_counts(lane):
    model = nb.NaiveBayes(nb.Categorical(SIZES, concentration=ALPHA), num_classes=K)
    expected = np.log(shares(ALPHA)).sum(axis=2) + log_class_mean(class_counts())
    assert_allclose(nb.fit_posterior(model, lane(CODES), lane(Y)).log_joint(lane(CODES)), expected, **tolerance(lane))


@on_numpy_and_in_jit
@pytest.mark.parametrize("code", [np.nan, -1, 3, 1e6])
def test_an_undeclared_category_is_a_missing_cell(lane, code):
    """In fit and in predict. Under jit JAX clamps an index past the end to the last category, wraps -1 around to it,
    and casts NaN to category 0; elsewhere it is an IndexError or NaN."""
    X, y = np.array([[0, 2], [1, 2], [2, 0], [2, 1]], float), np.array([0, 0, 1, 1])
    model = nb.NaiveBayes(nb.Categorical(3), num_classes=2)
    other = np.array([[code, 0.0]])

    def predict(X, y, extra, new):
        fitted = [
            fit(model, jnp.concatenate([X, extra]) if isinstance(X, jax.Array) else np.concatenate([X, extra]), y)
            for fit in FITS
        ]
        return [fit.predict_proba(new) for fit in fitted]

    found = lane(predict, X, np.append(y, 1), other, other)
    counts = np.array([[0, 0, 2], [2, 1, 0]])  # of the second column, where the extra row shows a 0
    prior = np.array([2, 3])
    mle = (prior / 5) * (counts / counts.sum(axis=1, keepdims=True))[:, 0]
    full = ((prior + 1) / 7) * ((counts + 1) / (counts.sum(axis=1, keepdims=True) + 3))[:, 0]
    for proba, joint in zip(found, (mle, mle, full), strict=True):
        assert_allclose(proba[0], joint / joint.sum(), rtol=1e-5)


@on_numpy_and_in_jit
@pytest.mark.parametrize("sizes", [300, (300, 2)])
def test_codes_in_a_small_integer_type(lane, sizes):
    """300 categories do not fit a byte, but the codes that occur may: 100 is declared, and must not be compared with
    300 wrapped to 44."""
    model = nb.NaiveBayes(nb.Categorical(sizes), num_classes=2)
    X, y = np.array([[100, 1], [0, 0]], np.int8), np.array([0, 1])
    assert_array_equal(lane(lambda X, y: nb.fit_mle(model, X, y).predict_proba(X), X, y), np.eye(2))


def test_a_broken_code_is_refused():
    """1.9 is not category 1."""
    with pytest.raises(ValueError, match=r"whole code .* got 1\.9"):
        nb.fit_mle(nb.NaiveBayes(nb.Categorical(3)), np.array([[0.0], [1.9]]), [0, 1])
