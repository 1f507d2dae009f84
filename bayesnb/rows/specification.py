"""What statistics and the program need to know of a model; ``NaiveBayes`` is the one that there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family


class Specification(Protocol):
    """One family for each block, sizes where they are known, and priors that are not the families' own."""

    families: dict[str, Family]
    single: bool
    num_classes: int | None
    columns: dict[str, int | None]
    class_concentration: Any
    priors: dict[str, Any]

    @property
    def resolved(self) -> bool:
        """True where every shape and hyperparameter is fixed."""

    def resolve(self, X: Any = None, y: Any = None, *, sample_weight: Any = None, statistics: Any = None) -> Self:
        """The same model, fixed to data."""

    def conjugate(self) -> Self:
        """The same model without priors that leave conjugacy."""

    def params(self) -> dict[str, Array]:
        """Samples every parameter, inside a NumPyro program."""

    def block_params(self, params: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
        """Parameters by block and short name."""

    def with_hyperparameters(self, families: Mapping[str, Family], class_concentration: Any) -> Self:
        """The same blocks with other hyperparameters."""
