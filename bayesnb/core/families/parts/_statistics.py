"""Sufficient statistics: sums over rows, means that merge about the common mean, and what is left without some rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.compute.arrays._placement import Array, Node, fields_of
from bayesnb.core.families.parts._support import Axes, require_axes, require_finite_numbers


class Statistics(Node):
    """Sufficient statistics of one block, arrays [K, ...]: sums, unless a class overrides ``merge`` and ``pool``."""

    axes: ClassVar[Axes] = ()
    """The shape of each array; a subclass that does not declare it is not checked."""

    signed: ClassVar[tuple[str, ...]] = ("mean", "log_base", "scatter")
    """The arrays that may be negative."""

    fixed: ClassVar[tuple[str, ...]] = ("mean", "edges", "atoms")
    """The arrays that are no sums over rows."""

    alike: ClassVar[tuple[str, ...]] = ()
    """The arrays that are the same for all classes."""

    def check(self, block: str, num_classes: int) -> None:
        """Raise ValueError unless rows in ``num_classes`` classes can have these statistics."""
        if not self.axes:
            return
        owner, values = f"statistics of block {block!r}", {name: getattr(self, name) for name, _ in self.axes}
        require_axes(owner, values, self.axes, self.axis_sizes(num_classes))
        require_finite_numbers(owner, **{n: v for n, v in values.items() if n not in ("edges", "atoms")})
        if (np.abs(np.asarray(values.get("mean", 0.0), float)) > LARGEST_CELL).any():
            raise ValueError(f"{owner}: mean holds a number that is too large to be squared")
        for name in values.keys() - {*self.signed, *self.fixed}:
            if not (np.asarray(values[name]) >= 0).all():
                raise ValueError(f"{owner}: {name} must not be negative")

    @property
    def num_columns(self) -> int:
        """The number of columns D."""
        return np.shape(getattr(self, self.axes[0][0]))[-1]

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        """The sizes that the letters of ``axes`` stand for."""
        return {"K": num_classes, "D": self.num_columns, "1": 1}

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        return self.map(lambda name, a, b: a if name in self.fixed else a + b, other)

    def pool(self) -> Self:
        """The statistics of all classes together, [1, ...]."""
        return self.map(lambda name, a: a[:1] if name in self.fixed else a.sum(axis=0, keepdims=True))

    def spread_classes(self, places: Array) -> Self:
        """The same rows with other classes: class k is that of number ``places[k]``, or one without rows if this is K.

        Its arrays are zeros, but for those that are alike; a class whose arrays are then others overrides it.
        """
        first = np.zeros(len(places), np.intp)
        return self.map(lambda name, a: a[first] if name in self.alike else class_rows(a, places))

    def minus(self, part: Self) -> Self:
        """The statistics without those of some of the rows; a class that overrides ``merge`` overrides it as well."""
        if type(self).merge is not Statistics.merge:
            raise NotImplementedError(f"{type(self).__name__} defines merge, and so must define minus")
        return self.map(lambda name, a, b: a - b if name in self.signed else without(a, b), part)

    def require_part(self, part: Self, block: str) -> None:
        """Raise ValueError if ``part`` cannot be the statistics of some of these rows, but for rounding."""
        for name in self.sums:
            if name not in self.signed:
                require_sums(f"block {block!r}", name, getattr(self, name), getattr(part, name))

    def discount(self, factor: Array) -> Self:
        """The statistics of the same rows with their weights times ``factor``, or one for each class, [K]."""
        tall = lambda a: factor.reshape(-1, *[1] * (a.ndim - 1)) if np.ndim(factor) else factor  # noqa: E731
        return self.map(lambda name, a: a * tall(a) if name in self.sums else a)

    @property
    def observed_cells(self) -> Array | None:
        """The weight of the cells that are not missing, [K, D]; None if it is not kept."""
        return None

    @property
    def sums(self) -> tuple[str, ...]:
        """The names of the arrays that are sums over rows."""
        return tuple(f.name for f in fields_of(self) if not (f.metadata.get("static") or f.name in self.fixed))

    def map(self, change: Callable[..., Array], *others: Self) -> Self:
        """The same with other arrays, each ``change(name, array, *arrays of others)``."""
        node: Any = self
        names = [f.name for f in fields_of(self) if not f.metadata.get("static")]
        return replace(node, **{n: change(n, *(getattr(one, n) for one in (self, *others))) for n in names})


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
    return either.where(left > _noise(total, part, scale, roundings=4.0), left, 0.0)


def others_of(table: Array) -> Array:
    """The sum over all other classes, [K, ...], without a subtraction."""
    nothing = 0 * table[:1]
    before = either.concatenate([nothing, either.cumsum(table[:-1], axis=0)])
    after = either.concatenate([either.cumsum(table[:0:-1], axis=0)[::-1], nothing])
    return before + after


def require_sums(
    owner: str, name: str, total: Array, part: Array, scale: Array | None = None, columns: Array | None = None
) -> None:
    """ValueError if sums by class [K, D, ...], none negative, are larger in a part, but for rounding of ``scale``.

    ``columns`` [D] are those of the sums, if these are not one a column.
    """
    total, part = np.asarray(total), np.asarray(part)
    bad = part - total > _noise(total, part, total if scale is None else np.asarray(scale), STEP_ERROR * CHAIN)
    if bad.any():
        k, *place = np.argwhere(bad)[0][:2].tolist()
        of = "".join(f", column {d if columns is None else columns[d]}" for d in place)
        raise ValueError(
            f"{owner}{of}: {name} of the rows to take away, {part[bad][0]:g} in class {k}, is more than the total "
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
            f"{owner}, column {d}: mean {part_mean[k, d]:g} and squares {part_squares[k, d]:g} of the rows to take "
            f"away do not fit in mean {mean[k, d]:g} and squares {squares[k, d]:g} of class {k}, so these rows cannot "
            "have been counted; take away rows that were"
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
            f"{owner}: the scatter of the rows to take away exceeds that of class {int(bad.argmax())}, so these rows "
            "cannot have been counted; take away rows that were"
        )


def _noise(total: Array, part: Array, scale: Array, roundings: float) -> Array:
    """The rounding of a difference; 0 for whole numbers that the type represents exactly."""
    if (total - part).dtype.kind in "iu":
        return 0
    eps = jnp.finfo((total - part).dtype).eps
    exact = (total == either.floor(total)) & (part == either.floor(part)) & (scale < 1 / eps)
    return either.where(exact, 0.0, roundings * eps * scale)
