"""Repeated stratified splits with nested training sets."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

TEST_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class Split:
    """One random order of the rows: training sets are its first rows, the test set its last.

    Attributes:
        train: Rows to learn from [N - T]; the training set of size n is `train[:n]`.
        test: Rows to judge by [T].
    """

    train: Array
    test: Array


def num_test_rows(num_rows: int) -> int:
    """Return how many rows of a table are held out: 30 %, at least one."""
    return max(1, round(TEST_SHARE * num_rows))


def stratified_split(y: Array, rng: np.random.Generator) -> Split:
    """Hold out rows, and order the rest so that every prefix has the classes in nearly their right shares.

    The rows of a class of size m, in random order, stand at the times (0 + u) / m, (1 + u) / m, ... with one uniform u
    for each class, and all classes are merged by time. A prefix then holds within one row of its share of each class,
    and so does the test set. A class with a single row falls on either side with the right probability.

    Args:
        y: Labels [N], integers.
        rng: Where the randomness comes from.
    """
    shuffled = rng.permutation(len(y))
    times = np.empty(len(y))
    for k in np.unique(y):
        members = shuffled[y[shuffled] == k]
        times[members] = (np.arange(len(members)) + rng.uniform()) / len(members)
    order = np.argsort(times, kind="stable")
    cut = len(y) - num_test_rows(len(y))
    return Split(order[:cut], order[cut:])


def growing_sizes(num_train: int, num_classes: int) -> tuple[int, ...]:
    """Choose training sizes 20, 50, 100, 200, 500, ..., and at last all rows there are.

    None is smaller than the number of classes, and a step within a fifth of the last is left out.
    """
    steps = (digit * 10**power for power in range(1, 12) for digit in (1, 2, 5))
    inner = [step for step in steps if max(20, num_classes) <= step <= 0.8 * num_train]
    return (*inner, num_train)
