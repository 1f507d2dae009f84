"""Choose the likelihood of each column: the user's choice, or the one that suits its values."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.arrays.user_warnings import warn
from bayesnb.families import Family
from bayesnb.families.normal_scores import require_no_view
from bayesnb.frames.array_kinds import Undecided, infer_kinds
from bayesnb.frames.block_names import name_families, name_own_blocks
from bayesnb.frames.column_kinds import KINDS, SKIP, SPARSE, Column
from bayesnb.frames.described_columns import describe_column
from bayesnb.frames.inference import NOTHING, ONE_VALUE, Choice, in_python, infer, warnings_of
from bayesnb.frames.schema import ArraySchema, FrameSchema, Schema
from bayesnb.frames.series import Array, DataError, Frame, closest
from bayesnb.frames.summaries import Summary, summarise
from bayesnb.frames.word_columns import describe_words, require_words
from bayesnb.frames.words import WORDS, vectorizer_of

AUTO = "auto"
ASKED = "skipped, as asked"
"""The reason of a column that the user leaves out."""

Chosen = Mapping[Any, Any]
"""The kind, the family or the vectorizer of each column that the user has chosen."""

Summaries = Mapping[str, Summary]
Seen = Summaries | Undecided
"""The summaries of a frame's columns; for an array its columns that may turn out to be of zeros and ones."""


def make_schema(X: Any, likelihoods: Any, before: Schema | None = None, seen: Any = None) -> tuple[Schema, Seen]:
    """The schema of rows, and what later rows need to know of their values.

    Args:
        X: A frame, or an array [N, D], whose codes are not counted yet.
        likelihoods: `auto`; a kind, or a family, for all columns; one kind per column; or, for a frame, a mapping of
            kinds or families by column, or by patterns such as `pixel_*`; other columns are inferred from their values.
            For an array a mapping by position, such as ``{"*": "multinomial", range(-2, 0): "normal"}``.
        before: The schema of earlier rows. What was inferred from them is kept, with a warning where all rows together
            would lead to another kind.
        seen: What was returned for the earlier rows.

    Raises:
        DataError: if the likelihoods do not fit the columns.
    """
    if not isinstance(X, Frame):
        return _array_schema(X, likelihoods, before, seen)
    if isinstance(before, ArraySchema):
        raise DataError("the rows before were an array, and these are a data frame: give both in the same form")
    family = likelihoods if isinstance(likelihoods, Family) else None
    chosen: Chosen = dict.fromkeys(X.columns, "normal") if family else choose_kinds(likelihoods, X.columns)
    used = [name for name in X.columns if chosen.get(name) != SKIP]
    found = {name: summarise(X[name], vectorizer=vectorizer_of(chosen.get(name))) for name in used}
    if family is not None:
        for summary in found.values():
            describe_column(summary, family, "x")  # refuses text in the family's name
    if before is None:
        columns = choose_columns(X.columns, found, chosen)
        choices = [Choice(column.name, column.kind, column.reason) for column in columns if column.inferred]
        audible = [choice for choice in choices if choice.reason not in (NOTHING, ONE_VALUE)]
        for warning in warnings_of(found, audible, in_python):
            warn(warning)
    else:
        columns = tuple(_next_column(column, found.get(column.name), chosen) for column in before.columns)
        told = {column.name for column in columns if column.name in found and _drops_some(column, found[column.name])}
        found = {name: _merge((seen or {}).get(name), summary) for name, summary in found.items()}
        _warn_of_other_kinds([column for column in columns if seen and column.name not in told], found)
    if all(column.kind == SKIP for column in columns):
        raise DataError(f"the data frame has no column to learn from{left_out(columns)}")
    return FrameSchema(columns, family), {name: summary.light for name, summary in found.items()}


def choose_columns(names: Sequence[str], summaries: Summaries, chosen: Chosen) -> tuple[Column, ...]:
    """The columns under the chosen likelihoods, or under those that suit their values.

    Raises:
        DataError: if a column's cells are outside the support of the likelihood chosen for it.
    """
    blocks = name_own_blocks(chosen)
    for name in blocks.keys() & summaries.keys():
        if vectorizer_of(chosen[name]) is not None:
            require_words(summaries[name])
    return tuple(_column(name, summaries.get(name), chosen.get(name), blocks.get(name, "")) for name in names)


def left_out(columns: Sequence[Column]) -> str:
    """The first columns that are left out, with their reasons, to end a sentence with; empty if there are none."""
    reasons = [f"'{column.name}' ({column.reason})" for column in columns if column.kind == SKIP]
    return f"; left out are {'; '.join(reasons[:3])}" if reasons else ""


def _column(name: str, summary: Summary | None, chosen: Any, own_block: str = "") -> Column:
    if summary is None or chosen == SKIP:
        return Column(name, SKIP, text=None, reason=ASKED)
    if (vectorizer := vectorizer_of(chosen)) is not None:
        return describe_words(summary, vectorizer, own_block)
    if chosen is not None:
        return describe_column(summary, chosen, own_block)
    choice = infer(summary)
    return replace(describe_column(summary, choice.kind, inferred=True), reason=choice.reason)


def _next_column(before: Column, summary: Summary | None, chosen: Chosen) -> Column:
    """The column with the values of more rows."""
    if before.inferred and before.kind == SKIP:
        return before
    if summary is None or before.name in chosen:
        return before.join(_column(before.name, summary, chosen.get(before.name), before.own_block))
    refused = summary.text and not summary.flags and before.text is False
    kind = "categorical" if refused else before.family or before.kind
    return before.join(describe_column(summary, kind, before.own_block, inferred=True))


def _merge(before: Summary | None, now: Summary) -> Summary:
    if before is None or (before.num_cells and now.num_cells and before.text != now.text):
        return now
    return before.merge(now)


def _drops_some(column: Column, summary: Summary) -> bool:
    """Whether cells will count as missing, with a warning, since they are outside the support of an inferred kind."""
    if column.text or summary.text or summary.values is None:
        return False
    return len(column.outside(np.setdiff1d(summary.values, np.array(column.values, float)))) > 0


def _warn_of_other_kinds(columns: Sequence[Column], seen: Summaries) -> None:
    """Warn of columns whose inferred kind is not the one that suits all rows."""
    for column in columns:
        if not column.inferred or column.name not in seen:
            continue
        summary = seen[column.name]
        kind = infer(summary).kind
        if kind != column.kind:
            then, now = ("left out" if one == SKIP else one for one in (column.kind, kind))
            warn(
                f"column '{column.name}' stays {then}, as the first rows suggested, and all rows together suggest that "
                f"it is {now}: choose its likelihood, likelihoods={{'{column.name}': ...}}, from the first rows on"
            )


def _array_schema(X: Array, likelihoods: Any, before: Schema | None, seen: Any) -> tuple[ArraySchema, Undecided]:
    auto = isinstance(likelihoods, str) and likelihoods == AUTO
    if auto:
        kinds, seen = infer_kinds(X, before.kinds if isinstance(before, ArraySchema) else (), seen)
        found = ArraySchema(kinds, inferred=True)
    else:
        refuse_words(likelihoods)
        given = expand_positions(likelihoods, X.shape[1]) if isinstance(likelihoods, Mapping) else likelihoods
        alike = isinstance(given, str | Family)  # of 100,000 columns one is looked at
        positions = range(1 if alike else X.shape[1])
        chosen = dict.fromkeys(positions, given) if isinstance(given, Family) else choose_kinds(given, positions)
        names = name_families(chosen)
        kinds = tuple(names[id(kind)] if isinstance(kind, Family) else kind for kind in chosen.values())
        kinds = kinds * X.shape[1] if alike else kinds
        if set(kinds) == {SKIP}:
            raise DataError("X has no column to learn from: all are skipped, as asked")
        own = {names[id(kind)]: kind for kind in chosen.values() if isinstance(kind, Family)}
        found = ArraySchema(kinds, (1,) * kinds.count("categorical"), own)
    return before.join(found) if isinstance(before, ArraySchema) else found, seen


def expand_positions(wanted: Mapping[Any, Any], width: int) -> list[Any]:
    """The entry for each column of an array: by its position or a range of them, else that of `*`.

    Raises:
        DataError: for other keys, positions outside of the array, and columns without an entry.
    """
    found = [wanted.get("*")] * width
    for key, kind in wanted.items():
        if isinstance(key, str) and key != "*":
            raise DataError(
                f"likelihoods has the column name '{key}', and X is an array, whose columns have no names: give a data "
                "frame, a list with one likelihood per column, or a dict by position, such as "
                "{'*': 'multinomial', range(-2, 0): 'normal'}"
            )
        for position in key if isinstance(key, range) else () if key == "*" else (key,):
            if isinstance(position, bool) or not isinstance(position, int | np.integer):
                raise DataError(f"likelihoods has the key {key!r}: expected a position, a range of them, or '*'")
            if not -width <= position < width:
                raise DataError(f"likelihoods has the position {position}, and X has {width} columns")
            found[position] = kind
    if None in found:
        raise DataError(
            f"likelihoods has no entry for column {found.index(None)} of X: add one, or '*' for all other columns"
        )
    return found


def takes_sparse(likelihoods: Any) -> bool:
    """Whether some columns may be sparse under these likelihoods."""
    if isinstance(likelihoods, Family):
        return likelihoods.takes_sparse
    if isinstance(likelihoods, str):
        return likelihoods in SPARSE
    entries = likelihoods.values() if isinstance(likelihoods, Mapping) else likelihoods
    return isinstance(entries, Iterable) and any(takes_sparse(entry) for entry in entries)


def refuse_words(likelihoods: Any) -> None:
    """Raise DataError if some columns of an array are to be read as words."""
    entries = likelihoods.values() if isinstance(likelihoods, Mapping) else likelihoods
    listed = not isinstance(entries, str | Family) and isinstance(entries, Iterable)
    if any(vectorizer_of(entry) is not None for entry in (entries if listed else (entries,))):
        raise DataError(
            "words are read from a column of text with a name, and X is an array: give a data frame, such as "
            "pandas.DataFrame({'message': texts}), a list of texts, or counts as 'multinomial'"
        )


def choose_kinds(likelihoods: Any, names: Sequence[Any]) -> Chosen:
    """The kinds, families or vectorizers that the user has chosen, by column."""
    require_no_view(likelihoods)
    if isinstance(likelihoods, str) or vectorizer_of(likelihoods) is not None:
        auto = isinstance(likelihoods, str) and likelihoods == AUTO
        return {} if auto else dict.fromkeys(names, _check_entry(likelihoods))
    if isinstance(likelihoods, Mapping):
        found = expand({str(name): kind for name, kind in likelihoods.items()}, names)
        return {name: _check_entry(kind) for name, kind in found.items()}
    if not isinstance(likelihoods, Sequence):
        raise DataError(
            f"likelihoods must be '{AUTO}', one of {', '.join((*KINDS, *WORDS))}, a list of them, one per column, a "
            f"dict of them by column, or a family, got {likelihoods!r}"
        )
    if len(likelihoods) != len(names):
        raise DataError(
            f"likelihoods has {len(likelihoods)} entries, and X has {len(names)} columns: give one per column"
        )
    return {name: _check_entry(kind) for name, kind in zip(names, likelihoods, strict=True)}


def _check_entry(kind: Any) -> Any:
    return kind if isinstance(kind, Family) or vectorizer_of(kind) is not None else _check_kind(kind)


def _check_kind(kind: Any) -> str:
    require_no_view(kind)
    known = (*KINDS, *WORDS, SKIP)
    if not isinstance(kind, str) or kind not in known:
        hint = closest(kind, known) if isinstance(kind, str) else ""
        raise DataError(f"{kind!r} is not a likelihood of a column: expected one of {', '.join(known)}{hint}")
    return kind


def kind_for_column(wanted: Mapping[str, Any], name: str, names: Sequence[str]) -> Any:
    """The entry for a column: by its exact name, else by the last pattern that matches; None if there is none.

    An entry with the exact name of any column, such as `x[1]`, is no pattern.
    """
    patterns = {pattern: kind for pattern, kind in wanted.items() if pattern not in names}
    by_pattern = [kind for pattern, kind in patterns.items() if fnmatch.fnmatch(name, str(pattern))]
    return wanted.get(name, by_pattern[-1] if by_pattern else None)


def expand(wanted: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The entries with each pattern replaced by the columns that match; exact names take precedence.

    Raises:
        DataError: for a pattern that matches no column.
    """
    for pattern, kind in wanted.items():
        if pattern not in names and not fnmatch.filter(names, str(pattern)):
            raise DataError(f"there is no column '{pattern}' to treat as {kind}{closest(str(pattern), names)}")
    kinds = {name: kind_for_column(wanted, name, names) for name in names}
    return {name: kind for name, kind in kinds.items() if kind is not None}
