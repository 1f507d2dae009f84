"""Schemas of a classifier's rows: the columns of a frame or an array, and their blocks.

A schema has the values that have occurred so far. If more rows add values, schemas are joined, and statistics spread
over the categories of the joined schema, so any split of the rows gives the same statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL, all_within
from bayesnb.arrays.user_warnings import warn
from bayesnb.families import Family
from bayesnb.frames.array_schema import ArraySchema as ArraySchema
from bayesnb.frames.array_schema import Likelihoods as Likelihoods
from bayesnb.frames.array_schema import families
from bayesnb.frames.column_kinds import BLOCKS, MISSING, SKIP, Column
from bayesnb.frames.plain_rows import PlainRows
from bayesnb.frames.series import Array, DataError, Frame, closest, label, listing
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows.statistics import ModelStatistics, sufficient_statistics

FEW_COLUMNS = 8
"""The most columns of a frame that are read one by one; more are selected from it first."""


@dataclass(frozen=True)
class FrameSchema:
    """The columns of a data frame, in its order; with a ``family`` they form one block of numbers.

    ``informative`` are the positions of the columns whose missing cells are a feature of their own.
    """

    columns: tuple[Column, ...]
    family: Family | None = None
    informative: tuple[int, ...] = ()

    @property
    def indicators(self) -> tuple[Column, ...]:
        """The indicators of missing cells, which form a block of their own."""
        return tuple(Column(self.columns[place].name, "missing", (False, True)) for place in self.informative)

    @cached_property
    def blocks(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each block, in the order of its array."""
        if self.family is not None:
            return {"x": self.columns} | ({MISSING: self.indicators} if self.informative else {})
        found: dict[str, list[Column]] = {block: [] for block in BLOCKS.values()}
        for column in (*self.columns, *self.indicators):
            if column.block:
                found.setdefault(column.block, []).append(column)
        return {block: tuple(columns) for block, columns in found.items() if columns}

    @property
    def names(self) -> list[str]:
        """The names of the columns, in the order of the frame."""
        return [column.name for column in self.columns]

    @property
    def kinds(self) -> list[str]:
        """The name of each column's likelihood, or `skip`."""
        if self.family is not None:
            return [type(self.family).__name__] * len(self.columns)
        return [column.likelihood for column in self.columns]

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a row must have: those not left out, and those whose missing cells are informative."""
        return tuple(c for place, c in enumerate(self.columns) if c.kind != SKIP or place in self.informative)

    @property
    def infers_numbers(self) -> bool:
        """Whether some columns are Normal, and the user did not choose it."""
        return any(column.inferred and column.kind == "normal" for column in self.columns)

    @property
    def inferred_blocks(self) -> set[str]:
        """The blocks of which no column's likelihood was chosen by the user."""
        return {block for block, columns in self.blocks.items() if all(column.inferred for column in columns)}

    @property
    def names_by_block(self) -> dict[str, list[str]]:
        """The names of the columns of each block."""
        return {block: [name for column in columns for name in column.names] for block, columns in self.blocks.items()}

    @property
    def value_names(self) -> dict[str, list[str]]:
        """The values of the codes 0, 1, ... of each column, by name."""
        coded = [column for column in (*self.columns, *self.indicators) if column.values and column.kind != "words"]
        return {name: [label(value) for value in column.values] for column in coded for name in column.names}

    @property
    def texts(self) -> set[str]:
        """The columns whose values are text."""
        return {column.name for column in self.columns if column.text}

    @cached_property
    def plain(self) -> PlainRows:
        """The encoder of few rows."""
        return PlainRows(self.names, self.blocks, self._single)

    def likelihoods(self, smoothing: float, *, laplace: bool) -> Likelihoods:
        """The families of the blocks."""
        own = {column.own_block: column.family for column in self.columns if column.family is not None}
        if self.family is not None:
            own["x"] = self.family
        kinds = {block: columns[0].kind for block, columns in self.blocks.items() if block not in own}
        sizes = [len(column.values) for column in self.blocks.get("categorical", ())]
        made = {**families(kinds, sizes, smoothing, laplace=laplace), **own}
        return made["x"] if self._single else made

    def require(self, names: Sequence[str]) -> None:
        """Raise DataError if a column that the fit uses is not among ``names``."""
        missing = [column.name for column in self.used if column.name not in names]
        if missing:
            hint = closest(missing[0], names) if len(missing) == 1 else ""
            raise DataError(f"the rows have no column {listing(missing)}, which the model was fitted to{hint}")

    def warn_of_extra(self, names: Sequence[str]) -> bool:
        """Whether there are other columns beside all of the fit; then a warning names them."""
        known = set(self.names)
        extra = [name for name in names if name not in known]
        if not extra or len(names) - len(extra) < len(known):
            return False
        warn(f"the rows have columns that the fit did not have, which are left out: {listing(extra)}")
        return True

    def encode(self, frame: Frame) -> Any:
        """X by block; other columns of the frame are ignored.

        Raises:
            DataError: if a column is missing, or its cells do not fit its description.
        """
        self.require(frame.columns)
        arrays = {block: encode_columns(columns, frame) for block, columns in self.blocks.items()}
        return arrays["x"] if self._single else arrays

    def count(self, model: NaiveBayes, X: Any, codes: Array, weight: Array | None) -> tuple[Self, ModelStatistics]:
        """This schema, which already has all values, and the statistics of encoded rows."""
        return self, sufficient_statistics(model, X, codes, sample_weight=weight)

    def spread(self, statistics: ModelStatistics, over: Any) -> ModelStatistics:
        """The statistics, counted under this schema, for the schema ``over``, which has more values."""
        for block, columns in self.blocks.items():
            pairs = list(zip(columns, over.blocks[block], strict=True))
            if all(old.values == new.values for old, new in pairs):
                continue
            codes = []
            for old, new in pairs:
                code_of = {value: code for code, value in enumerate(new.values)}
                codes.append(np.array([code_of[value] for value in old.values] or [0]))
            sizes = [max(len(new.values), 1) for _, new in pairs]
            statistics = statistics.with_block(block, statistics.blocks[block].spread(codes, sizes))
        return statistics

    @property
    def _single(self) -> bool:
        return self.family is not None and not self.informative


Part = FrameSchema | ArraySchema


def encode_columns(columns: Sequence[Column], frame: Frame) -> Array:
    """The columns of one block as an array [N, D], each as ``Column.encode`` gives it; words as a sparse matrix."""
    together = _read_floats(columns, frame)
    if together is not None:
        return together
    encoded = [column.encode(frame.get_column(column.name)) for column in columns]
    return encoded[0] if columns[0].kind == "words" else np.stack(encoded, axis=1)


def _read_floats(columns: Sequence[Column], frame: Frame) -> Array | None:
    """Columns of numbers read at once, which is faster; None if some are not float64, or a cell may be refused."""
    if any(column.kind not in ("normal", "histogram", "own") or column.text is not False for column in columns):
        return None
    names = [column.name for column in columns]
    if len(names) <= FEW_COLUMNS:
        read = [frame.get_column(name) for name in names]
        floats = all(column.dtype == nw.Float64 for column in read)
        cells = np.stack([column.to_numpy() for column in read], axis=1) if floats else None
    else:
        types = frame.schema
        cells = frame.select(names).to_numpy() if all(types[name] == nw.Float64 for name in names) else None
    valid = cells is not None and cells.dtype == np.float64 and all_within(cells, LARGEST_CELL)
    return np.ascontiguousarray(cells) if valid else None
