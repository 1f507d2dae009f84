"""Rows taken away: exact leave-one-out terms, and statistics less those of some rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.compute import compute, compute_rows, interpret
from bayesnb.arrays.placement import Array
from bayesnb.primitives import products
from bayesnb.primitives.sums import Labels, class_sums


class LeftOut(ABC):
    """The predictive of rows without themselves; ``self`` is the prior, the statistics are those of all rows."""

    update: Callable[[Any], Any]
    statistics: Callable[..., Any]

    @property
    @abstractmethod
    def common_sites(self) -> tuple[str, ...]:
        """The parameters that all classes share."""

    def left_out_terms(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """log p(x_d | class y_n, all rows but this one), [N, D], from a prior and all rows' statistics. Pure JAX.

        By default the row's own statistics are taken away, row by row; a family knows what they change.
        """

        def of_row(row: Array, k: Array, weight: Array) -> Array:
            prior, found = (jax.tree.map(lambda table: table[k][None], of) for of in (self, statistics))
            own = self.statistics(row[None], class_sums(Labels(jnp.zeros(1, int), weight[None]), 1))
            return prior.update(found.minus(own)).log_predictive_terms(row[None])[0, 0]

        return jax.vmap(of_row)(jnp.asarray(x), y, weight)

    def leave_one_out_terms(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """log p(x_d | y = k, all rows but this one), [N, K, D]: only the row's own class changes. Pure JAX."""
        terms = self.update(statistics).log_predictive_terms(x)
        own = jnp.arange(terms.shape[1])[None, :] == y[:, None]
        return jnp.where(own[:, :, None], self.left_out_terms(statistics, x, y, weight)[:, None, :], terms)

    def leave_one_out(self, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
        """The sum of these terms over columns, [N, K], computed without the terms of the other classes."""
        if self.common_sites:  # the row changes every class
            return compute_rows(products.sum_terms, (self, statistics), (x, y, weight), terms="leave_one_out_terms")
        table = compute(conjugate_update, self, statistics).log_predictive(x).finite
        own = sum_own_terms(self, statistics, x, y, weight)
        return either.where(np.arange(table.shape[1])[None, :] == y[:, None], own[:, None], table)


@jax.jit
def conjugate_update(family: LeftOut, statistics: Any) -> Any:
    """``family.update(statistics)``, compiled."""
    return family.update(statistics)


@singledispatch
def sum_own_terms(family: LeftOut, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
    """The sum of ``left_out_terms`` over columns, [N]."""
    return compute_rows(products.sum_terms, (family, statistics), (x, y, weight), terms="left_out_terms")


@singledispatch
def left_out(family: Any, statistics: Any, y: Array, weight: Array) -> Callable[[Array, Array, Array], Array]:
    """``leave_one_out_terms`` of some of the rows with these labels and weights [N], in numpy: a function of them.

    What all rows need is computed here, once.
    """
    del y, weight
    # nothing is compiled, as that would depend on the number of columns, and it takes as long as compiled code
    return lambda *rows: interpret(type(family).leave_one_out_terms, family, statistics, *rows)


def common_mean(mean: Array, count: Array, other_mean: Array, other_count: Array) -> tuple[Array, ...]:
    """The common mean, the difference of the means, the common count, and the other part's share of it."""
    common = count + other_count
    share = other_count.astype(mean.dtype) / either.where(common > 0, common, 1)
    change = other_mean - mean
    # an empty side has no mean: taking the other's keeps a constant column exact
    return either.where(count > 0, mean + change * share, other_mean), change, common, share


def pooled_mean(mean: Array, count: Array) -> tuple[Array, Array]:
    """The mean of all classes [1, D], and the deviation of each class from it [K, D], 0 for a class without rows."""
    seen = count > 0
    total = count.sum(axis=0, keepdims=True)
    share = count.astype(mean.dtype) / either.where(total > 0, total, 1)
    # relative to the mean of the largest class nothing cancels, and a constant column is exact
    origin = either.take_along_axis(mean, count.argmax(axis=0, keepdims=True), axis=0)
    pooled = origin + (share * either.where(seen, mean - origin, 0.0)).sum(axis=0, keepdims=True)
    return pooled, either.where(seen, mean - pooled, 0.0)


def over(squares: Array, count: Array) -> Array:
    """The mean square; 0 where nothing is counted."""
    return squares / either.where(count > 0, count, 1)


def class_rows(table: Array, places: Array) -> Array:
    """The rows of a table [K, ...] at these places [L], zeros where a place is K."""
    own = places < table.shape[0]
    rows = table[np.where(own, places, 0)]
    return rows if own.all() else either.where(own.reshape(-1, *[1] * (table.ndim - 1)), rows, 0)


def by_group(table: Array, groups: Sequence[int]) -> Array:
    """The columns of a table [K, D, ...] by group, [M, K, G, ...], with zeros where a group has fewer than M."""
    if table.shape[1] < len(groups):  # [K, 1]: a base measure that was not summed
        return table[None]
    members = [np.flatnonzero(np.asarray(groups) == g) for g in range(max(groups) + 1)]
    places = np.full((max(map(len, members)), len(members)), len(groups))
    for g, columns in enumerate(members):
        places[: len(columns), g] = columns
    padded = either.concatenate([table, either.zeros_like(table[:, :1])], axis=1)
    return either.moveaxis(padded[:, places], 1, 0)


ROUNDINGS = 4.0
"""What is left of a sum counts as 0 if it is at most this many rounding errors of the sum."""

STEP_ERROR = 16.0
"""Merging or subtracting changes a total by at most this many rounding errors of the largest total held.

The totals are n, n |mean| and the sum of squares about zero, S + n mean^2. The errors of a chain of steps add up.
"""

CHAIN = 1e4
"""The number of steps whose rounding a total may have before something is taken away from it."""


def without(total: Array, part: Array, scale: Array | None = None) -> Array:
    """total - part, never negative, and 0 if only rounding error is left; ``scale`` is the number that was rounded."""
    left = total - part
    if left.dtype.kind in "iu":
        return either.maximum(left, 0)
    scale = total if scale is None else scale
    return either.where(left > _noise(total, part, scale, ROUNDINGS), left, 0.0)


def others_of(table: Array) -> Array:
    """The sum over all other classes, [K, ...], without a subtraction."""
    nothing = 0 * table[:1]
    before = either.concatenate([nothing, either.cumsum(table[:-1], axis=0)])
    after = either.concatenate([either.cumsum(table[:0:-1], axis=0)[::-1], nothing])
    return before + after


def require_sums(
    owner: str, name: str, total: Array, part: Array, scale: Array | None = None, classes: Array | None = None
) -> None:
    """ValueError if sums of numbers that are not negative are larger in a part, but for rounding of ``scale``.

    Sums are by class, [K, ...], or of these ``classes`` [C].
    """
    total, part = np.asarray(total), np.asarray(part)
    bad = part - total > _noise(total, part, total if scale is None else np.asarray(scale), STEP_ERROR * CHAIN)
    if bad.any():
        place = int(np.argwhere(bad)[0][0])
        k = place if classes is None else classes[place]
        raise ValueError(
            f"{owner}: {name} of the rows to take away, {part[bad][0]:g} in class {k}, is more than the total "
            f"{total[bad][0]:g}, so these rows cannot have been counted; take away rows that were"
        )


def require_squares(owner: str, total: tuple[Array, ...], part: tuple[Array, ...]) -> None:
    """ValueError if count, mean and squares [K, D] of a part do not fit in those of all rows, but for rounding."""
    (n, mean, squares), (m, part_mean, part_squares) = (tuple(map(np.asarray, one)) for one in (total, part))
    left, change = np.asarray(without(n, m)), np.where(m > 0, part_mean - mean, 0.0)
    some = left > 0
    # nothing is left: then the part is the whole, and has its mean
    between = np.square(change) * np.where(some, n * (m / np.where(some, left, 1.0)), m)
    slack = CHAIN * STEP_ERROR * np.finfo(squares.dtype).eps * (squares + n * np.square(mean))
    excess = part_squares + between - squares
    bad = (m > 0) & (excess > slack) | ~some & (m > 0) & (-excess > slack)
    if bad.any():
        k, d = np.argwhere(bad)[0]
        raise ValueError(
            f"{owner}: mean {part_mean[k, d]:g} and squares {part_squares[k, d]:g} of the rows to take away do not fit "
            f"in mean {mean[k, d]:g} and squares {squares[k, d]:g} of class {k}, column {d}, so these rows cannot have "
            "been counted; take away rows that were"
        )


def require_scatter(owner: str, total: Array, left: Array) -> None:
    """ValueError if what is left of scatters [K, D, D] is none of any rows: it has a negative eigenvalue."""
    if not left.size:
        return
    smallest = np.linalg.eigvalsh(np.asarray(left, np.float64))[:, 0]
    largest = np.trace(np.asarray(total, np.float64), axis1=1, axis2=2)
    bad = smallest < -np.sqrt(np.finfo(left.dtype).eps) * largest
    if bad.any():
        raise ValueError(
            f"{owner}: the scatter of the rows to take away does not fit in that of class {int(bad.argmax())}, so "
            "these rows cannot have been counted; take away rows that were"
        )


def _noise(total: Array, part: Array, scale: Array, roundings: float) -> Array:
    """The rounding of a difference; 0 for whole numbers that the type represents exactly."""
    if (total - part).dtype.kind in "iu":
        return 0
    eps = jnp.finfo((total - part).dtype).eps
    exact = (total == either.floor(total)) & (part == either.floor(part)) & (scale < 1 / eps)
    return either.where(exact, 0.0, roundings * eps * scale)
