"""The levels of an ordered column, from low to high: as the user or the column's type gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.frames._values import FLAGS, DataError, closest, label, listing, reads_as_number

Level = str | float | bool


def levels_given(given: Sequence[Any]) -> tuple[str, ...]:
    """Levels that a user lists, as texts; a tuple stands for them where other likelihoods have names.

    Raises:
        DataError: unless they are different, at least two, and no more than a column may have.
    """
    found = tuple(map(_spelt, given))
    if not limits.FEWEST_BINS <= len({*found}) == len(found) <= limits.MOST_BINS:
        raise DataError(
            f"levels are from {limits.FEWEST_BINS} to {limits.MOST_BINS} different texts or numbers, from low to high, "
            f"such as ['low', 'mid', 'high'], got {given!r}"
        )
    return found


def _spelt(value: Any) -> str:
    return FLAGS.get(label(value).casefold(), label(value))


def in_type(levels: Sequence[Any], *, text: bool) -> tuple[Level, ...]:
    """The levels as the cells of a column are: texts, or those that are numbers."""
    return tuple(map(_spelt, levels) if text else (float(one) for one in levels if reads_as_number(str(one))))


def require_levels(name: str, levels: Sequence[Level], values: Sequence[Level], place: Callable[[Level], str]) -> None:
    """Raise DataError if a value of a column is not among its levels; ``place`` words where it is."""
    shown, known = [*map(label, levels)], {*in_type(levels, text=any(isinstance(value, str) for value in values))}
    odd = next((value for value in values if value not in known), None)
    if odd is not None:
        raise DataError(
            f"column '{name}' holds '{label(odd)}' {place(odd)}, which is not one of its levels, {listing(shown)}: "
            f"correct the cell, or list it in its place{closest(label(odd), shown)}"
        )


def in_one_order(one: tuple[Level, ...], two: tuple[Level, ...]) -> tuple[Level, ...]:
    """The longer of two orders, if it has the levels of the other in their order; () if they differ."""
    short, long = sorted((one, two), key=len)
    kept = {*short}
    return long if [*short] == [level for level in long if level in kept] else ()
