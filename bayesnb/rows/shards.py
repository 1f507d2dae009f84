"""Rows that are sharded over a mesh of devices, of one process or of many: each device sums its own rows.

The rows stay where they are. Only statistics are transferred, K x D numbers from every device. They are merged in
pairs, in the same order everywhere, so that every device and every process gets the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from bayesnb.arrays.placement import is_traced
from bayesnb.rows.model_statistics import ModelStatistics, merge_pairs


def row_sharding(*trees: Any) -> NamedSharding | None:
    """The sharding of rows over several devices of one mesh that all these arrays share; None if they share none.

    Arrays that are sharded in another way, such as by columns, are left to XLA.
    """
    leaves = jax.tree.leaves(trees)
    if is_traced(leaves) or not all(isinstance(getattr(leaf, "sharding", None), NamedSharding) for leaf in leaves):
        return None
    found = {NamedSharding(leaf.sharding.mesh, PartitionSpec(*leaf.sharding.spec[:1])) for leaf in leaves}
    rows = found.pop()
    whole = all(axes is None for leaf in leaves for axes in leaf.sharding.spec[1:])
    return rows if whole and not found and rows.num_devices > 1 and any(rows.spec) else None


def over_shards(
    of_rows: Callable[..., ModelStatistics], sharding: NamedSharding, rows: tuple[Any, ...]
) -> ModelStatistics:
    """``of_rows(*rows)`` of every shard, merged, with the result on every device. Pure JAX."""

    def of_shard(*rows: Any) -> ModelStatistics:
        return merge_over(sharding.spec[0], of_rows(*rows))

    return jax.shard_map(of_shard, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=PartitionSpec())(*rows)


def merge_over(axis_name: Any, statistics: ModelStatistics) -> ModelStatistics:
    """The statistics of all parts along a named axis, merged, the same on every part. Pure JAX."""
    try:
        size, place = jax.lax.psum(1, axis_name), jax.lax.axis_index(axis_name)
    except NameError:
        raise ValueError(
            f"axis_name={axis_name!r} names no axis here: call sufficient_statistics inside shard_map, vmap or pmap "
            "over an axis of that name"
        ) from None

    def gather(part: Any) -> Any:
        part = jnp.asarray(part)
        # a sum with zeros is exact, and JAX knows of a sum, as it does not of all_gather, that all parts get the same
        return jax.lax.psum(jnp.zeros((size, *part.shape), part.dtype).at[place].set(part), axis_name)

    return merge_pairs(jax.tree.map(gather, statistics))
