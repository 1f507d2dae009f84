"""Arguments of every type and size: what they are is read from the program, and what labels are not is refused."""

import time

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases
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
        pytest.param(NAMES, marks=pytest.mark.slow),
        pytest.param(NAMES.astype(object), marks=pytest.mark.fuzz),
        pytest.param(pd.Categorical(NAMES), marks=pytest.mark.fuzz),
        pytest.param(pd.Series(NAMES, index=NAMES), marks=pytest.mark.slow),
        pytest.param(pd.Series(pd.Categorical(NAMES)), marks=pytest.mark.fuzz),
        pytest.param(pd.date_range("2020-01-01", periods=N), marks=pytest.mark.slow),
        pd.array([1, 2, None] * 4, dtype="Int64"),
    ],
    ids=["strings", "objects", "categorical", "series", "categorical series", "dates", "missing"],
)
def test_an_argument_that_is_no_array_of_numbers_is_passed_as_it_is(other):
    assert_allclose(nb.from_numpyro(beside, (FLAGS, Y, other), label="y").families["x"].a, 2.0)


@pytest.mark.slow
def test_many_rows_with_strings_and_an_index_of_their_own():
    X, y = np.tile(FLAGS, (50, 1)), pd.Series(np.tile(Y, 50), index=np.arange(50 * N)[::-1])
    names = pd.Categorical(np.tile(NAMES, 50))
    assert nb.from_numpyro(beside, (X, y.to_numpy(), names), label="y").num_classes == K
    assert nb.from_numpyro(of_argument, (X, y), label="y").num_classes == K


@pytest.mark.parametrize("library", cases.by_default(["pandas", "masked", "arrow", "polars"], "polars"))
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


@pytest.mark.parametrize("kind", cases.by_default([np.int64, np.uint8]))
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


# arguments of priors that happen to have as many rows as the data, or numbers equal to that of the rows


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


def uniform_rows(num_rows, num_columns):
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (num_rows, num_columns)), rng.uniform(1.0, 3.0, (num_rows, 3))


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [pytest.param(6, marks=pytest.mark.slow), 70])
def test_a_prior_with_a_row_for_each_class(num_rows):
    X, a = uniform_rows(num_rows, 3)
    model = nb.from_numpyro(a_row_for_each_class, (X, np.arange(num_rows), a), label="y")
    assert_allclose(model.families["x"].a, a, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [6, 70])
def test_a_prior_with_a_number_for_each_column(num_rows):
    X, _ = uniform_rows(num_rows, num_rows)
    a = np.linspace(1.0, 3.0, num_rows)
    model = nb.from_numpyro(a_number_for_each_column, (X, np.arange(num_rows) % 2, a), label="y")
    assert_allclose(model.families["x"].a, np.broadcast_to(a, (2, num_rows)), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [6, 70])
def test_as_many_classes_as_rows(num_rows):
    X, _ = uniform_rows(num_rows, 3)
    model = nb.from_numpyro(a_number_of_classes, (X, np.arange(num_rows) % 3, num_rows), label="y")
    assert model.num_classes == num_rows


@pytest.mark.slow
def test_a_constant_prior_with_a_row_for_each_class():
    X, _ = uniform_rows(70, 3)
    model = nb.from_numpyro(a_row_for_each_class, (X, np.arange(70), np.full((70, 3), 2.0)), label="y")
    assert_allclose(model.families["x"].a, np.full((70, 3), 2.0), rtol=1e-6)


@pytest.mark.slow
def test_a_prior_that_reads_the_first_row_is_refused():
    def program(X, y):
        cells(X, y, numpyro.sample("theta", dist.Beta(1.0 + X[0], 2.5).expand([2, 3])), 2)

    with pytest.raises(nb.NotNaiveBayes, match="site 'theta'"):
        nb.from_numpyro(program, (np.arange(18).reshape(6, 3) % 5 % 2, np.arange(6) % 2), label="y")


# programs with more rows than are probed: what only the others show is seen too


MANY = 150
MANY_FLAGS = np.random.default_rng(0).integers(0, 2, (MANY, 3))
SORTED = np.repeat(np.arange(3), 50)


def many_rows(MANY_FLAGS, y, num_classes, change=lambda probs, _: probs, total=None):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(num_classes)))
    with numpyro.plate("class", num_classes, dim=-2), numpyro.plate("column", MANY_FLAGS.shape[1], dim=-1):
        theta = numpyro.sample("theta", dist.Beta(2.0, 3.0))
    with numpyro.plate("row", MANY_FLAGS.shape[0], dim=-1):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        probs = change(theta[y], jnp.arange(MANY_FLAGS.shape[0]))
        law = dist.Bernoulli(probs) if total is None else dist.Binomial(total, probs)
        numpyro.sample("x", law.to_event(1), obs=MANY_FLAGS)


def sorted_classes(MANY_FLAGS, y):
    many_rows(MANY_FLAGS, y, int(np.max(y)) + 1)


def too_few_classes(MANY_FLAGS, y):
    many_rows(MANY_FLAGS, y, 2)


def another_likelihood_in_late_rows(MANY_FLAGS, y):
    many_rows(MANY_FLAGS, y, 3, lambda probs, rows: jnp.where((rows > 144)[:, None], 0.5, probs))


def totals_of_late_rows(MANY_FLAGS, y, total):
    many_rows(MANY_FLAGS, y, 3, total=total)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [slice(0, None, 3), slice(None)])
def test_classes_may_be_counted_from_labels_that_are_sorted(rows):
    model = nb.from_numpyro(sorted_classes, (MANY_FLAGS[rows], SORTED[rows]), label="y")
    expected = nb.fit_map(nb.NaiveBayes(nb.Bernoulli(2.0, 3.0), class_concentration=1.0), MANY_FLAGS, SORTED)
    assert_allclose(
        nb.fit_map(model, MANY_FLAGS, SORTED).predict_proba(MANY_FLAGS), expected.predict_proba(MANY_FLAGS), rtol=1e-6
    )


@pytest.mark.parametrize("fn", cases.by_default([too_few_classes, another_likelihood_in_late_rows], too_few_classes))
def test_what_is_wrong_in_late_rows_is_refused(fn):
    with pytest.raises(nb.NotNaiveBayes, match=r"labels reach 2, and 'y' has 2 classes|another density"):
        nb.from_numpyro(fn, (MANY_FLAGS, SORTED), label="y")


@pytest.mark.slow
def test_totals_that_differ_in_late_rows_are_refused():
    total = np.where(np.arange(MANY)[:, None] == 147, 9, 3) * np.ones((MANY, 3), int)
    with pytest.raises(nb.NotNaiveBayes, match="another density"):
        nb.from_numpyro(totals_of_late_rows, (MANY_FLAGS, SORTED, total), label="y")


@pytest.mark.slow
def test_a_variance_whose_prior_has_no_mean():
    """The shape of an inverse Gamma may be less than one."""

    def program(X, y):
        variance = table("variance", dist.InverseGamma(0.5, 2.0))
        mu = table("mu", dist.Normal(0.0, jnp.sqrt(variance)))
        rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance[y])))

    found = nb.from_numpyro(program, model_args=(REALS, Y), label="y").families["x"]
    for value, expected in zip((found.loc, found.strength, found.shape, found.rate), (0.0, 1.0, 0.5, 2.0), strict=True):
        assert_allclose(value, np.full(np.shape(value), expected), rtol=1e-4, atol=1e-5)
