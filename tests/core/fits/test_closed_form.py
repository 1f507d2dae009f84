"""Closed forms at their ends: fifty classes, and weights so large that the posterior predicts as the likelihood."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.results._generate import sample_some
from tests import cases

CELLS = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [1, 0], [0, 1]])

FAMILIES = {
    "bernoulli": nb.Bernoulli(),
    "binomial": nb.Binomial(4),
    "trials": nb.Binomial(None),
    "categorical": nb.Categorical(3),
    "ragged": nb.Categorical((2, 3)),
    "multinomial": nb.Multinomial(),
    "poisson": nb.Poisson(),
    "normal": nb.Normal(),
    "shared": nb.Normal(variance="shared"),
    "covariance": nb.MultivariateNormal(),
    "discriminant": nb.MultivariateNormal("shared"),
}


def equations(jaxpr):
    """The operations of a program, those of its parts among them."""
    parts = (part for eqn in jaxpr.eqns for part in jax.tree.leaves(list(eqn.params.values()), is_leaf=_is_program))
    return len(jaxpr.eqns) + sum(equations(getattr(part, "jaxpr", part)) for part in parts if _is_program(part))


def _is_program(value):
    return hasattr(value, "eqns")


def everything(model, X, y, soft, key):
    """Fits by labels of both kinds, with weights and without, the evidence and predictions."""
    weight = soft[:, 0]
    mle = nb.fit_mle(model, X, y)
    exact = nb.fit_posterior(model, X, y, sample_weight=weight)
    return (
        mle.predict_log_proba(X),
        nb.fit_map(model, X, soft).predict(X),
        exact.predict_proba(X),
        exact.log_joint(X),
        exact.log_evidence,
        nb.leave_one_out(model, X, y),
        sample_some(exact.model, key, 0, total=2, size=2),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.by_default(FAMILIES, "categorical", "normal", "discriminant"))
def test_a_program_is_as_long_for_fifty_classes_as_for_three(name, key):
    X = (CELLS, CELLS + 1) if name == "trials" else CELLS

    def length(num_classes):
        model = nb.NaiveBayes(FAMILIES[name], num_classes=num_classes)
        soft = np.full((len(CELLS), num_classes), 1.0 / num_classes, np.float32)
        with jax.numpy_rank_promotion("allow"):
            program = jax.make_jaxpr(lambda *args: everything(model, *args))(X, np.arange(6) % 3, soft, key)
        return equations(program.jaxpr)

    assert length(50) == length(3)


LARGE = [1e14, 1e16, 4e28]
"""The weight of each of 24 rows: 1e30 together is the most."""


SOME = cases.by_default(cases.NAMES[:-1], "ragged", "normal", "covariance")


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
