"""The experiment: a table with its models, and its repeated stratified splits with nested training sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayesnb.arrays import _limits as limits
from bayesnb.frames._schema import Schema
from bayesnb.frames._series import Array, DataError
from bayesnb.model._naive_bayes import NaiveBayes

if TYPE_CHECKING:
    from bayesnb.files._description import Table


class Split(NamedTuple):
    """One random order of the rows: prefixes of it are training sets, its last rows are the test set.

    Attributes:
        train: Indices of training rows [N - T]; the training set of size n is `train[:n]`.
        test: Indices of test rows [T].
    """

    train: Array
    test: Array


def make_splits(table: Table, repeats: int, seed: int, most_test: int | None = None) -> list[Split]:
    """Random splits; split r has the seed (seed, r), so that more repeats keep the earlier splits.

    Of the held-out rows at most ``most_test`` are scored, the first ones, which are stratified too.
    """
    splits = (stratified_split(table.y, np.random.default_rng([seed, repeat])) for repeat in range(repeats))
    return [Split(split.train, split.test[:most_test]) for split in splits]


def num_test_rows(num_rows: int) -> int:
    """The number of rows of a table to hold out: 30 %, at least one."""
    return max(1, round(limits.TEST_SHARE * num_rows))


def default_repeats(num_rows: int) -> int:
    """The number of splits if none is given: 20, or fewer for tables above 50,000 rows, at least 5.

    The more rows, the less the metrics of two splits differ, and the longer each takes.
    """
    return int(np.clip(limits.SPLIT_ROWS // num_rows, 5, 20))


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


def choose_sizes(table: Table, sizes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The given training sizes, checked and sorted, or `growing_sizes`.

    Raises:
        DataError: if there is no size, or one is below 2 or above the number of rows that are not held out.
    """
    num_train = len(table.y) - num_test_rows(len(table.y))
    if sizes is None:
        return growing_sizes(num_train, len(table.classes))
    if not len(sizes):
        raise DataError("no training size is given: give at least one, or None for sizes that grow to all rows")
    if max(sizes) > num_train:
        raise DataError(
            f"a training size of {max(sizes):,} is more than the {num_train:,} training rows "
            f"(70 % of {len(table.y):,} rows; the others are test rows)"
        )
    if min(sizes) < 2:
        raise DataError(f"a training size of {min(sizes)} is too small; the smallest is 2")
    return tuple(sorted(set(sizes)))


def growing_sizes(num_train: int, num_classes: int) -> tuple[int, ...]:
    """The training sizes 20, 50, 100, 200, 500, ..., and finally all training rows.

    Sizes below the number of classes are left out, and so are sizes above 80 % of the training rows.
    """
    steps = (digit * 10**power for power in range(1, 12) for digit in (1, 2, 5))
    inner = [step for step in steps if max(20, num_classes) <= step <= 0.8 * num_train]
    return (*inner, num_train)


Rows = tuple[dict[str, Array], Array]
"""Features by block, and labels."""


class Models:
    """The models of a table that the methods fit."""

    table: Table
    model: NaiveBayes | None

    @cached_property
    def bayes(self) -> NaiveBayes:
        """The model of full Bayes."""
        return bayes_model(self.table) if self.model is None else self.model

    @cached_property
    def laplace(self) -> NaiveBayes:
        """The model of MAP."""
        return bayes_model(self.table, laplace=True) if self.model is None else self.model


@dataclass(frozen=True, eq=False)
class Experiment(Models):
    """What is to be compared.

    Attributes:
        table: The data.
        sizes: Training sizes, as `choose_sizes` returns them.
        repeats: The number of random splits.
        seed: The random seed of the splits and of the random forest.
        most_test: The most test rows that are scored in each split.
        model: The model of all methods, with a prior of its own; None for the models of ``bayes_model``.
    """

    table: Table
    sizes: tuple[int, ...]
    repeats: int
    seed: int
    most_test: int = limits.MOST_TEST_ROWS
    model: NaiveBayes | None = None

    @property
    def num_test(self) -> int:
        """The number of test rows that are scored in each split."""
        return min(num_test_rows(len(self.table.y)), self.most_test)

    @cached_property
    def splits(self) -> list[Split]:
        """All splits."""
        return make_splits(self.table, self.repeats, self.seed, self.most_test)

    @cached_property
    def first(self) -> tuple[Rows, Rows]:
        """The first split's largest training set and its test rows."""
        train, test = self.splits[0]
        return self.table.rows(train[: self.sizes[-1]]), self.table.rows(test)


def bayes_model(table: Table, *, laplace: bool = False, smoothing: float = 1.0) -> NaiveBayes:
    """The model of a table.

    Args:
        table: The data.
        laplace: The prior of counts and of classes is Dirichlet(2), whose mode is Laplace's rule, instead of
            Dirichlet(1). The prior of numbers is the unit-information prior in either case.
        smoothing: l of the features' priors, 1 by default; see ``Schema.likelihoods``.
    """
    likelihoods = Schema(table.columns).likelihoods(smoothing, laplace=laplace)
    # a small training set may lack a class, so the number of classes is declared
    return NaiveBayes(likelihoods, class_concentration=2.0 if laplace else 1.0, num_classes=len(table.classes))
