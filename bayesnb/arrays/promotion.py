"""JAX's promotion of dtypes and ranks, which formulas need, ours and NumPyro's, and which users may have turned off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

promote_dtypes = jax.numpy_dtype_promotion("standard")
"""A decorator of functions in which arrays of several dtypes meet, whatever the user's setting."""


@contextmanager
def allow_promotion() -> Iterator[None]:
    """A context for densities and draws by NumPyro, whose distributions promote ranks and dtypes."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield
