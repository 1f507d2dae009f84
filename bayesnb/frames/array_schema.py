"""The schema of an array [N, D]: its columns by position, their blocks, and the families of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayesnb.arrays.sparse import dense, is_sparse
from bayesnb.families import Family
from bayesnb.families.open_categorical import OpenCategorical
from bayesnb.families.words import FAMILIES
from bayesnb.frames.column_kinds import BLOCKS, KINDS, MISSING, SPARSE, indicator_name
from bayesnb.frames.series import Array, DataError, listing
from bayesnb.frames.values import without_others
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows.statistics import ModelStatistics, sufficient_statistics

Likelihoods = Family | dict[str, Family]

MOST_CODES = 1 << 20
"""Maximum number of codes in a column of an array; a column with more probably identifies rows."""


@dataclass(frozen=True)
class ArraySchema:
    """The columns of an array [N, D], by position.

    Attributes:
        kinds: The likelihood of each column, or the name of its family in ``own``, or `skip` if it is left out.
        sizes: C of each Categorical column, whose cells are codes 0..C-1; 1 before any rows are counted.
        own: Families by name; the columns of each form one block.
        inferred: Whether the kinds follow from the first rows; cells outside their support then count as missing.
        informative: The positions of the columns whose missing cells are a feature of their own.
    """

    kinds: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    own: dict[str, Family] = field(default_factory=dict)
    inferred: bool = False
    informative: tuple[int, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names that scikit-learn gives to unnamed columns."""
        return [f"x{position}" for position in range(len(self.kinds))]

    @property
    def blocks(self) -> dict[str, Array]:
        """The columns of each block; a single one is named `x`."""
        if self._single:
            return {"x": np.arange(len(self.kinds))}
        kinds = np.array(self.kinds)
        used = [kind for kind in (*KINDS, *self.own) if kind in self._used]
        blocks = {_block_of(kind): np.flatnonzero(kinds == kind) for kind in used}
        return blocks | ({MISSING: np.array(self.informative)} if self.informative else {})

    @property
    def infers_numbers(self) -> bool:
        """Whether some columns are Normal, and the user did not choose it."""
        return self.inferred and "normal" in self.kinds

    @property
    def inferred_blocks(self) -> set[str]:
        """The blocks of which no column's likelihood was chosen by the user."""
        return {*self.blocks} if self.inferred else set()

    @property
    def names_by_block(self) -> dict[str, list[str]]:
        """The names of the columns of each block."""
        by_block = {block: [f"x{position}" for position in columns] for block, columns in self.blocks.items()}
        return {block: [*map(indicator_name, own)] if block == MISSING else own for block, own in by_block.items()}

    @property
    def value_names(self) -> dict[str, list[str]]:
        """Empty: cells are the codes themselves."""
        return {}

    def likelihoods(self, smoothing: float, *, laplace: bool) -> Likelihoods:
        """The families of the blocks; a single family if all columns are of one kind."""
        own = {_block_of(name): family for name, family in self.own.items()}
        kinds: dict[str, str] = {_block_of(kind): kind for kind in KINDS if kind in self._used}
        kinds |= {MISSING: MISSING} if self.informative else {}
        made = {**families(kinds, self.sizes, smoothing, laplace=laplace), **own}
        return next(iter(made.values())) if self._single else made

    def encode(self, X: Any) -> Any:
        """X itself, or its columns by block, of which those of words stay sparse; DataError for infinite codes."""
        blocks = X if self._single else {block: self._columns(X, block) for block in self.blocks if block != MISSING}
        if self.inferred and "bernoulli" in self._used:
            if self._single:
                blocks = without_others(X, range(X.shape[1]))
            else:
                blocks["binary"] = without_others(blocks["binary"], self.blocks["binary"].tolist())
        if self.informative:
            blocks[MISSING] = np.isnan(dense(X[:, [*self.informative]])).astype(np.float64)
        if self.sizes and X.dtype.kind == "f" and np.isinf(X if self._single else blocks["categorical"]).any():
            raise DataError("X holds an infinite number: give codes 0, 1, ..., or NaN for a missing cell")
        return blocks

    def count(self, model: NaiveBayes, X: Any, codes: Array, weight: Array | None) -> tuple[Self, ModelStatistics]:
        """The schema with the codes that occur in encoded rows, and the statistics of the rows.

        Raises:
            DataError: for codes that are too large for a table.
        """
        if not self.sizes:
            return self, sufficient_statistics(model, X, codes, sample_weight=weight)
        block = self._block_of_codes
        positions = tuple(position for position, kind in enumerate(self.kinds) if kind == "categorical")
        family = OpenCategorical(self.sizes, positions=positions, most=MOST_CODES)
        model = model.with_hyperparameters({**model.families, block: family}, model.class_concentration)
        counted = sufficient_statistics(model, X, codes, sample_weight=weight)
        statistics = counted.with_block(block, counted.blocks[block].without_room(self.sizes))
        sizes = statistics.blocks[block].sizes
        return self if sizes == self.sizes else replace(self, sizes=sizes), statistics

    def join(self, other: Self) -> Self:
        """The same columns with the codes of both; DataError if the kinds of columns differ."""
        if self.kinds != other.kinds:
            raise DataError(
                f"the likelihoods of the columns were {listing(self.kinds)} in the rows before, and are "
                f"{listing(other.kinds)} now: give the same as in the first rows"
            )
        return replace(self, sizes=tuple(max(pair) for pair in zip(self.sizes, other.sizes, strict=True)))

    def spread(self, statistics: ModelStatistics, over: Any) -> ModelStatistics:
        """The statistics, counted under this schema, for the schema ``over``, which has more codes."""
        if self.sizes == over.sizes:
            return statistics
        block = self._block_of_codes
        return statistics.with_block(block, statistics.blocks[block].resize(over.sizes))

    def _columns(self, X: Any, block: str) -> Array:
        """The columns of one block, as the array or the sparse matrix that its likelihood takes."""
        columns = self.blocks[block]
        if not is_sparse(X):
            return X[:, columns]
        first, last = columns[0], columns[-1]
        found = X[:, first : last + 1] if last - first < len(columns) else X[:, columns]  # scipy slices are faster
        kind = self.kinds[first]
        return found if kind in SPARSE or (kind in self.own and self.own[kind].takes_sparse) else dense(found)

    @property
    def _block_of_codes(self) -> str:
        return "x" if self._single else "categorical"

    @property
    def _single(self) -> bool:
        return len(self._used) == 1 and not self.informative

    @cached_property
    def _used(self) -> set[str]:
        return set(self.kinds)


def _block_of(kind: Any) -> str:
    return BLOCKS.get(kind, kind.lower())


def families(kinds: Mapping[str, str], sizes: Sequence[int], smoothing: float, *, laplace: bool) -> dict[str, Family]:
    """The families of blocks: pseudo-counts for categories and words, pseudo-rows for numbers.

    Args:
        kinds: The kind of each block, except those that have a family.
        sizes: The number of categories of each Categorical column.
        smoothing: l. Bernoulli and Categorical features, and the words of a Multinomial, have the prior Dirichlet(l);
            a Normal feature l pseudo-rows for its mean and 2 l for its variance, a Poisson feature l; 1 if l is 0. A
            Histogram averages over its own.
        laplace: Use Dirichlet(1 + l) instead, whose mode is the textbook estimate.
    """
    added, rows = 1.0 + smoothing if laplace else smoothing, smoothing or 1.0
    made: dict[str, Any] = {
        "bernoulli": lambda: FAMILIES["bernoulli"](added, added),
        "categorical": lambda: FAMILIES["categorical"](tuple(max(size, 1) for size in sizes), added),
        "normal": lambda: FAMILIES["normal"](strength=rows, shape=rows),
        "histogram": FAMILIES["histogram"],
        "poisson": lambda: FAMILIES["poisson"](rows, rows),
        "multinomial": lambda: FAMILIES["multinomial"](added),
        "words": lambda: FAMILIES["multinomial"](added),
        "missing": lambda: FAMILIES["bernoulli"](added, added),
    }
    return {block: made[kind]() for block, kind in kinds.items()}
