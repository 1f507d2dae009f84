"""How long the rest of a comparison will take, from the times of its fits so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

TRIAL_ROWS = 5000
"""The most training rows of the fits that are timed before the comparison begins."""


class Forecast:
    """The seconds of one fit with its prediction, by method: a line in the training size, through the times so far.

    ``methods`` map each to the training size beyond which its time hardly grows, or None.
    """

    def __init__(self, sizes: Sequence[int], repeats: int, methods: Mapping[str, int | None]) -> None:
        self._most = methods
        self._left = {(size, method): repeats for size in sizes for method in methods}
        self._seconds: dict[str, dict[int, list[float]]] = {method: {} for method in methods}

    def add(self, size: int, method: str, seconds: float) -> None:
        """Note the time of one fit."""
        self._seconds[method].setdefault(size, []).append(seconds)

    def finish(self, size: int, method: str) -> None:
        """Note that there is one fit less to do."""
        self._left[size, method] -= 1

    def seconds_left(self) -> float:
        """The seconds that the fits still to do will take."""
        return sum(count * self._of_one(size, method) for (size, method), count in self._left.items() if count)

    def _of_one(self, size: int, method: str) -> float:
        times = {at: float(np.median(seconds)) for at, seconds in self._seconds[method].items()}
        low, high = min(times), max(times)
        slope = (times[high] - times[low]) / (high - low) if high > low else 0.0
        reach = max(high, self._most[method] or size)
        return times[low] + max(slope, 0.0) * (min(size, reach) - low)
