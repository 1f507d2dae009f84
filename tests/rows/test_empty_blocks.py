"""A block of no columns says nothing: each door answers as without the block, or with the class prior alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases
from tests.empty_blocks import FAMILIES, FLAGS, KEY, Y, beside, rows

DOORS = {
    "fit_mle": lambda m, x: nb.fit_mle(m, x, Y).predict_log_proba(x),
    "fit_map": lambda m, x: nb.fit_map(m, x, Y).predict_log_proba(x),
    "fit_posterior": lambda m, x: nb.fit_posterior(m, x, Y).log_joint(x),
    "jax": lambda m, x: nb.fit_posterior(m, jax.tree.map(jnp.asarray, x), Y).log_density(jax.tree.map(jnp.asarray, x)),
    "evidence": lambda m, x: nb.fit_posterior(m, x, Y).log_evidence,
    "leave_one_out": lambda m, x: nb.leave_one_out(m, x, Y),
    "cross_validate": lambda m, x: nb.cross_validate(m, x, Y, folds=3),
    "cross_validate_map": lambda m, x: nb.cross_validate(m, x, Y, folds=3, fit=nb.fit_map),
    "temper": lambda m, x: nb.temper(nb.fit_posterior(m, x, Y), x, Y).predict_log_proba(x),
    "temper_per_feature": lambda m, x: nb.temper(nb.fit_posterior(m, x, Y), x, Y, per_feature=True).predict_log_proba(
        x
    ),
    "fit_em": lambda m, x: nb.fit_em(m, x, np.array([0, 0, -1, 1, 1, -1])).predict_log_proba(x),
}


def pairs():
    for name in FAMILIES:
        for door in DOORS:
            quick = door == "fit_posterior" or name == "covariance"
            yield pytest.param(name, door, marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize(("name", "door"), list(pairs()))
def test_a_block_of_no_columns_says_nothing(name, door):
    model, X = beside(name)
    expected = DOORS[door](nb.NaiveBayes({"f": nb.Bernoulli()}, num_classes=2), {"f": FLAGS})
    assert_allclose(DOORS[door](model, X), expected, rtol=1e-4, atol=1e-5)
    alone = np.asarray(DOORS[door](nb.NaiveBayes(FAMILIES[name], num_classes=2), rows(name)))
    assert np.isfinite(alone).all()
    if alone.shape == (6, 2) and door != "leave_one_out":
        assert_allclose(np.exp(alone), 0.5, rtol=1e-5)


@pytest.mark.parametrize("name", cases.by_default(FAMILIES, "covariance"))
def test_what_is_drawn_of_it_is_empty(name):
    model, X = beside(name)
    totals = {"e": 2} if name in ("multinomial", "trials") else None
    fit = nb.fit_posterior(model, X, Y)
    assert fit.sample(KEY, 3)["f_probs"].shape == (3, 2, 1)
    generated, labels = fit.generate(key=KEY, num_rows=4, total_count=totals)
    assert labels.shape == (4,)
    assert all(part.shape == (4, 0) for part in jax.tree.leaves(generated["e"]))
    low, high = fit.predict_interval(X, key=KEY, num_draws=8)
    assert (low <= high).all()
    assert fit.contribution_interval(X, key=KEY, num_draws=8)["f"].low.shape == (6, 2, 1)
    none = {"e": rows(name, 0), "f": FLAGS[:0]}
    assert fit.predict_proba(none).shape == (0, 2)


def test_an_empty_block_goes_to_arviz():
    model, X = beside("bernoulli")
    assert nb.to_arviz(nb.fit_posterior(model, X, Y), key=KEY, num_samples=4, num_chains=1) is not None
