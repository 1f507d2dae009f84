"""Rank promotion, which NumPyro's own distributions need and which users may have turned off."""

from __future__ import annotations

from contextlib import AbstractContextManager

import jax


def allow_rank_promotion() -> AbstractContextManager[None]:
    """A context for densities and draws by NumPyro, whose distributions promote ranks."""
    return jax.numpy_rank_promotion("allow")
