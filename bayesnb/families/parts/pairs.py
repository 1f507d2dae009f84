"""Pairs of columns, of which one may depend on the other: the layout of the columns, their priors, and statistics.

Columns of categories come first, laid end to end in tables of S categories, then the J real ones. The prior of a pair
follows from those of its columns alone; see ``pair_evidence``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, Self

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array, namespace
from bayesnb.arrays.pytree import pytree
from bayesnb.arrays.threads import in_threads
from bayesnb.families.parts.statistics import NormalStatistics, Statistics
from bayesnb.families.parts.subtraction import require_sums, without
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.primitives import pair_sums
from bayesnb.primitives.codes import starts_of


class PairLayout(NamedTuple):
    """``sizes``, the number of categories of each column of the model [D], 0 for a real one."""

    sizes: tuple[int, ...]

    @property
    def order(self) -> Array:
        """The columns of the model in the order of tables of pairs, [D]."""
        return np.argsort(np.array(self.sizes, int) == 0, kind="stable")

    @property
    def back(self) -> Array:
        """The place in this order of each column of the model, [D]."""
        return np.argsort(self.order)

    @property
    def categories(self) -> tuple[int, ...]:
        """The number of categories of each of the I columns that have any."""
        return tuple(size for size in self.sizes if size)

    def split(self, cells: Array) -> tuple[Array, Array, Array]:
        """Cells [N, D] as places of categories [N, I], the mask of those that are seen, and real cells [N, J].

        Missing cells are NaN; their place is the first of the column.
        """
        xp = namespace(cells)
        codes, reals = (cells[:, columns] for columns in np.split(self.order, [len(self.categories)]))
        seen = ~xp.isnan(codes)
        return xp.where(seen, codes, 0).astype(np.int32) + starts_of(self.categories)[None, :-1], seen, reals


class PairPrior(NamedTuple):
    """The priors of the columns alone: ``concentration`` [K, S] of categories, ``reals`` [K, J] of real columns."""

    concentration: Array
    reals: NormalInverseGamma


def join_priors(parts: Sequence[Array | NormalInverseGamma], num_classes: int) -> PairPrior:
    """The priors of the blocks' columns end to end, those of categories and of real columns apart. Pure JAX."""
    nothing = jnp.zeros((num_classes, 0))
    reals = [part for part in parts if isinstance(part, NormalInverseGamma)]
    categories = [part for part in parts if not isinstance(part, NormalInverseGamma)]
    joined = [jnp.concatenate([nothing, *columns], axis=1) for columns in zip(*reals, strict=True)]
    return PairPrior(jnp.concatenate([nothing, *categories], axis=1), NormalInverseGamma(*(joined or [nothing] * 4)))


@pytree
class PairStatistics(Statistics):
    """What rows add up to for all pairs of columns, by class.

    ``counts`` [K, S, S] of rows with both categories, symmetric; the diagonal has the counts of a category alone. Real
    columns by category: ``count``, ``mean`` and ``squares`` [K, S, J]. Two real columns, in rows where both are seen:
    ``both``, the weight of these rows; ``centre``, ``spread``, the mean and the squared deviations of the first column;
    and ``product``, the sum of the products of both deviations, [K, J, J]; the diagonal has those of a column alone.
    """

    counts: Array
    count: Array
    mean: Array
    squares: Array
    both: Array
    centre: Array
    spread: Array
    product: Array
    sizes: tuple[int, ...] = field(metadata={"static": True})

    axes = (
        ("counts", "KSS"), ("count", "KSJ"), ("mean", "KSJ"), ("squares", "KSJ"),
        ("both", "KJJ"), ("centre", "KJJ"), ("spread", "KJJ"), ("product", "KJJ"),
    )  # fmt: skip
    signed = ("mean", "centre", "product")

    @property
    def num_columns(self) -> int:
        return len(self.sizes)

    def axis_sizes(self, num_classes: int) -> Mapping[str, int]:
        layout = PairLayout(self.sizes)
        return {"K": num_classes, "S": sum(layout.categories), "J": len(self.sizes) - len(layout.categories)}

    @property
    def by_category(self) -> NormalStatistics:
        """Real columns in each category, [K, S, J]."""
        return NormalStatistics(self.count, self.mean, self.squares)

    @property
    def alone(self) -> NormalStatistics:
        """Each real column alone, [K, J]."""
        tables = (self.both, self.centre, self.spread)
        return NormalStatistics(*(table.diagonal(axis1=1, axis2=2) for table in tables))

    def merge(self, other: Self) -> Self:
        by_category = self.by_category.merge(other.by_category)
        both, xp = self._of_pairs.merge(other._of_pairs), namespace(self.both)
        change = xp.where((self.both > 0) & (other.both > 0), other.centre - self.centre, 0.0)
        share = self.both * other.both / xp.where(both.count > 0, both.count, 1.0)
        product = self.product + other.product + share * change * change.swapaxes(1, 2)
        tables = (by_category.count, by_category.mean, by_category.squares, both.count, both.mean, both.squares)
        return type(self)(self.counts + other.counts, *tables, product, self.sizes)

    def minus(self, part: Self) -> Self:
        by_category, xp = self.by_category.minus(part.by_category), namespace(self.both + part.both)
        both = self._of_pairs.minus(part._of_pairs)
        change = xp.where((both.count > 0) & (part.both > 0), part.centre - both.mean, 0.0)
        share = both.count * part.both / xp.where(self.both > 0, self.both, 1.0)
        left = self.product - part.product - share * change * change.swapaxes(1, 2)
        product = xp.where((both.squares > 0) & (both.squares > 0).swapaxes(1, 2), left, 0.0)
        tables = (by_category.count, by_category.mean, by_category.squares, both.count, both.mean, both.squares)
        return type(self)(without(self.counts, part.counts), *tables, product, self.sizes)

    def require_part(self, part: Self, block: str) -> None:
        require_sums(f"block {block!r}", "counts", self.counts, part.counts)
        self.alone.require_part(part.alone, block)
        require_products(block, self.minus(part), self)

    @property
    def _of_pairs(self) -> NormalStatistics:
        """Each real column where the other one is seen as well, [K, J, J]."""
        return NormalStatistics(self.both, self.centre, self.spread)


def require_products(block: str, left: PairStatistics, total: PairStatistics) -> None:
    """ValueError if two columns of what is left would be correlated by more than one, but for rounding in the total."""
    of_left, of_total = (np.asarray(one.spread) for one in (left, total))
    about_zero = of_total + np.asarray(total.both) * np.square(np.asarray(total.centre))
    bounds, scale = (np.sqrt(squares * squares.swapaxes(1, 2)) for squares in (of_left, about_zero))
    if (np.abs(np.asarray(left.product)) - bounds > np.sqrt(np.finfo(scale.dtype).eps) * scale).any():
        raise ValueError(
            f"block {block!r}: without the rows to take away two columns would be correlated by more than one, so they "
            "cannot have been counted; take away rows that were"
        )


def pair_statistics(cells: Array, y: Array, weight: Array, num_classes: int, layout: PairLayout) -> PairStatistics:
    """The statistics of numpy rows in float64, a thread for each class; cells [N, D] are NaN where missing.

    ``y`` are labels [N] with the ``weight`` [N] of each row, or soft labels [N, K], which contain it.
    """
    places, seen, reals = layout.split(np.asarray(cells, np.float64))
    places, size = np.where(seen, places, -1), sum(layout.categories)

    counts = np.zeros((num_classes, size, size))

    def of_class(k: int) -> tuple[Array, ...]:
        mass = y[:, k] if y.ndim == 2 else np.where(y == k, weight, 0.0)
        rows = np.flatnonzero(mass > 0)
        codes, x, mass = places[rows], reals[rows], np.asarray(mass[rows], np.float64)
        pair_sums.count_pairs(codes, mass, counts[k])
        return *pair_sums.moments_by_category(codes, x, mass, size), *pair_sums.joint_moments(x, mass)

    parts = in_threads(of_class, range(num_classes))
    names, rest = (name for name, _ in PairStatistics.axes), map(np.stack, zip(*parts, strict=True))
    return PairStatistics(**dict(zip(names, (counts, *rest), strict=True)), sizes=layout.sizes)
