"""One equation of a trace: the shape and dtype of its result, the function that computes it, and its values in numpy.

A threefry key is one unsigned integer of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = Any
"""A numpy array."""

Function = Callable[..., Any]

KINDS = {
    "bool": "b", "int32": "i", "int64": "i", "uint32": "u", "uint64": "w", "float32": "f", "float64": "d",
    "key<fry>": "k",
}  # fmt: skip
"""The dtypes that numpy computes, as one letter; all others, such as halves and complex numbers, are left to JAX."""


class Rule(NamedTuple):
    """How to make the numpy function of an equation, and the ``KINDS`` of dtypes for which it gives what JAX gives."""

    kinds: str
    make: Function


def shape_of(equation: Any) -> tuple[int, ...]:
    """The shape of the first result."""
    return tuple(equation.outvars[0].aval.shape)


def dtype_of(equation: Any) -> Any:
    """The dtype of the first result."""
    return equation.outvars[0].aval.dtype


def function_of(equation: Any, rules: dict[str, Rule]) -> Function:
    """The function of an equation: numpy's if a rule has all its dtypes, else JAX's own."""
    rule = rules.get(equation.primitive.name)
    dtypes = {variable.aval.dtype for variable in (*equation.invars, *equation.outvars)}
    known = rule is not None and all(KINDS.get(dtype.name, "other") in rule.kinds for dtype in dtypes)
    return rule.make(equation) if rule and known else bind(equation)


def bind(equation: Any) -> Function:
    """The primitive itself, which JAX compiles for these shapes."""
    primitive, params = equation.primitive, equation.primitive.get_bind_params(equation.params)
    kinds = [variable.aval for variable in equation.invars]

    def run(*args: Any) -> Any:
        with jax.core.eval_context(), jax.enable_x64(True):
            found = primitive.bind(*map(to_jax, args, kinds), **params)
            found = [*map(to_numpy, found if primitive.multiple_results else [found])]
        return found[0] if len(found) == 1 else found

    return run


def is_key(x: Any) -> bool:
    """True for JAX's typed keys."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def to_numpy(x: Any) -> Array:
    """The value in numpy, a key as its integer."""
    if not is_key(x):
        return np.asarray(x, getattr(x, "dtype", None))  # numpy ignores the dtype of JAX's typed Python numbers
    if not has_numpy_form(x):
        raise NotImplementedError(f"only keys of threefry2x32 have a form in numpy, not of {jax.random.key_impl(x)}")
    with jax.core.eval_context():  # a known key stays known inside of a transformation
        words = np.asarray(jax.random.key_data(x))
    return join(words[..., 0], words[..., 1])


def has_numpy_form(leaf: Any) -> bool:
    """False for random keys of another generator than JAX's default, which numpy cannot follow."""
    return type(leaf) is np.ndarray or not is_key(leaf) or str(jax.random.key_impl(leaf)) == "threefry2x32"


def to_jax(x: Array, kind: Any) -> Any:
    """The value that a primitive of JAX takes for its argument of this kind."""
    if not jnp.issubdtype(kind.dtype, jax.dtypes.prng_key):
        return np.asarray(x)
    return jax.random.wrap_key_data(jax.device_put(np.stack(halves(np.asarray(x)), -1)), impl="threefry2x32")


def numpy_dtype(dtype: Any) -> Any:
    """The dtype of such values in numpy."""
    return dtype if isinstance(dtype, np.dtype) else np.dtype(np.uint64)


def join(high: Array, low: Array) -> Array:
    """Words of 64 bits from their halves."""
    return high.astype(np.uint64) << np.uint64(32) | low


def halves(x: Array) -> tuple[Array, Array]:
    """The high and the low half of words of 64 bits."""
    return (x >> np.uint64(32)).astype(np.uint32), x.astype(np.uint32)
