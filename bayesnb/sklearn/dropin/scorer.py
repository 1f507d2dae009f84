"""Scores of rows under fixed parameters, made when rows first come and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Score
from bayesnb.families.parts.linear import LinearFamily
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.products import Linear, linear


class Scorer:
    """What a function makes of parameters, the score of rows [N, K], made once; pickles hold the parameters alone."""

    def __init__(self, make: Callable[..., Score], *parameters: Any) -> None:
        self.make, self.parameters = make, parameters

    def __call__(self, x: Array) -> LogProb:
        """log p(y = k, x) of checked rows."""
        return self._score(x)

    @cached_property
    def _score(self) -> Score:
        return self.make(*self.parameters)

    def __getstate__(self) -> Mapping[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_score"}


def product(family: LinearFamily, slope: Array, offset: Array | None = None) -> Score:
    """sum_d slope_kd x_d + offset_kd of rows, [N, K]: logarithms [K, D], -inf where the probability is zero.

    With an offset, x is 0 or 1, and the pair are the logarithms for a one and for a zero.
    """
    never, weights = np.isneginf(slope), _finite(slope)
    if offset is None:
        return linear(family, Linear((weights,), zeros=(never.astype(float),)))
    always, rest = np.isneginf(offset), _finite(offset)
    zeros = never.astype(float) - always
    return linear(family, Linear((weights - rest,), rest, zeros=(zeros,), zero_offset=always.astype(float)))


def _finite(logs: Array) -> Array:
    return np.where(np.isneginf(logs), 0.0, logs)
