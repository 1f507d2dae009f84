"""Functions evaluated by numpy from their trace, against the same functions compiled by JAX."""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import pytest
from jax import lax
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb.compute.jaxpr_numpy import by_numpy, evaluate

A = np.random.default_rng(1).normal(size=(3, 4))
B = np.random.default_rng(2).normal(size=(3, 4))
POSITIVE = np.exp(A)
SQUARES = np.einsum("kij,klj->kil", *2 * [np.random.default_rng(3).normal(size=(2, 3, 5))])
PLACES = np.array([[2, -1], [0, 7]])
WORDS = np.arange(6, dtype=np.uint32).reshape(2, 3) * np.uint32(2**29)
INTEGERS = np.array([-7, -1, 0, 5, 9])

FUNCTIONS = {
    "arithmetic": (lambda a, b: (a + b - a * b / (1 + b * b), -a, a % b, a**2, abs(a) ** -1, (1 + a * a) ** b), A, B),
    "powers": (lambda a: (a**3, a**-2, lax.integer_pow(a, 5), jnp.power(a, 0.5), jnp.sqrt(a), lax.rsqrt(a)), POSITIVE),
    "whole numbers": (
        lambda n: (lax.div(n, 3), lax.rem(n, 4), n // 3, n % 4, n & 6, n | 1, ~n, n ^ 3, lax.sign(n), n**2), INTEGERS
    ),
    "unsigned words": (lambda n: (n // 3, n % 5, n << 3, n >> 3, n ^ (n >> 7), n * n, n.astype(float)), WORDS),
    "logarithms": (lambda a: (jnp.log(a), jnp.log1p(a), jnp.exp(-a), jnp.expm1(a), jnp.tanh(a), jnp.log(-a)), POSITIVE),
    "special functions": (
        lambda a: (jsp.special.gammaln(a), jsp.special.digamma(a), jsp.special.erf(a), jax.nn.sigmoid(a)), POSITIVE
    ),
    "comparisons": (lambda a, b: (a < b, a >= b, (a > 0) & (b > 0), (a > 0) | (b > 0), ~(a > b), a == a), A, B),
    "extremes": (
        lambda a, b: (jnp.maximum(a, b), jnp.clip(a, -0.5, 0.5), a.max(1), a.min(0), jnp.max(a, initial=9.0)), A, B
    ),
    "not a number": (
        lambda a: (jnp.where(jnp.isnan(a), 0.0, a), jnp.maximum(a, 0.0), a.max(), a.argmax(1), jnp.isfinite(a)),
        np.array([[1.0, np.nan, np.inf], [0.0, -np.inf, 2.0]]),
    ),
    "reductions": (
        lambda a: (a.sum(), a.sum(0), a.prod(1), (a > 0).all(1), (a > 0).any(0), (a > 0).sum(), a.mean(1)), A
    ),
    "empty": (
        lambda a: (a.sum(0), a.max(1, initial=-1.0), a.T, jnp.concatenate([a, a], 1), a[:, :0]), np.zeros((3, 0))
    ),
    "indices of extremes": (lambda a: (a.argmax(1), a.argmin(0), jnp.argmax(a)), A),
    "shapes": (
        lambda a: (a.reshape(2, 6), a.T, a[None, :, 1], a[::2, 1:3], a[-1], jnp.stack([a, 2 * a], 1), jnp.pad(a, 2)), A
    ),
    "parts": (lambda a: (*jnp.split(a, 2, axis=1), *jnp.split(a, 1), *a, jnp.flip(a, 1), jnp.roll(a, 1, 0)), A),
    "sums on the way": (lambda a: (jnp.cumsum(a, 1), lax.cumsum(a, 0, reverse=True), jnp.cumsum(a)), A),
    "products": (
        lambda a, s: (a @ a.T, jnp.einsum("kij,kjl->kil", s, s), jnp.einsum("kij,kl->jkli", s, a[:2]), a[0] @ a[1]),
        A,
        SQUARES,
    ),
    "matrices": (
        lambda s: (
            jnp.linalg.cholesky(s), jnp.linalg.eigvalsh(s), jnp.linalg.solve(s, s + 1.0), jnp.linalg.cholesky(-s),
            [
                lax.linalg.triangular_solve(s, s + 1.0, left_side=left, lower=low, transpose_a=turn, unit_diagonal=one)
                for left in (True, False) for low in (True, False) for turn in (True, False) for one in (True, False)
            ],
        ),
        SQUARES,
    ),
    "look-ups": (
        lambda a, i: (
            a[i], a[:, i], a[i, i], a.at[i].get(mode="clip"), a.at[i].get(mode="fill"), a[i[0]][:, i[1]],
            jnp.take_along_axis(a, abs(i[:1]) % 3, 1), jax.vmap(lambda row, j: row[j])(a[:2], i),
        ),
        A,
        PLACES,
    ),
    "whole numbers looked up": (
        lambda n, i: (n[i], n.at[i].get(mode="fill"), (n > 0).at[i].get(mode="fill")), INTEGERS, PLACES
    ),
    "writes": (
        lambda a, i: (
            a.at[i].add(1.5), a.at[:, i[0]].set(2.0), a.at[i[0], i[0]].add(a[0, :2]), a.at[1:, 2].set(7.0),
            jax.vmap(lambda row, j: row.at[j].add(1.0))(a[:2], i), jax.ops.segment_sum(a, jnp.array([1, 0, 1]), 2),
        ),
        A,
        PLACES,
    ),
    "slices at computed places": (
        lambda a, i: (lax.dynamic_slice(a, i[0], (2, 2)), lax.dynamic_update_slice(a, a[:2, :1] * 2.0, i[1])), A, PLACES
    ),
    "loops": (
        lambda a: (
            lax.while_loop(lambda s: s[0].sum() < 50, lambda s: (s[0] * 1.5, s[1] + 1), (abs(a), 0)),
            lax.while_loop(lambda s: s < 3, lambda s: s + 1, 0),
            lax.scan(lambda total, row: (total + row, total * row), a[0], a),
            lax.scan(lambda total, row: (total - row, None), a[0], a, reverse=True),
            lax.map(jnp.sum, a),
            lax.map(jnp.sum, jnp.ones((300, 2))),
            lax.cond(a[0, 0] > 0, jnp.sin, jnp.cos, a),
            lax.switch(7, [lambda x: x, lambda x: -x], a),
        ),
        A,
    ),
    "derivatives": (
        lambda a: (
            jax.grad(lambda x: jnp.sum(jnp.log1p(x) * x))(a), jax.hessian(lambda x: jsp.special.gammaln(x).sum())(a[0])
        ),
        POSITIVE,
    ),
    "conversions": (
        lambda a: (
            a.astype(int), a.astype(bool), a.astype(jnp.float32), (a > 0).astype(float), lax.reduce_precision(a, 8, 23),
            lax.bitcast_convert_type(a, jnp.uint64), lax.stop_gradient(a), jnp.sign(a), jnp.round(a), jnp.floor(a),
        ),
        A,
    ),
    "what needs no rule": (lambda a: (jnp.sort(a, 1), jnp.sin(a), jsp.special.gammainc(2.0, abs(a))), A),
    "no argument in sight": (lambda: (jnp.arange(3) * 2, jnp.eye(2), jnp.ones(3).at[1].set(4.0)),),
    "Python's numbers": (lambda x, n: (x * n, jnp.float32(2) * x, jnp.arange(3, dtype=jnp.int32) + n), 1.5, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_what_jax_computes(name):
    """From the trace, and operation by operation as they come."""
    function, *args = FUNCTIONS[name]
    with jax.enable_x64(True):
        expected = jax.tree.map(np.asarray, jax.jit(function)(*args))
        with by_numpy():
            concrete = function(*map(jnp.asarray, args))
    traced = evaluate(function, *args)
    assert all(type(one) is np.ndarray for one in jax.tree.leaves(traced))
    assert not any(isinstance(one, jax.core.Tracer) for one in jax.tree.leaves(concrete))
    for found in (traced, concrete):
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            assert_allclose(one, other, rtol=1e-6 if one.dtype == np.float32 else 1e-12, atol=1e-14)


def test_results_are_copies_that_cannot_be_written():
    given = np.ones(3)
    same, wide = evaluate(lambda x: (x, jnp.broadcast_to(x, (2, 3))), given)
    assert not np.shares_memory(same, given)
    assert not same.flags.writeable
    assert wide.flags.c_contiguous


KEYS = jax.random.split(jax.random.key(3), 5)


def _whole_and_normal(key):
    first, second = jax.random.split(jax.random.fold_in(key, 9))
    bits = [jax.random.bits(first, (3,), kind) for kind in (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64)]
    return bits, jax.random.randint(second, (4,), -3, 9), jax.random.normal(first, (2, 3)), jax.random.uniform(second)


@pytest.mark.parametrize("old", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_whole_and_normal_numbers_are_jax_s_own(old):
    """For a key, keys in an array, and a key of the old style."""
    key = jax.random.key_data(KEYS[0]) if old else KEYS[0]
    for function, given in ((_whole_and_normal, key), (jax.vmap(_whole_and_normal), KEYS)):
        with jax.enable_x64(True):
            expected = jax.jit(function)(given)
        for one, other in zip(*map(jax.tree.leaves, (evaluate(function, given), expected)), strict=True):
            assert_allclose(one, other, rtol=1e-13)


def _gammas(key, shape):
    return jax.random.gamma(key, shape, (20_000,)), jax.random.loggamma(key, shape, (20_000,))


@pytest.mark.parametrize("shape", [1e-3, 0.3, 1.0, 2.5, 1e3, 1e8])
def test_gamma_variates_have_their_distribution(shape):
    plain, logs = evaluate(_gammas, KEYS[0], shape)
    law = stats.gamma(shape)
    if shape > 0.1:  # below, many variates underflow
        assert stats.kstest(plain, law.cdf).pvalue > 1e-4
    assert np.isfinite(logs).all()
    # log G has cumulants digamma and trigamma: at 1e-3 most variates are below the smallest number
    mean, spread = (float(np.asarray(f(shape))) for f in (jsp.special.digamma, lambda a: jsp.special.polygamma(1, a)))
    assert abs(logs.mean() - mean) < 5 * np.sqrt(spread / logs.size)
    assert abs(logs.std() / np.sqrt(spread) - 1) < 0.05


def test_operations_as_they_come_are_concrete_and_compile_nothing(compilations):
    compilations.clear()
    x = np.arange(7.0)
    with by_numpy():
        assert int(jnp.max(jnp.asarray(x))) == 6
        assert jnp.zeros(7).at[2].add(jnp.float32(1)).sum() == 1
        assert_allclose(jax.vmap(jax.grad(lambda a: jax.nn.softplus(a) ** 2))(x)[0], np.log(2.0), rtol=1e-6)
        drawn = jax.random.normal(jax.random.key(-3), (7,))
    assert compilations == []
    assert_allclose(drawn, jax.random.normal(jax.random.key(-3), (7,)), rtol=1e-5, atol=1e-6)
