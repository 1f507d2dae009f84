"""Rows in blocks: arrays, sparse matrices and frames side by side, each with its own likelihoods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.core.families import Family
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from bayesnb.tables.frames._choices import ASKED, AUTO, takes_sparse
from bayesnb.tables.frames._columns import SKIP, Column
from bayesnb.tables.frames._likelihoods import schema_of
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import Array, DataError, Frame, listing


@dataclass(frozen=True, eq=False)
class Blocks:
    """The same rows in several arrays [N, D], sparse matrices or frames, by name."""

    by_name: dict[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and the number of columns of all blocks."""
        blocks = list(self.by_name.values())
        return blocks[0].shape[0], sum(block.shape[1] for block in blocks)

    def __getitem__(self, some: slice) -> Self:
        return type(self)({name: block[some] for name, block in self.by_name.items()})

    def filter(self, kept: list[bool]) -> Self:
        """The rows that are marked."""
        blocks = self.by_name.items()
        return type(self)({n: b.filter(kept) if isinstance(b, Frame) else b[np.array(kept)] for n, b in blocks})


@dataclass(frozen=True)
class BlocksSchema:
    """The schema of each block by name. A block with several likelihoods is as many blocks of the model."""

    parts: Mapping[str, Schema]

    named = False
    """A row is no data frame, though blocks of it may be."""

    @property
    def names(self) -> list[str]:
        """The names of all columns; `words[3]` in a block that is an array."""
        return [column for part in self.parts.values() for column in part.names]

    @property
    def kinds(self) -> list[str]:
        """The name of each column's likelihood, or `skip`."""
        return [kind for part in self.parts.values() for kind in part.kinds]

    @property
    def used(self) -> dict[str, Schema]:
        """The blocks that are not skipped."""
        return {name: part for name, part in self.parts.items() if {column.kind for column in part.columns} != {SKIP}}

    @property
    def blocks(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each block of the model."""
        return {block: columns for part in self.used.values() for block, columns in part.blocks.items()}

    @property
    def names_by_block(self) -> dict[str, list[str]]:
        """The names of the columns of each block of the model."""
        return {block: names for part in self.used.values() for block, names in part.names_by_block.items()}

    @property
    def value_names(self) -> dict[str, list[str]]:
        """The values of the codes 0, 1, ... of each column, by name."""
        return {column: values for part in self.parts.values() for column, values in part.value_names.items()}

    def likelihoods(self, smoothing: float, *, laplace: bool) -> dict[str, Family]:
        """The families of the model's blocks."""
        families: dict[str, Family] = {}
        for part in self.used.values():
            families |= part.likelihoods(smoothing, laplace=laplace)  # type: ignore[arg-type]
        return families

    def require(self, X: Blocks | None) -> Blocks:
        """X itself; DataError unless it has the blocks of the fit, with as many columns."""
        expected = f"the model was fitted to the blocks {listing(list(self.parts))}"
        if X is None:
            raise DataError(f"{expected}: give a list or a dict of them, got one array or data frame")
        if set(X.by_name) != set(self.parts):
            raise DataError(f"{expected}, got {listing(list(X.by_name))}: give the same")
        for name, part in self.parts.items():
            found = X.by_name[name].shape[1]
            if not part.named and found != part.width:
                raise DataError(f"block '{name}' has {found} columns, and the model was fitted to {part.width}")
        return X

    def encode(self, X: Blocks) -> dict[str, Any]:
        """X by block of the model; DataError if a block does not fit its schema."""
        return {block: x for name, part in self.used.items() for block, x in part.encode(X.by_name[name]).items()}

    def count(self, model: NaiveBayes, X: Any, codes: Array, weight: Array | None) -> tuple[Self, ModelStatistics]:
        """The schema with the values that occur in encoded rows, and the statistics of the rows."""
        parts = dict(self.parts)
        blocks: dict[str, Any] = {}
        for name, part in self.used.items():
            rows, families = ({block: of[block] for block in part.blocks} for of in (X, model.families))
            own = NaiveBayes(families, num_classes=model.num_classes)
            parts[name], counted = part.count(own, rows, codes, weight)
            blocks |= counted.blocks
        return type(self)(parts), ModelStatistics(counted.class_counts, blocks)

    def spread(self, statistics: ModelStatistics, over: Any) -> ModelStatistics:
        """The statistics, counted under this schema, for the schema ``over``, which has more values."""
        for name, part in self.used.items():
            statistics = part.spread(statistics, over.parts[name])
        return statistics

    def recode(self, arrays: Mapping[str, Any], over: Any) -> dict[str, Any]:
        """Rows by block, encoded under this schema, as the schema ``over``, which has more values, encodes them."""
        for name, part in self.used.items():
            arrays = part.recode(arrays, over.parts[name])
        return dict(arrays)


AnySchema = Schema | BlocksSchema


def make_schema(X: Any, given: Any, before: Any = None, seen: Any = None, weight: Any = None) -> tuple[AnySchema, Any]:
    """As ``schema_of``, also for ``Blocks``, with one entry of the likelihoods for each block."""
    if not isinstance(X, Blocks):
        return schema_of(X, given, before, seen, weight)
    parts: dict[str, Schema] = {}
    summaries: dict[str, Any] = {}
    for name, own in _by_block(given, list(X.by_name)).items():
        block = X.by_name[name]
        if own == SKIP:
            parts[name], summaries[name] = _skip(name, block), None
            continue
        if is_sparse(block) and not takes_sparse(own):
            raise DataError(
                f"block '{name}' is a sparse matrix, and its likelihood is {own!r}: choose 'bernoulli' if it matters "
                "whether a word occurs, 'multinomial' if it matters how often, or give x.toarray()"
            )
        earlier = None if before is None else before.parts[name]
        part, summaries[name] = schema_of(block, own, earlier, seen[name] if seen else None, weight)
        part.require_used(f"block '{name}'")
        parts[name] = replace(part, prefix=name)
    schema = BlocksSchema(parts)
    if not schema.used:
        raise DataError("X has no block to learn from: all are skipped, as asked")
    _refuse_repeated(schema.names, "two blocks have a column named '{}': rename one")
    blocks = [block for part in schema.used.values() for block in part.blocks]
    _refuse_repeated(blocks, "two blocks of the model would have the name '{}': rename a block")
    return schema, summaries


def _refuse_repeated(names: Sequence[str], sentence: str) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(sentence.format(twice[0]))


def _by_block(given: Any, names: list[str]) -> dict[str, Any]:
    """The likelihoods of each block: its own entry of a list or a dict, else the same for all."""
    if isinstance(given, Mapping):
        others = [str(name) for name in given if name not in names]
        if others:
            raise DataError(f"likelihoods has {listing(others)}, which is not among the blocks {listing(names)} of X")
        return {name: given.get(name, AUTO) for name in names}
    if isinstance(given, str) or not isinstance(given, Sequence):
        return dict.fromkeys(names, given)
    if len(given) != len(names):
        raise DataError(f"likelihoods has {len(given)} entries, and X has {len(names)} blocks: give one per block")
    return dict(zip(names, given, strict=True))


def _skip(name: str, block: Any) -> Schema:
    """The schema of a block that is left out."""
    if isinstance(block, Frame):
        return Schema(tuple(Column(column, SKIP, text=None, reason=ASKED) for column in block.columns), prefix=name)
    return Schema((Column("", SKIP, reason=ASKED, width=block.shape[1]),), named=False, prefix=name)
