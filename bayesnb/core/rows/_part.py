"""A part of many rows from which powers are learned: the same whatever the order of the rows, and their batches.

Of each class it is the rows with the lowest hashes of their cells, each once with the sum of its weights. So a part of
parts that are put together is the part of the whole. Equal rows whose weights are less than 1 are one row as well, and
leave together where rows are left out: in the whole each leaves by itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.rows._labelled_rows import LabelledRows

ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: hashes of neighbouring columns are multiplied by it, and so differ by their places."""


def part_size(num_rows: int, num_classes: int, num_powers: int) -> int:
    """On how many of these rows so many powers are learned."""
    of_row = max((num_classes - 1) * num_powers, 1)
    wanted = max(limits.ROWS_A_POWER * num_powers, limits.FEWEST_LEARNED, limits.LEARNED_RATIOS // of_row)
    return min(num_rows, wanted, _most_rows(num_classes, num_powers))


def _most_rows(num_classes: int, num_powers: int) -> int:
    return max(limits.LEARNED_BYTES // (4 * max((num_classes - 1) * num_powers, 1)), num_classes)


def part_of_classes(num_rows: int, class_counts: Array, num_powers: int) -> Array | None:
    """The most rows of each class [K] in the part of so many rows, with these weights by class; None if it is all."""
    num_classes = len(class_counts)
    size = part_size(num_rows, num_classes, num_powers)
    if size == num_rows:
        return None
    least = min(limits.FEWEST_OF_CLASS, _most_rows(num_classes, num_powers) // num_classes)
    return np.maximum(np.ceil(size * class_counts / class_counts.sum()), least).astype(int)


def number_rows(rows: LabelledRows) -> Array:
    """The class, the hash and the weight of each row, and the number of those before it that have the same, [N]."""
    columns = rows.labels.y, hash_rows(rows), rows.weight()
    order, first = _sort(*columns)
    number = np.empty(len(order), int)
    number[order] = np.arange(len(order)) - np.flatnonzero(first)[np.cumsum(first) - 1]
    return np.rec.fromarrays([*columns, number])


def choose_part(rows: LabelledRows, most: Array | None) -> LabelledRows:
    """The part of numpy rows of positive weight with so many of each class, [K], sorted by class and hash, or all."""
    if most is None:
        return rows
    kept, sums = lowest_hashes(rows.labels.y, hash_rows(rows), rows.weight(), most)
    part = rows.select(kept)
    return replace(part, labels=Labels(part.labels.y, sums))


def lowest_hashes(y: Array, hashes: Array, weight: Array, most: Array) -> tuple[Array, Array]:
    """The rows of each class with so many of the lowest hashes, each once, and the weights of the rows equal to it."""
    order, first = _sort(y, hashes)
    places, of_class = np.flatnonzero(first), y[order][first]
    number = np.arange(len(places)) - np.searchsorted(of_class, of_class)  # among the distinct rows of its class
    kept = number < np.asarray(most)[of_class]
    sums = np.add.reduceat(weight[order], places) if len(places) else weight
    return order[places[kept]], sums[kept]


def _sort(*columns: Array) -> tuple[Array, Array]:
    """The order of rows by these columns, [N], and which of them are the first of equal ones."""
    order = np.lexsort(columns[::-1])
    first = np.ones(len(order), bool)
    first[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    return order, first


def hash_rows(rows: LabelledRows) -> Array:
    """A hash of the cells of each row, [N]."""
    hashes = np.zeros(rows.num_rows, np.uint64)
    for x in rows.arrays.values():
        hashes = _add_hashes(hashes, x)
    return hashes


def _add_hashes(hashes: Array, x: Array) -> Array:
    """The hashes [N] of the blocks before, and of the cells of a block."""
    if is_sparse(x):
        cells = x.tocoo()
        own = _hash_numbers(cells.data) * ODD + _mix(cells.col.astype(np.uint64))
        found = np.zeros(len(hashes), np.uint64)
        np.add.at(found, cells.row, np.where(cells.data == 0, np.uint64(0), _mix(own)))
        return hashes * ODD + found
    for column in np.reshape(x, (len(hashes), -1)).T:
        hashes = hashes * ODD + _hash_numbers(column)
    return hashes


def _hash_numbers(x: Array) -> Array:
    """A hash of each number [N], by its bits; that of -0.0 is that of 0.0, and NaNs are equal."""
    numbers = x.astype(np.float64)
    return _mix(np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64))


def _mix(bits: Array) -> Array:
    """Each bit of 64 changes all others: splitmix64's last steps, as pandas has them."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits
