"""JAX rows on the CPU: any number of them is served by few compiled programs, with the answers that XLA gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.core.families.parts._statistics import without
from tests import cases

MANY = 515
COMPILED = "/jax/core/compile/backend_compile_duration"


@pytest.fixture
def compiled():
    """The compilations so far, one entry each."""
    found: list[str] = []

    def listen(event, *_, **__):
        found.extend([event] if event == COMPILED else [])

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    jax.monitoring.unregister_event_duration_listener(listen)


def repeated(case, size):
    """So many rows of a case, on the device."""
    rows = np.arange(size) % len(case.y)
    return jax.tree.map(jax.device_put, (case.rows(rows), case.y[rows]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "ragged"])
def test_new_numbers_of_rows_compile_few_programs(name, compiled):
    case = cases.make(name)

    def fit_and_predict(size):
        X, y = repeated(case, size)
        fit = nb.fit_posterior(case.model, X, y)
        return jax.block_until_ready((fit.predict_log_proba(X), fit.log_joint(X)))

    for size in (16, 600):
        fit_and_predict(size)
    del compiled[:]
    for size in (1, 5, 9, 17, 25, 31, 32, 513, 600, 800):
        fit_and_predict(size)
    assert not compiled


SIZES = [("trials", 1), ("normal", 16), ("normal", MANY), ("mixed", 7), ("mixed", MANY)]
KINDS = ("plain", "weighted", "soft")
QUICK = [("trials", 1, "plain"), ("normal", 16, "weighted"), ("normal", MANY, "soft")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size", "kind"),
    [
        pytest.param(name, size, kind, marks=() if (name, size, kind) in QUICK else pytest.mark.slow)
        for name, size in SIZES
        for kind in KINDS
    ],
)
def test_answers_are_those_of_xla(name, size, kind):
    case = cases.make(name)
    X, y = repeated(case, size)
    weight = jnp.linspace(0.5, 2.0, size) if kind == "weighted" else None
    soft = jax.nn.one_hot(y, case.model.num_classes) * 0.8 + 0.2 / case.model.num_classes
    labels = soft if kind == "soft" else y

    def tables(X, labels, sample_weight):
        fit = nb.fit_posterior(case.model, X, labels, sample_weight=sample_weight)
        return fit.statistics, fit.log_joint(X)

    found, by_xla = (f(X, labels, weight) for f in (tables, jax.jit(tables)))
    for a, b in zip(*map(jax.tree.leaves, (found, by_xla)), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert_allclose(a, b, rtol=3e-4, atol=3e-4)


def test_predictions_have_the_rows_that_were_given():
    case = cases.make("bernoulli")
    X, y = repeated(case, 5)
    fit = nb.fit_map(case.model, X, y)
    assert fit.predict(X).shape == fit.log_density(X).shape == (5,)
    assert isinstance(fit.predict(X), jax.Array)
    assert fit.predict_proba(X[:0]).shape == (0, case.model.num_classes)
    with pytest.raises(ValueError, match=r"must be an array \[N, D\], got shape \(5,\)"):
        fit.predict(X[:, 0])


@pytest.mark.slow
def test_blocks_of_different_lengths_are_refused():
    case = cases.make("mixed")
    X, y = repeated(case, 9)
    fit = nb.fit_map(case.model, X, y)
    first = next(iter(X))
    with pytest.raises(ValueError, match="same number of rows"):
        fit.predict({**X, first: jax.tree.map(lambda x: x[:7], X[first])})


def test_answers_stay_on_the_device_of_the_rows():
    X, y = np.array([[0.1], [0.4], [2.0]]), np.array([0, 1, 1])
    device = jax.devices("cpu")[0]
    committed = jax.device_put(X, device)
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), committed, jax.device_put(y, device))
    assert fit.predict_proba(committed).devices() == {device}
    assert fit.predict_proba(committed).committed
    assert (
        not nb.PointEstimate(fit.prior, nb.fit_mle(nb.NaiveBayes(nb.Normal()), X, y).params)
        .predict_proba(jnp.asarray(X))
        .committed
    )


@pytest.mark.slow
def test_rows_on_a_mesh_of_one_device_stay_with_xla():
    X, y = np.array([[0.1], [0.4], [2.0]]), np.array([0, 1, 1])
    mesh = jax.make_mesh((1,), ("rows",))
    rows = NamedSharding(mesh, PartitionSpec("rows", None))
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), jax.device_put(X, rows), y)
    expected = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y).predict_proba(X)
    assert_allclose(fit.predict_proba(jax.device_put(X, rows)), expected, rtol=1e-4)


@pytest.mark.skipif(jax.config.jax_enable_x64, reason="the limit is that of float32")
@pytest.mark.parametrize("size", [40, 552])
def test_cells_that_overflow_are_refused_however_many(size):
    X = jnp.linspace(-1e19, 1e19, size)[:, None]
    with pytest.raises(ValueError, match="column 0"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, jnp.arange(size) % 2)


def test_a_rare_value_is_left_out_exactly():
    rare, often = 2, 3_000_000
    counts = np.array([[rare, often - rare]], np.float32)
    left = without(counts, np.ones((1, 2), np.float32), np.full((1, 2), often, np.float32))
    assert_array_equal(left, [[rare - 1, often - rare - 1]])
