"""Choose the features, their likelihoods and the classes of a table from summaries of its columns.

By default, columns with two values are Bernoulli, text and whole numbers with at most 10 values Categorical, and other
numbers Normal. A column is left out, with a reason, if it has no cells, only one value, or a different text in nearly
every row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from bayesnb.files.tables.summaries import (
    NOTHING,
    ONE_VALUE,
    Summary,
    classes_from,
    describe_column,
    infer_kind,
    no_use,
    number_warnings,
)
from bayesnb.frames.column_kinds import Column, Kind
from bayesnb.frames.likelihoods import expand
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.series import LARGEST_INTEGER, DataError, closest, listing

SKIP = "skip"


@dataclass(frozen=True)
class Description:
    """The features and the classes of a table.

    Attributes:
        data: The name of the data.
        target: The column whose values are the classes.
        classes: The K classes, sorted; as integers if they are whole numbers.
        columns: The features, in the order of the table.
        left_out: Name and reason of each column that is not used.
        num_rows: The number of rows with a class.
        num_unlabelled: The number of rows without a class, which are left out.
        warnings: Whole sentences for the user.
    """

    data: str
    target: Column
    classes: tuple[Any, ...]
    columns: tuple[Column, ...]
    left_out: tuple[tuple[str, str], ...]
    num_rows: int
    num_unlabelled: int
    warnings: tuple[str, ...]

    @property
    def schema(self) -> FrameSchema:
        """The features as those of a classifier.

        Two values other than 0 and 1 become two categories: the same model, but later rows may have a third value.
        """
        return FrameSchema(
            tuple(
                replace(column, kind="categorical")
                if column.kind == "bernoulli" and {*column.values} != {0.0, 1.0}
                else column
                for column in self.columns
            )
        )


def describe(
    data: str,
    target: str,
    summaries: Mapping[str, Summary],
    overrides: Mapping[str, str],
    kinds: Sequence[Kind],
    warnings: Sequence[str],
) -> Description:
    """The features, their likelihoods and the classes; overrides take precedence over what the columns contain.

    Args:
        data: The name of the data.
        target: The column of classes.
        summaries: The summary of each column by name: for the target over all rows, for others over labelled rows.
        overrides: Maps a column name or pattern, such as `pixel_*`, to a kind or `skip`.
        kinds: The kinds that may be used.
        warnings: Earlier warnings, which come first.

    Raises:
        DataError: if the target or an override does not fit the data, or no column is left to learn from.
    """
    labels = summaries[target]
    if target in overrides:
        raise DataError(f"column '{target}' is the target, so it has no kind to choose")
    classes = classes_from(labels)
    features = [summary for name, summary in summaries.items() if name != target]
    wanted = expand(overrides, [column.name for column in features])
    warnings = (*warnings, *number_warnings([column for column in features if column.name not in wanted]))
    columns: list[Column] = []
    left_out: list[tuple[str, str]] = []
    for column in features:
        kind = wanted.get(column.name) or infer_kind(column)
        reason = "skipped, as asked" if kind == SKIP else no_use(column) or (kind if kind not in kinds else "")
        if reason:
            left_out.append((column.name, reason))
        else:
            columns.append(describe_column(column, cast(Kind, kind)))
    if not columns:
        reasons = "; ".join(f"'{name}' ({reason})" for name, reason in left_out[:3])
        why = f"; left out are {reasons}" if reasons else f" but the target, '{target}'"
        raise DataError("; ".join((f"'{data}' has no column to learn from{why}", *warnings[:1])))
    whole = not labels.text and labels.whole and max(map(abs, labels.span)) <= LARGEST_INTEGER
    return Description(
        data=data,
        target=Column(target, "categorical", classes, labels.text),
        classes=tuple(map(int, classes)) if whole else classes,
        columns=tuple(columns),
        left_out=tuple(left_out),
        num_rows=labels.num_cells,
        num_unlabelled=labels.missing,
        warnings=(*warnings, *_left_out_warnings(left_out)),
    )


def require_target(data: str, names: Sequence[str], target: str) -> None:
    """Raise DataError unless the target is one of the columns."""
    if target not in names:
        hint = closest(target, names) or f"; its columns are {listing(names)}"
        raise DataError(f"'{data}' has no column '{target}'{hint}")


def _left_out_warnings(left_out: Sequence[tuple[str, str]]) -> list[str]:
    found = []
    for reason in (NOTHING, ONE_VALUE):
        names = [name for name, why in left_out if why == reason]
        if names:
            noun, verb, be = ("column", "has", "is") if len(names) == 1 else ("columns", "have", "are")
            found.append(f"{noun} {listing(names)} {verb} {reason} and {be} left out")
    return found
