"""The statistics of rows as a value: how those of parts merge, are taken away, or count less.

A fit of what remains needs no second look at the other rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field, replace
from functools import singledispatch
from io import BytesIO
from numbers import Real
from typing import Any, Protocol, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Node, is_traced, on_host, promote_dtypes, pytree
from bayesnb.compute.arrays._typing import Array, LabelsLike
from bayesnb.core.families.parts._statistics import class_rows, require_sums, without
from bayesnb.core.rows._arguments import check_factors

Names = tuple[Any, ...]
"""The labels that the integers 0..K-1 encode, in their order."""


class Mergeable(Protocol):
    """What merges with its like: statistics, and schemas of tables."""

    def merge(self, other: Self) -> Self:
        """What holds for the rows of both."""


Merged = TypeVar("Merged", bound=Mergeable)

NO_PARTS = "merge takes the statistics of one part or more, got none: begin with nb.no_rows(model)"


@pytree
class ModelStatistics(Node):
    """The sum of weights by class, ``class_counts`` [K], statistics by block, and the labels ``classes``, or None.

    ``schema`` is the digest of the table's schema under which they were counted, if they were.

    ``a + b`` is ``merge(a, b)``, and ``sum(parts)`` is ``merge(*parts)``. Never add leaf by leaf, by ``lax.psum`` or
    ``jax.tree.map``: means, squares about them and edges are no sums, and a fit to such sums is wrong without a word.
    Over an axis of ``shard_map``, ``vmap`` or ``pmap``: ``sufficient_statistics(..., axis_name="rows")``.

    JAX counts unweighted rows as exact integers. In a ``lax.scan`` start from ``no_rows``; if you discount, convert
    the counts to floats first, or the carry changes its type.

    Example:
        >>> import bayesnb as nb
        >>> nb.sufficient_statistics(nb.NaiveBayes(nb.Poisson()), [[2], [4], [9]], [0, 0, 1]).blocks["x"].total.tolist()
        [[6.0], [9.0]]
    """

    class_counts: Array
    blocks: dict[str, Any]
    classes: Names | None = field(default=None, kw_only=True, metadata={"static": True})
    schema: str | None = field(default=None, kw_only=True, metadata={"static": True})

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

    def __add__(self, other: Any) -> ModelStatistics:
        return merge(self, other) if isinstance(other, ModelStatistics) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return self if type(other) is int and other == 0 else NotImplemented  # the start of Python's sum

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
            if cells is not None:
                require_sums(f"block {name!r}", "missing cells", rows - cells, rows_of_part - of_part, rows)

    def discount(self, factor: float | Mapping[str, float]) -> Self:
        """The statistics of the same rows with their weights times ``factor``, or one by block and "label"."""
        of = factor if isinstance(factor, Mapping) else dict.fromkeys(["label", *self.blocks], factor)
        blocks = {name: statistics.discount(of[name]) for name, statistics in self.blocks.items()}
        return replace(self, class_counts=self.class_counts * of["label"], blocks=blocks)

    def to_bytes(self) -> bytes:
        """The content of the file that ``nb.save`` writes: what a worker sends."""
        import bayesnb as nb  # by its public names, as files lie above

        file = BytesIO()
        nb.save(self, file)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> ModelStatistics:
        """The statistics whose ``to_bytes`` this is; no code in it runs.

        Raises:
            StorageError: if it is damaged, of a later version, or something else.
        """
        import bayesnb as nb

        try:
            found = nb.load(content)
        except nb.StorageError as error:
            raise nb.StorageError(f"these bytes are no statistics that to_bytes gave: {error}") from error
        if not isinstance(found, cls):
            raise nb.StorageError(f"the content is a {type(found).__name__}, expected {cls.__name__}")
        return found

    def pool(self) -> dict[str, Any]:
        """Each block's statistics with all classes pooled, [1, ...]."""
        return {name: statistics.pool() for name, statistics in self.blocks.items()}


def merge(*parts: Merged | Mapping[Any, Merged], axis: int | None = None) -> Merged:
    """The statistics of all parts' rows together, or the schema of all, of schemas of ``nb.describe_table``.

    Classes with names are aligned by these, sorted, without rows where one is absent; others must be the same.

    Args:
        parts: The statistics of one part or more; or dicts of them by a key of each part, such as its path: then no
            part counts twice, and the sum has the same bits whatever the order in which they came.
        axis: Where each of ``parts`` is itself many, stacked along this axis of every array, as ``vmap`` stacks its
            results: that axis. ``merge(jax.vmap(count)(X, y), axis=0)`` is one whole.

    Raises:
        ValueError: if there are none, if they are of different models or schemas, or differ in classes without names,
            or in columns, if a key comes twice, and if they are stacked without an ``axis``.

    Example:
        >>> import bayesnb as nb
        >>> model, days = nb.NaiveBayes(nb.Bernoulli()), [([[1], [0]], [0, 1], ["cat", "dog"]), ([[1]], [0], ["bee"])]
        >>> whole = nb.merge(*(nb.sufficient_statistics(model, X, y, classes=names) for X, y, names in days))
        >>> whole.classes, whole.class_counts.tolist()
        (('bee', 'cat', 'dog'), [1.0, 1.0, 1.0])
    """
    if any(isinstance(part, Mapping) for part in parts):
        parts = _in_order_of_keys(parts)
    if not parts:
        raise ValueError(NO_PARTS)
    found: Merged = merge_parts(*parts, axis=axis)
    return found


def _in_order_of_keys(dicts: Sequence[Any]) -> tuple[Any, ...]:
    by_key: dict[Any, Any] = {}
    for parts in dicts:
        if not isinstance(parts, Mapping):
            raise ValueError("merge takes parts, or dicts of parts by key, got both")
        if twice := by_key.keys() & parts.keys():
            raise ValueError(f"the part {min(twice, key=repr)!r} comes twice: merge each part once")
        by_key |= parts
    try:
        return tuple(by_key[key] for key in sorted(by_key))
    except TypeError:  # keys of several types
        return tuple(by_key[key] for key in sorted(by_key, key=repr))


@singledispatch
@promote_dtypes
def merge_parts(*parts: Any, axis: int | None = None) -> Any:
    """The whole of parts that are all of one type; by default of statistics."""
    require_statistics("merge", *parts)
    for part in parts:
        if np.ndim(part.class_counts) != (1 if axis is None else 2):
            raise ValueError(
                "class_counts must be [K], or with axis=0 those of statistics that are stacked, [R, K], got the shape "
                f"{np.shape(part.class_counts)} with axis={axis}"
            )
    single = parts if axis is None else [one for part in parts for one in _unstack(part, axis)]
    if not single:
        raise ValueError(NO_PARTS)
    merged = single[0]
    for part in single[1:]:
        before, more = require_alike(merged, part, "merged")
        merged = before.merge(more)
    return merged


@promote_dtypes
def subtract(total: ModelStatistics, part: ModelStatistics) -> ModelStatistics:
    """The statistics of all rows but those of ``part``: a fit to them is the fit without these rows.

    Categories and edges that only these rows had stay. Both must be counted under the same likelihoods, categories,
    classes and edges. Counts of unweighted rows come out exactly. Each merge or subtraction changes n, n |mean| and the
    sum of squares about zero by at most 16 rounding errors (2.2e-16 in float64) of the largest total held; those of a
    chain of steps add up.

    Args:
        total: The statistics of all rows.
        part: Those of the rows to take away.

    Raises:
        ValueError: if the statistics are not alike, or the rows cannot have been counted: more of them than in the
            total, or squares that do not fit. What was counted is unchanged.

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.Normal(), num_classes=2)
        >>> total = nb.sufficient_statistics(model, [[1.0], [2.0], [6.0]], [0, 0, 1])
        >>> left = nb.subtract(total, nb.sufficient_statistics(model, [[2.0]], [0]))
        >>> left.class_counts.tolist(), left.blocks["x"].mean.tolist()
        ([1.0, 1.0], [[1.0], [6.0]])
    """
    require_statistics("subtract", total, part)
    total, part = require_alike(total, part, "subtracted")
    if not is_traced(total, part):
        total.require_part(part)
    return total.minus(part)


@promote_dtypes
def discount(statistics: ModelStatistics, factor: float | dict[str, float]) -> ModelStatistics:
    """The statistics of the same rows, each of ``factor`` times its weight: old rows count less than new ones.

    A fit to them lies between that to the rows and the prior, which a factor of 0 leaves alone. The prior itself does
    not fade: resolve the model first if its hyperparameters must not follow the discounted rows.

    Args:
        statistics: The statistics of the old rows.
        factor: A number in [0, 1], or a dict of one for each block and for "label", the class probabilities.

    Raises:
        ValueError: for a factor outside [0, 1], or names other than "label" and those of the blocks.

    Example:
        >>> import bayesnb as nb
        >>> total = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), [[1.0], [3.0]], [0, 0])
        >>> half = nb.discount(total, 0.5)
        >>> half.class_counts.tolist(), half.blocks["x"].mean.tolist()
        ([1.0], [[2.0]])
    """
    require_statistics("discount", statistics)
    return statistics.discount(check_factors(factor, [*statistics.blocks]))


def _unstack(stacked: ModelStatistics, axis: int) -> list[ModelStatistics]:
    """The parts along an axis of each array; traced ones already merged."""
    first = jax.tree.map(lambda a: either.moveaxis(a, axis, 0), stacked)
    if is_traced(first) and len(first.class_counts):
        return [merge_pairs(first)]
    return [jax.tree.map(lambda a, i=i: a[i], first) for i in range(len(first.class_counts))]


@promote_dtypes
def merge_pairs(parts: ModelStatistics) -> ModelStatistics:
    """Parts stacked along the first axis, merged in pairs. Pure JAX."""
    while (size := len(parts.class_counts)) > 1:
        first, second, odd = (
            jax.tree.map(lambda a, part=part: a[part], parts)
            for part in (slice(0, size - 1, 2), slice(1, size, 2), slice(size - size % 2, size))
        )
        merged = jax.vmap(lambda a, b: a.merge(b))(first, second)
        parts = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), merged, odd)
    return weaken_counts(jax.tree.map(lambda a: a[0], parts))


@jax.jit
def weaken_counts(statistics: ModelStatistics) -> ModelStatistics:
    """The same with JAX's whole numbers weakly typed, which take the dtype of what they meet. Pure JAX."""
    weak = lambda a: jnp.broadcast_to(0, a.shape).at[...].set(a) if a.dtype.kind == "i" else a  # noqa: E731
    return jax.tree.map(weak, statistics)


def require_statistics(verb: str, *given: Any) -> None:
    """ValueError unless all are statistics."""
    for one in given:
        if not isinstance(one, ModelStatistics):
            raise ValueError(f"{verb} takes statistics, such as fit.statistics, got {type(one).__name__}")


def require_alike(a: ModelStatistics, b: ModelStatistics, verb: str) -> tuple[ModelStatistics, ModelStatistics]:
    """Both statistics, on one device and with the same classes; ValueError unless they are of one model and columns."""
    if a.schema != b.schema:
        raise ValueError(
            f"statistics can be {verb} only if they were counted under the same schema: merge the schemas of all parts "
            "first, with one version of bayesnb, and count each part under that, schema.count(part)"
        )
    if a.classes != b.classes:
        a, b = _align(a, b, verb)
    structures: list[Any] = [jax.tree.structure(s) for s in (a, b)]
    if structures[0] != structures[1]:
        raise ValueError(f"statistics of different models cannot be {verb}: {a!r} and {b!r}")
    if on_host(a) != on_host(b):
        a, b = jax.tree.map(jnp.asarray, (a, b))
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(s)] for s in (a, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"statistics can be {verb} only if classes and columns are the same, got {a!r} and {b!r}; declare "
            "num_classes if a part may lack a class, or name the classes of each part, classes=[...]"
        )
    return a, b


def _align(a: ModelStatistics, b: ModelStatistics, verb: str) -> tuple[ModelStatistics, ModelStatistics]:
    """Both with the classes of either, sorted by name."""
    if a.classes is None or b.classes is None:
        names = (a if b.classes is None else b).classes or ()
        shown = ", ".join([*map(repr, names[:3]), *["..."] * (len(names) > 3)])
        raise ValueError(
            f"statistics can be {verb} only if both name their classes or neither does, and one names {shown}: name "
            "those of the other too, statistics.named([...])"
        )
    _require_one_kind({*a.classes, *b.classes})
    joined = tuple(sorted({*a.classes, *b.classes}))
    a, b = (one.spread_classes(places_of(joined, one.classes or ())).named(joined) for one in (a, b))
    return a, b


def check_classes(given: Any, num_classes: int | None = None) -> Names:
    """The labels [K] as a tuple; ValueError unless they are K different ones, all text or all numbers."""
    if isinstance(given, str) or not (isinstance(given, Sequence) or np.ndim(given) == 1):
        raise ValueError(f"classes must be a list of different labels, got {given!r}")
    names = tuple(label.item() if isinstance(label, np.generic) else label for label in given)
    odd = [label for label in names if label is None or not isinstance(label, Hashable)]
    if odd:
        raise ValueError(f"classes must be a list of labels, each text or a number, got {odd[0]!r} among them")
    if len({*names}) < max(len(names), 1) or any(label != label for label in names):
        raise ValueError(f"classes must be a list of different labels, got {given!r}")
    if num_classes not in (None, len(names)):
        raise ValueError(f"classes must have {num_classes} labels, one for each class, got {len(names)}")
    _require_one_kind(names)
    return names


def places_of(labels: Sequence[Any], names: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The index of each label among ``names``, or their number if it is not there."""
    index = {label: k for k, label in enumerate(names)}
    return np.array([index.get(label, len(names)) for label in labels], np.intp)


def _require_one_kind(names: Any) -> None:
    shown = {_kind(label): label for label in names}
    if len(shown) > 1:
        first, second, *_ = (repr(label) for _, label in sorted(shown.items(), reverse=True))
        raise ValueError(f"labels of classes must be all text or all numbers, got {first} and {second}")


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    return "numbers" if isinstance(label, Real) else type(label).__name__
