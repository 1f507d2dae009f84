"""What the user chooses: the likelihood of each column, and the columns whose missing cells are a feature."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.core.families import Family
from bayesnb.core.families._views import require_no_view
from bayesnb.tables.frames._columns import BLOCKS, KINDS, SKIP, SPARSE
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import DataError, Frame, are_missing, closest, to_plain
from bayesnb.tables.frames._values import MISSING
from bayesnb.tables.frames._words import WORDS, vectorizer_of

AUTO = "auto"
ASKED = "skipped, as asked"
"""The reason of a column that the user leaves out."""

Chosen = Mapping[Any, Any]
"""The kind, the family or the vectorizer of each column that the user has chosen."""

TAKEN = (*BLOCKS.values(), "x", "label", "rows", "class_probs")
"""Names that mean something else in a model."""

INFORMATIVE = "informative"


def choose_kinds(likelihoods: Any, names: Sequence[Any]) -> Chosen:
    """The kinds, families or vectorizers that the user has chosen, by column."""
    require_no_view(likelihoods)
    if isinstance(likelihoods, str) or vectorizer_of(likelihoods) is not None:
        auto = isinstance(likelihoods, str) and likelihoods == AUTO
        return {} if auto else dict.fromkeys(names, _check_kind(likelihoods))
    if isinstance(likelihoods, Mapping):
        found = expand({str(name): kind for name, kind in likelihoods.items()}, names)
        return {name: _check_kind(kind) for name, kind in found.items()}
    if not isinstance(likelihoods, Sequence):
        raise DataError(
            f"likelihoods must be '{AUTO}', one of {', '.join((*KINDS, *WORDS))}, a list of them, one per column, a "
            f"dict of them by column, or a family, got {likelihoods!r}"
        )
    if len(likelihoods) != len(names):
        raise DataError(
            f"likelihoods has {len(likelihoods)} entries, and X has {len(names)} columns: give one per column"
        )
    return {name: _check_kind(kind) for name, kind in zip(names, likelihoods, strict=True)}


def _check_kind(kind: Any) -> Any:
    if isinstance(kind, Family) or vectorizer_of(kind) is not None:
        return kind
    require_no_view(kind)
    known = (*KINDS, *WORDS, SKIP)
    if not isinstance(kind, str) or kind not in known:
        hint = closest(kind, known) if isinstance(kind, str) else ""
        raise DataError(f"{kind!r} is not a likelihood of a column: expected one of {', '.join(known)}{hint}")
    return kind


def expand(wanted: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The entry of each column: by its exact name, else by the last pattern that matches.

    An entry with the exact name of any column, such as `x[1]`, is no pattern.

    Raises:
        DataError: for a pattern that matches no column.
    """
    found: dict[str, Any] = {}
    for pattern, kind in wanted.items():
        matches = [] if pattern in names else fnmatch.filter(names, str(pattern))
        if not matches and pattern not in names:
            raise DataError(f"there is no column '{pattern}' to treat as {kind}{closest(str(pattern), names)}")
        found |= dict.fromkeys(matches, kind)
    found |= {name: wanted[name] for name in names if name in wanted}
    return {name: found[name] for name in names if found.get(name) is not None}


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


def name_own_blocks(kinds: Mapping[str, Any]) -> dict[str, str]:
    """The block of each column with a family or words.

    Columns with the same family object form one block, and each column of words one that is named as the column.
    """
    families = name_families(kinds)
    texts = [column for column, kind in kinds.items() if vectorizer_of(kind) is not None]
    of_words = dict(zip(texts, number_repeated(texts, (*TAKEN, *map(str.lower, families.values()))), strict=True))
    return of_words | {c: families[id(kind)].lower() for c, kind in kinds.items() if isinstance(kind, Family)}


def name_families(kinds: Mapping[Any, Any]) -> dict[int, str]:
    """A name for each family by its id: its type, numbered from the second of a type on."""
    types = {id(kind): type(kind).__name__ for kind in kinds.values() if isinstance(kind, Family)}
    return dict(zip(types, number_repeated(types.values(), BLOCKS.values()), strict=True))


def number_repeated(names: Iterable[str], taken: Iterable[str] = ()) -> Iterator[str]:
    """The names, with `_2` appended to the second that are alike but for case, and so on."""
    counts = Counter(taken)
    for name in names:
        counts[name.lower()] += 1
        often = counts[name.lower()]
        yield name if often == 1 else f"{name}_{often}"


def with_indicators(schema: Any, X: Any, missing: Any, before: Any = None) -> Any:
    """The schema with an indicator for each column whose missing cells are informative.

    Args:
        schema: The columns of X.
        X: A frame, or an array [N, D].
        missing: None for no column; `informative` for all columns that have missing cells, unless the user has left
            them out; or a dict by column or pattern, or by position, of `informative` and None.
        before: The schema of earlier rows, whose indicators are kept.

    Raises:
        DataError: for other words, a column that is not there, and X that is sparse or in blocks.
    """
    if isinstance(before, Schema) and isinstance(schema, Schema):
        return replace(schema, informative=before.informative)
    if missing is None:
        return schema
    if not isinstance(schema, Schema) or is_sparse(X):
        held = "in blocks" if not isinstance(schema, Schema) else "sparse"
        raise DataError(
            f"missing={missing!r} takes one array or data frame, and X is {held}: leave it out, and give zeros and "
            "ones for missing cells as columns of their own"
        )
    for word in missing.values() if isinstance(missing, Mapping) else [missing]:
        if word is None or word == INFORMATIVE:
            continue
        if not isinstance(word, str) and word is missing:
            raise DataError(
                f"missing must be None, '{INFORMATIVE}' for all columns that have missing cells, or a dict by column, "
                f"such as {{'{schema.names[0]}': '{INFORMATIVE}'}}, got {missing!r}"
            )
        hint = closest(word, [INFORMATIVE]) if isinstance(word, str) else ""
        raise DataError(f"unknown value {word!r} for missing: expected '{INFORMATIVE}' or None{hint}")
    if isinstance(missing, Mapping):
        names = expand(_by_name(missing, schema), schema.names)
        return replace(schema, informative=tuple(p for p, name in enumerate(schema.names) if name in names))
    kept = [place for place, column in enumerate(schema.each) if column.reason != ASKED]
    return replace(schema, informative=tuple(place for place in kept if _some_missing(X, place)))


def _by_name(missing: Mapping[Any, Any], schema: Schema) -> dict[str, Any]:
    """The words by name; the columns of an array are named by their positions."""
    by_name, width = {}, len(schema.names)
    for key, word in missing.items():
        for one in key if isinstance(key, range) else (key,):
            by_position = not schema.named and isinstance(one, int | np.integer)
            by_name[f"x{one + width * (one < 0)}" if by_position else str(one)] = word
    return by_name


def _some_missing(X: Any, position: int) -> bool:
    if isinstance(X, Frame):
        return bool(are_missing(to_plain(X[X.columns[position]]), MISSING).any())
    return bool(np.isnan(X[:, position]).any())
