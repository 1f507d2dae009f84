"""The interface of a fit that intervals and generated rows need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bayesnb.arrays.placement import Array
from bayesnb.model.naive_bayes import NaiveBayes, Sites


class Fitted(Protocol):
    """A model with draws of its parameters; ``results.classifier`` has the implementations."""

    model: NaiveBayes

    @property
    def draws_at_once(self) -> int | None:
        """How many draws of the parameters may be in memory at once; None for all of them."""

    def arrays(self, X: Any) -> dict[str, Array]:
        """Checked rows [N, D] by block."""

    def columns(self) -> Mapping[str, int | None]:
        """The number of columns of each block."""

    def draws(self, key: Array, num_draws: int) -> tuple[Sites, Array]:
        """Parameters [S, ...], and the index among them of each independent draw, [num_draws]."""
