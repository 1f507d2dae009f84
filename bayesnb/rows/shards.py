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
    of_rows: Callable[..., Any], merge: Callable[[Any, Any], Any], sharding: NamedSharding, rows: tuple[Any, ...]
) -> Any:
    """``of_rows(*rows)`` of every shard, merged, with the result on every device. Pure JAX."""

    def of_shard(*rows: Any) -> Any:
        return _merge_pairwise(jax.lax.all_gather(of_rows(*rows), sharding.spec[0]), merge)

    # the result is the same on every device, but JAX cannot prove it
    mapped = jax.shard_map(
        of_shard, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=PartitionSpec(), check_vma=False
    )
    return mapped(*rows)


def _merge_pairwise(parts: Any, merge: Callable[[Any, Any], Any]) -> Any:
    """Parts stacked on the first axis, merged in pairs."""
    while (size := jax.tree.leaves(parts)[0].shape[0]) > 1:
        first, second, odd = (
            jax.tree.map(lambda a, part=part: a[part], parts)
            for part in (slice(0, size - 1, 2), slice(1, size, 2), slice(size - size % 2, size))
        )
        parts = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), jax.vmap(merge)(first, second), odd)
    return jax.tree.map(lambda a: a[0], parts)
