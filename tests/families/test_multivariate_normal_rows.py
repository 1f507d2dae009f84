"""A Gaussian with a covariance takes rows of any weight, type, unit and distance from zero, on a device too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import cases
from tests.families.gaussian_rows import FITS, NEW, RANDOM, D, K, N, X, Y, fits, kinds, model


@kinds
def test_weights_are_those_of_numpys_covariance(kind):
    weight = RANDOM.integers(1, 4, N)
    fit = nb.fit_mle(model(kind), X, Y, sample_weight=weight)
    own = np.array([np.cov(X[k == Y].T, bias=True, fweights=weight[k == Y]) for k in range(K)])
    share = np.array([weight[k == Y].sum() for k in range(K)]) / weight.sum()
    expected = own if kind == "full" else np.tensordot(share, own, axes=1)
    assert_allclose(fit.params["x_covariance"], expected, rtol=1e-9)
    assert_allclose(fit.params["class_probs"], share, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
@kinds
@fits
def test_rows_of_another_type(kind, fit, dtype):
    """float32 rows may lose a thousandth of a nat."""
    whole = np.round(X * 20) + 100
    expected = fit(model(kind), whole, Y).log_joint(whole)
    got = fit(model(kind), whole.astype(dtype), Y).log_joint(whole.astype(dtype))
    assert_allclose(got, expected, rtol=1e-9, atol=1e-3 if dtype == np.float32 else 0)


@pytest.mark.slow
@kinds
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_far_from_zero(kind, dtype):
    """At 1e6 the square of a cell has twelve digits before those that matter."""
    far, new = (X + 1e6).astype(dtype), (NEW + 1e6).astype(dtype)
    near, new_near = (a.astype(np.float64) - 1e6 for a in (far, new))
    for fit in FITS:
        expected = fit(model(kind), near, Y).log_joint(new_near)
        got = fit(model(kind), far, Y).log_joint(new)
        assert_allclose(got, expected, rtol=1e-7, atol=1e-3 if dtype == np.float32 else 0)
    if dtype == np.float32:
        device = nb.fit_mle(model(kind), jnp.asarray(far), jnp.asarray(Y)).params["x_covariance"]
        expected = nb.fit_mle(model(kind), near, Y).params["x_covariance"]
        assert_allclose(device, expected, rtol=1e-4, atol=1e-5)


@kinds
def test_parts_far_from_zero_merge(kind):
    far = X + 1e6
    whole = nb.sufficient_statistics(model(kind), far, Y).blocks["x"]
    parts = [nb.sufficient_statistics(model(kind), far[i::3], Y[i::3]) for i in range(3)]
    merged = nb.merge(nb.merge(parts[2], parts[0]), parts[1]).blocks["x"]
    assert_allclose(merged.scatter, whole.scatter, rtol=1e-7, atol=1e-8)
    exact = np.array([(X[k == Y] - X[k == Y].mean(axis=0)).T @ (X[k == Y] - X[k == Y].mean(axis=0)) for k in range(K)])
    assert_allclose(merged.scatter, exact, rtol=1e-7, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "fit"),
    [
        ("full", nb.fit_mle),
        ("shared", nb.fit_posterior),
        pytest.param("full", nb.fit_posterior, marks=pytest.mark.slow),
        pytest.param("shared", nb.fit_map, marks=pytest.mark.slow),
    ],
)
def test_single_precision_on_a_device(kind, fit):
    """Columns whose correlation is .99, in units that differ by six orders."""
    x = (X + 8 * X[:, :1] + [0.0, 10.0, 0.0]) * [1e3, 1.0, 1e-3]
    expected = fit(model(kind), x, Y).log_joint(x)
    device = jax.jit(lambda x, y: fit(model(kind), x, y).log_joint(x))(x, Y)
    assert_allclose(device, expected, rtol=1e-3, atol=1e-3)


@kinds
@pytest.mark.parametrize("fit", cases.by_default(FITS, nb.fit_posterior))
def test_so_far_that_squares_overflow(kind, fit):
    """Nothing is NaN, in float32 either; where the covariances differ the class that wins far away wins farther too."""
    rows = np.full((3, D), np.array([[1e17], [1e20], [1e30]]), np.float32)
    result = fit(model(kind), X, Y)
    winner = result.predict(np.full((1, D), 1e8))
    for proba in (result.predict_proba(rows), jax.jit(result.predict_proba)(rows)):
        assert np.isfinite(proba).all()
        assert_allclose(np.sum(proba, axis=1), 1.0, rtol=1e-6)
        if kind == "full":
            assert_array_equal(np.argmax(proba, axis=1), np.repeat(winner, 3))
