"""Arguments of every type with one entry a row, and labels that are not numbers of classes."""

import time

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.recognition.case import COUNTS, FLAGS, REALS, Y3, D, K, N, Y
from tests.recognition.programs.parts import rows, table

BETA = dist.Beta(2.0, 2.5)
NAMES = np.array(list("abc") * 4)


def beside(X, y, other):
    del other
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


def of_argument(X, y):
    theta = numpyro.sample("theta", BETA.expand([K, D]))
    numpyro.sample("x", dist.Bernoulli(theta[jnp.asarray(np.asarray(y))]), obs=jnp.asarray(np.asarray(X)))


@pytest.mark.parametrize(
    "other",
    [
        NAMES,
        NAMES.astype(object),
        pd.Categorical(NAMES),
        pd.Series(NAMES, index=NAMES),
        pd.Series(pd.Categorical(NAMES)),
        pd.date_range("2020-01-01", periods=N),
        pd.array([1, 2, None] * 4, dtype="Int64"),
    ],
    ids=["strings", "objects", "categorical", "series", "categorical series", "dates", "missing"],
)
def test_an_argument_that_is_no_array_of_numbers_is_passed_as_it_is(other):
    assert_allclose(nb.from_numpyro(beside, (FLAGS, Y, other), label="y").families["x"].a, 2.0)


def test_many_rows_with_strings_and_an_index_of_their_own():
    X, y = np.tile(FLAGS, (50, 1)), pd.Series(np.tile(Y, 50), index=np.arange(50 * N)[::-1])
    names = pd.Categorical(np.tile(NAMES, 50))
    assert nb.from_numpyro(beside, (X, y.to_numpy(), names), label="y").num_classes == K
    assert nb.from_numpyro(of_argument, (X, y), label="y").num_classes == K


@pytest.mark.parametrize("library", ["pandas", "masked", "arrow", "polars"])
def test_labels_and_cells_may_be_columns_of_frames(library):
    def column(values, kind):
        if library == "polars":
            return pytest.importorskip("polars").Series(values)
        if library == "arrow":
            pytest.importorskip("pyarrow")
            return pd.Series(values, dtype=f"{kind}[pyarrow]")
        return pd.array(values, dtype=kind.capitalize()) if library == "masked" else pd.Series(values, index=NAMES)

    def program(X, y):
        theta = numpyro.sample("theta", BETA.expand([K]))
        numpyro.sample("x", dist.Bernoulli(theta[jnp.asarray(np.asarray(y))]), obs=jnp.asarray(np.asarray(X)))

    model = nb.from_numpyro(program, (column(FLAGS[:, 0], "float64"), column(Y, "int64")), label="y")
    assert_allclose(model.families["x"].b, np.full((K, 1), 2.5))


def a_rate(X, y):
    level, slope = (numpyro.sample(name, dist.Normal(0.0, 1.0).expand([D])) for name in ("level", "slope"))
    numpyro.sample("x", dist.Poisson(jnp.exp(level + slope * jnp.asarray(y)[:, None])), obs=X)


def a_mean(X, y):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0).expand([D]))
    numpyro.sample("x", dist.Normal(slope * jnp.asarray(y)[:, None], 1.0), obs=X)


@pytest.mark.parametrize(("program", "X"), [(a_rate, COUNTS), (a_mean, REALS)], ids=["a rate", "a mean"])
@pytest.mark.parametrize("kind", [int, float])
def test_labels_that_are_read_as_numbers_are_refused_soon(program, X, kind):
    start = time.perf_counter()
    with pytest.raises(nb.NotNaiveBayes, match=r"the argument 'y', the labels, is read as a number: .* theta\[y\]"):
        nb.from_numpyro(program, (X, Y.astype(kind)), label="y")
    assert time.perf_counter() - start < 5.0  # minutes, if all 4,096 were tried; a busy machine has its time


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_many_more_classes_than_labels_are_still_counted(kind):
    def program(X, y):
        theta = numpyro.sample("theta", BETA.expand([100, D]))
        numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)

    assert nb.from_numpyro(program, (FLAGS, Y.astype(kind)), label="y").num_classes == 100


def index(shift):
    def program(X, y):
        theta = numpyro.sample("theta", BETA.expand([3, D]))
        numpyro.sample("x", dist.Bernoulli(theta[np.asarray(y) - shift]), obs=X)

    return program


def codes_of(X, y):
    index(0)(X, np.unique(y, return_inverse=True)[1])


def a_site(X, y):
    theta = numpyro.sample("theta", BETA.expand([3, D]))
    with numpyro.plate("rows", N):
        y = numpyro.sample("y", dist.Categorical(jnp.ones(3) / 3.0), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y - 1]).to_event(1), obs=X)


@pytest.mark.parametrize(
    ("program", "y", "sentence"),
    [
        (index(1), Y3 + 1, "the labels are 1 to 3, .* of 3 classes: labels count from 0: pass y - 1"),
        (a_site, Y3 + 1, "the labels reach 3, and 'y' has 3 classes, 0 to 2: labels count from 0: pass y - 1"),
        (index(0), np.where(Y3 == 2, -1, Y3), "the labels reach -1, .* leave rows without a label out, .* fit_em"),
        (index(0), Y3.tolist(), "'y' must be an array of labels, whole numbers from 0, .* got a list"),
        (codes_of, NAMES, "'y' must be an array of labels, whole numbers from 0, .* got a ndarray of shape"),
    ],
    ids=["one to K", "a site", "unlabelled", "a list", "strings"],
)
def test_labels_that_do_not_count_from_zero(program, y, sentence):
    with pytest.raises(nb.NotNaiveBayes, match=sentence):
        nb.from_numpyro(program, (FLAGS, y), label="y")
