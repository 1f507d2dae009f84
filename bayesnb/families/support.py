"""Checks that families share: hyperparameters and parameters inside their supports, where their values are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import Array, as_array, is_traced, namespace
from bayesnb.nodes import short_repr
from bayesnb.sparse import is_sparse, stored

SQUARABLE = 0.45
"""The largest number to this power is the largest cell: its square is a number, with room to add squares up."""


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


def require_choice(owner: str, name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raises ValueError unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{owner}: {name} must be {' or '.join(map(repr, choices))}, got {short_repr(value)}")


def require_rank(owner: str, name: str, value: Any, ranks: tuple[int, ...], axes: str) -> None:
    """Raises ValueError unless the value, where it is given, has one of these numbers of axes."""
    if value is not None and np.ndim(value) not in ranks:
        raise ValueError(f"{owner}: {name} is {axes}, got shape {np.shape(value)}")


def require_positive(owner: str, **values: Any) -> None:
    """Raises ValueError unless every concrete value is a finite positive number."""
    for name, value in values.items():
        if isinstance(value, dist.Distribution):
            _require_positive_support(owner, name, value)
            continue
        if value is None or is_traced(value):
            continue
        array = _numbers(owner, name, value)
        if not (np.isfinite(array) & (array > 0)).all():
            raise ValueError(f"{owner}: {name} must be positive and finite, got {short_repr(value)}{_worst(array)}")


def require_finite(owner: str, **values: Any) -> None:
    """Raises ValueError unless every concrete value is a finite number."""
    for name, value in values.items():
        if isinstance(value, dist.Distribution):
            continue
        if value is not None and not is_traced(value) and not np.isfinite(_numbers(owner, name, value)).all():
            raise ValueError(f"{owner}: {name} must be finite, got {short_repr(value)}")


def _require_positive_support(owner: str, name: str, hyperprior: dist.Distribution) -> None:
    """A hyperprior's draws must be possible values; a simplex, too, has positive entries."""
    support = hyperprior.support
    lowest = 0.0 if support is dist.constraints.simplex else getattr(support, "lower_bound", -np.inf)
    if support.is_discrete or is_traced(lowest) or not np.all(np.asarray(lowest) >= 0):
        raise ValueError(
            f"{owner}: the hyperprior of {name} must be continuous with positive values, such as dist.Gamma(2., 1.), "
            f"got {type(hyperprior).__name__}"
        )


def _numbers(owner: str, name: str, value: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be a number or an array of numbers, got {value!r}") from None


def _worst(array: np.ndarray[Any, Any]) -> str:
    bad = array[~(np.isfinite(array) & (array > 0))]
    return f" with {bad.flat[0]:g} in it" if array.ndim else ""


def require_cells(x: Any, good: Callable[[Array], Array], block: str, expected: str, advice: str = "") -> None:
    """Raises ValueError, "column 3: ``expected``, got 0.5; ``advice``", unless all cells, or stored cells, are good."""
    mask = good(stored(x))
    if mask.all():
        return
    if is_sparse(x):
        first = int((~mask).argmax())
        column, value = x.indices[first], x.data[first]
    else:
        row, column = first_bad(~mask)
        value = x[row, column]
    raise ValueError(f"block {block!r}, column {column}: {expected}, got {value}{advice and '; ' + advice}")


def first_bad(bad: Array) -> tuple[int, int]:
    """The first column in which ``bad`` [N, D] has a True, and the first such row in it: (row, column)."""
    column = int(bad.any(axis=0).argmax())
    return int(bad[:, column].argmax()), column


def require_squarable(x: Array, block: str, likelihood: str) -> None:
    """Raises ValueError unless every cell is NaN or a finite number whose square, and sums of such, are numbers."""
    xp = namespace(x)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return
    # numpy rows are fitted in float64 whatever their type
    fitted = np.float64 if xp is np else jnp.promote_types(x.dtype, jnp.float32)
    largest = min(float(jnp.finfo(x.dtype).max), float(jnp.finfo(fitted).max) ** SQUARABLE)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(xp.vdot(x, x))
        if np.isfinite(squares) and squares <= largest**2:  # one pass: no cell is larger
            return
    bad = xp.abs(x) > largest
    if bad.any():
        row, column = first_bad(bad)
        value = x[row, column]
        advice = "give the column in another unit" if xp.isfinite(value) else "make it NaN where nothing was measured"
        raise ValueError(
            f"block {block!r}, column {column}: a {likelihood} cell is a finite number below {largest:.0e} or NaN "
            f"(missing), got {value}; {advice}"
        )


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
