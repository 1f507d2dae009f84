"""The experiment: a table with its models and its splits, each made once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayesnb.comparison.splits import MOST_TEST_ROWS, Split, make_splits, num_test_rows
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.series import Array
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.sklearn.default import specification

if TYPE_CHECKING:
    from bayesnb.files.tables.table import Table

Rows = tuple[dict[str, Array], Array]
"""Features by block, and labels."""


class FirstSplit(NamedTuple):
    """A table, the model of full Bayes, and the first split's test rows and largest training set."""

    table: Table
    model: NaiveBayes
    train: Rows
    test: Rows


@dataclass(frozen=True, eq=False)
class Experiment:
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
    most_test: int = MOST_TEST_ROWS
    model: NaiveBayes | None = None

    @property
    def num_test(self) -> int:
        """The number of test rows that are scored in each split."""
        return min(num_test_rows(len(self.table.y)), self.most_test)

    @cached_property
    def bayes(self) -> NaiveBayes:
        """The model of full Bayes."""
        return bayes_model(self.table) if self.model is None else self.model

    @cached_property
    def views(self) -> NaiveBayes:
        """The model of the estimator's default: numbers whose likelihood nobody chose are seen by several views."""
        if self.model is not None:
            return self.model
        schema, classes = FrameSchema(self.table.columns), np.asarray(self.table.classes)
        return specification("posterior", 1.0, schema, classes, views=True)

    @cached_property
    def laplace(self) -> NaiveBayes:
        """The model of MAP."""
        return bayes_model(self.table, laplace=True) if self.model is None else self.model

    @cached_property
    def splits(self) -> list[Split]:
        """All splits."""
        return make_splits(self.table, self.repeats, self.seed, self.most_test)

    @cached_property
    def first(self) -> FirstSplit:
        """The first split's test rows and largest training set."""
        train, test = self.splits[0]
        return FirstSplit(self.table, self.bayes, self.table.rows(train[: self.sizes[-1]]), self.table.rows(test))


def bayes_model(table: Table, *, laplace: bool = False) -> NaiveBayes:
    """The model of a table.

    Args:
        table: The data.
        laplace: The prior of counts and of classes is Dirichlet(2), whose mode is Laplace's rule, instead of
            Dirichlet(1). The prior of numbers is the unit-information prior in either case.
    """
    likelihoods = FrameSchema(table.columns).likelihoods(1.0, laplace=laplace)
    # a small training set may lack a class, so the number of classes is declared
    return NaiveBayes(likelihoods, class_concentration=2.0 if laplace else 1.0, num_classes=len(table.classes))
