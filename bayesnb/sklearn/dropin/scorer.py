"""Score rows under fixed parameters; the score function is built at the first call and cached."""

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
    """Scores rows, [N, K], by ``make(*parameters)``, which is called only once; pickles store only the parameters."""

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
    """The score sum_d slope_kd x_d, [N, K], with log probabilities ``slope`` [K, D], -inf if the probability is zero.

    With ``offset``, x is 0 or 1, and ``slope`` and ``offset`` are the log probabilities of a one and of a zero.
    """
    never, coefficients = np.isneginf(slope), _finite(slope)
    if offset is None:
        return linear(family, Linear((coefficients,), zeros=(never.astype(float),)))
    always, rest = np.isneginf(offset), _finite(offset)
    zeros = never.astype(float) - always
    return linear(family, Linear((coefficients - rest,), rest, zeros=(zeros,), zero_offset=always.astype(float)))


def _finite(logs: Array) -> Array:
    return np.where(np.isneginf(logs), 0.0, logs)
