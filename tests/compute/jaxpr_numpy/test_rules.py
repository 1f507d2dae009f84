"""Every rule of the evaluation by numpy, for every dtype that it takes, against JAX; all other dtypes are JAX's own.

``python -m pytest -m fuzz`` draws each case a hundred times (``tests/fuzz/test_rules.py``).
"""

import warnings
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numpy.testing import assert_allclose

from bayesnb.compute.jaxpr_numpy import RULES, by_numpy, evaluate
from tests.compute.jaxpr_numpy import rules

FLAT = ("float64", "int64", "uint32", "bool")
"""Dtypes of the default lane: one of a kind."""


FLOATS = {"cholesky", "eigh", "triangular_solve", "add_any", *rules.BODIES}
"""Rules of which JAX, or the case, has no other dtypes than floats."""


def test_every_rule_has_cases():
    of_densities = {name for name in RULES if " Density(" in name}  # made as a Likelihood needs them: test_solvers.py
    assert rules.CASES.keys() | rules.OWN_STREAM == RULES.keys() - of_densities


@pytest.mark.parametrize("name", rules.CASES)
def test_the_rule_gives_what_jax_gives(name):
    dtypes = [dtype for dtype in rules.dtypes_of(name) if dtype in FLAT]
    rules.require_agreement(name, np.random.default_rng(0), dtypes)


@pytest.mark.slow
@pytest.mark.parametrize("name", rules.CASES)
def test_the_rule_gives_what_jax_gives_in_every_dtype(name):
    for seed in (1, 2, 3):
        rules.require_agreement(name, np.random.default_rng(seed), rules.dtypes_of(name))


def left_to_jax():
    """One rule in three as a slow test, the others with ``-m fuzz``: each dtype of each compiles."""
    for n, name in enumerate(name for name in rules.CASES if name not in FLOATS):
        yield pytest.param(name, marks=pytest.mark.fuzz if n % 3 else pytest.mark.slow)


@pytest.mark.parametrize("name", list(left_to_jax()))
def test_other_dtypes_are_left_to_jax(name):
    rng, errors = np.random.default_rng(4), (TypeError, ValueError, KeyError, OverflowError, jax.errors.JaxRuntimeError)
    for case, dtype in product(rules.CASES[name], rules.OTHERS):
        with jax.enable_x64(True), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            args = case.draw(rng, jnp.dtype(dtype))
            try:
                expected = jax.jit(case.function)(*args)
            except errors:  # JAX has no such operation
                continue
            rules.assert_same(name, evaluate(case.function, *args), expected, dtype)


@pytest.mark.parametrize("name", rules.CASES)
def test_the_case_is_of_the_rule(name, monkeypatch):
    """Its trace has the primitive, whose rule is asked."""
    seen = []
    rule = RULES[name]
    monkeypatch.setitem(RULES, name, rule._replace(make=lambda equation: seen.append(name) or rule.make(equation)))
    for case in rules.CASES[name]:
        with jax.enable_x64(True):
            args = case.draw(np.random.default_rng(0), np.dtype(rules.dtypes_of(name)[-1]))
        evaluate(lambda *given, case=case: case.function(*given), *args)
    assert seen


WORDS = np.array([3, 100, -120, 77], np.int8)
MANY = np.linspace(0.0, 1.0, 300)
HALVES = np.array([0.3, -2.5, 1e-4, 60000.0], np.float16)
FAULTS = {
    "halves divided": lambda: (jnp.bfloat16(5) / jnp.bfloat16(2)).astype(jnp.float32),
    "halves divided in arrays": lambda x: (x.astype(jnp.bfloat16) / jnp.bfloat16(3), x / x[::-1]),
    "complex numbers": lambda x: (lax.complex(x, x) / lax.complex(x, -x), jnp.abs(lax.complex(x, x)) > 2),
    "products of bytes": lambda x: lax.dot(WORDS, WORDS, preferred_element_type=jnp.int32) + x.astype(int),
    "wider products": lambda x: lax.dot(x, x, preferred_element_type=jnp.float64),
    "products of flags": lambda x: (lax.dot(x > 0, x > 0), lax.dot(x > 0, x > 0, preferred_element_type=jnp.int32)),
    "halves summed": lambda _: [jnp.cumsum(MANY.astype(kind)) for kind in ("float16", "bfloat16")],
    "an upper triangle": lambda x: lax.linalg.eigh(jnp.outer(x, x).at[1, 0].set(9.0), lower=False)[1],
    "functions of halves": lambda x: (
        [f(HALVES) for f in (lax.lgamma, lax.digamma, lax.erf, lax.erf_inv, lax.exp)], lax.pow(x, jnp.arange(4))
    ),
    "whole numbers from floats": lambda x: [(1e12 * x).astype(kind) for kind in ("int32", "int64", "uint32", "int8")],
    "bits of whole numbers": lambda x: (lax.reduce_and(WORDS, (0,)), lax.reduce_or(x.astype(int), (0,))),
    "a loop under vmap": lambda x: jax.vmap(lambda a: lax.while_loop(lambda s: s < 50, lambda s: s * s + 2, a))(x),
    "keys stacked by a loop": lambda x: jax.random.key_data(
        lax.scan(lambda k, _: (jax.random.split(k)[0], k), jax.random.key(0), x)[1]
    ),
    "keys looked up": lambda x: jax.random.key_data(jax.random.split(jax.random.key(0), 5)[x.astype(int)]),
    "a derivative of its own": lambda x: softly(x),
}  # fmt: skip


@jax.custom_vjp
def softly(x):
    return jnp.log1p(jnp.exp(x))


softly.defvjp(lambda x: (softly(x), x), lambda x, g: (g * jax.nn.sigmoid(x),))


@pytest.mark.parametrize("name", FAULTS)
def test_what_numpy_computes_otherwise_is_left_to_jax(name):
    function, args = FAULTS[name], [np.array([1.5, -2.25, 3.0, 40.0], np.float32)] * (name != "halves divided")
    with jax.enable_x64(True):
        expected = jax.jit(function)(*args)
        rules.assert_same("exp", evaluate(function, *args), expected, name)
        with by_numpy():
            found = function(*map(jnp.asarray, args))
        rules.assert_same("exp", jax.tree.map(np.asarray, found), expected, name)


@pytest.mark.parametrize("partitionable", [True, False])
def test_random_numbers_follow_the_setting_of_jax_s_generator(partitionable):
    def draw(key):
        first, second = jax.random.split(key)
        return (
            jax.random.normal(first, (5,)),
            jax.random.randint(second, (5,), 0, 99),
            jax.random.bits(key, (3,), "uint8"),
        )

    key = jax.random.key(7)
    with jax.enable_x64(True), jax.threefry_partitionable(partitionable):
        expected = jax.jit(draw)(key)
        rules.assert_same("erf_inv", evaluate(draw, key), expected)
        with by_numpy():
            found = draw(key)
        rules.assert_same("erf_inv", jax.tree.map(np.asarray, found), expected)


SINGLES = np.float32(1e-45) * np.array([1.0, -1.0, 3.0, 1e6, -8e6], np.float32)
"""Below the smallest normal number."""


@pytest.mark.parametrize("name", [name for name in rules.UNARY if "f" in RULES[name].kinds])
def test_numbers_below_the_smallest_normal_one_are_kept(name):
    """XLA has zero in their place, in some operations; doubles, in which they are normal, say what is right."""
    function = getattr(lax, name)
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(SINGLES.astype(np.float64)))
    found = evaluate(function, SINGLES)
    with np.errstate(over="ignore", under="ignore"):
        assert_allclose(found, expected.astype(found.dtype), rtol=1e-5, atol=2e-45)
