"""Checks of users' labels and weights, made once at the boundary.

Values are checked where they are stored: labels on many devices, of one process or of several, are not gathered.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.masked import without_mask
from bayesnb.arrays.placement import Array, as_array, is_traced, namespace, on_host
from bayesnb.primitives.sums import Labels

MOST_CLASSES = np.iinfo(np.int32).max

UNIQUE = "classes, y = numpy.unique(y, return_inverse=True)"
"""How to turn labels of any kind into integers 0..K-1."""

LARGEST_WEIGHT = 1e30
"""The largest weight of a row: sums of weights, and of weighted squares, stay finite in single precision too."""


def check_labels(y: Any, sample_weight: Any, num_rows: int, num_classes: int | None) -> tuple[Labels, int]:
    """Labels with their weights, and the number of classes; rows of weight zero may have any label."""
    y = _labels_array(y, num_rows)
    weight = None if sample_weight is None else check_weights(sample_weight, num_rows)
    counted = y if weight is None or is_traced(y, weight) else _drop_weightless(y, weight)
    if y.ndim == 2:
        num_classes = num_classes or y.shape[1]
        _soft(counted, num_classes)
        y = y.astype(np.float64 if on_host(y) else jnp.result_type(float))
        if weight is not None:
            y, weight = namespace(y).where(weight[:, None] > 0, y * weight[:, None], 0.0), None
        return Labels(y, weight), num_classes
    num_classes = _classes(counted, num_classes)
    if num_classes > MOST_CLASSES:
        raise ValueError(
            f"y has {num_classes:,} classes, at most {MOST_CLASSES:,} are supported: renumber them, {UNIQUE}"
        )
    return Labels(y.astype(np.int32), weight), num_classes


def _labels_array(y: Any, num_rows: int) -> Array:
    if y is None:
        raise ValueError("y is missing: pass the class labels, integers 0..K-1 [N] or soft labels [N, K]")
    y = as_array(without_mask("y", y))
    if y.dtype.kind in "OUS":
        raise ValueError(
            "y holds strings or objects, expected integers 0..K-1: use y.astype(int) if they are whole numbers, else "
            f"{UNIQUE}, or use the estimator nb.NaiveBayesClassifier, which takes them as they are"
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


def _drop_weightless(y: Array, weight: Array) -> Array:
    """The labels with positive weight; on a device, where rows stay in place, the others become valid labels."""
    if on_host(y, weight):
        return y[weight > 0]
    with jax.core.eval_context():
        positive = (weight > 0).reshape(-1, *[1] * (y.ndim - 1))
        return jnp.where(positive, y, 0 if y.ndim == 1 else 1 / y.shape[1])


def _soft(y: Array, num_classes: int) -> None:
    if y.shape[1] != num_classes:
        raise ValueError(f"soft labels must have one column per class, {num_classes}, got {y.shape[1]}")
    if is_traced(y):
        return
    with _at_once(y):
        numbers = y.astype(np.float64 if on_host(y) else jnp.result_type(float), copy=False)
        bad = ~((numbers >= 0).all(axis=1) & (abs(numbers.sum(axis=1) - 1) < 1e-3))
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(
                "soft labels must be probabilities, non-negative with sum 1 in each row, got "
                f"{numbers[row].tolist()} in row {row}; use sample_weight for weights"
            )


def _classes(y: Array, num_classes: int | None) -> int:
    """K, declared or the largest label plus 1; ValueError for labels outside 0..K-1."""
    if is_traced(y) or not y.shape[0]:
        if num_classes is None:
            where = "inside a JAX transformation" if is_traced(y) else "without rows"
            raise ValueError(f"{where} the number of classes must be declared: NaiveBayes(..., num_classes=K)")
        return num_classes
    with _at_once(y):
        least, largest = int(y.min()), int(y.max())
    num_classes = largest + 1 if num_classes is None else num_classes
    if least < 0 or largest >= num_classes:
        bad = least if least < 0 else largest
        advice = "; unlabelled rows, y = -1, are supported by fit_em and fit_nuts" if bad == -1 else ""
        raise ValueError(f"y holds {bad}, expected integers 0..{num_classes - 1} for {num_classes} classes{advice}")
    return num_classes


def check_weights(sample_weight: Any, num_rows: int) -> Array:
    """Sample weights [N] that are finite and not negative."""
    weight = as_array(without_mask("sample_weight", sample_weight))
    if weight.shape != (num_rows,) or weight.dtype.kind not in "fiub":
        raise ValueError(
            f"sample_weight must be numbers [{num_rows}], one per row, got {weight.dtype} of shape {weight.shape}"
        )
    if not is_traced(weight):
        with _at_once(weight):
            bad = ~((weight >= 0) & (weight <= LARGEST_WEIGHT))
            if bad.any():
                raise ValueError(
                    f"sample_weight must be finite, not negative and at most {LARGEST_WEIGHT:g}, got "
                    f"{weight[int(bad.argmax())]}"
                )
    return weight


def _at_once(known: Array) -> AbstractContextManager[Any]:
    """A context in which computations on a known JAX array are eager; an outer jit would trace them."""
    return nullcontext() if on_host(known) else jax.core.eval_context()
