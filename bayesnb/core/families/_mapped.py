"""Families of mapped cells: what the logarithm of a number, or a value beside a density, has of other families."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import attrgetter
from typing import Any, Self

import jax.numpy as jnp

from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Family, Params, left_out
from bayesnb.core.families.parts._statistics import Statistics


def _of_each(method: str) -> Any:
    """A method of statistics, applied to each part."""

    def call(whole: MappedStatistics, *given: Any) -> MappedStatistics:
        own = ((one.parts if isinstance(one, MappedStatistics) else [one] * len(whole.parts)) for one in given)
        return MappedStatistics(tuple(getattr(part, method)(*of) for part, *of in zip(whole.parts, *own, strict=True)))

    return call


@pytree
class MappedStatistics(Statistics):
    """The statistics of each part's cells; the first is that of the family whose cells are mapped."""

    parts: tuple[Any, ...]

    merge, pool, minus, discount = map(_of_each, ("merge", "pool", "minus", "discount"))
    spread_classes, check, require_part = map(_of_each, ("spread_classes", "check", "require_part"))

    @property
    def num_columns(self) -> int:
        return int(self.parts[0].num_columns)

    @property
    def observed_cells(self) -> Array | None:
        """Those of the first part: cells with a density."""
        found: Array | None = self.parts[0].observed_cells
        return found


def _of_first(*names: str) -> Any:
    """What the whole has of its first part by these names."""
    return [property(attrgetter(f"first.{name}")) for name in names]


@pytree
class Mapped(Family):
    """A family of maps of cells: log p(x | k) is the sum of the parts' log p(x_i | k), each at its own map of x.

    The first part is the family that was given. Its hyperparameters are also the whole's, by the same names.
    """

    parts: tuple[Any, ...]

    statistics_type = MappedStatistics
    first = property(lambda self: self.parts[0])
    axes, positive, squared, sites, common_sites = _of_first("axes", "positive", "squared", "sites", "common_sites")
    declared_columns, num_classes, num_columns = _of_first("declared_columns", "num_classes", "num_columns")
    axis_sizes, params = _of_first("axis_sizes", "params")

    def __post_init__(self) -> None:
        for part in self.parts:
            part.__post_init__()

    def __getattr__(self, name: str) -> Any:
        if name == "parts" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.parts[0], name)

    def _replace(self, **changes: Any) -> Self:
        own = {name: changes.pop(name) for name in [*changes] if name in self.__dict__}
        if changes:
            own["parts"] = (self.parts[0]._replace(**changes), *own.get("parts", self.parts)[1:])
        return super()._replace(**own)

    @abstractmethod
    def cells(self, x: Array) -> tuple[Array, ...]:
        """The cells of each part, NaN where they are missing to it."""

    @abstractmethod
    def back(self, *cells: Array) -> Array:
        """Generated cells, of those of the parts."""

    def own(self, params: Params) -> tuple[Params, ...]:
        """The parameters of each part."""
        return (params,)

    def join(self, parts: Sequence[Params]) -> Params:
        """The parameters of all parts."""
        return parts[0]

    def each(self, function: str | Callable[..., Any], *others: Sequence[Any]) -> list[Any]:
        """The function or method of each part and what belongs to it."""
        call = (lambda part, *own: getattr(part, function)(*own)) if isinstance(function, str) else function
        return [call(*one) for one in zip(self.parts, *others, strict=False)]

    def map(self, change: str | Callable[..., Any], *others: Sequence[Any]) -> Self:
        """The same with other parts, each ``change`` of the part and what belongs to it."""
        return self._replace(parts=tuple(self.each(change, *others)))

    def defaults(self, pooled: MappedStatistics) -> Params:
        found: Params = self.parts[0].defaults(pooled.parts[0])
        return found

    def resolve(self, pooled: MappedStatistics, num_classes: int) -> Self:
        return self.map(lambda part, own: part.resolve(own, num_classes), pooled.parts)

    def check_params(self, params: Params, block: str) -> None:
        self.each(lambda part, own: part.check_params(own, block), self.own(params))

    def statistics(self, x: Array, z: ClassSums) -> MappedStatistics:
        return MappedStatistics(tuple(self.each(lambda part, cells: part.statistics(cells, z), self.cells(x))))

    def update(self, statistics: MappedStatistics) -> Self:
        return self.map("update", statistics.parts)

    def reference(self) -> Params:
        return self.join(self.each("reference"))

    def mode(self) -> Params:
        return self.join(self.each("mode"))

    def mle(self, statistics: MappedStatistics) -> Params:
        return self.join(self.each("mle", statistics.parts))

    # terms

    def likelihood_tables(self, params: Params) -> tuple[Any, ...]:
        return tuple(self.each("likelihood_tables", self.own(params)))

    def likelihood_scorer(self, tables: tuple[Any, ...]) -> Score:
        return self._score(self.each("likelihood_scorer", tables))

    def predictive_tables(self) -> tuple[Any, ...]:
        return tuple(self.each("predictive_tables"))

    def predictive_scorer(self, tables: tuple[Any, ...]) -> Score:
        return self._score(self.each("predictive_scorer", tables))

    def _score(self, scores: Sequence[Score]) -> Score:
        return lambda x: LogProb.times(*(score(cells) for score, cells in zip(scores, self.cells(x), strict=True)))

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        return LogProb.times(*self.each("log_likelihood_terms", self.own(params), self.cells(x)))

    def log_likelihood_ratio(self, statistics: MappedStatistics, params: Params, reference: Params) -> Array:
        return _sum(self.each("log_likelihood_ratio", statistics.parts, self.own(params), self.own(reference)))

    def row_base_measure(self, x: Array) -> Array | None:
        found = [part for part in self.each("row_base_measure", self.cells(x)) if part is not None]
        return _sum(found) if found else None

    def log_predictive_terms(self, x: Array) -> Array:
        return _sum(self.each("log_predictive_terms", self.cells(x)))

    def left_out_terms(self, statistics: MappedStatistics, x: Array, y: Array, weight: Array) -> Array:
        return self._left_out("left_out_terms", statistics, x, y, weight)

    def leave_one_out_terms(self, statistics: MappedStatistics, x: Array, y: Array, weight: Array) -> Array:
        return self._left_out("leave_one_out_terms", statistics, x, y, weight)

    def leave_one_out(self, statistics: MappedStatistics, x: Array, y: Array, weight: Array) -> Array:
        return self._left_out("leave_one_out", statistics, x, y, weight)

    def _left_out(self, method: str, statistics: MappedStatistics, x: Array, *labels: Array) -> Array:
        terms = lambda part, own, cells: getattr(part, method)(own, cells, *labels)  # noqa: E731
        return _sum(self.each(terms, statistics.parts, self.cells(x)))

    # evidence: one row of tables [K, D] if the classes share a parameter

    def log_partition(self) -> Array:
        return _sum(self.pooled(self.each("log_partition")))

    def log_partition_ratio(self, statistics: MappedStatistics) -> Array:
        return _sum(self.pooled(self.each("log_partition_ratio", statistics.parts)))

    def log_base_measure(self, statistics: MappedStatistics) -> Array:
        return _sum(self.pooled(self.each("log_base_measure", statistics.parts)))

    def pooled(self, tables: Sequence[Array]) -> Sequence[Array]:
        """Tables by class, of all classes together if these share a parameter; a number is a table of none."""
        shared = bool(self.common_sites)
        return [table.sum(axis=0, keepdims=True) if shared and jnp.ndim(table) else table for table in tables]


def _sum(parts: Sequence[Array]) -> Array:
    return reduce(lambda a, b: a + b, parts)


def whole(family: Any, *of_family: Any) -> Iterator[tuple[Any, ...]]:
    """A family with what belongs to it, such as statistics; of mapped cells each part with its own."""
    if not isinstance(family, Mapped):
        yield (family, *of_family)
        return
    for part, *own in zip(family.parts, *(one.parts for one in of_family), strict=False):
        yield from whole(part, *own)


@left_out.register(Mapped)
def _(family: Mapped, statistics: MappedStatistics, *labels: Array) -> Callable[[Array, Array, Array], Array]:
    of_parts = family.each(lambda part, own: left_out(part, own, *labels), statistics.parts)
    return lambda x, *own: _sum([terms(cells, *own) for terms, cells in zip(of_parts, family.cells(x), strict=True)])
