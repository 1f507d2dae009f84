"""Sufficient statistics of rows: all that a fit needs of the data. Those of parts merge into those of the whole.

Rows that are sharded over a mesh of devices, of one process or of many, stay where they are: each device sums its own.
Only statistics are transferred, K x D numbers from every device. They are merged in pairs, in the same order
everywhere, so that every device and every process gets the same bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial, singledispatch
from math import prod
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._cells import bytes_per_row, is_sparse, part_of
from bayesnb.compute.arrays._compute import put_beside
from bayesnb.compute.arrays._loops import merge_in_threads, row_blocks
from bayesnb.compute.arrays._placement import is_traced, promote_dtypes, with_automatic_axes
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.primitives.sums import PROVABLE, HostSums, Labels, class_sums
from bayesnb.core.families import Histogram, Likelihood, Mapped, Views
from bayesnb.core.families._base import Family
from bayesnb.core.rows._arguments import check_model
from bayesnb.core.rows._checks import (
    check_cells,
    check_shapes,
    check_values,
    columns_in,
    count_rows,
    match_statistics,
    only_support,
)
from bayesnb.core.rows._labelled_rows import LabelledRows, Specification, label_rows
from bayesnb.core.rows._model_statistics import ModelStatistics as ModelStatistics
from bayesnb.core.rows._model_statistics import check_classes, merge_pairs, weaken_counts

Model = TypeVar("Model", bound=Specification)


@with_automatic_axes
def sufficient_statistics(
    model: Specification,
    X: Rows,
    y: LabelsLike,
    *,
    sample_weight: ArrayLike | None = None,
    num_classes: int | None = None,
    classes: LabelsLike | None = None,
    axis_name: Hashable | None = None,
) -> ModelStatistics:
    """The sufficient statistics of rows under a model, in one pass; float64 for numpy arrays.

    Those of parts of the rows are added by ``+`` or ``merge``, never leaf by leaf; see ``ModelStatistics``. Of traced
    rows the values are not checked: see ``fit_mle``.

    Args:
        model: Defines the blocks of X; its hyperparameters are not used.
        X: An array [N, D], or a dict of arrays by block. NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        sample_weight: Weights [N]; rows of weight zero are ignored.
        num_classes, classes: K, if nothing else determines it; the labels that 0..K-1 encode, for ``merge``.
        axis_name: Inside ``shard_map``, ``vmap`` or ``pmap``, the axis, or tuple of axes, by which the rows are parted:
            the statistics of all parts, the same on every part. K and the edges of a Histogram must be declared.

    Raises:
        ValueError: for shapes, types or values that do not fit, and for an axis that is not there.

    Example:
        >>> import bayesnb as nb
        >>> total = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), [[1.0], [3.0], [7.0]], [0, 0, 1])
        >>> total.class_counts.tolist(), total.blocks["x"].mean.tolist()
        ([2.0, 1.0], [[2.0], [7.0]])
    """
    check_model(model)
    names = None if classes is None else check_classes(classes, num_classes)
    num_classes = num_classes if names is None else len(names)
    found = summarise(label_rows(model, X, y, sample_weight, num_classes))
    return (found if axis_name is None else merge_over(axis_name, found)).named(names)


def summarise(rows: LabelledRows, *, evidence: bool = True) -> ModelStatistics:
    """The sufficient statistics of rows; without ``evidence`` base measures of numpy rows may be NaN, to save time."""
    rows = rows.drop_unused()
    if rows.on_host and rows.like is None:
        return from_host(rows, evidence=evidence)
    require_memory(rows, class_sizes(rows))
    if rows.like is not None:
        if (found := _from_cpu(rows, rows.like)) is not None:
            return found
        rows = replace(rows, **jax.tree.map(jnp.asarray, {"arrays": rows.arrays, "labels": rows.labels}))
    weight = rows.labels.y if rows.labels.soft else rows.labels.weight
    arrays = check_values(rows.families, rows.arrays, weight, fit=True)
    # families' static fields are part of the dict's structure: one compilation serves all models of a kind
    return from_device(rows.families, arrays, rows.labels, rows.num_classes, row_sharding(arrays))


def pooled_statistics(
    model: Specification, X: Any, y: Any = None, sample_weight: Any = None, given: ModelStatistics | None = None
) -> ModelStatistics:
    """The statistics that resolve a model, given or computed from rows; without labels, those of all rows pooled."""
    if given is not None:
        match_statistics(model.families, model.num_classes, False, given)
        return given
    if X is None:
        raise ValueError("give rows, X and y, or their statistics, from which the model can be resolved")
    if y is None:
        if model.num_classes is None:
            raise ValueError("without y the number of classes must be declared: NaiveBayes(..., num_classes=K)")
        rows = check_shapes(model.families, model.single, model.by_block(X), sparse=True)
        y = np.zeros(count_rows(rows), np.int32)
    return summarise(label_rows(model, X, y, sample_weight), evidence=False)


def same_sums(a: Any, b: Any) -> bool:
    """True if two arrays of sums are equal up to rounding."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    largest = np.abs(b).max(initial=0.0, where=np.isfinite(b))  # edges of a Histogram may be infinite
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-6 * float(largest))


def follow(model: Model, statistics: ModelStatistics) -> Model:
    """The model prepared as that of these statistics was: statistics of more rows then merge with them."""
    families = {name: _follow(family, statistics.blocks[name]) for name, family in model.families.items()}
    return model.with_hyperparameters(families, model.class_concentration)


def from_host(rows: LabelledRows, *, evidence: bool = True) -> ModelStatistics:
    """The statistics of numpy rows, by blocks of rows in threads."""

    def part(some: slice) -> ModelStatistics:
        z = HostSums(rows.labels.rows(some), rows.num_classes, evidence=evidence)
        cells = {name: part_of(x, some) for name, x in rows.arrays.items()}
        found = {name: _checked_sums(family, name, cells[name], z) for name, family in rows.families.items()}
        return ModelStatistics(z.counts(), found)

    sizes = class_sizes(rows)
    require_memory(rows, sizes)
    return merge_in_threads(ModelStatistics.merge, part, _blocks_of(rows, sizes))


def _checked_sums(family: Any, name: str, x: Array, z: HostSums) -> Any:
    """The statistics of cells that lie in the support: checked first, unless the sums themselves may prove it."""
    if not only_support(family, PROVABLE):
        check_cells(family, name, True, x)
        return _sums(family, name, x, z)
    found = _sums(family, name, x, z)
    if not z.proves(x, family.support):
        check_cells(family, name, True, x)
    return found


def _sums(family: Any, name: str, x: Array, z: HostSums) -> Any:
    """The statistics of cells; a refusal names the block."""
    try:
        return family.statistics(x, z)
    except ValueError as error:
        raise ValueError(f"block {name!r}, {error}") from None


def _blocks_of(rows: LabelledRows, sizes: Mapping[str, int]) -> list[slice]:
    """The rows in blocks; all together if sums are half as large as they, because such sums are not worth merging."""
    row_bytes = max([1, *map(bytes_per_row, rows.arrays.values())])
    least = rows.num_classes * max([0, *sizes.values()])
    if row_bytes * rows.num_rows <= 2 * least:
        return [slice(0, rows.num_rows)]
    block_bytes = limits.SPARSE_BLOCK_BYTES if any(map(is_sparse, rows.arrays.values())) else None
    return row_blocks(rows.num_rows, row_bytes, least, block_bytes)


@partial(jax.jit, static_argnames=("num_classes", "sharding"))
@promote_dtypes
def from_device(
    families: Mapping[str, Family],
    arrays: Mapping[str, Array],
    labels: Labels,
    num_classes: int,
    sharding: NamedSharding | None = None,
) -> ModelStatistics:
    """The statistics of JAX rows with checked labels, in one compiled call; shard by shard if rows are sharded."""

    def of_rows(arrays: Mapping[str, Array], labels: Labels) -> ModelStatistics:
        z = class_sums(labels, num_classes)
        return weaken_counts(ModelStatistics(z.counts(), {b: f.statistics(arrays[b], z) for b, f in families.items()}))

    if sharding is None:
        return of_rows(arrays, labels)
    of_shard = jax.shard_map(
        lambda *rows: merge_over(sharding.spec[0], of_rows(*rows)),
        mesh=sharding.mesh,
        in_specs=sharding.spec,
        out_specs=PartitionSpec(),
    )
    return of_shard(arrays, labels)


def _from_cpu(rows: LabelledRows, like: jax.Array) -> ModelStatistics | None:
    """The statistics of JAX rows that numpy can read, in XLA's dtypes; None if these cannot hold a sum."""
    a_row = jax.tree.map(
        lambda a: jax.ShapeDtypeStruct((1, *a.shape[1:]), jax.dtypes.canonicalize_dtype(a.dtype)),
        (rows.arrays, rows.labels),
    )
    dtypes = from_device.eval_shape(rows.families, *a_row, rows.num_classes)
    sums = from_host(rows)
    if any(map(_vanishes, jax.tree.leaves(sums), jax.tree.leaves(dtypes))):
        return None
    found = put_beside(like, sums, dtypes, limits.SQUARABLE)
    with jax.core.eval_context():
        return found and weaken_counts(found)


def _vanishes(sums: Array, like: Any) -> bool:
    """True if a number other than 0 is the square of one that another dtype cannot square."""
    if like.dtype.kind != "f":
        return False
    least = float(np.finfo(like.dtype).tiny) ** (2 * limits.SQUARABLE)
    return bool(((sums != 0) & (np.abs(sums) < least)).any())


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


def class_sizes(rows: LabelledRows) -> dict[str, int]:
    """The bytes of the statistics of one class, by block."""
    found = {}
    for name, family in rows.families.items():
        kind: Any = family.statistics_type
        sizes = family.axis_sizes(1, columns_in(family, rows.arrays[name]))
        axes = [[sizes.get(letter, 1) for letter in letters] for _, letters in kind.axes]
        found[name] = 8 * sum(map(prod, axes))
    return found


def require_memory(rows: LabelledRows, sizes: Mapping[str, int]) -> None:
    """Raises ValueError if statistics of this many classes, and what is computed from them, do not fit in memory.

    ``sizes`` are those of one class.
    """
    num_columns = sum(columns_in(family, rows.arrays[name]) for name, family in rows.families.items())
    memory.require(
        2 * rows.num_classes * (8 + sum(sizes.values())),
        f"statistics of K = {rows.num_classes:,} classes and D = {num_columns:,} columns",
        "give fewer, such as classes of an upper level where labels are paths, which nb.roll_up takes, or fewer words; "
        "labels and categories must be numbered 0, 1, 2, ..., numpy.unique(y, return_inverse=True)",
    )


@singledispatch
def _follow(family: Any, statistics: Any) -> Any:
    """The family prepared as that of these statistics was, so that statistics of more rows merge with them."""
    del statistics
    return family


@_follow.register(Histogram)
def _(family: Any, statistics: Any) -> Any:
    if family.levels:
        return family
    found = family.found or family.edges is None
    edges, points = statistics.edges[:1], statistics.atoms[:1]
    return family._replace(cells=points.shape[-1], edges=edges, atoms=points, found=found)


_follow.register(Mapped, lambda family, statistics: family.map(_follow, statistics.parts))
_follow.register(Likelihood, lambda family, statistics: family._replace(frame=statistics.frame[:1]))
_follow.register(Views, lambda family, statistics: family.map(lambda one: _follow(one, statistics.of(one))))
