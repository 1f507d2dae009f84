"""Rows on a mesh with explicit axes, JAX's default: within our functions XLA decides how results are sharded."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec, reshard, use_abstract_mesh

from bayesnb.arrays.placement import is_traced


def with_automatic_axes(function: Callable[..., Any], *, by_rows: bool = False) -> Any:
    """The function of rows, its second argument; ``by_rows`` says that what it returns is sharded as the rows are.

    With explicit axes each gather, scatter and product would need to be told the sharding of its result.
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        leaves = jax.tree.leaves((args[1:], options, args[:1]), is_leaf=lambda node: isinstance(node, list))
        placed = next(filter(None, map(_explicit, leaves)), None)
        if placed is None:
            return function(*args, **options)
        mesh = placed.mesh.abstract_mesh
        with use_abstract_mesh(mesh.update_axis_types(dict.fromkeys(mesh.explicit_axes, AxisType.Auto))):
            args, options = _place((args, options), PartitionSpec())
            found = function(*args, **options)
        return _place(found, NamedSharding(placed.mesh, PartitionSpec(*placed.spec[:by_rows])))

    return call


def _explicit(leaf: Any) -> NamedSharding | None:
    """The sharding of an array on a mesh with explicit axes."""
    placed: Any = jax.typeof(leaf).sharding if is_traced(leaf) else getattr(leaf, "sharding", None)
    return placed if isinstance(placed, NamedSharding) and AxisType.Explicit in placed.mesh.axis_types else None


def _place(tree: Any, sharding: Any) -> Any:
    return jax.tree.map(lambda leaf: reshard(leaf, sharding) if isinstance(leaf, jax.Array) else leaf, tree)
