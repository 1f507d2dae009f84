"""Convert labels of any type to classes and integers 0..K-1."""

from __future__ import annotations

from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._memory import require_computed
from bayesnb.compute.arrays._placement import as_array, without_mask
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.rows._model_statistics import places_of
from bayesnb.tables.frames._series import Array, DataError, closest, label, listing, to_plain
from bayesnb.tables.frames._texts import as_texts, first_alike

MISSING_LABEL = (
    "{} holds a missing label in row {}: leave such rows out, or learn from them as well, "
    "NaiveBayesClassifier(unlabelled='use'), or nb.fit_em with -1 for their labels"
)


def classes_and_codes(y: Array, known: Array | None = None, *, may_grow: bool = False) -> tuple[Array, Array]:
    """The classes [K], sorted, and the index of each row's label among them [N].

    They are the distinct labels, or those ``known`` before, to which y adds others if they ``may_grow``.

    Raises:
        ValueError: for continuous labels, and as for ``codes_among`` and ``add_labels``.
    """
    if known is not None:
        known = add_labels(known, y) if may_grow else known
        return known, codes_among(known, y)
    if y.dtype.kind in "iub" and y.size:
        low, high = int(y.min()), int(y.max())
        # mark the whole numbers of a small range, which saves a sort
        if high - low <= y.size and high <= np.iinfo(np.intp).max:
            offsets = y.astype(np.intp, copy=False) - low
            shown = np.bincount(offsets) > 0
            classes = (np.flatnonzero(shown) + low).astype(y.dtype)
            return classes, offsets if shown.all() else (np.cumsum(shown) - 1)[offsets]
    from sklearn.utils.multiclass import check_classification_targets  # takes half a second to import

    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes


def codes_among(classes: Array, y: Array) -> Array:
    """The index of each row's label among declared classes, [N].

    Raises:
        ValueError: for a label that is not among them.
    """
    shown, codes = classes_and_codes(y)
    places = places_of(shown.tolist(), classes.tolist())
    if (places == len(classes)).any():
        unknown = shown[places == len(classes)].tolist()
        raise ValueError(f"The target label(s) {unknown} in y do not exist in the initial classes {classes.tolist()}")
    return places[codes]


def add_labels(classes: Array, y: Array) -> Array:
    """The classes together with the labels of y, sorted; the classes themselves if y has no others.

    Raises:
        ValueError: for new labels of another type than the classes.
    """
    shown, _ = classes_and_codes(y)
    new = shown[places_of(shown.tolist(), classes.tolist()) == len(classes)]
    if not new.size:
        return classes
    kinds = {"number" if labels.dtype.kind in "iuf" else labels.dtype.kind for labels in (new, classes)}
    if len(kinds) == 1 and (new.dtype.kind != "O" or type(new[0]) is type(classes[0])):
        joined = np.union1d(classes, new)
        if {*classes.tolist(), *new.tolist()} == {*joined.tolist()}:  # no label was rounded
            return joined
    raise ValueError(
        f"y holds the new label {new.tolist()[0]!r}, and the labels so far are such as {classes.tolist()[0]!r}: give "
        "labels of one type"
    )


def names_of(classes: Array) -> tuple[Any, ...] | None:
    """Labels [K] as the names by which statistics merge; None if they are neither text nor numbers, as dates."""
    names = tuple(classes.tolist())
    return names if all(isinstance(name, str | Real) for name in names) else None


def plain_labels(y: Any, name: str = "y") -> Any:
    """Labels as an array in the type of their values; scikit-learn checks input that is not one column.

    Raises:
        ValueError: for missing labels, for labels of several types, and for those that are no text, numbers or dates.
    """
    y, missing, of_series = _read_labels(y, name)
    if missing.any():
        raise ValueError(MISSING_LABEL.format(name, missing.argmax()) + " (y contains NaN)" * (y.dtype.kind == "f"))
    return _of_one_type(y, name, of_series=of_series)


def fill_labels(y: Any) -> tuple[Any, Array]:
    """Labels as ``plain_labels`` gives them, with any one for those that are missing, and whether each is, [N].

    Where two other classes remain -1 is no label either.

    Raises:
        ValueError: as for ``plain_labels``, and if no row has a label.
    """
    y, missing, of_series = _read_labels(y, "y")
    if y.ndim != 1:
        return y, missing
    shown = {*y[~missing].tolist()}
    missing = missing | (y == -1) if -1 in shown and len(shown) > 2 else missing
    if missing.all():
        raise ValueError("y has no label: give those of some rows of each class")
    if missing.any():
        y = y.copy()
        y[missing] = y[~missing][0]
    return _of_one_type(y, "y", of_series=of_series), missing


def _read_labels(y: Any, name: str) -> tuple[Array, Array, bool]:
    """Labels as an array, which of them are missing, and whether they were a series."""
    require_computed(name, y)
    given = type(y).__name__
    y = without_mask(name, y)
    y = pd.Index(y).to_series() if isinstance(y, pd.Index | pd.api.extensions.ExtensionArray) else y
    found = y if isinstance(y, np.ndarray) else nw.from_native(y, pass_through=True, allow_series=True)
    y = to_plain(found).to_numpy() if isinstance(found, nw.Series) else y
    y = _array_of(y) if isinstance(y, list | tuple) else np.asarray(y)
    if y.ndim == 0:
        raise ValueError(f"{name} must be the label of each row, in a list or an array, got {given}")
    y = y.astype(object) if y.dtype.kind == "T" else y
    return y, pd.isna(y).ravel(), isinstance(found, nw.Series)


def _of_one_type(y: Array, name: str, *, of_series: bool) -> Array:
    """The labels in the type of their values."""
    if y.dtype.kind not in "OSV" or y.ndim != 1:
        return y
    types = {type(value) for value in y}
    shown = listing(sorted(one.__name__ for one in types))
    if len(types) > 1:
        raise ValueError(f"{name} holds labels of several types, {shown}: give labels of one type")
    of_series = types == {str} and of_series
    if types == {str} and not of_series and any(value.endswith("\0") for value in y):
        raise ValueError(f"{name} holds a label that ends in a NUL character, which numpy would cut off: remove it")
    if not all(issubclass(one, bool | int | float | str) for one in types):
        raise ValueError(
            f"{name} holds labels of type {shown}, expected text, numbers or dates of numpy: give text, "
            f"{name}.astype(str), or of a list [str(label) for label in {name}]"
        )
    return y if of_series else np.array(y.tolist())


def _array_of(y: Any) -> Array:
    """An array; of objects for text and for mixed types, which numpy would convert to a single type."""
    types = {type(value.item() if isinstance(value, np.generic) else value) for value in y}
    whole = types == {int, float} and all(float(value) == value for value in y if value == value)
    if whole or types & {list, tuple, np.ndarray} or (len(types) < 2 and types != {str}):
        return as_array(y)
    labels = np.empty(len(y), object)
    labels[:] = [value.item() if isinstance(value, np.generic) else value for value in y]
    return labels


def warn_of_labels(classes: Array, counts: Array) -> None:
    """Warn of labels that differ in case or blanks alone, and of classes with one row of ten or more."""
    labels = classes.tolist()
    alike = first_alike(as_texts(labels)) if all(isinstance(one, str) for one in labels) else None
    if alike is not None:
        warn(
            f"the labels {alike[0]!r} and {alike[1]!r} differ only in case or blanks: write them alike if they are one"
        )
    alone = [label(one) for one, count in zip(labels, counts.tolist(), strict=True) if count == 1]
    if alone and counts.sum() >= limits.FEW_VALUES:
        one, have, it = ("the class", "has", "it") if len(alone) == 1 else ("the classes", "have", "each")
        say = f"{one} {listing(alone)} {have} one row, which says little: join {it} with another, or leave it out"
        measured = classes.dtype.kind in "iuf" and 2 * len(alone) > len(labels)
        warn(say + "; numbers that measure are not classes" * measured)


def name_of(y: Any) -> str | None:
    """The name of a series of labels; None if it has none."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def by_label(given: Any) -> Any:
    """A series of pandas as a dict by its labels; anything else itself."""
    return given.to_dict() if isinstance(given, pd.Series) else given


def number_of_class(name: str, classes: Array) -> int:
    """The index of the class with this name.

    Raises:
        DataError: if there is no such class.
    """
    names = [label(value) for value in classes.tolist()]
    if name not in names:
        raise DataError(f"there is no class '{name}'{closest(name, names) or f'; the classes are {listing(names)}'}")
    return names.index(name)
