"""One column given another: products of one-step predictives by scipy, and moments without a row."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesnb.core.families.priors._normal_inverse_gamma import NormalInverseGamma
from bayesnb.learned.forests import _bivariate_normal as bivariate_normal
from bayesnb.learned.forests._bivariate_normal import Moments
from tests.learned.forests.oracle import Column

TABLES = np.array([[0.5, -1.0], [1.0, 2.0], [1.0, 1.5], [2.0, 0.7]])  # loc, strength, shape and rate of two columns
PRIOR, COLUMNS = NormalInverseGamma(*TABLES), [Column(table, True) for table in TABLES.T]


@pytest.fixture(autouse=True)
def _in_float64():
    with jax.enable_x64(True):
        yield


def moments(x, weight):
    """Of all pairs of columns."""
    count = weight.sum()
    mean = weight @ x / count
    squares = (weight[:, None] * (x - mean)).T @ (x - mean)
    parent, child = np.broadcast_arrays(mean[:, None], mean[None])
    own = np.diag(squares)
    return Moments(np.full((2, 2), count), parent, child, *np.broadcast_arrays(own[:, None], own[None]), squares)


@pytest.mark.parametrize(("i", "j"), [(0, 1), (1, 0)])
def test_densities_and_evidence_are_products_of_one_step_predictives(rng, i, j):
    x = rng.normal(size=(9, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    known = moments(x, np.ones(9))
    table = bivariate_normal.conditional(bivariate_normal.posterior(PRIOR, known))
    new = rng.normal(size=(20, 2)) * 2.0
    found = bivariate_normal.log_conditional(jax.tree.map(lambda one: one[None, i, j], table), new[:, i], new[:, j])
    pair = [i, j]
    expected = [COLUMNS[j].given(COLUMNS[i], x[:, pair], row[pair]) for row in new]
    assert_allclose(found, expected, rtol=1e-9)
    steps = [
        COLUMNS[j].given(COLUMNS[i], x[:n, pair], x[n, pair]) - COLUMNS[j].alone(x[:n, j], x[n, j]) for n in range(9)
    ]
    assert_allclose(bivariate_normal.log_bayes_factor(PRIOR, known)[i, j], sum(steps), rtol=1e-9)


def test_of_no_columns_nothing_is_traced_and_the_tables_have_their_shapes():
    def tables(prior, moments):
        return bivariate_normal.predictive(prior, moments), bivariate_normal.log_bayes_factor(prior, moments)

    prior, nothing = NormalInverseGamma(*np.ones((4, 3, 0))), Moments(*np.ones((6, 3, 0, 0)))
    pair = bivariate_normal.posterior(prior, nothing)
    formulas = bivariate_normal.conditional(pair), bivariate_normal.log_partition(pair)
    kinds = [[(x.shape, x.dtype) for x in jax.tree.leaves(one)] for one in (tables(prior, nothing), formulas)]
    assert kinds[0] == kinds[1]
    assert jax.make_jaxpr(tables)(prior, nothing).eqns == []


def test_moments_without_a_row_are_those_of_the_others(rng):
    x, weight = rng.normal(size=(6, 2)) + 5.0, rng.integers(1, 4, 6).astype(float)
    left = moments(x, weight).without(x[0][:, None], x[0][None], weight[0])
    for found, expected in zip(left, moments(x[1:], weight[1:]), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    alone = moments(x[:1], weight[:1]).without(x[0][:, None], x[0][None], weight[0])
    assert_allclose([alone.count, *alone[3:]], 0.0)


@pytest.mark.slow
def test_far_cells_are_the_same_in_single_precision(rng):
    x = rng.normal(size=(9, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    table = bivariate_normal.conditional(bivariate_normal.posterior(PRIOR, moments(x, np.ones(9))))
    table = jax.tree.map(lambda one: one[None, 0, 1], table)
    cells = rng.normal(size=(2, 50)) * np.repeat([1e-20, 1.0, 1e9, 1e20, 1e25], 10)
    single = (jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), given) for given in (table, *cells))
    found = bivariate_normal.log_conditional(*single)
    assert found.dtype == jnp.float32
    assert_allclose(found, bivariate_normal.log_conditional(table, *cells), rtol=1e-4, atol=1e-3)
