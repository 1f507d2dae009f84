"""The names of the blocks that columns with a likelihood of their own form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayesnb.families import Family
from bayesnb.frames.column_kinds import BLOCKS
from bayesnb.frames.words import vectorizer_of

TAKEN = (*BLOCKS.values(), "x", "label", "rows", "class_probs")
"""Names that mean something else in a model."""


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
