"""Rows with their labels, checked once against a model: what statistics, folds and leave-one-out start from.

Values of labels are checked where they are stored: labels on many devices, of one process or of several, are not
gathered. Traced ones are checked if the user's function goes through ``checkify``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial, singledispatch
from typing import Any, Protocol, Self

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import fill_unused, stack_rows
from bayesnb.compute.arrays._compute import find_cpu_rows, read_as_numpy
from bayesnb.compute.arrays._own_primitives import checked, refuse
from bayesnb.compute.arrays._placement import Array, as_array, is_traced, on_host
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.families import Histogram, Likelihood, Mapped, Views
from bayesnb.core.families._base import Family
from bayesnb.core.families._open_categorical import OpenCategorical
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import check_float32, check_shapes, count_rows

UNIQUE = "classes, y = numpy.unique(y, return_inverse=True)"
"""How to turn labels of any kind into integers 0..K-1."""


class Specification(Protocol):
    """What statistics use of a model, a ``NaiveBayes``: one family for each block, and sizes if they are known."""

    families: dict[str, Family]
    single: bool
    num_classes: int | None
    columns: dict[str, int | None]
    class_concentration: Any

    def by_block(self, X: Any) -> Any:
        """Rows by block."""

    def labels_of(self, y: Any) -> Any:
        """Labels [N]."""

    def with_hyperparameters(self, families: Mapping[str, Family], class_concentration: Any) -> Self:
        """The same blocks with other hyperparameters."""


@dataclass(frozen=True)
class LabelledRows:
    """``arrays`` [N, D] by block, the rows' ``labels`` with their weights, and the number of classes K.

    JAX arrays on the CPU are held as numpy arrays. ``like`` is then one of the originals: results go back to its
    device. Values of cells are not checked yet, because the statistics check them in the same pass.
    """

    families: Mapping[str, Family]
    arrays: dict[str, Array]
    labels: Labels
    num_classes: int
    like: jax.Array | None = None

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

    def above(self, other: Self) -> Self:
        """These numpy rows, and those of another after them."""
        arrays = {block: stack_rows(x, other.arrays[block]) for block, x in self.arrays.items()}
        weighted = self.labels.weight is not None or other.labels.weight is not None
        weight = np.append(self.weight(), other.weight()) if weighted else None
        labels = Labels(np.append(self.labels.y, other.labels.y), weight)
        return replace(self, arrays=arrays, labels=labels)

    def drop_unused(self) -> Self:
        """The rows of positive weight; on a device all rows, with the cells of one of these in the others."""
        if (self.labels.weight is None and not self.labels.soft) or is_traced(self.arrays, self.labels):
            return self
        with jax.core.eval_context():
            positive = self.weight() > 0
            if bool(positive.all()):
                return self
        if self.on_host:
            return self.select(positive)
        # rows on a device stay where they are
        return replace(self, arrays={b: fill_unused(x, positive) for b, x in self.arrays.items()})


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
    like = find_cpu_rows(X, y, sample_weight)
    if like is not None:
        X, y, sample_weight = map(read_as_numpy, (X, y, sample_weight))
    traced = is_traced(y, sample_weight)
    arrays = check_shapes(model.families, model.single, model.by_block(X), model.columns, sparse=sparse and not traced)
    num_rows = count_rows(arrays)
    labels, num_classes = check_labels(model.labels_of(y), sample_weight, num_rows, model.num_classes or declared)
    at_host = on_host(arrays) and not traced
    if at_host:
        labels = jax.tree.map(np.asarray, labels)
    if None in model.columns.values() and not (at_host and like is None):
        check_float32(model.families)
    rows = LabelledRows(model.families, arrays, labels, num_classes, like)
    prepared = {name: prepare(family, arrays[name], rows.given_weight) for name, family in model.families.items()}
    return replace(rows, families=prepared)


def check_labels(y: Any, sample_weight: Any, num_rows: int, num_classes: int | None) -> tuple[Labels, int]:
    """Labels with their weights, and the number of classes; rows of weight zero may have any label."""
    y = _labels_array(y, num_rows)
    weight = None if sample_weight is None else check_weights(sample_weight, num_rows)
    # known labels beside traced weights are checked as if all rows counted
    others = () if weight is None or (is_traced(weight) and not is_traced(y)) else (weight,)
    if y.ndim == 2:
        num_classes = num_classes or y.shape[1]
        y = checked(partial(_soft, num_classes), y, *others)
        y = either.floats(y)
        if weight is not None:
            y, weight = either.where(weight[:, None] > 0, y * weight[:, None], 0.0), None
        return Labels(y, weight), num_classes
    traced = is_traced(y)
    with jax.core.eval_context():  # without this an outer jit would trace computations even on a known JAX array
        num_classes = _classes(None if traced else _drop_weightless(y, *others), num_classes)
    if num_classes > limits.MOST_CLASSES:
        raise ValueError(
            f"y has {num_classes:,} classes, at most {limits.MOST_CLASSES:,} are supported: renumber them, {UNIQUE}"
        )
    y = y.astype(np.int32)
    return Labels(checked(partial(_hard, num_classes), y, *others) if traced else y, weight), num_classes


def _labels_array(y: Any, num_rows: int) -> Array:
    if y is None:
        raise ValueError("y is missing: pass the class labels, integers 0..K-1 [N] or soft labels [N, K]")
    y = as_array(y, "y")
    if y.dtype.kind in "OUSTMm":
        raise ValueError(
            "y holds strings, dates or objects, expected integers 0..K-1: use y.astype(int) if they are whole numbers, "
            f"else {UNIQUE}, or use the estimator nb.NaiveBayesClassifier, which takes text and dates of numpy"
        )
    if y.ndim not in (1, 2) or y.shape[0] != num_rows:
        raise ValueError(
            f"y must be integers [{num_rows}] or soft labels [{num_rows}, K] for these rows of X, got shape {y.shape}"
        )
    if y.ndim == 1 and y.dtype.kind not in "iub":
        raise ValueError(f"y must be integers 0..K-1, got dtype {y.dtype}; use y.astype(int) if they are whole numbers")
    if y.shape[1:] == (1,):
        raise ValueError(
            f"y has shape {y.shape}, which reads as soft labels of one class: for integer labels use y.ravel()"
        )
    return y


def _drop_weightless(y: Array, weight: Array | None = None) -> Array:
    """The labels with positive weight; on a device, where rows stay in place, the others become valid labels."""
    if weight is None:
        return y
    if on_host(y, weight):
        return y[weight > 0]
    positive = (weight > 0).reshape(-1, *[1] * (y.ndim - 1))
    return jnp.where(positive, y, 0 if y.ndim == 1 else 1 / y.shape[1])


def _soft(num_classes: int, y: Array, weight: Array | None = None) -> Array:
    if y.shape[1] != num_classes:
        raise ValueError(f"soft labels must have one column per class, {num_classes}, got {y.shape[1]}")
    counted = _drop_weightless(y, weight)
    numbers = either.floats(counted)
    bad = ~((numbers >= 0).all(axis=1) & (abs(numbers.sum(axis=1) - 1) < 1e-3))
    sentence = "soft labels must be probabilities, non-negative with sum 1 in each row, got {0} in row {row}"
    refuse(bad, sentence + "; use sample_weight for weights", numbers)
    return y


def _hard(num_classes: int, y: Array, weight: Array | None = None) -> Array:
    counted, expected = _drop_weightless(y, weight), f"expected integers 0..{num_classes - 1} for {num_classes} classes"
    refuse((counted < 0) | (counted >= num_classes), f"y holds {{0}}, {expected}", counted)
    return y


def _classes(y: Array | None, num_classes: int | None) -> int:
    """K, declared or the largest label plus 1; ValueError for labels outside 0..K-1. Traced ones are None."""
    if y is None or not y.shape[0]:
        if num_classes is None:
            where = "inside a JAX transformation" if y is None else "without rows"
            raise ValueError(f"{where} the number of classes must be declared: NaiveBayes(..., num_classes=K)")
        return num_classes
    least, largest = int(y.min()), int(y.max())
    num_classes = largest + 1 if num_classes is None else num_classes
    if least < 0 or largest >= num_classes:
        bad = least if least < 0 else largest
        advice = "; unlabelled rows, y = -1, are supported by fit_em and fit_nuts" if bad == -1 else ""
        raise ValueError(f"y holds {bad}, expected integers 0..{num_classes - 1} for {num_classes} classes{advice}")
    return num_classes


def check_weights(sample_weight: Any, num_rows: int) -> Array:
    """Sample weights [N] that are finite and not negative."""
    weight = as_array(sample_weight, "sample_weight")
    if weight.shape != (num_rows,) or weight.dtype.kind not in "fiub":
        raise ValueError(
            f"sample_weight must be numbers [{num_rows}], one per row, got {weight.dtype} of shape {weight.shape}"
        )
    return checked(_weights, weight)


def _weights(weight: Array) -> Array:
    bad = ~((weight >= 0) & (weight <= limits.LARGEST_WEIGHT))
    refuse(bad, f"sample_weight must be finite, not negative and at most {limits.LARGEST_WEIGHT:g}, got {{0}}", weight)
    return weight


@singledispatch
def prepare(family: Any, x: Array, weight: Callable[[], Array | None]) -> Any:
    """The family with what it must take from rows before it counts them, whatever their labels; by default itself.

    ``weight()`` are the weights of the rows, [N], or None.
    """
    del x, weight
    return family


prepare.register(Histogram, lambda family, x, weight: family.prepare(x, weight))
prepare.register(Views, lambda family, x, weight: family.map(lambda one: prepare(one, x, weight)))
prepare.register(Mapped, lambda family, x, weight: family.map(lambda one, z: prepare(one, z, weight), family.cells(x)))
prepare.register(Likelihood, lambda family, x, weight: family.prepare(x, weight))
prepare.register(OpenCategorical, lambda family, x, weight: family.prepare(x, weight))
