"""The difference of two methods on one data set, and how far it may be from the true one: one estimator a design.

    mean +- t_f error

is an interval, and the posterior of the true difference under a flat prior. The true difference is that of the expected
scores of the two methods, over training sets of one size and over test rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from bayesnb.compute.arrays._typing import Array, ArrayLike
from bayesnb.core.results._intervals import tails


class Regions(NamedTuple):
    """The probabilities that a difference is below, within and above the region of practical equivalence."""

    below: float
    within: float
    above: float


@dataclass(frozen=True)
class Difference:
    """A mean difference, and the Student t of the true one.

    Attributes:
        mean: Over splits and test rows.
        error: Its standard error; NaN if one split does not tell it.
        freedom: Degrees of freedom.
        estimator: What was computed, as tables name it.
    """

    mean: float
    error: float
    freedom: float
    estimator: str

    @property
    def half(self) -> float:
        """Half the width of the 95 % interval."""
        return self.interval()[1] - self.mean

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The equal-tailed interval at a level."""
        low, high = self.mean + self.error * stats.t.ppf(tails(level), self.freedom)
        return float(low), float(high)

    def regions(self, rope: float = 0.0) -> Regions:
        """The probabilities of less than -rope, of what is between, and of more than rope.

        Without error the mean has probability 1, and a mean of 0 half on either side if ``rope`` is 0.
        """
        check_rope(rope)
        if self.error == 0:
            below, above = (np.heaviside(sign * self.mean - rope, 0.0 if rope else 0.5) for sign in (-1, 1))
        else:
            below, above = stats.t.cdf((-rope - np.multiply([1, -1], self.mean)) / self.error, self.freedom)
        return Regions(float(below), float(1 - below - above), float(above))


def check_rope(rope: float) -> None:
    """ValueError for what bounds no region around 0."""
    if not 0 <= rope < np.inf:
        raise ValueError(f"rope is the largest difference that counts as none, a number of 0 or more, got {rope!r}")


def crossed(rows: ArrayLike, size: int, pool: int, *, skewed: bool) -> Difference:
    """Every training set met the same test rows; training sets are drawn from one pool, which they share.

        d_ri = mu + a_r + b_i + e_ri,    q = n / (M - n),    m_a, m_b, m_e: variances of d_r., d_.i and of what is left

        error^2 = (m_a - m_e / T) (1/R + q) + m_b / T

    m_a - m_e / T estimates the variance of a training set's effect among sets from this pool; sets of another pool
    differ by q more, as the delete-d jackknife has it (Shao and Wu, A general theory for jackknife variance
    estimation, 1989). m_b has the test rows' effects, and how these rows get on with this pool. Without the pool it is
    the crossed design of Rasmussen, Evaluation of Gaussian processes and other methods for non-linear regression
    (1996). Degrees of freedom: Satterthwaite's.

    A log loss is so skewed that such an interval is too short. For it the interaction is counted with the pool as well,

        error^2 = m_a (1/R + q) + max(m_b - m_e / R, 0) / T

    Args:
        rows: d, the differences of each split and test row [R, T].
        size: n, the rows of a training set.
        pool: M, the rows from which each was drawn, more than n.
        skewed: Whether the scores of rows have long tails, as a log loss has, and an error or a Brier score has not.
    """
    rows = _finite(rows, 2)
    (splits, tests), q = rows.shape, size / (pool - size)
    if min(splits, tests) < 2:
        return _without(rows, "one split" if splits < 2 else "one test row")
    train, test = rows.mean(axis=1), rows.mean(axis=0)
    left = rows - train[:, None] - test + rows.mean()
    m_e = np.sum(left**2) / ((splits - 1) * (tests - 1))
    m_a, m_b = (float(np.var(means, ddof=1)) for means in (train, test))
    if skewed:
        parts = m_a * (1 / splits + q), max(m_b - m_e / splits, 0.0) / tests
    else:
        parts = max(m_a - m_e / tests, 0.0) * (1 / splits + q), m_b / tests
    variance = sum(parts)
    spread = parts[0] ** 2 / (splits - 1) + parts[1] ** 2 / (tests - 1)
    freedom = variance**2 / spread if spread else splits - 1.0
    return Difference(float(rows.mean()), float(np.sqrt(variance)), freedom, "crossed")


def corrected(splits: ArrayLike, ratio: float) -> Difference:
    """The corrected resampled t: each split drew its training and its test rows anew.

        error^2 = s^2 (1/R + n_test / n_train),    R - 1 degrees of freedom

    Nadeau and Bengio, Inference for the generalization error (2003); as a posterior, Corani and Benavoli, A Bayesian
    approach for comparing cross-validated algorithms on multiple data sets (2015). In k folds, repeated or not, the
    ratio is 1 / (k - 1). Where training sets are small, it is far too wide.

    Args:
        splits: The mean difference of each split [R].
        ratio: Test rows over training rows of a split.
    """
    splits = _finite(splits, 1)
    if len(splits) < 2:
        return _without(splits, "one split")
    variance = np.var(splits, ddof=1) * (1 / len(splits) + ratio)
    return Difference(float(splits.mean()), float(np.sqrt(variance)), len(splits) - 1, "corrected resampled t")


def _without(values: Array, reason: str) -> Difference:
    """A mean whose error nothing tells."""
    return Difference(float(values.mean()), np.nan, np.nan, f"no interval: {reason}")


def _finite(values: ArrayLike, dimensions: int) -> Array:
    table = np.asarray(values, float)
    if table.ndim != dimensions or not table.size or not np.isfinite(table).all():
        raise ValueError(
            f"differences must be finite numbers in {dimensions} dimensions, [splits, rows] or [splits], got shape "
            f"{table.shape} with {np.sum(~np.isfinite(table))} others: leave out the splits that failed"
        )
    return table
