"""Families in which the classes may share a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family
from bayesnb.families.parts.support import require_choice


class Tied(Family):
    """One site may be common to all classes: it then has no class axis, and one row in tables [1, ...].

    The field with the name of that site is one of ``choices``.
    """

    may_be_common: ClassVar[str]
    """The short name of that site, and the name of the field."""

    choices: ClassVar[tuple[str, str]]
    """The values of the field: one parameter for each class, and "shared"."""

    prior: Any
    """The hyperparameters, of which the last one is the scale."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice(type(self).__name__, self.may_be_common, getattr(self, self.may_be_common), self.choices)

    @property
    def shared(self) -> bool:
        """True if the classes share the parameter."""
        return bool(getattr(self, self.may_be_common) == "shared")

    @property
    def common_sites(self) -> tuple[str, ...]:
        return (self.may_be_common,) if self.shared else ()

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        return {**super().axis_sizes(num_classes, num_columns), "T": 1 if self.shared else num_classes}

    def as_site(self, table: Array) -> Array:
        """A table [K, ...] or [1, ...] in the shape of the site."""
        return table[0] if self.shared else table

    def as_table(self, site: Array) -> Array:
        """The site as a table [K, ...] or [1, ...]."""
        return site[None] if self.shared else site

    def sum_tied(self, table: Array) -> Array:
        """The sum over the classes if they share the parameter, else the table unchanged."""
        return table.sum(axis=0, keepdims=True) if self.shared else table


def sum_shared(table: Array, like: Array) -> Array:
    """The table [K, ...], or its sum over the classes if the table ``like`` has one row for all of them."""
    return table.sum(axis=0, keepdims=True) if like.shape[0] < table.shape[0] else table
