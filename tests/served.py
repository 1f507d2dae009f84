"""What a process without bayesnb answers: functions of rows as ``jax.export`` writes and reads them."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def served(function: Callable[[Any], Any], rows: Any, **options: Any) -> Callable[[Any], np.ndarray]:
    """A function of rows, written for any number of rows like these, and read again."""
    (n,) = jax.export.symbolic_shape("n")

    def given(x: Any) -> np.ndarray:
        x = np.asarray(x)
        return x.astype(jax.dtypes.canonicalize_dtype(x.dtype))

    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct((n, *x.shape[1:]), given(x).dtype), rows)
    written = jax.export.export(jax.jit(function), platforms=["cpu"])(like).serialize(**options)
    read = jax.export.deserialize(written)
    return lambda X: read.call(jax.tree.map(lambda x: x if isinstance(x, jax.Array) else given(x), X))
