"""What the user chooses: the likelihood of each column."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from bayesnb.core.families import FAMILIES, Family
from bayesnb.core.families._views import require_no_view
from bayesnb.tables.frames._allowed import LIKELIHOODS, require_likelihood
from bayesnb.tables.frames._columns import BLOCKS, KINDS, SPARSE, title_of
from bayesnb.tables.frames._levels import levels_given
from bayesnb.tables.frames._values import DataError, closest, listing
from bayesnb.tables.frames._words import vectorizer_of

AUTO = "auto"
ASKED = "skipped, as asked"
"""The reason of a column that the user leaves out."""

Chosen = Mapping[Any, Any]
"""The kind, the family or the vectorizer of each column that the user has chosen."""

TAKEN = (*BLOCKS.values(), "x", "label", "rows", "class_probs")
"""Names that mean something else in a model."""


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
            f"likelihoods must be '{AUTO}', one of {', '.join(LIKELIHOODS)}, a list of them, one per column, a "
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
    if isinstance(kind, list | tuple | np.ndarray):
        return levels_given([*kind])
    require_no_view(kind)
    require_likelihood(kind)
    return _family_of(kind) if kind in FAMILIES and kind not in KINDS else kind


@lru_cache
def _family_of(word: str) -> Family:
    """The family of a word, one object for all of its columns, so that they form one block."""
    return FAMILIES[word]()


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
            hint = closest(str(pattern), names) or f"; the columns are {listing(names)}"
            raise DataError(f"there is no column '{pattern}' to treat as {kind}{hint}")
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
    """A name for each family by its id: its title, numbered from the second with a title on."""
    titles = {id(kind): title_of(kind) for kind in kinds.values() if isinstance(kind, Family)}
    return dict(zip(titles, number_repeated(titles.values(), BLOCKS.values()), strict=True))


def number_repeated(names: Iterable[str], taken: Iterable[str] = ()) -> Iterator[str]:
    """The names, with `_2` appended to the second that are alike but for case, and so on."""
    counts = Counter(taken)
    for name in names:
        counts[name.lower()] += 1
        often = counts[name.lower()]
        yield name if often == 1 else f"{name}_{often}"
