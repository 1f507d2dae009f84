"""Sufficient statistics of rows: all that a fit needs of the data. Those of parts merge into those of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from bayesnb.arrays import memory
from bayesnb.arrays.cpu_rows import FEW_ROWS, fill_up, find_cpu_rows, put_beside, read_as_numpy
from bayesnb.arrays.placement import Array, is_traced, on_host
from bayesnb.arrays.pytree import Node, pytree
from bayesnb.arrays.sparse import STORED_BYTES, bytes_per_row, is_sparse, part_of
from bayesnb.arrays.threads import merged_in_threads, row_blocks
from bayesnb.families.base import Family
from bayesnb.families.parts.support import SQUARABLE
from bayesnb.primitives.sums import ClassSums, HostSums, Labels, class_sums
from bayesnb.rows import arguments, checks, shards
from bayesnb.rows.specification import Specification


@pytree
class ModelStatistics(Node):
    """``class_counts`` [K], the sum of weights in each class, and each block's statistics by name."""

    class_counts: Array
    blocks: dict[str, Any]

    @property
    def num_classes(self) -> int:
        """K."""
        return self.class_counts.shape[0]

    def with_block(self, name: str, statistics: Any) -> Self:
        """The same with other statistics of this block."""
        return replace(self, blocks={**self.blocks, name: statistics})

    def pool(self) -> dict[str, Any]:
        """Each block's statistics with all classes pooled, [1, ...]."""
        return {name: statistics.pool() for name, statistics in self.blocks.items()}


def sufficient_statistics(
    model: Specification, X: Any, y: Any, *, sample_weight: Any = None, num_classes: int | None = None
) -> ModelStatistics:
    """The sufficient statistics of rows under a model, in one pass; float64 for numpy arrays.

    Args:
        model: Defines the blocks of X; its hyperparameters are not used.
        X: An array [N, D], or a dict of arrays by block. NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        sample_weight: Weights [N]; rows of weight zero are ignored.
        num_classes: K, if neither the model nor the labels determine it.

    Raises:
        ValueError: for shapes, types or values that do not fit.
    """
    return statistics_of(model, X, y, sample_weight, num_classes)


def statistics_of(
    model: Specification, X: Any, y: Any, sample_weight: Any, num_classes: int | None = None, *, evidence: bool = True
) -> ModelStatistics:
    """As ``sufficient_statistics``; without ``evidence`` base measures of numpy rows may be NaN.

    A base measure, such as log x!, costs as much as the sums, and no parameter or prediction depends on it.
    """
    arguments.model(model)
    if None not in (arguments.num_classes(num_classes), model.num_classes) and num_classes != model.num_classes:
        raise ValueError(f"num_classes is {num_classes}, the model has {model.num_classes} classes")
    on_cpu = find_cpu_rows(X, y, sample_weight)
    if on_cpu is not None:
        X, y, sample_weight = map(read_as_numpy, (X, y, sample_weight))
    arrays = checks.blocks(model.families, model.single, X, sparse=not is_traced(y, sample_weight))
    checks.columns(model.families, arrays, model.columns)
    num_rows = next(iter(arrays.values())).shape[0]
    labels, num_classes = checks.labels(y, sample_weight, num_rows, model.num_classes or num_classes)
    if not is_traced(labels, arrays):
        arrays, labels = without_zero_weight(arrays, labels)
    if on_host(arrays) and not is_traced(labels):
        labels = Labels(*(None if a is None else np.asarray(a) for a in labels))
        if on_cpu is None:
            return from_host(model.families, arrays, labels, num_classes, evidence=evidence)
    if None in model.columns.values():  # else the model was resolved from data
        checks.float32(model.families)
    require_memory(model.families, arrays, num_classes)
    if on_cpu is not None:
        found = _from_cpu(model.families, arrays, labels, num_classes, on_cpu)
        if found is not None:
            return found
        arrays, labels = jax.tree.map(jnp.asarray, (arrays, labels))
    checks.fit_values(model.families, arrays)
    # families' static fields are part of the dict's structure: one compilation serves all models of a kind
    return from_device(model.families, arrays, labels, num_classes, shards.row_sharding(arrays))


def pooled_statistics(
    model: Specification, X: Any, y: Any = None, sample_weight: Any = None, given: ModelStatistics | None = None
) -> ModelStatistics:
    """The statistics that resolve a model, given or computed from rows; without labels, those of all rows pooled."""
    if given is not None:
        checks.statistics(model.families, model.num_classes, False, given)
        return given
    if X is None:
        raise ValueError("give rows, X and y, or their statistics: the model is resolved from data")
    if y is None:
        if model.num_classes is None:
            raise ValueError("without y the number of classes must be declared: NaiveBayes(..., num_classes=K)")
        rows = checks.blocks(model.families, model.single, X, sparse=True)
        y = np.zeros(next(iter(rows.values())).shape[0], np.int32)
    return statistics_of(model, X, y, sample_weight, evidence=False)


def merge(a: ModelStatistics, b: ModelStatistics) -> ModelStatistics:
    """The statistics of both sets of rows together.

    Raises:
        ValueError: if they are of different models, or differ in classes or columns.
    """
    structures: list[Any] = [jax.tree.structure(s) for s in (a, b)]
    if not isinstance(a, ModelStatistics) or structures[0] != structures[1]:
        raise ValueError(f"statistics of different models do not merge: {a!r} and {b!r}")
    if on_host(a) != on_host(b):
        a, b = jax.tree.map(jnp.asarray, (a, b))
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(s)] for s in (a, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"statistics merge where classes and columns are the same, got {a!r} and {b!r}; declare num_classes "
            "where a part may lack a class"
        )
    return merge_alike(a, b)


def merge_alike(a: ModelStatistics, b: ModelStatistics) -> ModelStatistics:
    """As ``merge``, for statistics known to be of one model and one size."""
    merged = {name: statistics.merge(b.blocks[name]) for name, statistics in a.blocks.items()}
    return ModelStatistics(a.class_counts + b.class_counts, merged)


def _from_rows(families: Mapping[str, Family], arrays: Mapping[str, Array], z: ClassSums) -> ModelStatistics:
    return ModelStatistics(z.counts(), {name: f.statistics(arrays[name], z) for name, f in families.items()})


def from_host(
    families: Mapping[str, Family],
    arrays: Mapping[str, Array],
    labels: Labels,
    num_classes: int,
    *,
    evidence: bool = True,
) -> ModelStatistics:
    """The statistics of numpy rows with checked labels, by blocks of rows in threads."""

    def part(rows: slice) -> ModelStatistics:
        z = HostSums(labels.rows(rows), num_classes, evidence=evidence)
        block = {name: part_of(x, rows) for name, x in arrays.items()}
        marked = {name: f for name, f in families.items() if f.marks_bad_cells and z.marks(block[name])}
        checks.fit_block({name: f for name, f in families.items() if name not in marked}, block)
        found = _from_rows(families, block, z)
        checks.fit_block({name: f for name, f in marked.items() if _tells(found.blocks[name])}, block)
        return found

    require_memory(families, arrays, num_classes)
    num_rows = labels.y.shape[0]
    row_bytes = max((bytes_per_row(x) for x in arrays.values()), default=1)
    least = num_classes * max((f.fit_bytes(f.columns_in(arrays[name])) for name, f in families.items()), default=0)
    block_bytes = STORED_BYTES if any(map(is_sparse, arrays.values())) else None
    blocks = list(row_blocks(num_rows, row_bytes, least, block_bytes)) or [slice(0, 0)]
    return merged_in_threads(merge_alike, part, blocks)


def require_memory(families: Mapping[str, Family], arrays: Mapping[str, Array], num_classes: int) -> None:
    """Raises ValueError if statistics of this many classes, and what is computed from them, do not fit in memory."""
    columns = {name: family.columns_in(arrays[name]) for name, family in families.items()}
    a_class = 8 + sum(family.fit_bytes(columns[name]) for name, family in families.items())
    memory.require(
        2 * a_class * num_classes,
        f"statistics of K = {num_classes:,} classes and D = {sum(columns.values()):,} columns",
        "give fewer; labels and categories are numbered 0, 1, 2, ..., numpy.unique(y, return_inverse=True)",
    )


TELLING = 1e60
"""A statistic larger than this may come from a cell that a family refuses, so the cells are checked."""


def _tells(statistics: Any) -> bool:
    return any(not np.abs(leaf).max(initial=0.0) <= TELLING for leaf in jax.tree.leaves(statistics))


@partial(jax.jit, static_argnames=("num_classes", "sharding"))
def from_device(
    families: Mapping[str, Family],
    arrays: Mapping[str, Array],
    labels: Labels,
    num_classes: int,
    sharding: NamedSharding | None = None,
) -> ModelStatistics:
    """The statistics of JAX rows with checked labels, in one compiled call; shard by shard if rows are sharded."""

    def of_rows(arrays: Mapping[str, Array], labels: Labels) -> ModelStatistics:
        return _from_rows(families, arrays, class_sums(labels, num_classes))

    if sharding is None:
        return of_rows(arrays, labels)
    return shards.over_shards(of_rows, merge_alike, sharding, (arrays, labels))


XLA_SAFE = 1e15
"""Cells up to this are within the limits of every dtype. A check by XLA would be compiled for each number of rows."""


def _from_cpu(
    families: Mapping[str, Family], arrays: Mapping[str, Array], labels: Labels, num_classes: int, rows: jax.Array
) -> ModelStatistics | None:
    """The statistics of JAX ``rows`` that numpy can read, in XLA's dtypes; None if these cannot hold a sum."""
    if not 0 < len(labels.y) <= FEW_ROWS:
        found = from_host(families, arrays, labels, num_classes)
        one = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct((1, *a.shape[1:]), jax.dtypes.canonicalize_dtype(a.dtype)), (arrays, labels)
        )
        return put_beside(rows, found, from_device.eval_shape(families, *one, num_classes), SQUARABLE)
    checks.fit_values(families, arrays)
    if any((np.abs(x) > XLA_SAFE).any() for x in arrays.values()):
        checks.fit_values(families, jax.tree.map(jnp.asarray, arrays))  # XLA's dtypes have their own limits
    size = len(labels.y)
    arrays, labels = fill_up((arrays, labels))
    if len(labels.y) > size:  # the padding belongs to no class
        labels.y[size:] = 0 if labels.soft else num_classes
    if rows.committed:
        arrays, labels = jax.device_put((arrays, labels), rows.sharding)
    return from_device(families, arrays, labels, num_classes)


def without_zero_weight(arrays: dict[str, Array], labels: Labels) -> tuple[dict[str, Array], Labels]:
    """The rows of positive weight; on a device all rows, with cells of 0 in the others."""
    with jax.ensure_compile_time_eval() if not on_host(labels) else nullcontext():
        weight = labels.y.sum(axis=1) if labels.soft else labels.weight
        if weight is None or bool((weight > 0).all()):
            return arrays, labels
    if on_host(arrays):
        keep = np.asarray(weight) > 0
        return {name: x[keep] for name, x in arrays.items()}, labels.rows(keep)
    # rows stay where they are, and every family accepts 0 in a cell without weight
    counted = jnp.asarray(weight > 0)[:, None]
    return {name: jnp.where(counted, x, jnp.zeros((), x.dtype)) for name, x in arrays.items()}, labels
