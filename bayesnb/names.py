"""Names of classes, features and values: given, known to an estimator, or made from their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bayesnb.model import NaiveBayes


def known(fit: Any, class_names: Any, feature_names: Any, value_names: Any = None) -> tuple[Any, Any, Any, Any]:
    """A fit with its names: a ``NaiveBayesClassifier`` knows those that are not given."""
    if not hasattr(fit, "known_names"):
        return fit, class_names, feature_names, value_names or {}
    own = fit.known_names
    return (
        fit.fit_,
        own["class_names"] if class_names is None else class_names,
        own["feature_names"] if feature_names is None else feature_names,
        own["value_names"] if value_names is None else value_names,
    )


def class_names(given: Any, size: int) -> tuple[str, ...]:
    """K names that differ; 0..K-1 where none are given.

    Raises:
        ValueError: for another number of names, and for one that stands twice.
    """
    return checked("class_names", range(size) if given is None else given, size)


def column_names(model: NaiveBayes, given: Any, sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """The names of each block's columns; ``block[3]`` where none are given.

    Args:
        model: The specification.
        given: D names, or a dict of them by block, or None.
        sizes: The number of columns of each block.

    Raises:
        ValueError: for names that are not those of the model's blocks and columns, and for one that stands twice.
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        if not model.single:
            raise ValueError(
                f"the model has the blocks {', '.join(map(repr, sizes))}: feature_names is a dict of lists by those "
                f"names, got a {type(given).__name__}"
            )
        given = {"x": given}
    unknown = [block for block in given if block not in sizes]
    if unknown:
        raise ValueError(f"feature_names has the block {unknown[0]!r}, the model has {', '.join(map(repr, sizes))}")
    return {
        block: checked(f"feature_names of block {block!r}", given[block], size)
        if block in given
        else tuple(f"{block}[{column}]" for column in range(size))
        for block, size in sizes.items()
    }


def number_of(given: Any, names: tuple[str, ...], argument: str) -> int:
    """The place of a class that is given by its number or its name.

    Raises:
        ValueError: where there is no such class.
    """
    if isinstance(given, str) and given in names:
        return names.index(given)
    whole = hasattr(given, "__index__") and not isinstance(given, bool)
    if not whole or not 0 <= given < len(names):
        shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise ValueError(f"{argument} is a class, a number from 0 to {len(names) - 1} or one of {shown}, got {given!r}")
    return int(given)


def checked(what: str, given: Any, size: int) -> tuple[str, ...]:
    """So many names that differ, as text.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ValueError(f"{what} must be a list of {size} names, got {given!r}")
    names = tuple(str(name) for name in given)
    if len(names) != size:
        raise ValueError(f"{what} must be a list of {size} names, got {len(names)}")
    if len(set(names)) < size:
        raise ValueError(
            f"{what} must differ from each other, got {Counter(names).most_common(1)[0][0]!r} more than once"
        )
    return names
