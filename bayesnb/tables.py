"""A data frame and the name of its target, made into blocks of features and integer labels.

Each column is described by a `Column`: its likelihood, and the values that its codes stand for. The kinds are

* two distinct values: Bernoulli;
* text, or whole numbers with at most 10 distinct values: Categorical;
* other numbers: Normal.

A column is left out, and named, where it has no cells, one value, or a different text in nearly every row.
"""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from bayesnb.families.support import SQUARABLE
from bayesnb.reading import DataError, Source, closest, is_number, is_text

Array = np.ndarray[Any, Any]
Kind = Literal["bernoulli", "categorical", "normal"]

KINDS: tuple[Kind, ...] = ("bernoulli", "categorical", "normal")
BLOCKS: dict[Kind, str] = {"bernoulli": "binary", "categorical": "categorical", "normal": "numeric"}
SKIP = "skip"
NOTHING = "nothing in it"
ONE_VALUE = "one value only"
MOST_INTEGER_CATEGORIES = 10
ID_SHARE = 0.9  # text with more distinct values than this share of its rows names the rows


@dataclass(frozen=True)
class Column:
    """One feature: its likelihood and what its codes mean.

    Attributes:
        name: The column's name.
        kind: `bernoulli`, `categorical` or `normal`.
        values: What the codes 0, 1, ... stand for, sorted; empty for `normal`.
        span: The smallest and the largest number; None for text.
        missing: How many cells are missing.
    """

    name: str
    kind: Kind
    values: tuple[str | float, ...] = ()
    span: tuple[float, float] | None = None
    missing: int = 0

    def encode(self, cells: pd.Series) -> Array:
        """Turn cells [N] into what the likelihood takes.

        Returns:
            [N]: 0, 1 or NaN (`bernoulli`), codes with -1 for missing (`categorical`), numbers or NaN (`normal`). A
            value that the column did not show when it was described counts as missing.
        """
        if self.kind == "normal":
            return cells.to_numpy(dtype=np.float64)
        codes = pd.Index(self.values).get_indexer(pd.Index(cells))
        return np.where(codes < 0, np.nan, codes) if self.kind == "bernoulli" else codes

    def describe(self) -> str:
        """Say in a few characters what the column holds."""
        if self.kind == "normal":
            low, high = cast(tuple[float, float], self.span)
            return f"{low:g} to {high:g}"
        if self.kind == "bernoulli" or len(self.values) <= 4:
            return ", ".join(label(value) for value in self.values)
        return f"{len(self.values)} categories"


@dataclass(frozen=True, eq=False)
class Table:
    """Features by block, labels as integers, and what both stand for.

    Attributes:
        name: The name of the data.
        target: The name of the column of classes.
        X: For each block, an array [N, D]; the blocks are `binary`, `categorical` and `numeric`, where not empty.
        y: Labels [N], integers 0 to K - 1.
        classes: The K class names, in the order of the integers.
        columns: The features, block by block, in the order of the columns of X.
        left_out: Name and reason of each column that is not used.
        num_unlabelled: How many rows were dropped because their target is missing.
        warnings: Whole sentences for the user.
    """

    name: str
    target: str
    X: Mapping[str, Array]
    y: Array
    classes: tuple[str, ...]
    columns: tuple[Column, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    num_unlabelled: int = 0
    warnings: tuple[str, ...] = field(default=())

    @cached_property
    def blocks(self) -> dict[str, tuple[Column, ...]]:
        """The columns of each block, in the order of the block's array."""
        by_block = {block: tuple(c for c in self.columns if c.kind == kind) for kind, block in BLOCKS.items()}
        return {block: columns for block, columns in by_block.items() if columns}

    def rows(self, index: Array) -> tuple[dict[str, Array], Array]:
        """Return the features and the labels of some rows."""
        return {block: values[index] for block, values in self.X.items()}, self.y[index]


def make_table(source: Source, target: str | None = None, overrides: Mapping[str, str] | None = None) -> Table:
    """Describe and encode every column of a data frame.

    Args:
        source: What was read.
        target: The column of classes; None takes the source's own.
        overrides: Column name, or a pattern such as `pixel_*`, to `bernoulli`, `categorical`, `normal` or `skip`.

    Raises:
        DataError: The target or an override does not fit the data, or nothing is left to learn from.
    """
    target = source.target if target is None else target
    if target not in source.frame.columns:
        names = [str(name) for name in source.frame.columns]
        hint = closest(target, names) or f"; its columns are {_listing(names)}"
        raise DataError(f"'{source.name}' has no column '{target}'{hint}")
    labelled = source.frame[source.frame[target].notna()]
    y, classes = _labels(labelled[target])
    features = labelled.drop(columns=target)
    wanted = _expand(overrides or {}, features, target)

    columns: list[Column] = []
    left_out: list[tuple[str, str]] = []
    for name in features.columns:
        cells = features[name]
        kind = wanted.get(name) or infer_kind(cells)
        reason = _no_use(cells) or (kind if kind not in KINDS else "")
        if reason:
            left_out.append((name, "skipped, as asked" if reason == SKIP else reason))
        else:
            columns.append(_describe(cells, cast(Kind, kind), name))
    if not columns:
        reasons = "; ".join(f"'{name}' ({reason})" for name, reason in left_out[:3])
        why = f"; left out are {reasons}" if reasons else f" but the target, '{target}'"
        raise DataError("; ".join((f"'{source.name}' has no column to learn from{why}", *source.warnings[:1])))

    columns.sort(key=lambda column: KINDS.index(column.kind))
    X: dict[str, Array] = {}
    for kind, block in BLOCKS.items():
        encoded = [column.encode(features[column.name]) for column in columns if column.kind == kind]
        if encoded:
            X[block] = np.stack(encoded, axis=1)
    warnings = (*source.warnings, *_left_out_warnings(left_out))
    return Table(
        name=source.name, target=target, X=X, y=y, classes=classes, columns=tuple(columns), left_out=tuple(left_out),
        num_unlabelled=len(source.frame) - len(labelled), warnings=warnings,
    )  # fmt: skip


def infer_kind(cells: pd.Series) -> str:
    """Choose the likelihood of a column, or say why it should be left out.

    Returns:
        `bernoulli`, `categorical` or `normal`, or else the reason, fit to follow "the column has".
    """
    present = cells.dropna()
    distinct = present.nunique()
    if distinct == 2:
        return "bernoulli"
    if is_text(present):
        return "a different text in nearly every row" if distinct > ID_SHARE * len(present) else "categorical"
    if not (present == np.round(present)).all():
        return "normal"
    if distinct <= MOST_INTEGER_CATEGORIES:
        return "categorical"
    # each whole number of a range once: a row number, which gives the class away where the rows are sorted by it
    is_row_number = distinct == len(present) and present.max() - present.min() == distinct - 1
    return "a number for each row" if is_row_number else "normal"


def label(value: str | float) -> str:
    """Write a category or a class: text as it is, a whole number without its decimal point."""
    return value if isinstance(value, str) else str(int(value)) if float(value).is_integer() else repr(float(value))


def _no_use(cells: pd.Series) -> str:
    distinct = cells.nunique()
    return NOTHING if distinct == 0 else ONE_VALUE if distinct == 1 else ""


def _describe(cells: pd.Series, kind: Kind, name: str) -> Column:
    present = cells.dropna()
    if kind == "normal" and is_text(present):
        line = (~present.map(is_number)).idxmax()
        raise DataError(f"column '{name}' cannot be normal: '{present.loc[line]}' on line {line} is not a number")
    if kind == "bernoulli" and present.nunique() != 2:
        raise DataError(f"column '{name}' cannot be bernoulli: it has {present.nunique()} distinct values, not two")
    largest = np.finfo(np.float64).max ** SQUARABLE
    if kind == "normal" and (present.abs() > largest).any():
        line = (present.abs() > largest).idxmax()
        raise DataError(f"column '{name}' holds {present.loc[line]:g} on line {line}, which is too large to be squared")
    missing = int(cells.isna().sum())
    span = None if is_text(present) else (float(present.min()), float(present.max()))
    values = () if kind == "normal" else tuple(sorted(present.unique().tolist()))
    return Column(name, kind, values, span, missing)


def _expand(overrides: Mapping[str, str], features: pd.DataFrame, target: str) -> dict[str, str]:
    """Replace each pattern of an override by the columns that it names; an exact name wins over a pattern."""
    names = [str(name) for name in features.columns]
    exact = {}
    by_pattern = {}
    for pattern, kind in overrides.items():
        if pattern == target:
            raise DataError(f"column '{target}' is the target, so it has no kind to choose")
        if pattern in names:
            exact[pattern] = kind
            continue
        matched = fnmatch.filter(names, pattern)
        if not matched:
            raise DataError(f"there is no column '{pattern}' to treat as {kind}{closest(pattern, names)}")
        by_pattern.update(dict.fromkeys(matched, kind))
    return by_pattern | exact


def _labels(cells: pd.Series) -> tuple[Array, tuple[str, ...]]:
    """Number the classes in sorted order, and refuse a target that is no set of classes."""
    distinct, rows = cells.nunique(), len(cells)
    if rows == 0:
        raise DataError(f"the target '{cells.name}' has nothing in it; choose another with --target")
    if distinct == 1:
        raise DataError(f"the target '{cells.name}' has one class only, '{label(cells.iloc[0])}'")
    if not is_text(cells):
        whole = bool((cells == np.round(cells)).all())
        few = distinct <= MOST_INTEGER_CATEGORIES or (whole and (distinct <= 20 or rows >= 20 * distinct))
        if not few:
            raise DataError(
                f"the target '{cells.name}' is a measurement ({distinct} different numbers in {rows} rows); "
                "classification needs classes"
            )
    if 2 * distinct > rows:
        raise DataError(f"the target '{cells.name}' has {distinct} classes in {rows} rows; most would be seen once")
    values, y = np.unique(cells.to_numpy(), return_inverse=True)
    return y.astype(np.int32), tuple(label(value) for value in values.tolist())


def _left_out_warnings(left_out: Sequence[tuple[str, str]]) -> list[str]:
    """One sentence for each reason that is likely to be a fault of the data."""
    found = []
    for reason in (NOTHING, ONE_VALUE):
        names = [name for name, why in left_out if why == reason]
        if names:
            noun, verb, be = ("column", "has", "is") if len(names) == 1 else ("columns", "have", "are")
            found.append(f"{noun} {_listing(names)} {verb} {reason} and {be} left out")
    return found


def _listing(names: list[str], most: int = 8) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
