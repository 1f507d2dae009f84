"""The same rows as other objects: types, byte orders, layouts in memory, masks, sparse matrices and frames."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

from tests.fuzz.data import Problem

TYPES = (
    "bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
    "longdouble", ">f8", ">f4", ">i4",
)  # fmt: skip
LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran": np.asfortranarray,
    "columns of a wider array": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "rows of a longer array": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda x: _read_only(x),
    "lists": lambda x: x.tolist() if x.size else x,
    "masked": lambda x: np.ma.masked_array(np.where(np.isnan(x), 1.0, x), np.isnan(x)),
    "pandas": lambda x: pd.DataFrame(x),
    "polars": lambda x: pl.DataFrame(x, schema=[str(d) for d in range(x.shape[1])]),
}
SINGLE = ("float16", "float32", ">f4")
"""Rows in which predictions may be made in single precision."""


def _read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.setflags(write=False)
    return x


def forms(problem: Problem) -> Iterator[tuple[str, Any]]:
    """Every object that holds the numbers of X, by a name."""
    for name in TYPES:
        cast = [_cast(x, name) for x in jax.tree.leaves(problem.X)]
        if all(x is not None for x in cast):
            yield name, jax.tree.unflatten(jax.tree.structure(problem.X), cast)
    for name, change in LAYOUTS.items():
        leaves, structure = jax.tree.flatten(problem.X)
        yield name, jax.tree.unflatten(structure, [change(x) for x in leaves])
    kinds = {"bernoulli", "multinomial"}
    if kinds.issuperset(problem.size.kinds) and not any(np.isnan(x).any() for x in jax.tree.leaves(problem.X)):
        for name, change in SPARSE.items():
            yield name, jax.tree.map(change, problem.X)


def _cast(x: np.ndarray, name: str) -> np.ndarray | None:
    kind = np.dtype(name)
    if kind.kind != "f" and not np.isfinite(x).all():
        return None
    if kind.kind in "iu" and x.size and not np.iinfo(kind).min <= x.min() <= x.max() <= np.iinfo(kind).max:
        return None
    if kind.kind == "f" and x.size and (np.abs(x[np.isfinite(x)]) > np.finfo(kind).max).any():
        return None
    cast = x.astype(kind)
    return cast if np.array_equal(cast.astype(float), x, equal_nan=True) else None


def _with_duplicates(x: np.ndarray) -> Any:
    """Each cell in two parts, the columns of a row in falling order."""
    row, column = (part[::-1] for part in np.nonzero(x))
    values, rest = x[row, column], np.arange(len(row)) % 2 == 0
    first = np.where(rest, values, values - 1)
    cells = np.concatenate([first, values - first])
    place = np.concatenate([row, row]), np.concatenate([column, column])
    return scipy.sparse.coo_array((cells, place), shape=x.shape)


def _unsorted(x: np.ndarray) -> Any:
    rows = scipy.sparse.csr_array(x[:, ::-1])
    rows.indices = (x.shape[1] - 1 - rows.indices).astype(rows.indices.dtype)
    rows.has_sorted_indices = False
    return rows


SPARSE: dict[str, Callable[[np.ndarray], Any]] = {
    "CSR": scipy.sparse.csr_array,
    "CSR matrix of int64": lambda x: scipy.sparse.csr_matrix(x.astype(np.int64)),
    "CSR, unsorted": _unsorted,
    "CSC": scipy.sparse.csc_array,
    "COO": scipy.sparse.coo_array,
    "COO, cells in two parts": _with_duplicates,
}


def label_forms(y: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Every object that holds these labels, by a name."""
    for name in ("uint8", "int8", ">i8", "uint64"):
        yield f"labels of {name}", y.astype(name)
    yield "labels in steps", np.repeat(y, 2)[::2]
    yield "labels backwards", y[::-1].copy()[::-1]
    yield "masked labels, none of them masked", np.ma.masked_array(y, np.zeros(len(y), bool))
    yield "labels of pandas", pd.Series(y, index=np.arange(len(y)) + 5)
    if len(y):
        yield "labels in a list", y.tolist()
