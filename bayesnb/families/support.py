"""Checks that families share: hyperparameters and parameters inside their supports, where their values are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from bayesnb.arrays import Array, as_array, is_traced, namespace


def short_repr(value: Any) -> str:
    """A number as itself, an array by its shape, containers by their parts."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {short_repr(v)}" for key, v in value.items()) + "}"
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return f"{float(value):g}" if not value.shape and not is_traced(value) else f"array{list(value.shape)}"
    return repr(value)


def broadcast(value: Any, shape: tuple[int, ...], name: str) -> Array:
    """``value`` in the resolved shape; a ValueError that names it where it does not fit."""
    value = as_array(value)
    try:
        return namespace(value).broadcast_to(value, shape)
    except ValueError:
        raise ValueError(
            f"hyperparameter {name!r} has shape {value.shape}, which does not broadcast to {shape} "
            "(classes, columns): give a number, or one value a column, or one a class and column"
        ) from None


def require_positive(owner: str, **values: Any) -> None:
    """Raises ValueError unless every concrete value is a finite positive number."""
    for name, value in values.items():
        if value is None or is_traced(value):
            continue
        array = _numbers(owner, name, value)
        if not (np.isfinite(array) & (array > 0)).all():
            raise ValueError(f"{owner}: {name} must be positive and finite, got {short_repr(value)}{_worst(array)}")


def require_finite(owner: str, **values: Any) -> None:
    """Raises ValueError unless every concrete value is a finite number."""
    for name, value in values.items():
        if value is not None and not is_traced(value) and not np.isfinite(_numbers(owner, name, value)).all():
            raise ValueError(f"{owner}: {name} must be finite, got {short_repr(value)}")


def _numbers(owner: str, name: str, value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be a number or an array of numbers, got {value!r}") from None


def _worst(array: np.ndarray[Any, Any]) -> str:
    bad = array[~(np.isfinite(array) & (array > 0))]
    return f" with {bad.flat[0]:g} in it" if array.ndim else ""


def first_bad_column(bad: Array) -> int:
    """The first column in which ``bad`` [N, D] has a True."""
    return int(np.asarray(bad).any(axis=0).argmax())


def require_shape(block: str, site: str, value: Array, axes: str, rank: int) -> None:
    """Raises ValueError unless the array has this many axes."""
    if value.ndim != rank:
        raise ValueError(f"params['{block}_{site}'] must be an array {axes}, got shape {value.shape}")


def require_probabilities(block: str, site: str, value: Array) -> None:
    """Raises ValueError unless every known value lies in [0, 1]."""
    if is_traced(value):
        return
    bad = ~((value >= 0) & (value <= 1))
    if bool(bad.any()):
        raise ValueError(
            f"params['{block}_{site}'] must be probabilities in [0, 1], got {float(value[bad][0]):g} in it"
        )


def require_simplex(block: str, site: str, value: Array) -> None:
    """Raises ValueError unless known probabilities sum to one along the last axis."""
    require_probabilities(block, site, value)
    if not is_traced(value) and not bool((abs(value.sum(axis=-1) - 1) < 1e-4).all()):
        raise ValueError(f"params['{block}_{site}'] must sum to 1 along the last axis: divide by the sum")
