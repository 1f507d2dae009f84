"""The program's arguments as arrays, whatever holds them: numpy, JAX, pandas or polars. Others are left as they are."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def numbers_of(leaf: Any) -> np.ndarray[Any, Any] | None:
    """The numbers or flags of an argument as an array; None if it is no array, or one of strings, dates or keys."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is None or (isinstance(leaf, jax.Array) and jnp.issubdtype(dtype, jax.dtypes.extended)):
        return None
    values = np.asarray(leaf)
    return values if values.dtype == bool or jnp.issubdtype(values.dtype, np.number) else None


def type_like(leaf: Any, value: np.ndarray[Any, Any]) -> Any:
    """The value in a container like the leaf."""
    if isinstance(leaf, np.ndarray | jax.Array):
        value = value.astype(leaf.dtype)
        return value if isinstance(leaf, np.ndarray) else jnp.asarray(value)
    if not hasattr(leaf, "copy") or len(leaf) != len(value):  # polars has none; pandas' has the index of the leaf
        return type(leaf)(value, dtype=leaf.dtype)
    changed = leaf.copy()
    changed[:] = value
    return changed
