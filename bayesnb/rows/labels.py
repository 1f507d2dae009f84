"""Checks of users' labels, weights and names of classes, made once at the boundary.

Values are checked where they are stored: labels on many devices, of one process or of several, are not gathered.
Traced ones are checked if the user's function goes through ``checkify``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from numbers import Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.checked import checked, refuse
from bayesnb.arrays.placement import Array, as_array, is_traced, namespace, on_host
from bayesnb.primitives.sums import Labels

MOST_CLASSES = np.iinfo(np.int32).max

Names = tuple[Any, ...]
"""The labels that the integers 0..K-1 encode, in their order."""

UNIQUE = "classes, y = numpy.unique(y, return_inverse=True)"
"""How to turn labels of any kind into integers 0..K-1."""

LARGEST_WEIGHT = 1e30
"""The largest weight of a row: sums of weights, and of weighted squares, stay finite in single precision too."""


def check_labels(y: Any, sample_weight: Any, num_rows: int, num_classes: int | None) -> tuple[Labels, int]:
    """Labels with their weights, and the number of classes; rows of weight zero may have any label."""
    y = _labels_array(y, num_rows)
    weight = None if sample_weight is None else check_weights(sample_weight, num_rows)
    # known labels beside traced weights are checked as if all rows counted
    others = () if weight is None or (is_traced(weight) and not is_traced(y)) else (weight,)
    if y.ndim == 2:
        num_classes = num_classes or y.shape[1]
        y = checked(partial(_soft, num_classes), y, *others)
        y = y.astype(np.float64 if on_host(y) else jnp.result_type(float))
        if weight is not None:
            y, weight = namespace(y).where(weight[:, None] > 0, y * weight[:, None], 0.0), None
        return Labels(y, weight), num_classes
    traced = is_traced(y)
    with jax.core.eval_context():  # without this an outer jit would trace computations even on a known JAX array
        num_classes = _classes(None if traced else _drop_weightless(y, *others), num_classes)
    if num_classes > MOST_CLASSES:
        raise ValueError(
            f"y has {num_classes:,} classes, at most {MOST_CLASSES:,} are supported: renumber them, {UNIQUE}"
        )
    y = y.astype(np.int32)
    return Labels(checked(partial(_hard, num_classes), y, *others) if traced else y, weight), num_classes


def _labels_array(y: Any, num_rows: int) -> Array:
    if y is None:
        raise ValueError("y is missing: pass the class labels, integers 0..K-1 [N] or soft labels [N, K]")
    y = as_array(y, "y")
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
    numbers = counted.astype(np.float64 if on_host(counted) else jnp.result_type(float), copy=False)
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
    bad = ~((weight >= 0) & (weight <= LARGEST_WEIGHT))
    refuse(bad, f"sample_weight must be finite, not negative and at most {LARGEST_WEIGHT:g}, got {{0}}", weight)
    return weight


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


def join_classes(names: Names, others: Names) -> Names:
    """The labels of both, sorted."""
    joined = {*names, *others}
    _require_one_kind(joined)
    return tuple(sorted(joined))


def places_of(joined: Names, names: Names) -> Array:
    """The index of each joined label among ``names``, or their number if it is not there, [K]."""
    index = {label: k for k, label in enumerate(names)}
    return np.array([index.get(label, len(names)) for label in joined], np.intp)


def short_names(names: Names | None) -> str:
    """The first labels, for an error message."""
    shown = ", ".join(repr(label) for label in (names or ())[:3])
    return shown if len(names or ()) <= 3 else f"{shown}, ..."


def _require_one_kind(names: Any) -> None:
    shown = {_kind(label): label for label in names}
    if len(shown) > 1:
        first, second, *_ = (repr(label) for _, label in sorted(shown.items(), reverse=True))
        raise ValueError(f"labels of classes must be all text or all numbers, got {first} and {second}")


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "text"
    return "numbers" if isinstance(label, Real) else type(label).__name__
