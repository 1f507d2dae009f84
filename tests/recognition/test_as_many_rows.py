"""Arguments of priors that happen to have as many rows as the data, or numbers equal to that of the rows."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb


def cells(X, y, theta, num_classes):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(num_classes)))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


def a_row_for_each_class(X, y, a):
    cells(X, y, numpyro.sample("theta", dist.Beta(a, 2.5)), len(a))


def a_number_for_each_column(X, y, a):
    cells(X, y, numpyro.sample("theta", dist.Beta(a, jnp.full((2, 1), 2.5))), 2)


def a_number_of_classes(X, y, num_classes):
    cells(X, y, numpyro.sample("theta", dist.Beta(2.0, 2.5).expand([num_classes, 3])), num_classes)


def rows(num_rows, num_columns):
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (num_rows, num_columns)), rng.uniform(1.0, 3.0, (num_rows, 3))


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [pytest.param(6, marks=pytest.mark.slow), 70])
def test_a_prior_with_a_row_for_each_class(num_rows):
    X, a = rows(num_rows, 3)
    model = nb.from_numpyro(a_row_for_each_class, (X, np.arange(num_rows), a), label="y")
    assert_allclose(model.families["x"].a, a, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [6, 70])
def test_a_prior_with_a_number_for_each_column(num_rows):
    X, _ = rows(num_rows, num_rows)
    a = np.linspace(1.0, 3.0, num_rows)
    model = nb.from_numpyro(a_number_for_each_column, (X, np.arange(num_rows) % 2, a), label="y")
    assert_allclose(model.families["x"].a, np.broadcast_to(a, (2, num_rows)), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [6, 70])
def test_as_many_classes_as_rows(num_rows):
    X, _ = rows(num_rows, 3)
    model = nb.from_numpyro(a_number_of_classes, (X, np.arange(num_rows) % 3, num_rows), label="y")
    assert model.num_classes == num_rows


@pytest.mark.slow
def test_a_constant_prior_with_a_row_for_each_class():
    X, _ = rows(70, 3)
    model = nb.from_numpyro(a_row_for_each_class, (X, np.arange(70), np.full((70, 3), 2.0)), label="y")
    assert_allclose(model.families["x"].a, np.full((70, 3), 2.0), rtol=1e-6)


@pytest.mark.slow
def test_a_prior_that_reads_the_first_row_is_refused():
    def program(X, y):
        cells(X, y, numpyro.sample("theta", dist.Beta(1.0 + X[0], 2.5).expand([2, 3])), 2)

    with pytest.raises(nb.NotNaiveBayes, match="site 'theta'"):
        nb.from_numpyro(program, (np.arange(18).reshape(6, 3) % 5 % 2, np.arange(6) % 2), label="y")
