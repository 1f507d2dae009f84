"""``model.update``: a resolved model keeps its prior, another is resolved from the statistics that update it."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers

import bayesnb as nb
from tests import cases


@pytest.mark.parametrize("name", cases.NAMES)
def test_an_update_is_the_posterior_whether_resolved_before_or_not(name):
    case = cases.make(name)
    statistics = nb.sufficient_statistics(case.model, case.X, case.y)
    expected = nb.fit_posterior(case.model, statistics=statistics).model
    for model in (case.model, case.model.resolve(statistics=statistics)):
        found = model.update(statistics)
        assert found.resolved
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        jax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-5), found, expected)


@pytest.mark.slow
def test_the_program_of_an_updated_model_generates():
    X, y = np.random.default_rng(0).normal(size=(6, 2)), np.array([0, 1, 0, 1, 0, 1])
    model = nb.NaiveBayes(nb.Normal())
    updated = model.update(nb.sufficient_statistics(model, X, y))
    with jax.numpy_rank_promotion("allow"), handlers.seed(rng_seed=0):
        rows, labels = updated(num_rows=3)
    assert rows.shape == (3, 2)
    assert labels.shape == (3,)
    assert np.isfinite(rows).all()


def test_statistics_of_another_model_are_refused():
    X, y = np.array([[1], [0]]), np.array([0, 1])
    statistics = nb.sufficient_statistics(nb.NaiveBayes(nb.Bernoulli()), X, y)
    with pytest.raises(ValueError, match="statistics must be those of the model's blocks"):
        nb.NaiveBayes(nb.Normal()).update(statistics)


def test_a_pytree_keeps_each_family_under_its_name_in_whatever_order_they_came():
    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "counts": nb.Poisson()}, num_classes=2)
    model = model.resolve({"flags": np.ones((4, 3)), "counts": np.ones((4, 2))}, np.array([0, 0, 1, 1]))
    in_order = {name: model.families[name] for name in sorted(model.families)}  # as mapped by JAX
    found = jax.tree.map(lambda leaf: leaf, model.with_hyperparameters(in_order, 1.0))
    for name, family in model.families.items():
        assert type(found.families[name]) is type(family)
        assert found.columns[name] == model.columns[name] == family.num_columns
