"""The conjugate update of one family, compiled."""

from __future__ import annotations

from typing import Any

import jax

from bayesnb.arrays.host_calls import finalise


def updated(family: Any, statistics: Any) -> Any:
    """``family.update(statistics)``, on the host in float64."""
    return finalise(_update, family, statistics)


@jax.jit
def _update(family: Any, statistics: Any) -> Any:
    return family.update(statistics)
