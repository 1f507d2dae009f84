"""Families in which the classes may share a parameter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family


class Tied(Family):
    """One site may be common to all classes: it then has no class axis, and one row in tables [1, ...]."""

    may_be_common: ClassVar[str]
    """The short name of that site."""

    @property
    @abstractmethod
    def shared(self) -> bool:
        """True if the classes share it."""

    @abstractmethod
    def untied(self) -> Self:
        """The same family with a parameter of its own for each class."""

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

    def tied(self, table: Array) -> Array:
        """The sum over the classes if they share the parameter, else the table unchanged."""
        return table.sum(axis=0, keepdims=True) if self.shared else table
