"""Choose the likelihood of each column: the user's choice, or by the column's type."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from bayesnb.families import Family
from bayesnb.frames.column_kinds import KINDS, Column, Kind, describe_column
from bayesnb.frames.schema import ArraySchema, FrameSchema, Schema
from bayesnb.frames.series import DataError, Frame, closest, has_decimal_comma, why_text

AUTO = "auto"


def make_schema(X: Any, likelihoods: Any) -> Schema:
    """The schema of rows: columns by type, except those named in ``likelihoods``.

    Args:
        X: A frame, or an array [N, D], whose columns are Normal by default, and whose codes are not counted yet.
        likelihoods: `auto`; a kind, or a family, for all columns; one kind per column; or, for a frame, a dict of kinds
            or families by column, or by patterns such as `pixel_*`.

    Raises:
        DataError: if the likelihoods do not fit the columns.
    """
    if not isinstance(X, Frame):
        return _array_schema(X.shape[1], likelihoods)
    if isinstance(likelihoods, Family):
        return FrameSchema(tuple(describe_column(X[name], "normal") for name in X.columns), likelihoods)
    kinds = _choose_kinds(likelihoods, X.columns)
    blocks = _name_own_blocks(kinds)
    columns = [describe_column(X[name], kinds.get(name), blocks.get(name, "")) for name in X.columns]
    _warn_of_decimal_commas([column for column in columns if column.name not in kinds])
    return FrameSchema(tuple(columns))


def _array_schema(width: int, likelihoods: Any) -> ArraySchema:
    if isinstance(likelihoods, Mapping):
        raise DataError(
            "likelihoods is a dict by column name, and X is an array, whose columns have no names: give a data frame, "
            "or a list with one likelihood per column"
        )
    default: Kind = "normal"
    if isinstance(likelihoods, Family):
        return ArraySchema((default,) * width, family=likelihoods)
    if isinstance(likelihoods, str):
        kinds = (default if likelihoods == AUTO else _check_kind(likelihoods),) * width
    else:
        kinds = cast(tuple[Kind, ...], tuple(_choose_kinds(likelihoods, range(width)).values()))
    return ArraySchema(kinds, sizes=(1,) * kinds.count("categorical"))


def _choose_kinds(likelihoods: Any, names: Sequence[Any]) -> dict[Any, Kind | Family]:
    """The kinds or families that the user has chosen, by column."""
    if isinstance(likelihoods, str):
        return {} if likelihoods == AUTO else dict.fromkeys(names, _check_kind(likelihoods))
    if isinstance(likelihoods, Mapping):
        found = expand({str(name): kind for name, kind in likelihoods.items()}, names)
        return {name: kind if isinstance(kind, Family) else _check_kind(kind) for name, kind in found.items()}
    if not isinstance(likelihoods, Sequence):
        raise DataError(
            f"likelihoods must be '{AUTO}', one of {', '.join(KINDS)}, a list of them, one per column, a dict of them "
            f"by column, or a family, got {likelihoods!r}"
        )
    if len(likelihoods) != len(names):
        raise DataError(
            f"likelihoods has {len(likelihoods)} entries, and X has {len(names)} columns: give one per column"
        )
    return dict(zip(names, map(_check_kind, likelihoods), strict=True))


def _check_kind(kind: Any) -> Kind:
    if not isinstance(kind, str) or kind not in KINDS:
        hint = closest(kind, KINDS) if isinstance(kind, str) else ""
        raise DataError(f"{kind!r} is not a likelihood of a column: expected one of {', '.join(KINDS)}{hint}")
    return kind


def kind_for_column(wanted: Mapping[str, Any], name: str) -> Any:
    """The entry for a column: by its exact name, else by the last pattern that matches; None if there is none."""
    by_pattern = [kind for pattern, kind in wanted.items() if fnmatch.fnmatch(name, str(pattern))]
    return wanted.get(name, by_pattern[-1] if by_pattern else None)


def expand(wanted: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The entries with each pattern replaced by the columns that match; exact names take precedence.

    Raises:
        DataError: for a pattern that matches no column.
    """
    for pattern, kind in wanted.items():
        if pattern not in names and not fnmatch.filter(names, str(pattern)):
            raise DataError(f"there is no column '{pattern}' to treat as {kind}{closest(str(pattern), names)}")
    kinds = {name: kind_for_column(wanted, name) for name in names}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _name_own_blocks(kinds: Mapping[str, Kind | Family]) -> dict[str, str]:
    """The block of each column with a family; columns with the same family object form one block."""
    named: dict[int, str] = {}
    for family in kinds.values():
        if isinstance(family, Family) and id(family) not in named:
            name = type(family).__name__.lower()
            same = sum(block.split("_")[0] == name for block in named.values())
            named[id(family)] = f"{name}_{same + 1}" if same else name
    return {column: named[id(family)] for column, family in kinds.items() if isinstance(family, Family)}


def _warn_of_decimal_commas(columns: Sequence[Column]) -> None:
    for column in columns:
        if column.text and all(has_decimal_comma(str(value)) for value in column.values):
            cell = str(column.values[0])
            warnings.warn(
                f"column '{column.name}' is categorical, since it holds text, but '{cell}' {why_text(cell)}; set "
                f"likelihoods={{'{column.name}': 'categorical'}} if it is not a number",
                UserWarning,
                stacklevel=6,
            )
