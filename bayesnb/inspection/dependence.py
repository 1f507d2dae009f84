"""Tests of the naive assumption: mutual information and a Bayes factor of every pair of features, given the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from bayesnb.arrays import memory
from bayesnb.arrays.placement import fill_masked_codes, to_host
from bayesnb.arrays.typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.families import Family
from bayesnb.families.words import FAMILIES
from bayesnb.inspection.pair_statistics import TINY, pairs_of
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows import arguments
from bayesnb.rows.checks import check_shapes, check_values
from bayesnb.rows.labelled_rows import LabelledRows
from bayesnb.rows.labels import check_labels

STRONG = 5.0
"""The log Bayes factor above which a pair counts as dependent: 150 to 1."""

MOST_CATEGORIES = 1000
"""The most categories of an integer column without a model; more are probably measurements or row identifiers."""


class Pair(NamedTuple):
    """Two columns, their mutual information given the class in nats, and the log Bayes factor for dependence.

    ``per_row`` is the evidence per row in nats, 0 if it does not favour dependence; see ``Dependence``.
    """

    first: str
    second: str
    mutual_information: float
    log_bayes_factor: float
    per_row: float


@dataclass(frozen=True, eq=False, repr=False)
class Dependence:
    """Every pair of columns, given the class.

    Attributes:
        names: The columns' names [D]: their numbers, prefixed by the block's name if X has blocks.
        mutual_information: I(a; b | class) in nats [D, D]; symmetric, 0 on the diagonal.
        log_bayes_factor: log p(rows | dependent) - log p(rows | independent) [D, D]; likewise. 5 are 150 to 1.
        evidence_per_row: log Bayes factor / rows in nats [D, D], 0 for a factor below 5: with many rows the mutual
            information. For categories the factor is the smaller of two, with margins of their own Dirichlet(1), and
            with those that the prior over cells implies: independent columns with few rows a category get 0.
        nearly_unique: The positions of columns of categories with fewer than two rows a category. The mutual
            information of their counts is mostly noise: it is near its maximum even for independent columns.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]] * 5, [0, 1, 0, 1] * 5  # columns 0 and 1 are copies
        >>> found = nb.dependence(X, y)
        >>> found.log_bayes_factor.round(1)
        array([[ 0. ,  9.3, -1.7],
               [ 9.3,  0. , -1.7],
               [-1.7, -1.7,  0. ]])
        >>> [(pair.first, pair.second) for pair in found.strongest(1)]
        [('0', '1')]
    """

    names: tuple[str, ...]
    mutual_information: Array
    log_bayes_factor: Array
    evidence_per_row: Array
    nearly_unique: tuple[int, ...] = ()

    def strongest(self, count: int = 10) -> list[Pair]:
        """The pairs with the most evidence for dependence, by their log Bayes factor; those without evidence last."""
        arguments.check_counts(count=count)
        first, second = np.triu_indices(len(self.names), 1)
        tables = self.mutual_information, self.log_bayes_factor, self.evidence_per_row
        nats, factors, per_row = (table[first, second] for table in tables)
        order = np.lexsort((-factors, per_row <= 0))[:count]
        numbers = np.stack([nats, factors, per_row], axis=1).tolist()
        return [Pair(self.names[first[i]], self.names[second[i]], *numbers[i]) for i in order]

    def among(self, columns: Sequence[int] | Array) -> Dependence:
        """The result for a subset of the columns, by their positions."""
        index = np.ix_(np.asarray(columns), np.asarray(columns))
        names = tuple(self.names[column] for column in columns)
        tables = self.mutual_information, self.log_bayes_factor, self.evidence_per_row
        unique = tuple(place for place, column in enumerate(columns) if column in self.nearly_unique)
        information, factor, per_row = (table[index] for table in tables)
        return Dependence(names, information, factor, per_row, unique)

    def __repr__(self) -> str:
        above = np.triu_indices(len(self.names), 1)
        factors, per_row = self.log_bayes_factor[above], self.evidence_per_row[above]
        return f"Dependence({len(factors)} pairs, {np.sum((factors > STRONG) & (per_row > 0))} surely dependent)"


def dependence(
    X: Rows, y: LabelsLike, *, sample_weight: ArrayLike | None = None, model: NaiveBayes | None = None
) -> Dependence:
    """The mutual information and the Bayes factor of every pair of columns given the class: a test of the assumption.

    Each pair is compared in each class, on the n rows where both cells are observed.

    Two columns of categories: I_k is the mutual information of the counts in class k, and BF_k the Bayes factor of one
    Dirichlet(1) over all cells against a Dirichlet(1) for each of two independent margins. It favours dependence only
    with several rows per cell. Gunel and Dickey, Bayes factors for independence in contingency tables (1974); Jamil et
    al., Default "Gunel and Dickey" Bayes factors for contingency tables (2017), joint multinomial sampling.

    With a real column: I_k = -1/2 log(1 - n / (n + 1) R^2), where R^2 is the share of its variance in the class that
    the other column explains, and log BF_k = (n - 1) I_k - p/2 log(n + 1) with p slopes: 1 if the other column is real,
    else the number of its categories seen in the class minus one; their entropy then bounds I_k. Liang et al., Mixtures
    of g priors for Bayesian variable selection (2008), with unit information, g = n. Dependence that does not affect
    the mean of the real column is not detected.

    The mutual information is sum_k p_k I_k, where p_k is the class's share of the pair's rows; the log Bayes factor is
    the sum of log BF_k. Everything is in float64.

    Args:
        X: An array [N, D], or a dict of arrays by block. Booleans and integers are categories, codes 0, 1, ... with
            negative ones missing; floats are real, with NaN missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        sample_weight: Weights [N]; a weight of 2 is the row twice.
        model: A NaiveBayes of Bernoulli, Categorical and Normal blocks, which then determine the types of columns.

    Raises:
        ValueError: for shapes, types or values that do not fit, families whose pairs have no closed form, a single
            column, and inside a JAX transformation.

    Example:
        >>> import math, bayesnb as nb
        >>> X, y = [[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]] * 5, [0, 1, 0, 1] * 5  # columns 0 and 1 are copies
        >>> nb.dependence(X, y).mutual_information.round(2), round(math.log(2), 2)  # nats of an even coin
        (array([[0.  , 0.69, 0.  ],
               [0.69, 0.  , 0.  ],
               [0.  , 0.  , 0.  ]]), 0.69)
    """
    if model is not None and not isinstance(model, NaiveBayes):
        raise ValueError(f"model must be a NaiveBayes, got {type(model).__name__}: nb.NaiveBayes(nb.Normal())")
    arguments.require_known("dependence", X, y, sample_weight)
    single, columns, num_classes = not isinstance(X, Mapping), None, None
    # without a model these families only carry the names of the blocks: the types of cells decide, below
    blocks = [*X] if isinstance(X, Mapping) else ["x"]
    families: Mapping[str, Family] = dict.fromkeys(blocks, FAMILIES["normal"]())
    cells, labels, weight = to_host((X, y, sample_weight))
    if model is None:
        cells = jax.tree.map(fill_masked_codes, cells)
    else:
        single, families, columns, num_classes = model.single, model.families, model.columns, model.num_classes
        cells = model.by_block(cells)
    arrays = check_shapes(families, single, cells, columns)
    num_columns = sum(x.shape[1] for x in arrays.values())
    if num_columns < 2:
        raise ValueError(f"dependence is between two columns, X has {num_columns}: give at least two")
    num_rows = next(iter(arrays.values())).shape[0]
    if not num_rows:
        raise ValueError("dependence is estimated from rows, and X has none")
    rows = LabelledRows(families, arrays, *check_labels(labels, weight, num_rows, num_classes)).drop_unused()
    arrays = rows.arrays
    if model is None:
        families = {name: _family(x, name) for name, x in arrays.items()}
    check_values(families, arrays)
    for name, family in families.items():
        if not (all(family.category_sizes(arrays[name].shape[1])) or family.gaussian_pairs):
            raise ValueError(
                f"block {name!r} is {type(family).__name__}: pairs have a closed form for Bernoulli, Categorical and "
                "Normal blocks only; leave the block out of X and of the model"
            )
    # the number of categories of each column, 0 for a real one
    sizes = np.concatenate([np.array(f.category_sizes(arrays[b].shape[1]), int) for b, f in families.items()])
    # one feature per category, and three per real column: whether it is observed, its value and its square
    width = int(sizes.sum() + 3 * (sizes == 0).sum())
    memory.require(16 * width**2, f"every pair of {num_columns:,} columns", "give fewer columns, or fewer categories")
    names = [str(d) if single else f"{name}_{d}" for name, x in arrays.items() for d in range(x.shape[1])]
    table = np.concatenate([_cells(family, arrays[name]) for name, family in families.items()], axis=1)
    unique = tuple(d for d in np.flatnonzero(sizes).tolist() if _is_nearly_unique(table[:, d]))
    return Dependence(tuple(names), *_over_classes(table, rows, sizes), unique)


def _is_nearly_unique(codes: Array) -> bool:
    codes = codes[~np.isnan(codes)]
    return 2 * len(np.unique(codes)) > len(codes)


def _over_classes(cells: Array, rows: LabelledRows, sizes: Array) -> tuple[Array, Array, Array]:
    """The mutual information given the class, the log Bayes factor and the evidence per row of pairs, [D, D] each."""
    # pairs_of takes columns of categories first
    order = np.argsort(sizes == 0, kind="stable")
    cells, num_categories = cells[:, order], sizes[sizes > 0]
    total, information, evidence, cautious = np.zeros((4, len(sizes), len(sizes)))
    y, weights = rows.labels.y, rows.weight()
    for k in range(rows.num_classes) if rows.labels.soft else np.unique(y):
        weight = y[:, k] if rows.labels.soft else np.where(y == k, weights, 0.0)
        members = weight > 0
        if not members.any():
            continue
        pairs = pairs_of(cells[members], weight[members], num_categories)
        total += pairs.weight
        information += pairs.weight * pairs.information
        evidence += pairs.evidence
        cautious += pairs.cautious
    back = np.ix_(np.argsort(order), np.argsort(order))
    per_row = np.where(cautious > STRONG, cautious, 0.0) / np.maximum(total, TINY)
    information = information / np.maximum(total, TINY)
    return _symmetric(information)[back], _symmetric(evidence)[back], _symmetric(per_row)[back]


def _symmetric(pairs: Array) -> Array:
    """The pairs made exactly symmetric, as rounding may differ between (a, b) and (b, a), with 0 on the diagonal."""
    pairs = 0.5 * (pairs + pairs.T)
    return np.where(np.eye(len(pairs), dtype=bool), 0.0, pairs)


def _family(x: Array, block: str) -> Family:
    """The family for a block's type of cells."""
    if x.dtype == bool:
        return FAMILIES["bernoulli"]()
    if not np.issubdtype(x.dtype, np.integer):
        return FAMILIES["normal"]()
    largest = x.max(axis=0, initial=0)
    if (largest >= MOST_CATEGORIES).any():
        raise ValueError(
            f"block {block!r}, column {largest.argmax()}: integers must be categories 0..{MOST_CATEGORIES - 1}, "
            f"got {largest.max()}; give measurements as floats, or recode the column"
        )
    return FAMILIES["categorical"](tuple(largest.astype(int) + 1))


def _cells(family: Family, x: Array) -> Array:
    """The cells in float64, NaN where missing, [N, D]."""
    seen = family.seen(x)
    return (x if seen is None else np.where(seen, x, np.nan)).astype(np.float64)
