"""The schema of a classifier's rows: the columns of a frame or an array, their blocks, and how rows are encoded.

A schema has the values that have occurred so far. If more rows add values, schemas are joined, and statistics spread
over the categories of the joined schema, so any split of the rows gives the same statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from typing import Any, Self

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import dense, is_sparse
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.families import FAMILIES, Family
from bayesnb.core.families._open_categorical import count_codes
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, sufficient_statistics
from bayesnb.tables.frames._columns import BLOCKS, MISSING, SKIP, SPARSE, Column, Kind, title_of
from bayesnb.tables.frames._plain_rows import PlainRows
from bayesnb.tables.frames._series import Array, DataError, Frame, closest, label, listing
from bayesnb.tables.frames._values import READING, Reading

Likelihoods = Family | dict[str, Family]


@dataclass(frozen=True)
class Schema:
    """The columns of data frames, in order, or those of arrays [N, D], and the blocks that they form.

    An array with columns of one kind is one block, ``x``, as it is; its categories are the codes 0, 1, ... themselves.

    Attributes:
        columns: The columns. Neighbours in an array that are alike are one ``Column``, with their number as ``width``.
        family: The likelihood of all columns of a frame, which then form one block of numbers.
        informative: The positions of the columns whose missing cells are a feature of their own.
        named: Whether the rows are data frames, whose columns have names.
        prefix: What the names of its blocks begin with, if the rows are one of several blocks.
        reading: How cells are read, and which are missing.
    """

    columns: tuple[Column, ...]
    family: Family | None = None
    informative: tuple[int, ...] = ()
    named: bool = True
    prefix: str = ""
    reading: Reading = READING

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(column.width for column in self.columns)

    @property
    def each(self) -> Iterator[Column]:
        """The column at each position."""
        return chain.from_iterable(repeat(column, column.width) for column in self.columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns in order; those of an array are scikit-learn's, or `words[3]` in one of several."""
        if self.named:
            return [column.name for column in self.columns]
        return [f"{self.prefix}[{place}]" if self.prefix else f"x{place}" for place in range(self.width)]

    @property
    def kinds(self) -> list[str]:
        """The name of each column's likelihood, or `skip`."""
        if self.family is not None:
            return [title_of(self.family)] * len(self.columns)
        return [column.likelihood for column in self.each]

    @property
    def indicators(self) -> tuple[Column, ...]:
        """The indicators of missing cells, which form a block of their own."""
        names = self.names if self.informative else []  # those of 100,000 columns take long
        return tuple(Column(names[place], "missing", (False, True)) for place in self.informative)

    @cached_property
    def blocks(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each block, in the order of its array."""
        columns = (*self.columns, *self.indicators)
        alike = len({(column.kind, column.own_block) for column in columns}) == 1
        whole = self.family is not None or (alike and not self.named)
        places = ["x" if whole and column.kind != MISSING else column.block for column in columns]
        found: dict[str, list[Column]] = {block: [] for block in ("x", *BLOCKS.values(), *places)}
        for block, column in zip(places, columns, strict=True):
            found[block].append(column)
        named = {block: tuple(some) for block, some in found.items() if block and some}
        if not self.prefix:
            return named
        return {self.prefix if block == "x" else f"{self.prefix}_{block}": some for block, some in named.items()}

    @property
    def single(self) -> bool:
        """Whether the only block is an array instead of a dict by block."""
        return not self.prefix and [*self.blocks] == ["x"]

    @cached_property
    def positions(self) -> dict[str, Array]:
        """The positions of the columns of each block of an array."""
        found: dict[str, list[Array]] = {MISSING: [np.array(self.informative, int)]}
        ends = np.cumsum([column.width for column in self.columns])
        for column, end in zip(self.columns, ends, strict=True):
            found.setdefault(column.block, []).append(np.arange(end - column.width, end))
        return {block: np.concatenate(found[columns[0].block]) for block, columns in self.blocks.items()}

    @property
    def names_by_block(self) -> dict[str, list[str]]:
        """The names of the columns of each block."""
        if self.named:
            return {block: [name for c in columns for name in c.names] for block, columns in self.blocks.items()}
        names = self.names
        found = {block: [names[place] for place in places] for block, places in self.positions.items()}
        return found | ({MISSING: [column.names[0] for column in self.indicators]} if self.informative else {})

    @property
    def value_names(self) -> dict[str, list[str]]:
        """The values of the codes 0, 1, ... of each column, by name; none for an array, whose cells are the codes."""
        columns = (*self.columns, *self.indicators) if self.named else ()
        coded = [column for column in columns if column.values and column.kind != "words"]
        return {name: [label(value) for value in column.values] for column in coded for name in column.names}

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns that a row must have: those not left out, and those whose missing cells are informative."""
        return tuple(c for place, c in enumerate(self.each) if c.kind != SKIP or place in self.informative)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """C of each Categorical column."""
        return tuple(max(len(column.values), 1) for column in self.columns if column.kind == "categorical")

    @cached_property
    def plain(self) -> PlainRows:
        """The encoder of few rows of frames, or of dicts."""
        return PlainRows(self.names, self.blocks, self.single, self.reading)

    def likelihoods(self, smoothing: float, *, laplace: bool) -> Likelihoods:
        """The families of the blocks, or that of the single one.

        Args:
            smoothing: l. Bernoulli and Categorical features, and the words of a Multinomial, have the prior
                Dirichlet(l); a Normal feature l pseudo-rows for its mean and 2 l for its variance, a Poisson feature l;
                1 if l is 0. A Histogram averages over its own.
            laplace: Use Dirichlet(1 + l) instead, whose mode is the textbook estimate.
        """
        made = {}
        for block, (first, *others) in self.blocks.items():
            own = first.family if self.family is None or first.kind == MISSING else self.family
            sizes = tuple(max(len(column.values), 1) for column in (first, *others))
            made[block] = _family(first.kind, sizes, smoothing, laplace=laplace) if own is None else own
        return made["x"] if self.single else made

    def say_left_out(self) -> str:
        """The first columns that are left out, with their reasons, to end a sentence with; empty if there are none."""
        reasons = [f"'{column.name}' ({column.reason})" for column in self.columns if column.kind == SKIP]
        return f"; left out are {'; '.join(reasons[:3])}" if reasons else ""

    def require_used(self, title: str) -> None:
        """Raise DataError if a frame has no column to learn from."""
        if self.named and not self.used:
            raise DataError(f"{title} has no column to learn from{self.say_left_out()}")

    def require(self, names: Sequence[str]) -> None:
        """Raise DataError if a column that the fit uses is not among ``names``."""
        missing = [column.name for column in self.used if column.name not in names]
        if missing:
            near = self.near(names)
            hint = closest(missing[0], names) if len(missing) == 1 and not near else ""
            hint = f"; did you mean {listing(near)}? Names must agree in case and blanks" if near else hint
            hint = hint or ": add it, with missing cells if it is not known"
            raise DataError(f"the rows have no column {listing(missing)}, which the model was fitted to{hint}")

    def near(self, names: Sequence[str]) -> list[str]:
        """Those names that differ from a column of the fit, which is not among them, in case or blanks alone."""
        wanted, folded = [n for n in self.names if n not in names], {"".join(n.split()).casefold(): n for n in names}
        return [folded[fold] for name in wanted if (fold := "".join(name.split()).casefold()) in folded]

    def warn_of_extra(self, names: Sequence[str], target: str | None) -> None:
        """Warn of other columns beside all of the fit, but for the one that was its target."""
        known = {*self.names}
        extra = [name for name in names if name not in known and name != target]
        if extra and known <= {*names}:
            warn(f"the rows have columns that the fit did not have, which are left out: {listing(extra)}")

    def encode(self, X: Any) -> Any:
        """A frame or an array as the model takes it, by block unless it is ``single``.

        Other columns of a frame are ignored; those of an array that are words stay sparse.

        Raises:
            DataError: if a column is missing, or its cells do not fit its description.
        """
        if not self.named:
            return self._encode_array(X)
        self.require(X.columns)
        arrays = {block: encode_columns(columns, X, self.reading) for block, columns in self.blocks.items()}
        return arrays["x"] if self.single else arrays

    def count(self, model: NaiveBayes, X: Any, codes: Array, weight: Array | None) -> tuple[Self, ModelStatistics]:
        """The schema with the codes that occur in encoded rows of an array, and the statistics of the rows.

        Raises:
            DataError: for codes that are too large for a table.
        """
        if self.named or not self.sizes:
            return self, sufficient_statistics(model, X, codes, sample_weight=weight)
        block = next(block for block, columns in self.blocks.items() if columns[0].kind == "categorical")
        family = count_codes(self.sizes, tuple(self.positions[block].tolist()), limits.MOST_CODES)
        model = model.with_hyperparameters({**model.families, block: family}, model.class_concentration)
        counted = sufficient_statistics(model, X, codes, sample_weight=weight)
        statistics = counted.with_block(block, counted.blocks[block].without_room(self.sizes))
        sizes = statistics.blocks[block].sizes
        if sizes == self.sizes:
            return self, statistics
        grown = iter(sizes)
        columns = (replace(c, values=range(next(grown))) if c.kind == "categorical" else c for c in self.columns)
        return replace(self, columns=tuple(columns)), statistics

    def spread(self, statistics: ModelStatistics, over: Any) -> ModelStatistics:
        """The statistics, counted under this schema, for the schema ``over``, which has more values."""
        for block, (codes, sizes) in self._codes_in(over).items():
            statistics = statistics.with_block(block, statistics.blocks[block].spread(codes, sizes))
        return statistics

    def recode(self, arrays: Mapping[str, Any], over: Any) -> dict[str, Any]:
        """Rows by block, encoded under this schema, as the schema ``over``, which has more values, encodes them."""
        found = dict(arrays)
        for block, (codes, sizes) in self._codes_in(over).items():
            x = found[block]
            if is_sparse(x):
                shape = x.shape[0], sizes[0]
                found[block] = type(x)((x.data, codes[0][x.indices], x.indptr), shape)
            else:
                gone = self.blocks[block][0].missing_code
                places = np.where(x >= 0, x, -1).astype(int)
                columns = [np.where(x[:, d] >= 0, each[places[:, d]], gone) for d, each in enumerate(codes)]
                found[block] = np.stack(columns, axis=1).astype(x.dtype)
        return found

    def _codes_in(self, over: Any) -> dict[str, tuple[list[Array], list[int]]]:
        """The codes of the values in the schema ``over``, and how many it has, by column of blocks that have more."""
        found = {}
        for block, columns in self.blocks.items():
            pairs = list(zip(columns, over.blocks[block], strict=True))
            if any(old.values != new.values for old, new in pairs):
                codes = [new.codes_of(old.values) if old.values else np.zeros(1, int) for old, new in pairs]
                found[block] = codes, [max(len(new.values), 1) for _, new in pairs]
        return found

    def _encode_array(self, X: Any) -> Any:
        arrays = {}
        for block, (first, *_) in self.blocks.items():
            arrays[block] = self._columns(X, block)
            if first.kind == "bernoulli" and first.inferred:
                arrays[block] = _without_others(arrays[block], self.positions[block].tolist())
            if first.kind == "categorical" and X.dtype.kind == "f" and (odd := np.isinf(arrays[block]).any(0)).any():
                raise DataError(
                    f"block '{block}', column {odd.argmax()} holds an infinite number: give codes 0, 1, ..., or NaN "
                    "for a missing cell"
                )
            if first.kind == MISSING:
                arrays[block] = np.isnan(arrays[block]).astype(np.float64)
        return arrays["x"] if self.single else arrays

    def _columns(self, X: Any, block: str) -> Array:
        """The columns of one block of an array, as the array or the sparse matrix that its likelihood takes."""
        columns = self.blocks[block]
        if sum(column.width for column in columns) == X.shape[1]:
            return X
        places, column = self.positions[block], columns[0]
        if not is_sparse(X):
            return X[:, places]
        first, last = places[0], places[-1]
        found = X[:, first : last + 1] if last - first < len(places) else X[:, places]  # scipy slices are faster
        sparse = column.kind in SPARSE if column.family is None else column.family.takes_sparse
        return found if sparse else dense(found)


def _without_others(X: Array, columns: Sequence[int]) -> Array:
    """These columns of an array, X, with NaN for finite cells other than 0 and 1, with a warning."""
    others = ~((X == 0) | (X == 1)) & np.isfinite(X)
    if not others.any():
        return X
    row, place = np.argwhere(others)[0]
    warn(
        f"column {columns[place]} of X is bernoulli, as its first rows suggested, so {X[row, place]:g} counts as "
        f"missing: choose its likelihood, likelihoods={{{columns[place]}: 'normal', ...}}, if it is another"
    )
    return np.where(others, np.nan, X)


def encode_columns(columns: Sequence[Column], frame: Frame, reading: Reading = READING) -> Array:
    """The columns of one block as an array [N, D], each as ``Column.encode`` gives it; words as a sparse matrix."""
    encoded = [column.encode(frame.get_column(column.name), reading) for column in columns]
    return encoded[0] if columns[0].kind == "words" else np.stack(encoded, axis=1)


def _family(kind: Kind, sizes: tuple[int, ...], smoothing: float, *, laplace: bool) -> Family:
    """The family of a block: pseudo-counts for categories and words, pseudo-rows for numbers."""
    added, rows = 1.0 + smoothing if laplace else smoothing, smoothing or 1.0
    match kind:
        case "bernoulli" | "missing":
            return FAMILIES["bernoulli"](added, added)
        case "categorical":
            return FAMILIES["categorical"](sizes, added)
        case "ordered":
            return FAMILIES["ordered"](sizes)
        case "normal":
            return FAMILIES["normal"](strength=rows, shape=rows)
        case "poisson":
            return FAMILIES["poisson"](rows, rows)
        case "multinomial" | "words":
            return FAMILIES["multinomial"](added)
    return FAMILIES[kind]()
