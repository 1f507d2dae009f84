"""JAX's operations give the same in onnxruntime: each function is traced, translated and run, beside JAX itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from jax import lax
from numpy.testing import assert_allclose
from onnx import helper

from bayesnb.tables.files.onnx._graph import NoOperator, describe
from tests import cases
from tests.tables.files.onnx.sessions import onnxruntime
from tests.tables.files.onnx.traces import TABLE, traced

MATRIX = np.array([[2.0, 0.3, -0.5], [0.3, 1.0, 0.2], [-0.5, 0.2, 3.0]])
FIRST = lax.GatherDimensionNumbers((1,), (0,), (0,))
PARTS = lax.GatherDimensionNumbers((1, 2), (), (0, 1))


def translated(function, x):
    """The function of rows in onnxruntime."""
    graph, aval, (value,) = traced(function, x)
    output = graph.output(value, aval, "out")
    proto = graph.to_proto([describe("X", jax.ShapeDtypeStruct((graph.rows, x.shape[1]), float))], [output])
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": x})[0]


def by_jax(function, x):
    with jax.enable_x64(True):
        return np.asarray(jax.jit(function)(jnp.asarray(x)))


def codes(x):
    return jnp.clip(jnp.floor(jnp.abs(x)), 0, 3).astype(int)


def scanned(x, **options):
    return lax.scan(lambda total, row: (total + row, total * row), jnp.zeros(x.shape[1]), x, **options)


def spread(x):
    """Covariances of rows, [N, 3, 3]."""
    return MATRIX[None] * (1.0 + x[:, :1, None] ** 2)


FUNCTIONS = {
    "arithmetic": lambda x: (x * 2.0 - 1.0) / (x**2 + 1.0) + jnp.maximum(x, 0.0) - jnp.abs(-x) + jnp.sign(x),
    "powers": lambda x: x**3 + jnp.abs(x) ** 0.3 + jnp.exp2(x) + lax.rsqrt(1.0 + x * x) + (2.0 + x * x) ** -2,
    "remainders": lambda x: lax.rem(x, 0.7) + jnp.floor(x) - jnp.ceil(x * 0.3),
    "comparisons": lambda x: ((x > 0) & ~(x >= 1) | (x < -1) ^ (x <= -2)) & (x != 0.5) & jnp.isfinite(x),
    "choices of booleans": lambda x: jnp.where(x > 0, x > 1, x < -1),
    "total order": lambda x: lax.lt_to_p.bind(jnp.where(x > 0, x, jnp.nan), x + 0.1),
    "clamp": lambda x: jnp.clip(x, -0.5, 0.5) + lax.clamp(-1.0, x, 1.0),
    "integers": lambda x: (codes(x) * 3 - 7) // 2,
    "logistic": lambda x: jax.nn.sigmoid(3.0 * x),
    "softmax": jax.nn.log_softmax,
    "sums": lambda x: x.sum() + x.prod(axis=1).sum() + x.max(axis=1).min(),
    "all and any": lambda x: (x > 0).all(axis=1) | (x > 2).any(axis=1) | (x > -9).all(),
    "places": lambda x: x.argmax(axis=1) + 10 * codes(x).argmin(axis=1),
    "running sums": lambda x: jnp.cumsum(x, axis=1) + lax.cumsum(x, axis=0, reverse=True),
    "shapes": lambda x: jnp.concatenate([x.T.reshape(-1), (2.0 * x).reshape(-1)]),
    "edges": lambda x: lax.pad(x, x[0, 0], [(0, 0, 0), (2, -1, 0)]) @ lax.pad(MATRIX, 0.5, [(1, 0, 0), (0, 0, 0)]),
    "parts": lambda x: jnp.hstack([x[:, 1:3], x[:, ::2], *jnp.split(x, [1], axis=1)]),
    "stacks": lambda x: jnp.stack([x, jnp.stack(jnp.unstack(x, axis=1)[::-1], axis=1)], axis=1),
    "number of rows": lambda x: x / x.shape[0] + jnp.arange(x.shape[0])[:, None] + jnp.arange(3.0)[None],
    "twice the rows": lambda x: jnp.concatenate([x, x])[:, 0] + jnp.zeros(2 * x.shape[0]),
    "of no rows": lambda x: jnp.broadcast_to(jnp.log(TABLE + 1.0)[None], (x.shape[0], 4, 3)),
    "products": lambda x: jnp.einsum("nd,de,ne->n", x, MATRIX, x) + (x @ MATRIX).sum(),
    "products of batches": lambda x: jnp.einsum("nij,nj->ni", spread(x), x),
    "look-up of a column": lambda x: x[:, jnp.array([2, 0, 0])],
    "look-up in a table": lambda x: jnp.asarray(TABLE)[codes(x)],
    "look-up in two axes": lambda x: jnp.asarray(TABLE)[codes(x), jnp.arange(3)],
    "look-up in rows": lambda x: jnp.take_along_axis(x, codes(x) % 3, axis=1),
    "look-up of rows": lambda x: x[codes(x)[:, 0]],
    "look-up beyond the array": lambda x: jnp.asarray(TABLE).at[codes(x) * 2].get(mode="fill", fill_value=-1.0),
    "look-up of a missing place": lambda x: jnp.take(jnp.asarray(TABLE), codes(x) * 2 - 1, axis=0),
    "look-up moved inside the array": lambda x: jnp.asarray(TABLE).at[codes(x) * 2 - 1].get(mode="clip"),
    "look-up of parts": lambda x: lax.gather(jnp.asarray(TABLE), codes(x[:, :2]), PARTS, (2, 2)),
    "look-up of first parts": lambda x: lax.gather(jnp.asarray(TABLE), codes(x[:, :1]), FIRST, (1, 2)),
    "sums by group": lambda x: x.at[:, jnp.array([0, 2, 2])].add(2.0 * x).at[:, 0].min(0.1),
    "a slice at a computed place": lambda x: lax.dynamic_slice_in_dim(x, codes(x)[0, 0], 2, 1),
    "a change at a computed place": lambda x: lax.dynamic_update_slice_in_dim(x, x[:, :1] * 0.0, codes(x)[0, 0], 1),
    "a loop over rows": lambda x: scanned(x)[1] + scanned(x)[0][None],
    "a loop over columns": lambda x: lax.fori_loop(0, 3, lambda d, total: total * 0.5 + x[:, d], jnp.zeros(x.shape[0])),
    "a branch": lambda x: lax.cond(x.sum() > 0, lambda v: v + 1.0, lambda v: jnp.zeros_like(v), x),
    "a branch in a loop": lambda x: lax.map(lambda row: lax.cond(row[0] > 0, jnp.sum, jnp.max, row), x),
    "Cholesky": lambda x: jnp.linalg.cholesky(spread(x)),
    "triangular systems": lambda x: jax.scipy.linalg.solve_triangular(spread(x), x[:, :, None], lower=True),
}  # fmt: skip
QUICK = (
    "comparisons",
    "edges",
    "look-up in rows",
    "sums by group",
    "a loop over rows",
    "a branch in a loop",
    "Cholesky",
)


@pytest.mark.parametrize("name", cases.by_default(FUNCTIONS, *QUICK))
def test_a_function_gives_the_same_as_in_jax(name, rng):
    x = rng.normal(size=(7, 3)) * 1.5
    expected, found = (run(FUNCTIONS[name], x) for run in (by_jax, translated))
    assert found.dtype.kind == expected.dtype.kind
    assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_triangular_systems_of_every_side(left, lower, transpose, rng):
    factor = np.tril(MATRIX) if lower else np.triu(MATRIX)

    def solve(x):
        b = x[:, :, None] * jnp.ones((1, 1, 3))
        a = factor[None] * jnp.ones((x.shape[0], 1, 1))
        return lax.linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transpose)

    x = rng.normal(size=(5, 3))
    assert_allclose(translated(solve, x), by_jax(solve, x), rtol=1e-12, atol=1e-13)


def test_functions_that_onnx_lacks_keep_their_digits():
    """log-gamma, log(1 + x) and exp(x) - 1 are relative to scipy and numpy, from tiny to huge arguments."""
    x = np.concatenate([10.0 ** np.arange(-300, 301, 7), np.linspace(0.01, 20.0, 400), [0.0, 1.0, 2.0, 8.0]])[:, None]
    assert_allclose(translated(jax.scipy.special.gammaln, x), scipy.special.gammaln(x), rtol=1e-12, atol=1e-12)
    with np.errstate(over="ignore"):
        for function, expected in ((jnp.log1p, np.log1p), (jnp.expm1, np.expm1)):
            signed = np.concatenate([x, -x[x[:, 0] < 1], [[np.inf], [np.nan]]])
            assert_allclose(translated(function, signed), expected(signed), rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda x: jnp.sort(x), "'sort'"),
        (lambda x: codes(x) ^ 1, "'xor' of integers"),
        (lambda x: x.at[:, 1].set(0.0), "'scatter'"),
        (lambda x: jnp.zeros((2, 2)).at[codes(x) % 2, codes(x) % 2].add(1.0), "'scatter' at places"),
        (lambda x: lax.dynamic_update_slice(x, x[:, :2], codes(x[0, :2])), "several places of an axis"),
        (lambda x: lax.switch(codes(x)[0, 0], [jnp.sin, jnp.cos, jnp.tan], x), "'cond' of more than two branches"),
        (lambda x: scanned(x, reverse=True)[0], "'scan' in reverse"),
        (lambda x: lax.pad(x, 0.0, [(0, 0, 0), (1, 2, 1)]), "'pad' between cells"),
    ],
)
def test_what_has_no_operator_is_named(function, named, rng):
    with pytest.raises(NoOperator, match=named):
        translated(function, rng.normal(size=(4, 3)))
