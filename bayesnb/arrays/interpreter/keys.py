"""Arrays and random keys of JAX in numpy. A threefry key is one unsigned integer of 64 bits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array


def is_key(x: Any) -> bool:
    """True for JAX's typed keys."""
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def to_numpy(x: Any) -> Array:
    """The value in numpy, a key as its integer."""
    if not is_key(x):
        return np.asarray(x, getattr(x, "dtype", None))  # numpy ignores the dtype of JAX's typed Python numbers
    if not has_numpy_form(x):
        raise NotImplementedError(f"only keys of threefry2x32 have a form in numpy, not of {jax.random.key_impl(x)}")
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
