"""Names of classes, features and values: given by the user, taken from an estimator, or made from positions."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bayesnb.core.families import Family


def complete_names(
    own: Mapping[str, Any], class_names: Any, feature_names: Any, value_names: Any
) -> tuple[Any, Any, Any]:
    """Names of classes, features and values; those that are not given are an estimator's ``own``."""
    class_names = own.get("class_names") if class_names is None else class_names
    feature_names = own.get("feature_names_out") if feature_names is None else feature_names
    columns = own.get("feature_names")
    if feature_names is None:
        return class_names, columns, own.get("value_names", {}) if value_names is None else value_names
    if isinstance(columns, Mapping) and not isinstance(feature_names, Mapping):  # by block, as the estimator has them
        given = check_list("feature_names", _words(feature_names), len(own["column_names"]))
        name_of = dict(zip(own["column_names"], given, strict=True))
        feature_names = {block: [name_of.get(column, column) for column in listed] for block, listed in columns.items()}
    # the estimator's value names are keyed by its own names of features
    return class_names, feature_names, {} if value_names is None else value_names


def check_class_names(given: Any, size: int) -> tuple[str, ...]:
    """K different names; 0..K-1 if none are given. Errors as in ``check_list``."""
    return tuple(map(str, range(size) if given is None else check_list("class_names", given, size)))


def check_column_names(given: Any, sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """The names of each block's columns; ``block[3]`` if none are given. Errors as in ``check_lists``."""
    names: dict[str, tuple[str, ...]] = {b: tuple(f"{b}[{d}]" for d in range(size)) for b, size in sizes.items()}
    return names | {b: tuple(map(str, own)) for b, own in check_lists(given, sizes).items()}


def check_lists(given: Any, sizes: Mapping[str, int]) -> dict[str, list[Any]]:
    """The names of columns by block, as given; a list is that of a model's only block, and a vectorizer has a list.

    ValueError for names that do not fit the model's blocks and columns, and for a name that occurs twice.
    """
    blocks = ", ".join(map(repr, sizes))
    if given is not None and not isinstance(given, Mapping):
        if list(sizes) != ["x"]:
            raise ValueError(
                f"the model has the blocks {blocks}: feature_names must be a dict of lists by those names, got a "
                f"{type(given).__name__}"
            )
        given = {"x": given}
    for block in given or ():
        if block not in sizes:
            raise ValueError(f"feature_names has the block {block!r}, the model has {blocks}")
    return {b: check_list(f"feature_names of block {b!r}", _words(own), sizes[b]) for b, own in (given or {}).items()}


def _words(given: Any) -> Any:
    return given.get_feature_names_out() if hasattr(given, "get_feature_names_out") else given


def check_list(what: str, given: Any, size: int) -> list[Any]:
    """The given names as a list. ValueError unless ``given`` is a list of ``size`` names that differ as text."""
    names = _to_list(what, given, size)
    if len(names) != size:
        raise ValueError(f"{what} must be a list of {size} names, got {len(names)}")
    name, count = Counter(map(str, names)).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ValueError(f"{what} must differ from each other, got {name!r} more than once")
    return names


def prefix_repeated(by_block: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The names of each block's features; a name that occurs in two blocks is prefixed by the block's name."""
    often = Counter(name for names in by_block.values() for name in set(names))
    return {
        block: tuple(f"{block}: {name}" if often[name] > 1 else name for name in names)
        for block, names in by_block.items()
    }


def check_value_names(
    given: Any, families: Mapping[str, Family], columns: Mapping[str, Sequence[str]], shown: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """The names of the codes 0, 1, ... of each feature, by its shown name: in ``given`` by that name, or by column.

    ValueError unless ``given`` is a dict by columns whose cells are codes, with enough names for each.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"value_names must be a dict of lists by the feature's name, got a {type(given).__name__}")
    found, used = {}, set()
    for block, family in families.items():
        sizes = family.category_sizes(len(columns[block]))
        for column, name, size in zip(columns[block], shown[block], sizes, strict=False):
            words = given.get(name, given.get(column))
            if words is None or not size:
                continue
            found[name] = tuple(map(str, _to_list(f"value_names[{name!r}]", words, size)))
            if len(found[name]) < size:
                raise ValueError(f"value_names[{name!r}] must be a list of {size} names, got {len(found[name])}")
            used |= {name, column}
    for name in given:
        if name not in used:
            raise ValueError(f"value_names has {name!r}, but no feature with codes 0, 1, ... has that name")
    return found


def _to_list(what: str, given: Any, size: int) -> list[Any]:
    # an array without dimensions has __iter__ but cannot be iterated
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable) or not getattr(given, "ndim", 1):
        raise ValueError(f"{what} must be a list of {size} names, got {given!r}")
    return list(given)


def class_index(given: Any, names: tuple[str, ...], argument: str) -> int:
    """The index of a class given by its number or its name. ValueError if there is no such class."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    try:
        place = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        place = -1
    if not 0 <= place < len(names):
        shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise ValueError(
            f"{argument} must be a class, a number from 0 to {len(names) - 1} or one of {shown}, got {given!r}"
        )
    return place
