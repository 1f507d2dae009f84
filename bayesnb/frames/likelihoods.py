"""Choose the likelihood of each column: the user's choice, or by the column's type."""

from __future__ import annotations

import fnmatch
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from bayesnb.families import Family
from bayesnb.frames.columns import KINDS, Column, Kind, by_type
from bayesnb.frames.schema import ArraySchema, FrameSchema
from bayesnb.frames.series import DataError, Frame, closest, has_decimal_comma, why_text

AUTO = "auto"


def of_frame(frame: Frame, likelihoods: Any) -> FrameSchema:
    """The schema of a frame: its columns by type, except those named in ``likelihoods``.

    Args:
        frame: The rows.
        likelihoods: `auto`; a kind, or a family, for all columns; one kind per column; or a dict of kinds or families
            by column, or by patterns such as `pixel_*`.

    Raises:
        DataError: if the likelihoods do not fit the columns.
    """
    if isinstance(likelihoods, Family):
        columns = tuple(by_type(frame[name], "normal") for name in frame.columns)
        return FrameSchema(columns, likelihoods)
    kinds = chosen(likelihoods, frame.columns)
    own = own_blocks(kinds)
    schema = FrameSchema(tuple(by_type(frame[name], kinds.get(name), own.get(name, "")) for name in frame.columns))
    _warn_of_decimal_commas([column for column in schema.columns if column.name not in kinds])
    return schema


def own_blocks(kinds: Mapping[str, Kind | Family]) -> dict[str, str]:
    """The block of each column that has a family; columns with the same family object form one block."""
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
                f"column '{column.name}' is categorical, since it holds text, but '{cell}' {why_text(cell)}; say "
                f"likelihoods={{'{column.name}': 'categorical'}} where it is no number",
                UserWarning,
                stacklevel=6,
            )


def of_array(width: int, likelihoods: Any) -> ArraySchema:
    """The schema of an array with ``width`` columns: Normal unless ``likelihoods`` gives others; no codes yet.

    Raises:
        DataError: if the likelihoods do not fit the columns.
    """
    if isinstance(likelihoods, Mapping):
        raise DataError(
            "likelihoods is a dict of columns by name, and X is an array, whose columns have none: give a data frame, "
            "or a list with one kind a column"
        )
    kind: Kind = "normal"
    if isinstance(likelihoods, Family):
        return ArraySchema((kind,) * width, family=likelihoods)
    if isinstance(likelihoods, str):
        kind = kind if likelihoods == AUTO else _kind(likelihoods)
        return ArraySchema((kind,) * width, sizes=(1,) * width if kind == "categorical" else ())
    kinds = tuple(
        cast(Kind, kind) for kind in chosen(likelihoods, [f"x{position}" for position in range(width)]).values()
    )
    return ArraySchema(kinds, sizes=(1,) * kinds.count("categorical"))


def chosen(likelihoods: Any, names: Sequence[str]) -> dict[str, Kind | Family]:
    """The kinds that a user has chosen, by column; columns left out are described by their types.

    Raises:
        DataError: for an invalid kind, or a name that is not a column.
    """
    if isinstance(likelihoods, str):
        return {} if likelihoods == AUTO else dict.fromkeys(names, _kind(likelihoods))
    if isinstance(likelihoods, Mapping):
        wanted = {str(name): kind for name, kind in likelihoods.items()}
        found = expand(wanted, names)
        return {name: kind if isinstance(kind, Family) else _kind(kind) for name, kind in found.items()}
    if not isinstance(likelihoods, Sequence):
        raise DataError(
            f"likelihoods must be '{AUTO}', one of {', '.join(KINDS)}, one of them a column, a dict of them by column, "
            f"or a family, got {likelihoods!r}"
        )
    if len(likelihoods) != len(names):
        raise DataError(f"likelihoods has {len(likelihoods)} entries, one a column, and X has {len(names)} columns")
    return dict(zip(names, map(_kind, likelihoods), strict=True))


def asked(wanted: Mapping[str, Any], name: str) -> Any:
    """The entry for a column: by its exact name, else by the last pattern that matches; None if there is none."""
    by_pattern = [kind for pattern, kind in wanted.items() if fnmatch.fnmatch(name, str(pattern))]
    return wanted.get(name, by_pattern[-1] if by_pattern else None)


def expand(wanted: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Replace each pattern by the columns that match; an exact name takes precedence over a pattern.

    Raises:
        DataError: for a pattern that matches no column.
    """
    for pattern, kind in wanted.items():
        if pattern not in names and not fnmatch.filter(names, str(pattern)):
            raise DataError(f"there is no column '{pattern}' to treat as {kind}{closest(str(pattern), names)}")
    kinds = {name: asked(wanted, name) for name in names}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _kind(kind: Any) -> Kind:
    if not isinstance(kind, str) or kind not in KINDS:
        hint = closest(kind, KINDS) if isinstance(kind, str) else ""
        raise DataError(f"{kind!r} is no likelihood of a column; expected one of {', '.join(KINDS)}{hint}")
    return kind
