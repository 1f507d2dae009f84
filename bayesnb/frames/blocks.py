"""Rows in blocks: arrays, sparse matrices and frames side by side, each with its own likelihoods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesnb.arrays.sparse import is_sparse
from bayesnb.frames.choices import ASKED, AUTO, takes_sparse
from bayesnb.frames.column_kinds import SKIP, Column
from bayesnb.frames.likelihoods import schema_of
from bayesnb.frames.schema import Likelihoods, Schema
from bayesnb.frames.series import Array, DataError, Frame, listing
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows.statistics import ModelStatistics


@dataclass(frozen=True, eq=False)
class Blocks:
    """The same rows in several arrays [N, D], sparse matrices or frames, by name."""

    by_name: dict[str, Any]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and the number of columns of all blocks."""
        blocks = list(self.by_name.values())
        return blocks[0].shape[0], sum(block.shape[1] for block in blocks)

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
        return [column for name, part in self.parts.items() for column in _names(name, part)]

    @property
    def kinds(self) -> list[str]:
        """The name of each column's likelihood, or `skip`."""
        return [kind for part in self.parts.values() for kind in part.kinds]

    @property
    def used(self) -> dict[str, Schema]:
        """The blocks that are not skipped."""
        return {name: part for name, part in self.parts.items() if {column.kind for column in part.columns} != {SKIP}}

    @property
    def blocks(self) -> dict[str, Any]:
        """The columns of each block of the model."""
        return _flat({name: dict(part.blocks) for name, part in self.used.items()})

    @property
    def infers_numbers(self) -> bool:
        """Whether some columns are Normal, and the user did not choose it."""
        return any(part.infers_numbers for part in self.used.values())

    @property
    def inferred_blocks(self) -> set[str]:
        """The blocks of the model of which no column's likelihood was chosen by the user."""
        return {_block_name(name, block) for name, part in self.used.items() for block in part.inferred_blocks}

    @property
    def names_by_block(self) -> dict[str, list[str]]:
        """The names of the columns of each block of the model."""
        by_part = {}
        for name, part in self.used.items():
            shown = dict(zip(part.names, _names(name, part), strict=True))
            own = part.names_by_block.items()  # words keep their names
            by_part[name] = {block: [shown.get(column, column) for column in columns] for block, columns in own}
        return _flat(by_part)

    @property
    def value_names(self) -> dict[str, list[str]]:
        """The values of the codes 0, 1, ... of each column, by name."""
        return {column: values for part in self.parts.values() for column, values in part.value_names.items()}

    def likelihoods(self, smoothing: float, *, laplace: bool) -> Likelihoods:
        """The families of the model's blocks."""
        return _flat({name: part.likelihoods(smoothing, laplace=laplace) for name, part in self.used.items()})

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
        return _flat({name: part.encode(X.by_name[name]) for name, part in self.used.items()})

    def count(self, model: NaiveBayes, X: Any, codes: Array, weight: Array | None) -> tuple[Self, ModelStatistics]:
        """The schema with the values that occur in encoded rows, and the statistics of the rows."""
        parts, counted = dict(self.parts), {}
        for name, part in self.used.items():
            rows, families = (_part_of(each, name, part) for each in (X, model.families))
            single = [*families] == ["x"]
            own = NaiveBayes(families["x"] if single else families, num_classes=model.num_classes)
            parts[name], counted[name] = part.count(own, rows["x"] if single else rows, codes, weight)
        return type(self)(parts), _together(counted)

    def spread(self, statistics: ModelStatistics, over: Any) -> ModelStatistics:
        """The statistics, counted under this schema, for the schema ``over``, which has more values."""
        counted = {}
        for name, part in self.used.items():
            own = ModelStatistics(statistics.class_counts, _part_of(statistics.blocks, name, part))
            counted[name] = part.spread(own, over.parts[name])
        return _together(counted)


AnySchema = Schema | BlocksSchema


def make_schema(X: Any, given: Any, before: Any = None, seen: Any = None) -> tuple[AnySchema, Any]:
    """As ``schema_of``, also for ``Blocks``, with one entry of the likelihoods for each block."""
    if not isinstance(X, Blocks):
        return schema_of(X, given, before, seen)
    parts: dict[str, Schema] = {}
    summaries: dict[str, Any] = {}
    for name, own in _by_block(given, list(X.by_name)).items():
        block = X.by_name[name]
        if own == SKIP:
            parts[name], summaries[name] = _skip(block), None
            continue
        if is_sparse(block) and not takes_sparse(own):
            raise DataError(
                f"block '{name}' is a sparse matrix, and its likelihood is {own!r}: choose 'bernoulli' if it matters "
                "whether a word occurs, 'multinomial' if it matters how often, or give x.toarray()"
            )
        earlier = None if before is None else before.parts[name]
        parts[name], summaries[name] = schema_of(block, own, earlier, seen[name] if seen else None)
    schema = BlocksSchema(parts)
    if not schema.used:
        raise DataError("X has no block to learn from: all are skipped, as asked")
    if len(set(schema.names)) < len(schema.names):
        twice = next(name for name in schema.names if schema.names.count(name) > 1)
        raise DataError(f"two blocks have a column named '{twice}': rename one")
    return schema, summaries


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


def _skip(block: Any) -> Schema:
    """The schema of a block that is left out."""
    if isinstance(block, Frame):
        return Schema(tuple(Column(name, SKIP, text=None, reason=ASKED) for name in block.columns))
    return Schema((Column("", SKIP, reason=ASKED, width=block.shape[1]),), named=False)


def _names(name: str, part: Schema) -> list[str]:
    return part.names if part.named else [f"{name}[{d}]" for d in range(part.width)]


def _block_name(name: str, block: str) -> str:
    """The name of a part's block in the model: that of the part if it is the only one, which is named `x`."""
    return name if block == "x" else f"{name}_{block}"


def _flat(by_part: Mapping[str, Any]) -> dict[str, Any]:
    """What each part has, one or several by block, by the blocks of the model."""
    flat: dict[str, Any] = {}
    for name, own in by_part.items():
        for block, value in (own if isinstance(own, dict) else {"x": own}).items():
            key = _block_name(name, block)
            if key in flat:
                raise DataError(f"two blocks of the model would have the name '{key}': rename a block")
            flat[key] = value
    return flat


def _part_of(flat: Mapping[str, Any], name: str, part: Schema) -> dict[str, Any]:
    return {block: flat[_block_name(name, block)] for block in part.blocks}


def _together(counted: Mapping[str, ModelStatistics]) -> ModelStatistics:
    class_counts, *_ = (one.class_counts for one in counted.values())
    return ModelStatistics(class_counts, _flat({name: dict(one.blocks) for name, one in counted.items()}))
