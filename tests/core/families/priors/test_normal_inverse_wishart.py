"""Covariances without an inverse: constant columns, columns that repeat others, classes without rows, and smoothing."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import cases
from tests.core.families.gaussian_rows import (
    KINDS,
    NEW,
    PRIOR,
    D,
    N,
    X,
    Y,
    covariances,
    fits,
    kinds,
    log_class_mean,
    model,
    student,
)

CONSTANT = 0.1


def with_constant(x, value=CONSTANT):
    return np.insert(x, 1, value, axis=1)


@kinds
@fits
def test_a_constant_column_is_as_if_it_were_not_there(kind, fit):
    """Whatever a new row holds there, missing included."""
    without, with_it = fit(model(kind), X, Y), fit(model(kind), with_constant(X), Y)
    new = with_constant(NEW, np.resize([CONSTANT, 17.0, np.nan], len(NEW)))
    assert_allclose(with_it.log_joint(new), without.log_joint(NEW), rtol=1e-10)
    if fit is nb.fit_posterior:
        assert_allclose(with_it.log_evidence, without.log_evidence, rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases.by_default(KINDS, "full"))
def test_a_constant_column_on_a_device(kind):
    without = nb.fit_posterior(model(kind), X, Y)
    device = nb.fit_posterior(model(kind), jnp.asarray(with_constant(X)), jnp.asarray(Y))
    new = jnp.asarray(with_constant(NEW, 17.0))
    assert_allclose(device.log_joint(new), without.log_joint(NEW), rtol=1e-4, atol=1e-4)
    assert_allclose(device.log_evidence, without.log_evidence, rtol=1e-5)
    mle = nb.fit_mle(model(kind), jnp.asarray(with_constant(X)), jnp.asarray(Y)).params["x_covariance"]
    assert_array_equal(mle[..., 1, :], 0)


@kinds
@fits
def test_nothing_but_constant_columns(kind, fit):
    """The class prior decides."""
    result = fit(model(kind), np.full((N, 2), 3.0), Y).with_class_probs([0.2, 0.3, 0.5])
    assert_allclose(result.predict_proba(np.array([[3.0, 3.0], [9.0, np.nan]])), [[0.2, 0.3, 0.5]] * 2, rtol=1e-12)


@kinds
def test_a_column_that_varies_between_classes_alone(kind):
    """It has no maximum of the likelihood, and under a prior it tells the classes apart."""
    x = np.c_[X, 3.0 * Y]
    with pytest.raises(ValueError, match=r"is singular.*smoothing"):
        nb.fit_mle(model(kind), x, Y)
    for fit in (nb.fit_map, nb.fit_posterior):
        assert_array_equal(fit(model(kind), x, Y).predict(x), Y)


@kinds
def test_smoothing_is_added_to_the_diagonal(kind):
    fit = nb.fit_mle(model(kind, smoothing=0.25), X, Y)
    expected = covariances(kind=kind) + 0.25 * np.eye(D)
    assert_allclose(np.broadcast_to(fit.params["x_covariance"], expected.shape), expected, rtol=1e-9)
    for other in (nb.fit_map, nb.fit_posterior):
        table = other(model(kind, smoothing=0.25), X, Y).log_joint(NEW)
        assert_array_equal(table, other(model(kind), X, Y).log_joint(NEW))


def test_a_singular_covariance_is_named():
    twins = np.c_[X, X[:, 0] - 2 * X[:, 1]]
    with pytest.raises(
        ValueError, match=r"the covariance of class 0 \(\[18.*\] rows by class, 4 columns\) is singular"
    ):
        nb.fit_mle(model("full"), twins, Y)
    with pytest.raises(ValueError, match=r"block 'x': the covariance \(\[18.*4 columns\) is singular.*smoothing"):
        nb.fit_mle(model("shared"), twins, Y)
    only_class_two = X.copy()
    only_class_two[Y == 2, 1] = 5.0
    with pytest.raises(ValueError, match="the covariance of class 2"):
        nb.fit_mle(model("full"), only_class_two, Y)
    for kind in KINDS:
        smoothed = nb.fit_mle(model(kind, smoothing=1e-3), twins, Y)
        assert_allclose(smoothed.predict_proba(twins).sum(axis=1), 1.0)
        assert np.isfinite(nb.fit_posterior(model(kind), twins, Y).log_evidence)


@kinds
@fits
def test_a_class_without_rows(kind, fit):
    y = np.where(Y == 1, 2, Y)
    result = fit(model(kind, **PRIOR), X, y)
    if fit is nb.fit_mle:
        assert_array_equal(result.predict_proba(NEW)[:, 1], 0)
        assert_allclose(result.params["x_loc"][1], X.mean(axis=0), rtol=1e-9)
    if fit is nb.fit_posterior:
        expected = student(NEW, X, y, kind, **PRIOR) + log_class_mean(y)
        assert_allclose(result.log_joint(NEW), expected, rtol=1e-9)
    assert np.isfinite(result.log_joint(NEW)[:, [0, 2]]).all()
