"""Rows that carry a mark: what a user's program observes."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

import jax

from bayesnb.arrays.pytree import Node, pytree


@pytree
class ObservedRows(Node):
    """What a ``program`` observes: its ``cells`` by site, NaN where masked, or pairs with totals. It can be indexed."""

    cells: dict[str, Any]
    program: str = field(metadata={"static": True})

    __iter__: ClassVar[None] = None  # else Python would try rows[0], rows[1], ..., which JAX answers without end

    def __getitem__(self, some: Any) -> Self:
        return jax.tree.map(lambda part: part[some], self)
