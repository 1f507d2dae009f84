"""Programs with more rows than are probed: what only the others show is seen too."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb

N = 150
X = np.random.default_rng(0).integers(0, 2, (N, 3))
Y = np.repeat(np.arange(3), 50)


def program(X, y, num_classes, change=lambda probs, _: probs, total=None):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(num_classes)))
    with numpyro.plate("class", num_classes, dim=-2), numpyro.plate("column", X.shape[1], dim=-1):
        theta = numpyro.sample("theta", dist.Beta(2.0, 3.0))
    with numpyro.plate("row", X.shape[0], dim=-1):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        probs = change(theta[y], jnp.arange(X.shape[0]))
        law = dist.Bernoulli(probs) if total is None else dist.Binomial(total, probs)
        numpyro.sample("x", law.to_event(1), obs=X)


def sorted_classes(X, y):
    program(X, y, int(np.max(y)) + 1)


def too_few_classes(X, y):
    program(X, y, 2)


def another_likelihood_in_late_rows(X, y):
    program(X, y, 3, lambda probs, rows: jnp.where((rows > 144)[:, None], 0.5, probs))


def totals_of_late_rows(X, y, total):
    program(X, y, 3, total=total)


@pytest.mark.parametrize("rows", [slice(0, None, 3), pytest.param(slice(None), marks=pytest.mark.slow)])
def test_classes_may_be_counted_from_labels_that_are_sorted(rows):
    model = nb.from_numpyro(sorted_classes, (X[rows], Y[rows]), label="y")
    expected = nb.fit_map(nb.NaiveBayes(nb.Bernoulli(2.0, 3.0), class_concentration=1.0), X, Y)
    assert_allclose(nb.fit_map(model, X, Y).predict_proba(X), expected.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("fn", [too_few_classes, another_likelihood_in_late_rows])
def test_what_is_wrong_in_late_rows_is_refused(fn):
    with pytest.raises(nb.NotNaiveBayes, match=r"labels reach 2, and 'y' has 2 classes|another density"):
        nb.from_numpyro(fn, (X, Y), label="y")


@pytest.mark.slow
def test_totals_that_differ_in_late_rows_are_refused():
    total = np.where(np.arange(N)[:, None] == 147, 9, 3) * np.ones((N, 3), int)
    with pytest.raises(nb.NotNaiveBayes, match="another density"):
        nb.from_numpyro(totals_of_late_rows, (X, Y, total), label="y")
