"""Functions of numbers as expressions that every engine has: tables of bins, and ratios of gamma functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import narwhals.stable.v2 as nw

SHIFT = 8
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
"""Of log Gamma(z) - (z - 1/2) log z + z, a series in 1 / z: right to 1e-14 from z = 8 on."""


def look_up(x: nw.Expr, edges: Sequence[float], table: Sequence[float]) -> nw.Expr:
    """The entry of the bin between these edges in which a number lies, by halving."""
    if not edges:
        return nw.lit(float(table[0]))
    half = len(edges) // 2
    below, above = (edges[:half], table[: half + 1]), (edges[half + 1 :], table[half + 1 :])
    return nw.when(x < edges[half]).then(look_up(x, *below)).otherwise(look_up(x, *above))


def log1p(x: nw.Expr) -> nw.Expr:
    """log(1 + x) for x >= 0; of small x by the series 2 artanh(x / (2 + x)), as 1 + x is rounded."""
    half = x / (x + 2.0)
    square = half * half
    series = reduce(lambda found, odd: found * square + 1.0 / odd, (5, 3, 1), square * (1.0 / 9.0) + 1.0 / 7.0)
    return nw.when(x < 0.01).then(half * series * 2.0).otherwise((x + 1.0).log())


def log_rising(x: nw.Expr, a: float) -> nw.Expr:
    """log Gamma(a + x) / Gamma(a) for x >= 0: Stirling's series at z = a + x + 8, less log (a + x) ... (a + x + 7)."""
    low = a + SHIFT
    z = x + low
    product = reduce(mul, (x * (1.0 / (a + step)) + 1.0 for step in range(SHIFT)))
    # (z - 1/2) log z - z less the same of a + 8, without large numbers that cancel
    main = log1p(x * (1.0 / low)) * (low - 0.5) + x * (z.log() - 1.0)
    return main + (_series(1.0 / z) - _series(1.0 / low)) - product.log()


def _series(inverse: Any) -> Any:
    square = inverse * inverse
    return reduce(lambda found, c: found * square + c, STIRLING[-2::-1], square * 0.0 + STIRLING[-1]) * inverse
