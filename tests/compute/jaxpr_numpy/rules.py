"""Cases of every rule by which numpy computes a primitive of JAX, and how far the two may be apart."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.testing import assert_array_equal

from bayesnb.compute.arrays._own_primitives import checked
from bayesnb.compute.jaxpr_numpy import RULES, evaluate
from bayesnb.compute.numerics import _one_by_one
from bayesnb.compute.primitives._segment_weights import segment_weights
from bayesnb.compute.primitives._segmentations import best_segmentation, sum_segmentations

DTYPES = {"b": ["bool"], "i": ["int32", "int64"], "u": ["uint32"], "w": ["uint64"], "f": ["float32"], "d": ["float64"]}
OTHERS = ["int8", "uint16", "float16", "bfloat16", "complex64"]
"""Dtypes that are left to JAX."""

Draw = Callable[[np.random.Generator, Any], tuple[Any, ...]]


class Case(NamedTuple):
    """A function that has the primitive in its trace, with its arguments for a random generator and a dtype."""

    function: Callable[..., Any]
    draw: Draw


ULPS = {
    # the C library, Cephes and XLA have other polynomials; twice what was measured
    "exp": 3, "expm1": 8, "log": 3, "tanh": 8, "logistic": 4, "erf": 5, "erf_inv": 32, "rsqrt": 3,
    "log1p": 250,  # of XLA, in doubles near -.4
    "erfc": 70,  # of XLA, in singles near its end at 9
    # numpy calls pow, XLA multiplies, or calls another one
    "integer_pow": 4, "pow": 3,
}  # fmt: skip
"""How many units in the last place numpy and XLA may differ; all others agree bit for bit."""

ROUNDED = {
    # both have zeros, near which only the absolute error is small
    "lgamma": 50, "digamma": 30,
    # sums in another order, and for weights of segments other sums
    "triangular_solve": 10, "cholesky": 5, "eigh": 100, "cumlogsumexp": 10, "sum_segmentations": 10,
    "best_segmentation": 5, "segment_weights": 500, "factors": 10, "inverses": 10, "eigenvalues": 100,
}  # fmt: skip
"""How many times the rounding error of the result, or of 1, they may differ."""


def specials(dtype: Any) -> np.ndarray:
    """The values at which functions are special, without numbers below the smallest normal one."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2]
        return np.array(
            [*ends, 0, 1, 2, 3, 7, 31, 32, 63, 64, *([-1, -2, -3, -64] if dtype.kind == "i" else [])], dtype
        )
    info = jnp.finfo(dtype)
    sizes = [0.0, 1.0, 0.5, 2.0, 3.0, 1.5, 1e-3, 20.0, 100.0, 170.0, 1e5, 3e9, np.inf, float(info.eps)]
    sizes += [float(info.tiny), float(info.max)]
    with np.errstate(over="ignore"):
        return np.array([*sizes, *(-size for size in sizes), np.nan]).astype(dtype)


def values(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    """Special and random values."""
    dtype, found = np.dtype(dtype), rng.choice(specials(dtype), shape)
    if dtype.kind in "iu":
        few, bits = rng.integers(0, 9, shape), rng.integers(0, 256, (*shape, 8), np.uint8).view(np.uint64)[..., 0]
        some = (few if rng.random() < 0.5 else bits).astype(dtype)
    else:
        with np.errstate(over="ignore", under="ignore"):
            some = (rng.normal(size=shape) * 10.0 ** rng.uniform(-3, 3, shape)).astype(dtype)
    return np.where(rng.random(shape) < 0.5, found, some)


def exact(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    """Values whose sums and products have no rounding, so that their order does not matter; sometimes special ones."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return values(rng, dtype, *shape)
    found = rng.choice(np.array([0.0, -0.0, 1.0, -1.0, 2.0, -0.5], dtype), shape)
    rare = rng.choice(np.array([np.inf, -np.inf, np.nan], dtype), shape)
    return np.where(rng.random(shape) < rng.choice([0.0, 0.1]), rare, found)


def all_of(size: int, *, kind: Callable[..., np.ndarray] = values) -> Draw:
    """As many arrays of one shape."""
    return lambda rng, dtype: tuple(kind(rng, dtype, 5, 31) for _ in range(size))


def pairs(_: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    """All pairs of special values."""
    one, other = np.meshgrid(specials(dtype), specials(dtype))
    return one.ravel(), other.ravel()


def places(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Indices, many of them out of bounds."""
    dtype = rng.choice(INDICES)
    found = rng.integers(-7, 12, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.1, rng.choice(specials(dtype), shape), found)


def key(x: Any) -> Any:
    """A random key, of the first words."""
    return jax.random.wrap_key_data(x[0, :2])


INDICES = ["int32", "int64", "uint32", "uint64"]
MODES = ["clip", "fill", "promise_in_bounds"]


def reads(x: Any, i: Any) -> Any:
    """Gathers; negative places are not counted from the end."""
    found = [x.at[i].get(mode=mode, wrap_negative_indices=False) for mode in MODES]
    found += [x.at[:, i].get(mode=mode, fill_value=1, wrap_negative_indices=False) for mode in MODES]
    found += [jax.vmap(lambda row, j: row.at[j].get(mode="fill", wrap_negative_indices=False))(x, i)]
    return *found, x[i], jnp.take(x, i, axis=1), jnp.take_along_axis(x, i, 1), x[:0].at[:, i].get(mode="fill")


def writes(name: str) -> Callable[..., Any]:
    """Scatters of this kind."""

    def write(x: Any, i: Any, v: Any) -> Any:
        found = [getattr(x.at[i[0]], name)(v, mode=mode, wrap_negative_indices=False) for mode in MODES]
        found += [getattr(x.at[:, i[0]], name)(v[:, :3], mode=mode, wrap_negative_indices=False) for mode in MODES]
        found += [jax.vmap(lambda row, j, u: getattr(row.at[j], name)(u, mode="drop"))(x, i, v[:, :3])]
        return *found, getattr(x.at[i[0], i[1]], name)(v[0, :3])

    return write


def read_case(rng: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    return values(rng, dtype, 3, 5), places(rng, 3, 3)


def write_case(rng: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    return exact(rng, dtype, 3, 5), places(rng, 3, 3), exact(rng, dtype, 3, 5)


def starts(rng: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    """An array with two places."""
    first, second = places(rng, 2)
    return values(rng, dtype, 4, 5), values(rng, dtype, 2, 3), first, second


def matrices(rng: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    """Positive definite matrices of a small condition, and others."""
    x = rng.normal(size=(2, 3, 6)).astype(dtype)
    return (np.einsum("kij,klj->kil", x, x) + np.eye(3, dtype=dtype), rng.normal(size=(2, 3, 3)).astype(dtype))


def products(x: Any, y: Any) -> Any:
    """Products, with batches and without."""
    dot, tables = lax.dot_general, x[:, :, None] * y[:, None, :]
    return (
        dot(tables, y, (((2,), (1,)), ((0,), (0,)))),
        dot(tables, tables, (((0,), (0,)), ((2,), (1,)))),
        dot(y, tables, (((), ()), ((0, 1), (0, 2)))),
        dot(x, y, (((1,), (1,)), ((), ()))),
        dot(x, y, (((1,), (1,)), ((0,), (0,)))),
        dot(x, y, (((0, 1), (0, 1)), ((), ()))),
    )


def reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: tuple(function(part, axes) for part in (x, x[:1]) for axes in ((0,), (1,), (0, 1), ()))


def indices_by(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: [function(x, axis, kind) for axis in (0, 1) for kind in ("int32", "int64")]


def running(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: tuple(function(x, axis=axis, reverse=back) for axis in (0, 1) for back in (False, True))


def converted(x: Any) -> Any:
    names = [name for kinds in DTYPES.values() for name in kinds if name != str(x.dtype)]
    return [lax.convert_element_type(x, name) for name in names]


def bits(x: Any) -> Any:
    same = {4: ["int32", "uint32", "float32"], 8: ["int64", "uint64", "float64"], 1: ["uint8"]}[x.dtype.itemsize]
    return [lax.bitcast_convert_type(x, name) for name in same if name != str(x.dtype) and x.dtype != bool]


def selected(x: Any, y: Any) -> Any:
    which = jnp.arange(31, dtype=jnp.int32) % 7 - 2
    which = jnp.broadcast_to(which, x.shape)
    return (
        lax.select_n(x < y, x, y),
        lax.select_n(which, x, y, x),
        lax.select_n(which[0, 0], x, y, x),
        lax.select_n(x == y, x),
    )


def broadcast(x: Any) -> Any:
    shapes = ((5, 2, 31), (0, 2)), ((50, 5, 31), (1, 2)), ((1, 5, 31), (1, 2))
    return [lax.broadcast_in_dim(x, *shape) for shape in shapes], lax.broadcast_in_dim(x[:1], (3, 31), (0, 1))


def counted(x: Any) -> Any:
    return [lax.broadcasted_iota(x.dtype, (3, 4), axis) for axis in (0, 1)] if x.dtype != bool else x


def triangles(a: Any, b: Any) -> Any:
    solve = lax.linalg.triangular_solve
    return [
        solve(a, b, left_side=left, lower=low, transpose_a=turn, unit_diagonal=unit)
        for left in (True, False) for low in (True, False) for turn in (True, False) for unit in (True, False)
    ]  # fmt: skip


def bases(a: Any, _: Any) -> Any:
    """Eigenvalues, and eigenvectors but for their signs, which are free; of one triangle each."""
    found = []
    for lower in (True, False):
        vectors, numbers = lax.linalg.eigh((jnp.tril if lower else jnp.triu)(a), lower=lower, symmetrize_input=False)
        found += [numbers, jnp.abs(vectors)]
    return found


def factors(a: Any, _: Any) -> Any:
    """Of the lower triangle; NaN for matrices that are not positive definite, without a word about the others."""
    factor = partial(lax.linalg.cholesky, symmetrize_input=False)
    return factor(a), factor(jnp.tril(a)), factor(-a), factor(a * jnp.array([[[1.0]], [[-1.0]]], a.dtype))


def small(_: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    """No rows."""
    return (np.zeros((0, 3), dtype),)


def no_columns(rng: np.random.Generator, dtype: Any, *_: int) -> np.ndarray:
    return exact(rng, dtype, 5, 0)


def segments(rng: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    """Weights of segments, the boundaries that may be cut, and a prior of their number."""
    return rng.normal(size=(5, 5)).astype(dtype), rng.integers(0, 2, 4).astype(dtype), rng.normal(size=5).astype(dtype)


def counts(rng: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    """Mass and counts of cells, and totals."""
    shapes, counted = ((4, 6), (3, 4, 6), (2, 4)), (False, True, False)
    found = [
        rng.poisson(3, size) if whole else rng.gamma(2.0, size=size)
        for size, whole in zip(shapes, counted, strict=True)
    ]
    return tuple(x.astype(dtype) for x in found)


BODIES = {  # functions with two bodies, by the name of the primitive
    "sum_segmentations": Case(lambda w, real, _: sum_segmentations(w, real), segments),
    "best_segmentation": Case(best_segmentation, segments),
    "segment_weights": Case(segment_weights, counts),
    "factors": Case(lambda a, _: _one_by_one.factors(a), matrices),
    "inverses": Case(lambda a, _: _one_by_one.inverses(a), matrices),
    "eigenvalues": Case(lambda a, _: _one_by_one.eigenvalues(a), matrices),
}


def not_near_poles(rng: np.random.Generator, dtype: Any) -> tuple[Any, ...]:
    """Special values and positive ones: near a pole the error of the argument is that of the result many times."""
    (x,) = all_of(1)(rng, dtype)
    return (np.where(np.isin(x, specials(dtype)), x, np.abs(x)),)


ONE, TWO = all_of(1), all_of(2)
UNARY = [
    "neg", "square", "abs", "sign", "is_finite", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "tanh",
    "logistic", "floor", "ceil", "lgamma", "erf", "erfc", "erf_inv", "stop_gradient",
]  # fmt: skip
BINARY = [
    "eq", "ne", "lt", "le", "gt", "ge", "sub", "mul", "add", "div", "rem", "max", "min", "pow", "nextafter",
    "shift_left", "shift_right_logical",
]  # fmt: skip

CASES: dict[str, list[Case]] = {
    **{name: [Case(getattr(lax, name), ONE)] for name in UNARY},
    **{name: [Case(getattr(lax, name), TWO), Case(getattr(lax, name), pairs)] for name in BINARY},
    **{name: [Case(getattr(lax, f"bitwise_{name}"), TWO)] for name in ("and", "or", "xor")},
    "digamma": [Case(lax.digamma, not_near_poles)],
    "not": [Case(lax.bitwise_not, ONE)],
    "add_any": [Case(lambda x, y: jax.vjp(lambda a: (a * 1, a * 1), x)[1]((x, y)), TWO)],
    "copy": [Case(jnp.copy, ONE)],
    "checked": [Case(lambda x, y: checked(lambda a, _: a, x, y), TWO)],
    "integer_pow": [Case(lambda x: [lax.integer_pow(x, n) for n in (0, 2, 3, 5)], ONE),
                    Case(lambda x: [lax.integer_pow(x, -n) for n in (1, 2, 3)] if x.dtype.kind == "f" else x, ONE)],
    "clamp": [Case(lambda x, y, z: (lax.clamp(x, y, z), lax.clamp(x[0, 0], y, z[0, 0])), all_of(3))],
    "select_n": [Case(selected, TWO)],
    "convert_element_type": [Case(converted, ONE)],
    "bitcast_convert_type": [Case(bits, ONE)],
    "reduce_precision": [Case(lambda x: (lax.reduce_precision(x, 8, 23), lax.reduce_precision(x, 5, 10)), ONE)],
    **{name: [Case(reduced(getattr(lax, name)), all_of(1, kind=exact)), Case(reduced(getattr(lax, name)), small)]
       for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or")},
    **{name: [Case(indices_by(getattr(lax, name)), ONE)] for name in ("argmax", "argmin")},
    **{name: [Case(running(getattr(lax, name)), all_of(1, kind=exact))]
       for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")},
    "gather": [Case(reads, read_case)],
    "scatter": [Case(writes("set"), write_case)],
    "scatter-add": [Case(writes("add"), write_case)],
    "dot_general": [Case(products, all_of(2, kind=exact)), Case(products, all_of(2, kind=no_columns))],
    "triangular_solve": [Case(triangles, matrices)],
    "cholesky": [Case(factors, matrices)],
    "eigh": [Case(bases, matrices)],
    "broadcast_in_dim": [Case(broadcast, ONE)],
    "reshape": [Case(lambda x: (lax.reshape(x, (31, 5)), lax.reshape(x, (155,))), ONE)],
    "squeeze": [Case(lambda x: lax.squeeze(x[:1], (0,)), ONE)],
    "transpose": [Case(lambda x: lax.transpose(x, (1, 0)), ONE)],
    "concatenate": [Case(lambda x, y: (lax.concatenate([x, y, x], 0), lax.concatenate([x, y], 1)), TWO)],
    "stack": [Case(lambda x, y: (jnp.stack([x, y]), jnp.stack([x, y], -1)), TWO)],
    "unstack": [Case(lambda x: (jnp.unstack(x), jnp.unstack(x[:1]), jnp.unstack(x, axis=1)), ONE)],
    "split": [Case(lambda x: (lax.split(x, (1, 0, 4)), lax.split(x, (31,), 1)), ONE)],
    "slice": [Case(lambda x: (x[1:3, 2:], lax.slice(x, (0, 1), (5, 30), (2, 3)), x[2:2]), ONE)],
    "dynamic_slice": [Case(lambda x, _, *i: [lax.dynamic_slice(x, i, size) for size in ((2, 3), (4, 0))], starts)],
    "dynamic_update_slice": [Case(lambda x, y, *i: lax.dynamic_update_slice(x, y, i), starts)],
    "pad": [Case(lambda x: [lax.pad(x, x[0, 0], c) for c in ([(1, 2, 0), (0, 3, 0)], [(-1, 2, 0), (0, 0, 1)])], ONE)],
    "rev": [Case(lambda x: (lax.rev(x, (0,)), lax.rev(x, (0, 1))), ONE)],
    "iota": [Case(counted, ONE)],
    "random_seed": [Case(lambda x: jax.vmap(lambda s: jax.random.key_data(jax.random.key(s)))(x.ravel()), ONE)],
    "random_wrap": [Case(lambda x: jax.random.bits(key(x)), ONE)],
    "random_unwrap": [Case(lambda x: jax.random.key_data(jax.random.wrap_key_data(x[:, :2])), ONE)],
    "random_split": [Case(lambda x: jax.random.key_data(jax.random.split(key(x), (2, 3))), ONE)],
    "random_bits": [Case(lambda x: [jax.random.bits(key(x), (3, 2), f"uint{n}") for n in (8, 16, 32, 64)], ONE)],
    "random_fold_in": [Case(lambda x: jax.random.key_data(jax.random.fold_in(key(x), x[1, 1])), ONE)],
    **{name: [case] for name, case in BODIES.items()},
}  # fmt: skip
"""By primitive."""

SUMS = {"reduce_sum", "cumsum", "cumlogsumexp", "dot_general", "scatter-add"}
"""Sums of zeros: for XLA the sign depends on how it writes the loop."""

OWN_STREAM = {"random_gamma"}
"""Rules that do not give what JAX gives: ``tests/compute/jaxpr_numpy/test_program.py`` checks their distribution."""


def assert_same(name: str, found: Any, expected: Any, where: str = "") -> None:
    """The results agree as the primitive of this name allows."""
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        other = np.asarray(other)
        assert (one.shape, one.dtype) == (other.shape, other.dtype), where
        if one.dtype.kind == "V":
            one, other = one.astype(np.float32), other.astype(np.float32)
        if one.dtype.kind != "f":
            assert_array_equal(one, other, err_msg=f"{name} {where}")
            continue
        info = np.finfo(one.dtype)
        # XLA has zero for results below the smallest normal number, and numpy the number
        with np.errstate(all="ignore"):
            limit = ULPS.get(name, 0) * info.eps * np.abs(other) + info.tiny
            limit += ROUNDED.get(name, 0) * info.eps * np.maximum(1.0, np.abs(other))
            close = (np.abs(one - other) <= limit) | (one == other) | (np.isnan(one) & np.isnan(other))
        assert close.all(), f"{name} {where}: {one[~close][:5]} for {other[~close][:5]}"
        if name not in SUMS:
            zero = (one == 0) & (other == 0)
            assert_array_equal(np.signbit(one[zero]), np.signbit(other[zero]), err_msg=f"{name} {where}: signs of zero")


@cache
def compiled(name: str) -> Callable[..., Any]:
    """The rule's cases, each of all its dtypes, in one program: most of a test's time is compilation."""
    return jax.jit(
        lambda drawn: [[case.function(*args) for args in of] for case, of in zip(CASES[name], drawn, strict=True)]
    )


KINDS = {
    "is_finite": "fd",
    **dict.fromkeys(BODIES, "d"),
    **dict.fromkeys(("random_wrap", "random_unwrap", "random_split", "random_bits"), "u"),
}
"""Of arguments, where results are of other kinds."""


def dtypes_of(name: str) -> list[str]:
    """The dtypes of the rule."""
    return [dtype for kind in KINDS.get(name, RULES[name].kinds) for dtype in DTYPES.get(kind, [])]


def require_agreement(name: str, rng: np.random.Generator, dtypes: list[str]) -> None:
    """The rule gives what JAX gives, compiled, for arguments of these dtypes."""
    with jax.enable_x64(True):
        drawn = [[case.draw(rng, jnp.dtype(dtype)) for dtype in dtypes] for case in CASES[name]]
        for case, of, expected in zip(CASES[name], drawn, compiled(name)(drawn), strict=True):
            for dtype, args, result in zip(dtypes, of, expected, strict=True):
                assert_same(name, evaluate(case.function, *args), result, dtype)
