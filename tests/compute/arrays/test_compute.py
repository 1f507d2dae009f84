"""What a JAX function returns on the host: the same pytree, whether numpy evaluates it or JAX compiles it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute, of_numbers
from bayesnb.compute.numerics._stable import log_gamma_ratio
from tests import cases


@partial(jax.jit, static_argnames="times")
def answered(tree, times=1):
    return {"scaled": jax.tree.map(lambda a: times * a, tree), "none": None, "sum": sum(jax.tree.leaves(tree)).sum()}


def trees(rng):
    return {
        "small": (rng.normal(size=(3, 2)), rng.normal(size=(1, 1)), rng.normal(size=())),
        "empty leaves": (np.zeros((0, 2)), np.zeros((0, 2))),
        "large": (rng.normal(size=(limits.MOST_IN_NUMPY // 8, 2)), np.float64(1.0)),
        "whole numbers": (np.arange(3), np.ones(3)),
        "Python's numbers": (1.5, 2.5),
    }


@pytest.mark.parametrize("name", trees(np.random.default_rng(0)))
@pytest.mark.parametrize("times", [1, 3])
def test_the_answer_is_that_of_the_function(rng, name, times):
    tree = trees(rng)[name]
    found = compute(answered, tree, times=times)
    with jax.enable_x64(True):
        expected = jax.tree.map(np.asarray, answered(tree, times))
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (type(one), one.dtype, one.shape) == (np.ndarray, other.dtype, other.shape)
        assert_allclose(one, other, rtol=1e-14)  # numpy and XLA add in different orders


def test_an_answer_of_nothing_or_of_one_array():
    assert compute(jax.jit(lambda *_: ()), np.ones(2)) == ()
    assert_array_equal(compute(jax.jit(lambda a: a + 1), np.ones(2)), [2.0, 2.0])


def test_another_size_or_structure_is_another_answer():
    twice = jax.jit(lambda tree: jax.tree.map(lambda a: 2 * a, tree))
    for tree in ((np.ones(2), np.ones(3)), (np.ones(3), np.ones(2)), {"a": np.ones(2), "b": np.ones(3)}):
        found = compute(twice, tree)
        assert jax.tree.map(np.shape, found) == jax.tree.map(np.shape, tree)
        assert all((leaf == 2).all() for leaf in jax.tree.leaves(found))


def test_arrays_of_jax_stay_on_their_device():
    found = compute(answered, (jnp.ones(2), np.ones(2)))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(found))


def test_inside_somebodys_jit_numpy_arrays_are_answered_at_once(rng):
    tree = rng.normal(size=(3, 2)), rng.normal(size=(1, 2))
    seen = []

    @jax.jit
    def caller(x):
        seen.append(compute(answered, tree))
        return x + seen[-1]["sum"]

    caller(1.0)
    assert (type(seen[0]["sum"]), seen[0]["sum"].dtype) == (np.ndarray, np.float64)


def test_two_models_of_one_size_are_told_apart(rng):
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    models = (nb.NaiveBayes(nb.Normal(variance=variance)) for variance in ("shared", "own"))
    tied, free = (nb.fit_map(model, X, y).params for model in models)
    assert (tied["x_variance"].shape, free["x_variance"].shape) == ((2,), (2, 2))


def test_nothing_is_compiled_for_the_size_of_a_host_problem(compilations, key):
    """Fits, evidence, predictions and draws of numpy rows of sizes that no other test has."""
    case, rows = cases.make("mixed"), np.arange(17)
    smaller = cases.mix(["bernoulli", "ragged", "multinomial", "normal", "poisson"])
    compilations.clear()
    for fit in (nb.fit_posterior, nb.fit_map):
        answer = fit(case.model, case.rows(rows), case.y[rows]).predict_proba(case.rows(rows[:11]))
        assert_allclose(answer.sum(axis=1), 1.0)
    posterior = nb.fit_posterior(smaller.model, smaller.rows(rows), smaller.y[rows])
    assert np.isfinite(posterior.log_evidence)
    posterior.sample(key, 7)
    assert compilations == []


def test_much_work_is_compiled(compilations):
    function = jax.jit(lambda x: (x[:, None] * x[None]).sum())
    for size, compiled in ((16, False), (1 + int(limits.MOST_IN_NUMPY**0.5), True)):
        assert compute(function, np.ones(size)) == size**2
        assert bool(compilations) == compiled


def test_powers_of_features_compile_nothing(compilations, rng):
    """Of a table that is too large for the interpreter at once, in blocks of rows."""
    X, y = rng.normal(size=(2003, 19)), rng.integers(0, 3, 2003)
    posterior = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    compilations.clear()
    assert nb.temper(posterior, X, y, per_feature=True).powers["x"].shape == (19,)
    assert compilations == []


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (3, 20_000)])
def test_a_function_of_numbers_gives_what_jax_gives_for_arrays_of_any_shape(rng, shape):
    a, x = rng.gamma(2.0, size=(2, *shape))
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(log_gamma_ratio)(jnp.asarray(a), 3.0, jnp.asarray(x)))
    found = log_gamma_ratio(a, 3.0, x)
    assert (type(found), found.dtype) == (np.ndarray, np.float64)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_function_of_numbers_has_one_trace_for_all_shapes():
    shapes = []

    @of_numbers
    def double(x):
        shapes.append(x.shape)
        return 2.0 * x

    assert [double(np.ones(size)).sum() for size in (1, 2, 40_000)] == [2.0, 4.0, 80_000.0]
    assert shapes == [()]
    assert isinstance(double(jnp.ones(3)), jax.Array)
    assert shapes == [(), (3,)]
