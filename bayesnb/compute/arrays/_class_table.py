"""Tables [K, D] of many classes, stored as one shared row plus sparse entries of each class.

    table[k, d] = (base[group_k, d] + own[k, d]) / total_k

with ``own`` sparse. So are the counts of 100,000 classes of texts (no base), the posterior's Dirichlets (the prior is
the base) and the probabilities estimated from them. A table is built and merged on the host, and is a pytree of arrays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._placement import Array, Node, is_traced, namespace, on_host, pytree, to_host


@pytree
class ClassTable(Node):
    """A table of K classes and D columns; numpy takes it as a dense array, and ``table[k]`` is the row of a class.

    ``base`` [G, D], ``group`` [K] with values below G, ``total`` [K]; ``rows``, ``columns`` and ``values`` [C] are the
    cells of their own, by class and then by column, each once.
    """

    base: Array
    group: Array
    total: Array
    rows: Array
    columns: Array
    values: Array

    __array_ufunc__ = None  # numpy arrays leave operators with a table to it
    ndim = 2

    @classmethod
    def of_cells(cls, cells: Any) -> Any:
        """The table of a new scipy matrix of sums, with zeros elsewhere; a dense array if few are zero."""
        cells.eliminate_zeros()
        cells.sort_indices()
        num_classes, num_columns = cells.shape
        rows = np.repeat(np.arange(num_classes, dtype=np.int32), np.diff(cells.indptr))
        columns, values = cells.indices.astype(np.int32, copy=False), cells.data.astype(np.float64, copy=False)
        table = cls.shared(np.zeros((1, num_columns)), num_classes)
        table = replace(table, rows=rows, columns=columns, values=values)
        return table if is_sparse_enough(cells.shape, len(values)) else table.dense()

    @classmethod
    def shared(cls, row: Array, num_classes: int) -> Self:
        """The table in which every class has the same row [1, D]."""
        xp, none = namespace(row), np.zeros(0, np.int32)
        return cls(row, xp.zeros(num_classes, np.int32), xp.ones(num_classes), none, none, xp.zeros(0))

    @property
    def shape(self) -> tuple[int, int]:
        """(K, D)."""
        return self.group.shape[0], self.base.shape[1]

    @property
    def dtype(self) -> Any:
        """The type of the numbers."""
        return self.values.dtype

    def __repr__(self) -> str:
        return f"table[{self.shape[0]}, {self.shape[1]}]"

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        del copy
        return np.asarray(self.dense(), dtype)

    def __getitem__(self, index: Any) -> Array:
        if not (isinstance(index, int | slice | np.ndarray | np.integer) and on_host(self)):
            return self.dense()[index]
        classes = np.arange(len(self))[index]
        return self.take(classes.reshape(-1)).dense().reshape(*classes.shape, -1)

    def dense(self) -> Array:
        """The whole table [K, D]; ValueError if it would not fit in memory."""
        num_classes, num_columns = self.shape
        memory.require(
            8 * num_classes * num_columns,
            f"a table of {num_classes:,} classes and {num_columns:,} columns",
            "closed-form fits, their predictions of numpy and scipy rows, and the evidence need none (nor do more "
            "rows: merge statistics, nb.merge, instead of taking a posterior as the prior); else give fewer classes",
        )
        if on_host(self):
            table = self.base[self.group].astype(np.float64)
            np.add.at(table, (self.rows, self.columns), self.values)
            return table / self.total[:, None]
        table = jnp.asarray(self.base)[self.group].at[self.rows, self.columns].add(self.values)
        return table / self.total[:, None]

    # arithmetic in numpy and JAX, traced or not

    def sum(self, axis: int, keepdims: bool = True) -> Any:
        """The sums of the rows, [K, 1]; over axis 0 the sums of the columns, a table of one class."""
        del keepdims  # they are always kept
        if axis == 0:
            own = _sums(self.values / self.total[self.rows], self.columns, self.shape[1])
            weight = _sums(1 / self.total, self.group, self.base.shape[0])
            return self.shared(((weight[:, None] * self.base).sum(axis=0) + own)[None], 1)
        own = _sums(self.values, self.rows, self.shape[0])
        return ((self.base.sum(axis=1)[self.group] + own) / self.total)[:, None]

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, ClassTable):
            return self.dense() + other
        for one, two in ((self, other), (other, self)):
            if not one.values.size and one.base.shape[0] == two.base.shape[0] == 1:
                return replace(two, base=one.base + two.base)
        if is_traced(self, other):  # the number of cells in their union is not known
            return self.dense() + other.dense()
        table = self.of_cells(to_host(self).own() + to_host(other).own())
        return table if on_host(self, other) else jax.tree.map(jnp.asarray, table)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Any:
        if np.size(factor) != 1:
            return self.dense() * factor
        factor = jnp.reshape(factor, ()) if not on_host(factor) else np.reshape(factor, ())
        return replace(self, base=self.base * factor, values=self.values * factor)

    # tables of sums, on the host

    def own(self) -> Any:
        """The cells of their own as a scipy matrix."""
        starts = np.searchsorted(self.rows, np.arange(len(self) + 1))
        return scipy.sparse.csr_array((self.values, self.columns, starts), shape=self.shape)

    def at(self, rows: Array, columns: Array) -> Array:
        """The values of the cells of their own at these places [C]; 0 where there is none."""
        known, wanted = (
            np.asarray(r, np.int64) * self.shape[1] + c for r, c in ((self.rows, self.columns), (rows, columns))
        )
        place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        return np.where(known[place] == wanted, self.values[place], 0.0) if len(known) else np.zeros(len(wanted))

    def take(self, places: Array) -> Self:
        """The rows of these classes [L]; a class without cells of its own where a place is K."""
        cells, found = self.own(), np.where(places < len(self), places, 0)
        room = scipy.sparse.csr_array((cells.data, cells.indices, np.append(cells.indptr, cells.indptr[-1])),
                                      shape=(len(self) + 1, self.shape[1]))  # fmt: skip
        taken = room[places]
        rows = np.repeat(np.arange(len(places), dtype=np.int32), np.diff(taken.indptr))
        of_class = self.group[found], np.where(places < len(self), self.total[found], 1.0)
        return type(self)(self.base, *of_class, rows, taken.indices, taken.data)

    def spread(self, places: Array, num_columns: int) -> Any:
        """The same sums over more columns: column d becomes number ``places[d]``."""
        cells = scipy.sparse.coo_array((self.values, (self.rows, places[self.columns])), (len(self), num_columns))
        return self.of_cells(cells.tocsr())

    def check(self, owner: str, name: str) -> None:
        """Raise ValueError unless the arrays are those of a table: compiled loops do not check their indices."""
        (num_classes, num_columns), parts = self.shape, (self.rows, self.columns, self.values)
        key = np.asarray(self.rows, np.int64) * num_columns + np.asarray(self.columns)
        indices = ((self.rows, num_classes), (self.columns, num_columns), (self.group, len(self.base)))
        good = (
            all(np.ndim(part) == 1 and len(part) == len(self.values) for part in parts)
            and all(np.asarray(index).dtype.kind == "i" for index, _ in indices)
            and all(((np.asarray(index) >= 0) & (np.asarray(index) < size)).all() for index, size in indices)
            and bool((np.diff(key) > 0).all())
            and np.shape(self.total) == (num_classes,)
            and all(np.isfinite(part).all() for part in (self.base, self.values, self.total))
            and all((np.asarray(part) >= 0).all() for part in (self.base, self.values))
            and bool((np.asarray(self.total) > 0).all())
        )
        if not good:
            raise ValueError(f"{owner}: {name} must be a table of numbers, 0 or more, its cells by class and column")


def _sums(values: Array, places: Array, size: int) -> Array:
    """The sums of the values at each place, [size]."""
    if on_host(values, places):
        return np.bincount(places, values, size)
    return jax.ops.segment_sum(values, places, size)


def is_sparse_enough(shape: tuple[int, ...], num_cells: int) -> bool:
    """True if a table of this shape with so many cells of its own is kept sparse."""
    size = shape[0] * shape[1]
    return size > limits.MOST_DENSE_CELLS and size > limits.DENSITY * num_cells


def is_class_table(value: Any) -> bool:
    """True for a ``ClassTable``, the leaf of trees that are compared table by table."""
    return isinstance(value, ClassTable)


def cells_at(table: Any, rows: Array, columns: Array) -> Array:
    """The cells of an array or a table at these places [C], on the host."""
    if not isinstance(table, ClassTable):
        return np.asarray(table)[rows, columns]
    return (table.base[table.group[rows], columns] + table.at(rows, columns)) / table.total[rows]


def whole(table: Any) -> Array:
    """A ``ClassTable`` as a dense array; arrays themselves."""
    return table.dense() if isinstance(table, ClassTable) else table
