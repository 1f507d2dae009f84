"""Files whose contents are altered while their digests are right: what a mistake, or somebody, can make of a file."""

import copy

import numpy as np


def _cells(value):
    def put(array):
        array = array.astype(np.promote_types(array.dtype, np.float32)) if not np.isfinite(value) else array.copy()
        array.flat[:1] = value
        return array

    return put


ARRAYS = {
    "NaN in it": _cells(np.nan), "inf in it": _cells(np.inf), "-1 in it": _cells(-1), "huge": lambda a: a * 1e300,
    "all zero": np.zeros_like, "cut": lambda a: a[:-1], "a column cut": lambda a: a[..., :-1], "empty": lambda a: a[:0],
    "one more axis": lambda a: a[None], "flat": np.ravel, "one number": lambda a: np.zeros((), a.dtype),
    "int8": lambda a: a.astype(np.int8), "float16": lambda a: a.astype(np.float16), "true or false": lambda a: a != 0,
    "large": lambda a: np.concatenate([a, a]), "missing": lambda _: None,
}  # fmt: skip

VALUES = {
    "None": None, "text": "x", "-1": -1, "0": 0, "7": 7, "0.5": 0.5, "NaN": float("nan"), "a list": [], "a dict": {},
    "true": True,
}  # fmt: skip


def alterations(header, arrays):
    """Every alteration of one array, and of one value in the header: a name, the header, the arrays."""
    for key in arrays:
        for name, change in ARRAYS.items():
            with np.errstate(all="ignore"):
                try:
                    new = change(arrays[key])
                except (IndexError, ValueError):  # the array has no such axis
                    continue
            yield f"array {key} {name}", header, {k: v for k, v in {**arrays, key: new}.items() if v is not None}
    for path in _places(header, ()):
        for name, value in VALUES.items():
            yield f"{path} {name}", _with(header, path, value), arrays
        yield f"{path} is not there", _with(header, path), arrays


def _places(node, path):
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in items:
        if (*path, key) != ("format",):
            yield (*path, key)
            yield from _places(part, (*path, key))


def _with(header, path, *value):
    header = copy.deepcopy(header)
    parent = header
    for key in path[:-1]:
        parent = parent[key]
    if value:
        parent[path[-1]] = value[0]
    else:
        del parent[path[-1]]
    return header
