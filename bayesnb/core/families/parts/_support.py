"""Checks that families share: known values of hyperparameters, parameters and cells are in their supports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import (
    all_codes,
    is_sparse,
    largest_squarable,
    observed,
    stored_cells,
    within_squares,
)
from bayesnb.compute.arrays._own_primitives import refuse
from bayesnb.compute.arrays._placement import Array, as_array, known, short_repr

Axes = tuple[tuple[str, str], ...]
"""Names of arrays, and a letter for each axis: K classes, D columns."""

WIDER = "give numpy rows, which are computed in float64, or set JAX_ENABLE_X64=1"
"""Advice for numbers beyond float32."""


def broadcast(value: Any, shape: tuple[int, ...], name: str) -> Array:
    """``value`` as floats, broadcast to the resolved shape; a ValueError that names it if it does not fit."""
    value = as_array(value)
    if value.dtype.kind in "iub":  # counts take the type of a prior, and may be fractions
        value = either.floats(value)
    try:
        return either.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(
            f"hyperparameter {name!r} has shape {value.shape}, which does not broadcast to {shape} "
            "(classes, columns): give a number, one value per column, or one per class and column"
        ) from None


def require_axes(owner: str, values: Mapping[str, Any], axes: Axes, sizes: Mapping[str, int]) -> None:
    """Raise ValueError unless the values are arrays of numbers whose axes have the sizes of their letters."""
    for name, letters in axes:
        value, shape = values[name], tuple(sizes[letter] for letter in letters)
        dtype = getattr(value, "dtype", None)
        number = dtype is not None and (dtype.kind == "f" or (dtype.kind in "iu" and dtype.itemsize >= 4))
        if not number or value.shape != shape:
            raise ValueError(
                f"{owner}: {name} must be numbers of 32 or 64 bits, of shape {shape}, got {short_repr(value)}"
            )


def require_choice(owner: str, name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{owner}: {name} must be {' or '.join(map(repr, choices))}, got {short_repr(value)}")


def require_positive(owner: str, **values: Any) -> None:
    """Raise ValueError unless every known value, and every draw of a hyperprior, is positive and within bounds."""
    for name, value in values.items():
        if isinstance(value, dist.Distribution):
            support = value.support
            lowest = known(0.0 if support is constraints.simplex else getattr(support, "lower_bound", -np.inf))
            if support.is_discrete or lowest is None or not (lowest >= 0).all():
                raise ValueError(
                    f"{owner}: the hyperprior of {name} must be continuous with positive values, such as "
                    f"dist.Gamma(2., 1.), got {type(value).__name__}"
                )
    for name, array in _known_numbers(owner, values):
        bad = array[~(np.isfinite(array) & (array > 0))]
        if bad.size:
            one = f" with {bad.flat[0]:g} in it" if array.ndim else ""
            raise ValueError(f"{owner}: {name} must be positive and finite, got {short_repr(values[name])}{one}")
        most = limits.SINGLE_BOUND if _is_single(values[name]) else limits.HYPERPARAMETER_BOUND
        _require_inside(owner, name, array, 1 / most, most)


def require_finite_numbers(owner: str, **values: Any) -> None:
    """Raise ValueError unless every known value is a finite number."""
    for name, array in _known_numbers(owner, values):
        if not np.isfinite(array).all():
            raise ValueError(f"{owner}: {name} must be finite, got {short_repr(values[name])}")


def require_size(owner: str, **values: Any) -> None:
    """Raise ValueError unless every known value, of either sign, is finite and small enough to be squared."""
    require_finite_numbers(owner, **values)
    for name, array in _known_numbers(owner, values):
        most = limits.SINGLE_SIZE if _is_single(values[name]) else limits.HYPERPARAMETER_BOUND
        _require_inside(owner, name, np.abs(array), 0.0, most)


def single(value: Any) -> Any:
    """A known hyperparameter in float32, clipped to its smallest and largest numbers; others are unchanged."""
    if (given := _known_value(value)) is None:
        return value
    given, ends = given.astype(np.float64), np.finfo(np.float32)
    size = np.clip(np.abs(given), float(ends.tiny), float(ends.max))
    return np.where(given == 0, 0.0, np.copysign(size, given)).astype(np.float32)


def _known_value(value: Any) -> Array | None:
    """The value of a hyperparameter; None if it is left to the data, a hyperprior, or traced."""
    return None if value is None or isinstance(value, dist.Distribution) else known(value)


def _is_single(value: Any) -> bool:
    return getattr(value, "dtype", None) == np.float32


def _known_numbers(owner: str, values: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """The known values in float64, by name; ValueError for anything but numbers."""
    for name, value in values.items():
        try:
            if (array := _known_value(value)) is None:
                continue
            if array.size and array.dtype.kind not in "iuf" and not jnp.issubdtype(array.dtype, jnp.floating):
                raise TypeError  # numpy would turn booleans and text into numbers
            array = array.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise ValueError(f"{owner}: {name} must be a number or an array of numbers, got {value!r}") from None
        yield name, array


def _require_inside(owner: str, name: str, array: np.ndarray[Any, Any], least: float, most: float) -> None:
    outside = array[~((array >= least) & (array <= most))]
    if outside.size:
        span = f"at least {least:g} and at most {most:g}" if least else f"at most {most:g} in size"
        raise ValueError(f"{owner}: {name} must be {span}, got {outside.flat[0]:g}, or computations overflow")


def require_cells(x: Any, good: Callable[[Array], Array], block: str, expected: str, advice: str = "") -> None:
    """Raise ValueError, "column 3: ``expected``, got 0.5; ``advice``", unless all cells, or stored cells, are good."""
    bad, end = ~good(stored_cells(x)), advice and f"; {advice}"
    if is_sparse(x) and bad.any():  # the first bad cell by row, then column; rows may be unsorted
        cells = np.flatnonzero(bad)
        of_row = cells[cells < x.indptr[np.searchsorted(x.indptr, cells[0], side="right")]]
        first = of_row[x.indices[of_row].argmin()]
        raise ValueError(f"block {block!r}, column {x.indices[first]}: {expected}, got {x.data[first]}{end}")
    refuse(bad, f"block {block!r}, column {{column}}: {expected}, got {{0}}{end}", x)


def require_whole_rows(x: Array, sentence: str) -> None:
    """Raise ValueError with this sentence unless every row is missing as a whole or not at all."""
    seen = observed(x)
    if seen is not None:
        refuse(seen.any(axis=1) & ~seen.all(axis=1), sentence)


OPEN_UNIT = constraints.open_interval(0.0, 1.0)
"""Where a logit is finite; distributions of shares have infinite log densities at 0 and 1."""

SUPPORTS = (
    (constraints.boolean, 2, "0, 1", "recode the column, or use Categorical or Normal"),
    (constraints.nonnegative_integer, np.inf, "a count 0, 1, 2, ...", "use Normal for measurements"),
    (constraints.nonnegative, np.inf, "a number, 0 or more,", ""),
    (constraints.positive, 0, "a number above 0", "give zeros to nb.Hurdle(..., at=0.0)"),
    (constraints.unit_interval, 0, "a number between 0 and 1", ""),
    (OPEN_UNIT, 0, "a number above 0 and below 1", "give zeros and ones to nb.Hurdle(..., at=(0.0, 1.0))"),
)
"""Supports: the codes 0, 1, ... below this number are inside, a cell is this, and otherwise the advice is this."""


def words_of(support: Constraint) -> tuple[float, str, str]:
    """The number of codes, what a cell is, and the advice."""
    own = getattr(support, "words", f"a finite number in {support}")
    return next((row[1:] for row in SUPPORTS if row[0] is support), (0, own, ""))


def require_support(x: Any, support: Constraint, block: str, family: str) -> None:
    """Raise ValueError unless every cell, or stored cell, is NaN or a finite number in the support."""
    if support is constraints.real:
        require_squarable(x, block, family)
        return
    num_codes, allowed, advice = words_of(support)
    if (x.dtype == bool and num_codes) or all_codes(stored_cells(x), num_codes):
        return

    def good(cells: Array) -> Array:
        with np.errstate(invalid="ignore"):  # numpy's remainder of an infinite cell
            return either.isnan(cells) | (support(cells) & (cells < np.inf))

    article = "an" if family[0] in "AEIOU" else "a"
    require_cells(x, good, block, f"{article} {family} cell is {allowed} or NaN (missing)", advice)


def require_squarable(x: Array, block: str, family: str) -> None:
    """Raise ValueError unless every cell is NaN or a finite number whose squares can be summed without overflow."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return
    largest = largest_squarable(x)
    if not within_squares(x, largest):
        expected = f"a {family} cell is a finite number below {largest:.0e} or NaN (missing)"
        advice = "give the column in another unit, and NaN where nothing was measured"
        require_cells(x, lambda cells: ~(abs(cells) > largest), block, expected, advice)


def require_shapes(block: str, params: Mapping[str, Array], **axes: str) -> None:
    """Raise ValueError unless the arrays have these axes, a letter each, and every letter has one size."""
    sizes: dict[str, int] = {}
    for site, letters in axes.items():
        shape, wanted = params[site].shape, f"[{', '.join(letters)}]"
        if len(shape) != len(letters):
            raise ValueError(f"params['{block}_{site}'] must be an array {wanted}, got shape {shape}")
        if any(sizes.setdefault(letter, size) != size for letter, size in zip(letters, shape, strict=True)):
            first, other = next(iter(axes.items()))
            raise ValueError(
                f"params['{block}_{first}'] is [{', '.join(other)}], params['{block}_{site}'] {wanted}: got "
                f"{params[first].shape}, {shape}"
            )


def require_probabilities(block: str, site: str, value: Array) -> None:
    """Raise ValueError unless every known value lies in [0, 1]."""
    given = known(value)
    if given is not None and (bad := ~((given >= 0) & (given <= 1))).any():
        raise ValueError(f"params['{block}_{site}'] must be probabilities in [0, 1], got {given[bad][0]:g} in it")


def require_simplex(block: str, site: str, value: Array) -> None:
    """Raise ValueError unless known probabilities sum to one along the last axis."""
    require_probabilities(block, site, value)
    given = known(value)  # 0 columns cannot sum to 1
    if given is not None and given.shape[-1] and not (abs(given.sum(axis=-1) - 1) < 1e-4).all():
        raise ValueError(f"params['{block}_{site}'] must sum to 1 along the last axis: divide by the sum")
