"""Which rows train and which test: the splits of a study, the same for every method, and the same in every version.

Everything follows from the labels, the seed and the number of the split; more splits keep the earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.rows._arguments import check_counts
from bayesnb.tables.frames._series import Array, DataError

CROSSED, RESPLIT, FORWARD = "crossed", "resplit", "forward"


class Split(NamedTuple):
    """One random order of the rows: prefixes of it are training sets, its last rows are the test set.

    Attributes:
        train: Indices of training rows [N - T]; the training set of size n is `train[:n]`.
        test: Indices of test rows [T].
    """

    train: Array
    test: Array


@dataclass(frozen=True)
class Forward:
    """Splits in the order of time, as ``forward`` makes them."""

    splits: int = 10
    test_rows: int | None = None


def forward(splits: int = 10, *, test_rows: int | None = None) -> Any:
    """Splits for rows in the order of time: each part of the last rows is predicted from rows before it.

    The last ``splits * test_rows`` rows are the test parts, one after the other; by default they are 30 % of all. A
    training set of size n is the n rows just before its test part.

    Args:
        splits: The number of splits.
        test_rows: The rows of each test part.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> X, y = np.arange(40.0)[:, None] % 7, np.arange(40) % 2
        >>> study = nb.experiment({"days": (X, y)}, ["MLE"], sizes=[20], splits=nb.forward(3, test_rows=4))
        >>> [(split.train[:3].tolist(), split.test.tolist()) for split in study.splits("days")]
        [([27, 26, 25], [28, 29, 30, 31]), ([31, 30, 29], [32, 33, 34, 35]), ([35, 34, 33], [36, 37, 38, 39])]
    """
    check_counts(splits=splits, test_rows=1 if test_rows is None else test_rows)
    return Forward(splits, test_rows)


@dataclass(frozen=True, eq=False)
class Design:
    """The splits of one data set.

    Attributes:
        name: "crossed": all splits have the same test rows; "resplit": each has its own; "forward": in order of time.
        sizes: Sizes of training sets, increasing.
        nested: The splits; the training set of size n is the first n rows of ``train``.
        redrawn: Splits with test rows of their own, for sizes that are most of the pool of a crossed design.
    """

    name: str
    sizes: tuple[int, ...]
    nested: list[Split]
    redrawn: list[Split]

    @property
    def pool(self) -> int:
        """M, the rows of which training sets are prefixes."""
        return len(self.nested[0].train)

    def of(self, size: int) -> str:
        """The name of the design that training sets of this size have."""
        return RESPLIT if self.name == CROSSED and size > limits.POOL_SHARE * self.pool else self.name

    def splits(self, size: int) -> list[Split]:
        """The splits for training sets of this size."""
        return self.redrawn if self.of(size) != self.name else self.nested

    def at(self, places: Array) -> Design:
        """The same splits of rows that stand at these places among others."""
        nested, redrawn = (
            [Split(places[s.train], places[s.test]) for s in some] for some in (self.nested, self.redrawn)
        )
        return replace(self, nested=nested, redrawn=redrawn)


def make_design(
    name: str,
    design: str,
    y: Array,
    splits: int | Forward,
    seed: int,
    sizes: Any = None,
    groups: Any = None,
    most_test: int = limits.MOST_SCORED,
) -> Design:
    """The design of a data set with labels y; of held-out rows at most ``most_test`` are scored, the first ones.

    Raises:
        DataError: for sizes that the rows do not have, and groups that do not fit.
    """
    if isinstance(splits, Forward):
        nested, redrawn = _forward(name, len(y), splits), list[Split]()
        design = FORWARD
    elif groups is not None:
        both = design == CROSSED, False
        nested, redrawn = (_by_groups(name, np.asarray(groups), y, splits, seed, same_test=same) for same in both)
    else:
        test = stratified_split(y, np.random.default_rng([seed])).test
        rest = np.setdiff1d(np.arange(len(y)), test)
        redrawn = [stratified_split(y, np.random.default_rng([seed, split])) for split in range(splits)]
        orders = [rest[stratified_order(y[rest], np.random.default_rng([seed, r + 1]))] for r in range(splits)]
        nested = [Split(order, test) for order in orders] if design == CROSSED else redrawn
    nested, redrawn = ([Split(s.train, s.test[:most_test]) for s in some] for some in (nested, redrawn))
    pool = min(len(split.train) for split in (*nested, *redrawn))
    if sizes is None:
        return Design(design, half_octaves(pool, most=limits.POOL_SHARE), nested, redrawn)
    if max(sizes) > pool:
        raise DataError(
            f"set '{name}' has {pool:,} rows to train on (of {len(y):,}; the others are test rows), fewer than the "
            f"size {max(sizes):,}: leave out the size or the set"
        )
    return Design(design, tuple(sorted({*sizes})), nested, redrawn)


def growing_sizes(num_train: int, num_classes: int) -> tuple[int, ...]:
    """The training sizes 20, 50, 100, 200, 500, ..., 10,000, 100,000, ..., and finally all training rows.

    Sizes below the number of classes are left out, and so are sizes above 80 % of the training rows. Above 10,000 rows
    scores change little from one to the next, and fits take the longest.
    """
    tens = [10**power for power in range(1, 12)]
    steps = (digit * ten for ten in tens for digit in ((1, 2, 5) if ten < limits.SPACED_SIZES else (1,)))
    inner = [step for step in steps if max(20, num_classes) <= step <= 0.8 * num_train]
    return (*inner, num_train)


def half_octaves(pool: int, most: float) -> tuple[int, ...]:
    """The sizes 16, 23, 32, 45, 64, ..., 16 * 2^(k / 2) rounded, up to a share of the pool; or this share alone."""
    steps = (round(16 * 2 ** (k / 2)) for k in range(64))
    return tuple(size for size in steps if size <= most * pool) or (max(2, int(most * pool)),)


def _forward(name: str, num_rows: int, given: Forward) -> list[Split]:
    test_rows = given.test_rows or max(1, num_test_rows(num_rows) // given.splits)
    pool = num_rows - given.splits * test_rows
    if pool < 2:
        raise DataError(
            f"set '{name}' has {num_rows:,} rows, too few for {given.splits} test parts of {test_rows:,}: give fewer, "
            "splits=nb.forward(3, test_rows=10)"
        )
    starts = pool + test_rows * np.arange(given.splits)
    return [Split(np.arange(s - pool, s)[::-1], np.arange(s, s + test_rows)) for s in starts.tolist()]


def _by_groups(name: str, groups: Array, y: Array, splits: int, seed: int, *, same_test: bool) -> list[Split]:
    """Splits in which a group, such as a patient, trains or tests as a whole; groups are in random order."""
    names, group = np.unique(groups, return_inverse=True)
    if len(names) < 3:
        few = f"set '{name}' has {len(names)} groups, too few to train and test on different ones"
        raise DataError(f"{few}: give a column of three or more, or no groups if rows are independent")

    def order(among: Array, rng: np.random.Generator) -> Array:
        place = np.full(len(names), -1)
        place[rng.permutation(among)] = np.arange(len(among))
        rows = rng.permutation(np.flatnonzero(np.isin(group, among)))
        return rows[np.argsort(place[group[rows]], kind="stable")]

    def test_groups(rng: np.random.Generator) -> Array:
        shuffled = rng.permutation(len(names))
        rows = np.cumsum(np.bincount(group, minlength=len(names))[shuffled])
        return shuffled[: min(1 + int(np.searchsorted(rows, num_test_rows(len(y)))), len(names) - 1)]

    found = []
    for split in range(splits):
        rng = np.random.default_rng([seed, split + 1])
        held = test_groups(np.random.default_rng([seed]) if same_test else rng)
        train = order(np.setdiff1d(np.arange(len(names)), held), rng)
        found.append(Split(train, np.flatnonzero(np.isin(group, held))))
    pool = min(len(split.train) for split in found)
    return [Split(split.train[:pool], split.test) for split in found]


def num_test_rows(num_rows: int) -> int:
    """The number of rows of a table to hold out: 30 %, at least one."""
    return max(1, round(limits.TEST_SHARE * num_rows))


def default_repeats(num_rows: int) -> int:
    """The number of splits if none is given: 20, or fewer for tables above 50,000 rows, at least 3.

    The more rows, the less the metrics of two splits differ, and the longer each takes.
    """
    return int(np.clip(limits.SPLIT_ROWS // num_rows, 3, limits.MOST_SPLITS))


def stratified_split(y: Array, rng: np.random.Generator) -> Split:
    """Held-out rows, and the rest in an order in which every prefix has nearly the class proportions of the table.

    Args:
        y: Labels [N], integers.
        rng: The random generator.
    """
    order = stratified_order(y, rng)
    cut = len(y) - num_test_rows(len(y))
    return Split(order[:cut], order[cut:])


def stratified_order(y: Array, rng: np.random.Generator) -> Array:
    """A random order of rows in which every part has nearly the class proportions of the table.

    The rows of a class of size m, in random order, get the times (0 + u) / m, (1 + u) / m, ... with one uniform u per
    class, and all classes are merged by time. Every prefix then has each class's proportional number of rows to within
    one, and so have the last rows. A class with a single row is on either side of a cut with the right probability.
    """
    shuffled = rng.permutation(len(y))
    times = np.empty(len(y))
    for k in np.unique(y):
        members = shuffled[y[shuffled] == k]
        times[members] = (np.arange(len(members)) + rng.uniform()) / len(members)
    return np.argsort(times, kind="stable")
