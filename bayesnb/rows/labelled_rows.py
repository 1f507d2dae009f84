"""Rows with their labels, checked once against a model: what statistics, folds and leave-one-out start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.cpu_rows import find_cpu_rows, read_as_numpy
from bayesnb.arrays.placement import Array, is_traced, on_host
from bayesnb.families.base import Family
from bayesnb.primitives.sums import Labels
from bayesnb.rows import arguments
from bayesnb.rows.checks import check_float32, check_shapes, count_rows
from bayesnb.rows.labels import check_labels


class Specification(Protocol):
    """What statistics and the generative program use of a model; ``NaiveBayes`` implements it.

    One family for each block, sizes if they are known, and priors that replace the families' own.
    """

    families: dict[str, Family]
    single: bool
    num_classes: int | None
    columns: dict[str, int | None]
    class_concentration: Any
    priors: dict[str, Any]
    spelling: Any

    @property
    def resolved(self) -> bool:
        """True if every shape and hyperparameter is fixed."""

    def resolve(self, X: Any = None, y: Any = None, *, sample_weight: Any = None, statistics: Any = None) -> Self:
        """The same model with shapes and hyperparameters fixed by data."""

    def conjugate(self) -> Self:
        """The same model without non-conjugate priors."""

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same model with fixed class probabilities."""

    def params(self) -> dict[str, Array]:
        """Samples every parameter, inside a NumPyro program."""

    def by_block(self, X: Any) -> Any:
        """Rows by block."""

    def own_rows(self, X: Any) -> Any:
        """Rows by block as a program has them."""

    def labels_of(self, y: Any) -> Any:
        """Labels [N]."""

    def class_probs_of(self, params: Mapping[str, Array]) -> Array:
        """The class probabilities among the parameters."""

    def block_params(self, params: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
        """Parameters by block and short name."""

    def with_hyperparameters(self, families: Mapping[str, Family], class_concentration: Any) -> Self:
        """The same blocks with other hyperparameters."""


@dataclass(frozen=True)
class LabelledRows:
    """``arrays`` [N, D] by block, the rows' ``labels`` with their weights, and the number of classes K.

    JAX rows in host memory may be held as numpy arrays; ``beside`` is then one of the JAX arrays, next to which the
    results belong. Values of cells are not checked yet, as the statistics check them in the same pass.
    """

    families: Mapping[str, Family]
    arrays: dict[str, Array]
    labels: Labels
    num_classes: int
    beside: jax.Array | None = None

    @property
    def num_rows(self) -> int:
        """N."""
        return self.labels.y.shape[0]

    @cached_property
    def on_host(self) -> bool:
        """True if the rows and labels are numpy arrays."""
        return on_host(self.arrays, self.labels)

    def weight(self) -> Array:
        """The weight of each row [N] in all classes together, in floating point."""
        if self.labels.soft:
            return self.labels.y.sum(axis=1)
        if self.labels.weight is None:
            return np.ones(self.num_rows) if self.on_host else jnp.ones(self.num_rows)
        return np.asarray(self.labels.weight, np.float64) if self.on_host else self.labels.weight

    def given_weight(self) -> Array | None:
        """The same, or None if every row has weight 1."""
        return self.weight() if self.labels.soft or self.labels.weight is not None else None

    def select(self, rows: Any) -> Self:
        """Some of the rows, by a slice, a mask or their positions; sparse blocks too."""
        return replace(self, arrays={b: x[rows] for b, x in self.arrays.items()}, labels=self.labels.rows(rows))

    def drop_unused(self) -> Self:
        """The rows of positive weight; on a device all rows, with cells of 0 in the others."""
        if (self.labels.weight is None and not self.labels.soft) or is_traced(self.arrays, self.labels):
            return self
        with jax.core.eval_context():
            positive = self.weight() > 0
            if bool(positive.all()):
                return self
        if self.on_host:
            return self.select(positive)
        # rows on a device stay where they are
        column = positive[:, None]
        return replace(self, arrays={b: jnp.where(column, x, jnp.zeros((), x.dtype)) for b, x in self.arrays.items()})


def label_rows(
    model: Specification,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    num_classes: int | None = None,
    *,
    sparse: bool = True,
) -> LabelledRows:
    """Check rows and labels against a model, and each other.

    Raises:
        ValueError: for shapes, types or labels that do not fit, or if the number of classes is unknown.
    """
    declared = arguments.check_num_classes(num_classes)
    if None not in (declared, model.num_classes) and declared != model.num_classes:
        raise ValueError(f"num_classes is {declared}, the model has {model.num_classes} classes")
    beside = find_cpu_rows(X, y, sample_weight)
    if beside is not None:
        X, y, sample_weight = map(read_as_numpy, (X, y, sample_weight))
    sparse = sparse and not is_traced(y, sample_weight)
    arrays = check_shapes(model.families, model.single, model.by_block(X), model.columns, sparse=sparse)
    num_rows = count_rows(arrays)
    labels, num_classes = check_labels(model.labels_of(y), sample_weight, num_rows, model.num_classes or declared)
    at_host = on_host(arrays) and not is_traced(labels)
    if at_host:
        labels = jax.tree.map(np.asarray, labels)
    if None in model.columns.values() and not (at_host and beside is None):
        check_float32(model.families)
    rows = LabelledRows(model.families, arrays, labels, num_classes, beside)
    prepared = {name: family.prepare(arrays[name], rows.given_weight) for name, family in model.families.items()}
    return replace(rows, families=prepared)
