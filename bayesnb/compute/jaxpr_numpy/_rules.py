"""The numpy functions of JAX's primitives: each rule makes one from the equation, with its parameters and shapes.

Random bits of threefry keys are JAX's own, and gamma variates those of a stream by key: Salmon et al., Parallel random
numbers: as easy as 1, 2, 3 (2011), for Threefry and for numpy's Philox.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import jax
import numpy as np
from scipy import special

from bayesnb.compute.jaxpr_numpy import _shapes as shapes
from bayesnb.compute.jaxpr_numpy._equation import Array, Function, Rule, bind, dtype_of, halves, join, shape_of


def _always(function: Function) -> Function:
    return lambda _: function


def _div(equation: Any) -> Function:
    if dtype_of(equation).kind == "f":
        return np.divide

    def divide(a: Array, b: Array) -> Array:  # rounded towards zero; by zero -1, which is numpy's 0 less one
        found = np.floor_divide(a, b)
        return found + ((np.fmod(a, b) != 0) & (found < 0)) - (b == 0)

    return divide


def _rem(equation: Any) -> Function:
    return np.fmod if dtype_of(equation).kind == "f" else lambda a, b: np.where(b == 0, a, np.fmod(a, b))


def _sign(equation: Any) -> Function:
    return (lambda x: np.copysign(np.sign(x), x)) if dtype_of(equation).kind == "f" else np.sign


def _digamma(equation: Any) -> Function:
    other = bind(equation)  # the value at zero depends on JAX's version
    return lambda x: special.digamma(x) if x.all() else other(x)


def _select_n(equation: Any) -> Function:
    if len(equation.invars) != 3:
        return lambda which, *cases: np.choose(which.astype(np.intp), cases, mode="clip")
    return lambda which, no, yes: np.where(which, yes, no)


def _convert(equation: Any) -> Function:
    before, dtype = equation.invars[0].aval.dtype, dtype_of(equation)
    if before.kind != "f" or dtype.kind not in "iu":
        return lambda x: x.astype(dtype)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max  # floats beyond all integers become the nearest one

    def convert(x: Array) -> Array:
        found = np.where(x > least, x.astype(dtype), least)
        return np.where(np.isnan(x), 0, np.where(x >= most, most, found))

    return convert


def _extreme(function: Function) -> Function:
    """A maximum or minimum in which -0.0 is less than 0.0, as in XLA; numpy gives either."""

    def run(*args: Array) -> Array:
        found = function(*args)
        if found.dtype.kind == "f" and not found.all():
            signs = function(*[np.copysign(x.dtype.type(1), x) for x in args])
            found = np.where(found == 0, np.copysign(found, signs), found)
        return found

    return run


MAXIMUM, MINIMUM = _extreme(np.maximum), _extreme(np.minimum)


def _reduce(ufunc: np.ufunc) -> Function:
    def rule(equation: Any) -> Function:
        axes, dtype = tuple(int(axis) for axis in equation.params["axes"]), dtype_of(equation)
        if ufunc not in (np.maximum, np.minimum):
            return lambda x: ufunc.reduce(x, axis=axes, dtype=dtype)
        limits = {"f": (-np.inf, np.inf), "b": (False, True)}.get(dtype.kind)
        limits = limits or (np.iinfo(dtype).min, np.iinfo(dtype).max)
        start = limits[ufunc is np.minimum]
        return _extreme(lambda x: ufunc.reduce(x, axis=axes, initial=start))

    return rule


def _arg(function: Function) -> Function:
    def rule(equation: Any) -> Function:
        (axis,) = equation.params["axes"]
        return lambda x: function(x, int(axis)).astype(dtype_of(equation))

    return rule


def _accumulate(ufunc: np.ufunc) -> Function:
    def rule(equation: Any) -> Function:
        axis, dtype, reverse = int(equation.params["axis"]), dtype_of(equation), equation.params["reverse"]

        def run(x: Array) -> Array:
            found = ufunc.accumulate(np.flip(x, axis) if reverse else x, axis, dtype)
            return np.flip(found, axis) if reverse else found

        return _extreme(run) if ufunc in (np.maximum, np.minimum) else run

    return rule


def _reduce_precision(equation: Any) -> Function:
    single = equation.params == {"exponent_bits": 8, "mantissa_bits": 23}
    return (lambda x: x.astype(np.float32).astype(x.dtype)) if single else bind(equation)


def _bitcast(equation: Any) -> Function:
    before, after = equation.invars[0].aval.dtype, dtype_of(equation)
    return (lambda x: np.asarray(x).view(after)) if before.itemsize == after.itemsize else bind(equation)


def _dot_general(equation: Any) -> Function:
    """Products, which JAX computes itself where they have another dtype than their factors."""
    (left, right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    if any(variable.aval.dtype != dtype_of(equation) for variable in equation.invars):
        return bind(equation)
    if not left_batch:
        axes = [int(axis) for axis in left], [int(axis) for axis in right]
        return lambda a, b: np.tensordot(a, b, axes)
    sizes = [variable.aval.shape for variable in equation.invars]
    rows = [axis for axis in range(len(sizes[0])) if axis not in (*left, *left_batch)]
    columns = [axis for axis in range(len(sizes[1])) if axis not in (*right, *right_batch)]
    of_left, of_right = (*left_batch, *rows, *left), (*right_batch, *right, *columns)
    batch = [sizes[0][axis] for axis in left_batch]
    num_rows, num_summed = (math.prod(sizes[0][axis] for axis in axes) for axes in (rows, left))
    num_columns = math.prod(sizes[1][axis] for axis in columns)

    def multiply(a: Array, b: Array) -> Array:  # numpy's einsum leaves BLAS aside where there is a batch
        a = a.transpose(of_left).reshape(*batch, num_rows, num_summed)
        return (a @ b.transpose(of_right).reshape(*batch, num_summed, num_columns)).reshape(shape_of(equation))

    return multiply


def _eigh(equation: Any) -> Function:
    other = bind(equation)
    return _or_nan(lambda x: np.linalg.eigh(x)[::-1], other) if equation.params["lower"] else other


def _or_nan(function: Function, other: Function) -> Function:
    """The function of matrices; JAX has NaN where numpy raises."""

    def run(x: Array) -> Any:
        try:
            return function(x)
        except np.linalg.LinAlgError:
            return other(x)

    return run


def _triangular_solve(equation: Any) -> Function:
    """Substitution, which unlike a general solver is exact for rows of different scales."""
    left, lower, transposed, unit = (
        equation.params[name] for name in ("left_side", "lower", "transpose_a", "unit_diagonal")
    )

    def solve(a: Array, b: Array) -> Array:
        # all cases are a lower triangle on the left: an upper one is lower in reverse order
        if transposed == left:
            a = np.swapaxes(a, -1, -2)
        order = slice(None) if (lower != transposed) == left else slice(None, None, -1)
        a = a[..., order, order]
        x = np.array((b if left else np.swapaxes(b, -1, -2))[..., order, :])
        for i in range(a.shape[-1]):
            x[..., i, :] -= (a[..., i, None, :i] @ x[..., :i, :])[..., 0, :]
            if not unit:
                x[..., i, :] /= a[..., i, i, None]
        x = x[..., order, :]
        return x if left else np.swapaxes(x, -1, -2)

    return solve


ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry(key: Array, count: Array) -> Array:
    """The block cipher: 64 random bits of each key and count, which broadcast."""
    keys = [*halves(np.asarray(key)), None]
    keys[2] = keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA)
    a, b = (half + word for half, word in zip(halves(np.asarray(count)), keys, strict=False))
    for i in range(5):
        for distance in ROTATIONS[i % 2]:
            a = a + b
            b = (b << np.uint32(distance) | b >> np.uint32(32 - distance)) ^ a
        a, b = a + keys[(i + 1) % 3], b + keys[(i + 2) % 3] + np.uint32(i + 1)
    return join(a, b)


def _of_counter(key: Array, shape: tuple[int, ...]) -> Array:
    """64 bits for each key and each place of ``shape``."""
    count = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
    return _threefry(np.reshape(key, np.shape(key) + (1,) * len(shape)), count)


def _split_key(equation: Any) -> Function:
    shape = equation.params["shape"]
    return (lambda key: _of_counter(key, shape)) if jax.threefry_partitionable.value else bind(equation)


def _bits(equation: Any) -> Function:
    shape, long = equation.params["shape"], equation.params["bit_width"] == 64

    def draw(key: Array) -> Array:
        both = _of_counter(key, shape)
        return both if long else np.bitwise_xor(*halves(both))

    return draw if jax.threefry_partitionable.value else bind(equation)


def _gamma(equation: Any) -> Function:
    """Gamma(a, 1) variates, or their logarithms, from numpy: every key has a stream of its own."""
    log_space = equation.params["log_space"]

    def draw(key: Array, a: Array) -> Array:
        a, out = np.asarray(a), np.empty(np.shape(a), np.float64)
        for place in np.ndindex(np.shape(key)):
            stream = np.random.Generator(np.random.Philox(key=int(key[place])))
            if log_space:  # Gamma(a) is Gamma(a + 1) U^(1 / a): no variate underflows
                logs = np.log(stream.standard_gamma(a[place] + 1.0))
                out[place] = logs - stream.standard_exponential(np.shape(a[place])) / a[place]
            else:
                out[place] = stream.standard_gamma(a[place])
        return out.astype(a.dtype)

    return draw


def _seed(equation: Any) -> Function:
    words = np.uint64(2**64 - 1 if equation.invars[0].aval.dtype.itemsize == 8 else 2**32 - 1)
    return lambda seed: seed.astype(np.uint64) & words


def _for(kinds: str, rules: dict[str, Function]) -> dict[str, Rule]:
    return {name: Rule(kinds, make) for name, make in rules.items()}


def _plain(kinds: str, functions: dict[str, Function]) -> dict[str, Rule]:
    """Rules of functions that need no parameters."""
    return _for(kinds, {name: _always(function) for name, function in functions.items()})


RULES: dict[str, Rule] = {
    **_plain("biuwfdk", {"copy": lambda x: x, "stop_gradient": lambda x: x}),
    **_plain("biuwfd", {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal, "max": MAXIMUM, "min": MINIMUM,
    }),
    **_for("biuwfd", {
        "convert_element_type": _convert, "bitcast_convert_type": _bitcast, "reduce_max": _reduce(np.maximum),
        "reduce_min": _reduce(np.minimum),
    }),
    **_for("biufd", {
        "argmax": _arg(np.argmax), "argmin": _arg(np.argmin), "gather": shapes.gather, "scatter": shapes.scatter(None),
    }),
    **_plain("biuw", {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_not}),
    **_for("b", {"reduce_and": _reduce(np.logical_and), "reduce_or": _reduce(np.logical_or)}),
    **_plain("iuwfd", {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "square": np.square,
    }),
    **_for("iuwfd", {
        "div": _div, "rem": _rem, "integer_pow": shapes.given("y", operator.pow), "sign": _sign,
        "reduce_sum": _reduce(np.add), "reduce_prod": _reduce(np.multiply),
        "cumsum": _accumulate(np.add), "cumprod": _accumulate(np.multiply), "scatter-add": shapes.scatter(np.add),
    }),
    **_for("iufd", {
        "cummax": _accumulate(np.maximum), "cummin": _accumulate(np.minimum), "dot_general": _dot_general,
        "clamp": _always(lambda low, x, high: MINIMUM(MAXIMUM(x, low), high)),
    }),
    **_plain("ifd", {"abs": np.abs}),
    **_plain("uw", {"shift_left": np.left_shift, "shift_right_logical": np.right_shift}),
    **_plain("bfd", {"is_finite": np.isfinite}),
    **_plain("fd", {
        "add_any": np.add, "pow": np.power, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
        "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x), "tanh": np.tanh, "logistic": special.expit,
        "floor": np.floor, "ceil": np.ceil, "nextafter": np.nextafter, "erf": special.erf, "erfc": special.erfc,
        "erf_inv": lambda x: np.copysign(special.erfinv(x), x),
        "lgamma": lambda x: np.where(x == -np.inf, np.inf, special.gammaln(x)),
    }),
    **_for("fd", {
        "digamma": _digamma, "reduce_precision": _reduce_precision, "cumlogsumexp": _accumulate(np.logaddexp),
        "triangular_solve": _triangular_solve, "eigh": _eigh,
        "cholesky": lambda equation: _or_nan(np.linalg.cholesky, bind(equation)),
    }),
    **_for("biuwfdk", {"select_n": _select_n, **shapes.RULES}),
    "random_seed": Rule("iuwk", _seed),
    "random_wrap": Rule("uk", _always(lambda words: join(words[..., 0], words[..., 1]))),
    "random_unwrap": Rule("uk", _always(lambda key: np.stack(halves(np.asarray(key)), -1))),
    "random_split": Rule("k", _split_key),
    "random_bits": Rule("uwk", _bits),
    "random_fold_in": Rule("uk", _always(lambda key, data: _threefry(key, np.asarray(data).astype(np.uint64)))),
    "random_gamma": Rule("fdk", _gamma),
}  # fmt: skip
"""The rules by the primitive's name."""
