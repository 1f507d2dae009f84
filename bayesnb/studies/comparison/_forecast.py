"""How long the cells of a study that have not run will take, from those that have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import median

from bayesnb.studies.comparison._scored_cells import Place

Kind = tuple[str, int, str]
"""A data set, a number of training rows and a method, whose cells take about equally long."""


class Forecast:
    """The seconds that are left, once every method that is left has run again after it compiled.

    The first cell of a kind compiles, and says nothing. The others take the median of those of their kind, or, of a
    data set that has not begun, of their method.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self._left: Counter[Kind] = Counter((one.data_set, one.size, one.method) for one in places)
        self._seen: Counter[Kind] = Counter()
        self._of_kind: defaultdict[Kind, list[float]] = defaultdict(list)
        self._of_method: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, place: Place, seconds: float) -> None:
        """A cell has run, which took so long."""
        kind = place.data_set, place.size, place.method
        self._left[kind] -= 1
        self._seen[kind] += 1
        if self._seen[kind] > 1:
            self._of_kind[kind].append(seconds)
            self._of_method[place.method].append(seconds)

    def left(self) -> float | None:
        """The seconds that are left; None while nobody can know."""
        total, begun = 0.0, {data_set for data_set, *_ in self._seen}
        for kind, number in (+self._left).items():
            known = self._of_kind[kind] if kind[0] in begun else self._of_method[kind[2]]
            if not known:
                return None
            total += number * median(known)
        return total

    def words(self) -> str:
        """The same in words, to stand behind others; none while nobody can know."""
        left = self.left()
        return "" if left is None else f"; about {in_words(left)} left"


def in_words(seconds: float) -> str:
    """A time of two digits at the most."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
