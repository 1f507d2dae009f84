"""The forest of largest weight, against all forests; and the two ways to add the log ratios of pairs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.learned.forests import _left_out_ratios, _posterior
from bayesnb.learned.forests._posterior import prepare
from bayesnb.learned.forests._structures import largest_branching
from tests import cases
from tests.learned.forests import histograms
from tests.learned.forests.oracle import forests


def weight(table, parents):
    return sum(table[i, j] for j, i in enumerate(parents) if i >= 0)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_no_forest_is_heavier(size, rng):
    every = list(forests(size))
    for shift in (-1.0, 0.0, 2.0):
        for _ in range(20 if size == 5 else 60):
            table = rng.normal(size=(size, size)) + shift
            found = largest_branching(table)
            assert tuple(found) in every
            assert_allclose(weight(table, found), max(weight(table, parents) for parents in every), rtol=1e-12)


def test_circles_within_circles():
    """0 and 1 choose each other, and as one node they and 2 do; 3 enters the whole."""
    table = np.array([[0, 9, 7, -1], [9, 0, -1, -1], [6, -1, 0, -1], [-1, -1, 5, 0]], float)
    every = list(forests(4))
    best = max(every, key=lambda parents: weight(table, parents))
    assert_array_equal(largest_branching(table), best)


def test_no_edge_is_worth_its_weight():
    assert_array_equal(largest_branching(np.full((3, 3), -0.1)), [-1, -1, -1])


@pytest.fixture(params=["categories", "segments"])
def problem(request, rng):
    """Columns with missing cells that depend on each other, of categories and of bins in segments; an empty class."""
    if request.param == "segments":
        return nb.NaiveBayes(nb.Histogram(cells=12), num_classes=3), histograms.X["cells"], histograms.Y
    y = rng.integers(0, 2, 60)
    x = (rng.integers(0, 3, (60, 1)) + rng.integers(0, 2, (60, 5)) + y[:, None]) % 3
    X = {"kinds": np.where(rng.random(x.shape) < 0.15, -1, x), "flags": x[:, :2] > 0}
    return nb.NaiveBayes({"kinds": nb.Categorical(3), "flags": nb.Bernoulli()}, num_classes=3), X, y


@pytest.mark.parametrize("structure", cases.by_default(["best", "aode"], "best"))
def test_sums_that_are_looked_up_are_those_of_log_ratios_laid_out(monkeypatch, problem, structure):
    """JAX rows are laid out; of numpy rows the way is chosen."""
    model, X, y = problem
    fit = nb.fit_forests(model, X, y, structure=structure)
    assert prepare([fit]).looked_up is not None
    joint, left_out = fit.log_joint(X), nb.leave_one_out(fit, X, y)
    assert np.abs(joint - fit.posterior.log_joint(X)).max() > 0.1
    assert_allclose(fit.log_joint(jax.tree.map(jnp.asarray, X)), joint, rtol=1e-4, atol=1e-4)
    for module in (_posterior, _left_out_ratios):
        monkeypatch.setattr(module, "prepare", lambda fits: prepare(fits)._replace(looked_up=None))
    assert_allclose(fit.log_joint(X), joint, rtol=1e-10)
    assert_allclose(nb.leave_one_out(fit, X, y), left_out, rtol=1e-10)
