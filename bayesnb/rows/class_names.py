"""The labels of classes that statistics name, in the order of the integers 0..K-1 that encode them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array

Names = tuple[Any, ...]


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
