"""Sufficient statistics of rows: all that a fit needs of the data. Those of parts merge into those of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from typing import Any, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from bayesnb.arrays.cells import SQUARABLE
from bayesnb.arrays.class_table import is_class_table, whole
from bayesnb.arrays.cpu_rows import FEW_ROWS, fill_up, put_beside
from bayesnb.arrays.placement import on_host
from bayesnb.arrays.pytree import Node, pytree
from bayesnb.arrays.sparse import STORED_BYTES, bytes_per_row, is_sparse, part_of
from bayesnb.arrays.threads import merge_in_threads, row_blocks
from bayesnb.arrays.typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.families.base import Family
from bayesnb.families.parts.class_tables import class_bytes, class_rows
from bayesnb.families.parts.subtraction import require_sums, without
from bayesnb.primitives.sums import PROVABLE, ClassSums, HostSums, Labels, class_sums
from bayesnb.rows import shards
from bayesnb.rows.checks import check_fit_part, check_fit_values, check_shapes, match_statistics, only_support
from bayesnb.rows.class_names import Names, check_classes, join_classes, places_of, short_names
from bayesnb.rows.labelled_rows import LabelledRows, label_rows
from bayesnb.rows.memory_of_statistics import require_memory
from bayesnb.rows.specification import Specification

Model = TypeVar("Model", bound=Specification)


@pytree
class ModelStatistics(Node):
    """The sum of weights by class, ``class_counts`` [K], statistics by block, and the labels ``classes``, or None.

    Example:
        >>> import bayesnb as nb
        >>> nb.sufficient_statistics(nb.NaiveBayes(nb.Poisson()), [[2], [4], [9]], [0, 0, 1]).blocks["x"].total.tolist()
        [[6.0], [9.0]]
    """

    class_counts: Array
    blocks: dict[str, Any]
    classes: Names | None = field(default=None, kw_only=True, metadata={"static": True})

    @property
    def num_classes(self) -> int:
        """K."""
        return self.class_counts.shape[0]

    def with_block(self, name: str, statistics: Any) -> Self:
        """The same with other statistics of this block."""
        return replace(self, blocks={**self.blocks, name: statistics})

    def named(self, classes: LabelsLike | None) -> Self:
        """The same with these labels of the classes [K], by which they merge; None takes the names away."""
        return replace(self, classes=None if classes is None else check_classes(classes, self.num_classes))

    def spread_classes(self, places: Array) -> Self:
        """The same rows with other classes and no names: class k is number ``places[k]``, or without rows if K."""
        blocks = {name: statistics.spread_classes(places) for name, statistics in self.blocks.items()}
        return replace(self, class_counts=class_rows(self.class_counts, places), blocks=blocks, classes=None)

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together, which must be alike."""
        merged = {name: statistics.merge(other.blocks[name]) for name, statistics in self.blocks.items()}
        return replace(self, class_counts=self.class_counts + other.class_counts, blocks=merged)

    def minus(self, part: Self) -> Self:
        """The statistics without those of some of the rows, which must be alike."""
        left = {name: statistics.minus(part.blocks[name]) for name, statistics in self.blocks.items()}
        return replace(self, class_counts=without(self.class_counts, part.class_counts), blocks=left)

    def require_part(self, part: Self) -> None:
        """ValueError if ``part`` cannot be the statistics of some of these rows."""
        require_sums("class_counts", "weight", self.class_counts, part.class_counts)
        for name, statistics in self.blocks.items():
            statistics.require_part(part.blocks[name], name)
            cells, of_part = statistics.observed_cells, part.blocks[name].observed_cells
            rows, rows_of_part = self.class_counts[:, None], part.class_counts[:, None]
            # columns that share their parameters count more cells than rows
            if cells is not None and bool((cells <= rows * (1 + 1e-6)).all()):
                require_sums(f"block {name!r}", "missing cells", rows - cells, rows_of_part - of_part, rows)

    def discount(self, factor: float | Mapping[str, float]) -> Self:
        """The statistics of the same rows with their weights times ``factor``, or one by block and "label"."""
        of = factor if isinstance(factor, Mapping) else dict.fromkeys(["label", *self.blocks], factor)
        blocks = {name: statistics.discount(of[name]) for name, statistics in self.blocks.items()}
        return replace(self, class_counts=self.class_counts * of["label"], blocks=blocks)

    def dense(self) -> Self:
        """The same with arrays in place of sparse tables of many classes; ValueError if they do not fit in memory."""
        return replace(self, blocks=jax.tree.map(whole, self.blocks, is_leaf=is_class_table))

    def pool(self) -> dict[str, Any]:
        """Each block's statistics with all classes pooled, [1, ...]."""
        return {name: statistics.pool() for name, statistics in self.blocks.items()}


def sufficient_statistics(
    model: Specification,
    X: Rows,
    y: LabelsLike,
    *,
    sample_weight: ArrayLike | None = None,
    num_classes: int | None = None,
    classes: LabelsLike | None = None,
) -> ModelStatistics:
    """The sufficient statistics of rows under a model, in one pass; float64 for numpy arrays.

    Args:
        model: Defines the blocks of X; its hyperparameters are not used.
        X: An array [N, D], or a dict of arrays by block. NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        sample_weight: Weights [N]; rows of weight zero are ignored.
        num_classes, classes: K, if nothing else determines it; the labels that 0..K-1 encode, for ``merge``.

    Raises:
        ValueError: for shapes, types or values that do not fit.

    Example:
        >>> import bayesnb as nb
        >>> total = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), [[1.0], [3.0], [7.0]], [0, 0, 1])
        >>> total.class_counts.tolist(), total.blocks["x"].mean.tolist()
        ([2.0, 1.0], [[2.0], [7.0]])
    """
    names = None if classes is None else check_classes(classes, num_classes)
    num_classes = num_classes if names is None else len(names)
    return summarise(label_rows(model, X, y, sample_weight, num_classes), tables=True).named(names)


def summarise(rows: LabelledRows, *, evidence: bool = True, tables: bool = False) -> ModelStatistics:
    """The sufficient statistics of rows; without ``evidence`` base measures of numpy rows may be NaN, to save time.

    With ``tables`` counts of many classes may be a ``ClassTable``.
    """
    rows = rows.drop_unused()
    if rows.on_host and rows.beside is None:
        return from_host(rows, evidence=evidence, tables=tables)
    require_memory(rows)
    if rows.beside is not None:
        found = _from_cpu(rows, rows.beside)
        if found is not None:
            return found
        rows = replace(rows, **jax.tree.map(jnp.asarray, {"arrays": rows.arrays, "labels": rows.labels}))
    check_fit_values(rows.families, rows.arrays)
    # families' static fields are part of the dict's structure: one compilation serves all models of a kind
    sharding = shards.row_sharding(rows.arrays)
    return from_device(rows.families, rows.arrays, rows.labels, rows.num_classes, sharding)


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
        y = np.zeros(next(iter(rows.values())).shape[0], np.int32)
    return summarise(label_rows(model, X, y, sample_weight), evidence=False)


def follow(model: Model, statistics: ModelStatistics) -> Model:
    """The model prepared as that of these statistics was: statistics of more rows then merge with them."""
    families = {name: family.follow(statistics.blocks[name]) for name, family in model.families.items()}
    return model.with_hyperparameters(families, model.class_concentration)


def merge(a: ModelStatistics, b: ModelStatistics) -> ModelStatistics:
    """The statistics of both sets of rows together.

    Classes with names are aligned by these, sorted, without rows where one is absent; others must be the same.

    Raises:
        ValueError: if they are of different models, or differ in classes without names, or in columns.

    Example:
        >>> import bayesnb as nb
        >>> model, days = nb.NaiveBayes(nb.Bernoulli()), [([[1], [0]], [0, 1], ["cat", "dog"]), ([[1]], [0], ["bee"])]
        >>> whole = nb.merge(*(nb.sufficient_statistics(model, X, y, classes=names) for X, y, names in days))
        >>> whole.classes, whole.class_counts.tolist()
        (('bee', 'cat', 'dog'), [1.0, 1.0, 1.0])
    """
    return merge_alike(*require_alike(a, b, "merged"))


def require_alike(a: ModelStatistics, b: ModelStatistics, verb: str) -> tuple[ModelStatistics, ModelStatistics]:
    """Both statistics, on one device and with the same classes; ValueError unless they are of one model and columns."""
    if isinstance(a, ModelStatistics) and isinstance(b, ModelStatistics) and a.classes != b.classes:
        a, b = _align(a, b, verb)
    structures: list[Any] = [jax.tree.structure(s, is_class_table) for s in (a, b)]
    if not isinstance(a, ModelStatistics) or structures[0] != structures[1]:
        raise ValueError(f"statistics of different models cannot be {verb}: {a!r} and {b!r}")
    if on_host(a) != on_host(b):
        a, b = jax.tree.map(jnp.asarray, (a, b))
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(s, is_class_table)] for s in (a, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"statistics can be {verb} only if classes and columns are the same, got {a!r} and {b!r}; declare "
            "num_classes if a part may lack a class, or name the classes of each part, classes=[...]"
        )
    return a, b


def _align(a: ModelStatistics, b: ModelStatistics, verb: str) -> tuple[ModelStatistics, ModelStatistics]:
    """Both with the classes of either, sorted by name."""
    if a.classes is None or b.classes is None:
        named = a if b.classes is None else b
        raise ValueError(
            f"statistics can be {verb} only if both name their classes or neither does, and one names "
            f"{short_names(named.classes)}: name those of the other too, statistics.named([...])"
        )
    joined = join_classes(a.classes, b.classes)
    a, b = (one.spread_classes(places_of(joined, one.classes or ())).named(joined) for one in (a, b))
    return a, b


def merge_alike(a: ModelStatistics, b: ModelStatistics) -> ModelStatistics:
    """As ``merge``, for statistics known to be of one model and one size."""
    return a.merge(b)


def _from_rows(families: Mapping[str, Family], arrays: Mapping[str, Array], z: ClassSums) -> ModelStatistics:
    return ModelStatistics(z.counts(), {name: f.statistics(arrays[name], z) for name, f in families.items()})


def from_host(rows: LabelledRows, *, evidence: bool = True, tables: bool = False) -> ModelStatistics:
    """The statistics of numpy rows, by blocks of rows in threads."""
    families, arrays, num_classes = rows.families, rows.arrays, rows.num_classes

    def part(some: slice) -> ModelStatistics:
        z = HostSums(rows.labels.rows(some), num_classes, evidence=evidence, tables=tables)
        block = {name: part_of(x, some) for name, x in arrays.items()}
        check_fit_part({name: f for name, f in families.items() if name not in provable}, block)
        found = _from_rows(families, block, z)
        check_fit_part({name: f for name, f in provable.items() if not z.proves(block[name], f.support)}, block)
        return found

    # the sums prove what the checks of these families would find
    provable = {name: f for name, f in families.items() if only_support(f, PROVABLE)}
    require_memory(rows, tables=tables)
    row_bytes = max((bytes_per_row(x) for x in arrays.values()), default=1)
    least = num_classes * max((class_bytes(f, f.columns_in(arrays[b])) for b, f in families.items()), default=0)
    block_bytes = STORED_BYTES if any(map(is_sparse, arrays.values())) else None
    whole = row_bytes * rows.num_rows <= 2 * least  # sums as large as the rows are made once, and not merged
    blocks = [slice(0, rows.num_rows)] if whole else row_blocks(rows.num_rows, row_bytes, least, block_bytes)
    return merge_in_threads(merge_alike, part, blocks)


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


def _from_cpu(rows: LabelledRows, beside: jax.Array) -> ModelStatistics | None:
    """The statistics of JAX rows that numpy can read, in XLA's dtypes; None if these cannot hold a sum."""
    families, arrays, labels, num_classes = rows.families, rows.arrays, rows.labels, rows.num_classes
    if not 0 < rows.num_rows <= FEW_ROWS:
        one = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct((1, *a.shape[1:]), jax.dtypes.canonicalize_dtype(a.dtype)), (arrays, labels)
        )
        return put_beside(beside, from_host(rows), from_device.eval_shape(families, *one, num_classes), SQUARABLE)
    check_fit_values(families, arrays)
    if any((np.abs(x) > XLA_SAFE).any() for x in arrays.values()):
        check_fit_values(families, jax.tree.map(jnp.asarray, arrays))  # XLA's dtypes have their own limits
    arrays, labels = fill_up((arrays, labels))
    if len(labels.y) > rows.num_rows:  # the padding belongs to no class
        labels.y[rows.num_rows :] = 0 if labels.soft else num_classes
    if beside.committed:
        arrays, labels = jax.device_put((arrays, labels), beside.sharding)
    return from_device(families, arrays, labels, num_classes)
