"""The interface of a model that statistics and the generative program use; ``NaiveBayes`` implements it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family


class Specification(Protocol):
    """One family for each block, sizes if they are known, and priors that replace the families' own."""

    families: dict[str, Family]
    single: bool
    num_classes: int | None
    columns: dict[str, int | None]
    class_concentration: Any
    priors: dict[str, Any]
    spelling: Any

    @property
    def resolved(self) -> bool:
        """True if every shape and hyperparameter is fixed."""

    def resolve(self, X: Any = None, y: Any = None, *, sample_weight: Any = None, statistics: Any = None) -> Self:
        """The same model with shapes and hyperparameters fixed by data."""

    def conjugate(self) -> Self:
        """The same model without non-conjugate priors."""

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same model with fixed class probabilities."""

    def params(self) -> dict[str, Array]:
        """Samples every parameter, inside a NumPyro program."""

    def by_block(self, X: Any) -> Any:
        """Rows by block."""

    def own_rows(self, X: Any) -> Any:
        """Rows by block as a program has them."""

    def labels_of(self, y: Any) -> Any:
        """Labels [N]."""

    def class_probs_of(self, params: Mapping[str, Array]) -> Array:
        """The class probabilities among the parameters."""

    def block_params(self, params: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
        """Parameters by block and short name."""

    def with_hyperparameters(self, families: Mapping[str, Family], class_concentration: Any) -> Self:
        """The same blocks with other hyperparameters."""
