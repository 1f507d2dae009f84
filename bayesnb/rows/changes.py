"""Statistics of rows that are taken away, or count less: the fit of what remains needs no second look at the others."""

from __future__ import annotations

from bayesnb.arrays.placement import is_traced, promote_dtypes
from bayesnb.rows.arguments import check_factors
from bayesnb.rows.model_statistics import ModelStatistics, require_alike, require_statistics


@promote_dtypes
def subtract(total: ModelStatistics, part: ModelStatistics) -> ModelStatistics:
    """The statistics of all rows but those of ``part``: a fit to them is the fit without these rows.

    Categories and edges that only these rows had stay. Both must be counted under the same likelihoods, categories,
    classes and edges. Counts of unweighted rows come out exactly. Each merge or subtraction changes n, n |mean| and the
    sum of squares about zero by at most 16 rounding errors (2.2e-16 in float64) of the largest total held; those of a
    chain of steps add up.

    Args:
        total: The statistics of all rows.
        part: Those of the rows to take away.

    Raises:
        ValueError: if the statistics are not alike, or the rows cannot have been counted: more of them than in the
            total, or squares that do not fit. What was counted is unchanged.

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.Normal(), num_classes=2)
        >>> total = nb.sufficient_statistics(model, [[1.0], [2.0], [6.0]], [0, 0, 1])
        >>> left = nb.subtract(total, nb.sufficient_statistics(model, [[2.0]], [0]))
        >>> left.class_counts.tolist(), left.blocks["x"].mean.tolist()
        ([1.0, 1.0], [[1.0], [6.0]])
    """
    require_statistics("subtract", total, part)
    total, part = require_alike(total, part, "subtracted")
    if not is_traced(total, part):
        total.require_part(part)
    return total.minus(part)


@promote_dtypes
def discount(statistics: ModelStatistics, factor: float | dict[str, float]) -> ModelStatistics:
    """The statistics of the same rows, each of ``factor`` times its weight: old rows count less than new ones.

    A fit to them lies between that to the rows and the prior, which a factor of 0 leaves alone. The prior itself does
    not fade: resolve the model first if its hyperparameters must not follow the discounted rows.

    Args:
        statistics: The statistics of the old rows.
        factor: A number in [0, 1], or a dict of one for each block and for "label", the class probabilities.

    Raises:
        ValueError: for a factor outside [0, 1], or names other than "label" and those of the blocks.

    Example:
        >>> import bayesnb as nb
        >>> total = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), [[1.0], [3.0]], [0, 0])
        >>> half = nb.discount(total, 0.5)
        >>> half.class_counts.tolist(), half.blocks["x"].mean.tolist()
        ([1.0], [[2.0]])
    """
    require_statistics("discount", statistics)
    return statistics.discount(check_factors(factor, [*statistics.blocks]))
