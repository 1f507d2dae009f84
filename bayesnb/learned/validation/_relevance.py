"""Powers of a wide table, of more columns than rows: one power, times the probability that each column matters.

    w_d = T P_d,   P_d = sigmoid(log BF_d + a)

BF_d is the Bayes factor for parameters by class against one set for all classes (``fit_averaged``), and a the prior log
odds that a column depends on the class. A row that is left out is judged by the Bayes factor of the other rows, which
the chain rule gives exactly: log BF_d less log p(x_d | its class, the others) - log p(x_d | the others). T and a have
the largest left-out probability of the labels, so that columns are not chosen by the rows that judge them (Ambroise and
McLachlan, Selection bias in gene extraction on the basis of microarray gene-expression data, 2002).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import Array, to_double
from bayesnb.core.families._base import left_out
from bayesnb.core.families._views import of_evidence
from bayesnb.core.fits._averaged import is_alike_for_classes, log_bayes_factors, one_class
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.learned.validation._learn_powers import learn_temperature
from bayesnb.learned.validation._ratio_table import Judged, LeftOutRatios, softmax

LOG_ODDS = np.arange(-12.0, 4.5)
"""The prior log odds that are tried: from one column in 160,000 to nearly all."""


def is_wide(sizes: Mapping[str, int], num_rows: float) -> bool:
    """Whether blocks of these sizes have more features than there are rows, which cannot teach a power of each."""
    return sum(size for size in sizes.values() if size > 1) > num_rows


def can_learn_each(num_rows: int, num_classes: int, num_powers: int) -> bool:
    """Whether to learn a power of each feature takes seconds."""
    return num_rows * (num_classes - 1) * num_powers**2 <= limits.MOST_PRODUCTS


def judge_relevance(fit: Posterior, rows: LabelledRows, table: LeftOutRatios) -> Judged:
    """The powers [F] of relevant columns, and what they say of the rows without themselves."""
    without, log_factors = _log_bayes_factors(fit, rows, table.sizes)
    with np.errstate(over="ignore"):
        odds_against, found = np.exp(-without), []
    for log_odds in LOG_ODDS:
        summed = np.empty((*table.prior.shape, 1))

        def fill(some: slice, out: Array = summed, factor: float = math.exp(-log_odds)) -> None:
            out[some, :, 0] = np.einsum("nkf,nf->nk", table.ratios[some], 1.0 / (1.0 + factor * odds_against[some]))

        in_threads(fill, table.blocks)
        one = replace(table, ratios=summed)
        temperature = learn_temperature(one)
        nats = softmax(one.joint(np.array([temperature])))[1]
        powers = temperature * either.sigmoid(log_factors + log_odds)
        found.append(Judged(powers, nats))
    return min(found, key=lambda one: float(table.weight @ one.nats))


def _log_bayes_factors(fit: Posterior, rows: LabelledRows, sizes: dict[str, int]) -> tuple[Array, Array]:
    """log BF of the features without each row [N, F] and with all [F]: infinite where a block has one power, or other
    hyperparameters by class, which one set of parameters for all classes cannot have.
    """
    given = {name: of_evidence(family, fit.statistics.blocks[name]) for name, family in fit.prior.families.items()}
    families = {name: family for name, (family, _) in given.items()}
    prior = fit.prior.with_hyperparameters(families, fit.prior.class_concentration)
    statistics = replace(fit.statistics, blocks={name: found for name, (_, found) in given.items()})
    factors, pooled = compute(log_bayes_factors, *to_double((prior, statistics))), statistics.pool()
    y, once = rows.labels.y, np.minimum(rows.weight(), 1.0)
    of_rows, of_all = [], []
    for name, size in sizes.items():
        x, family, factor = rows.arrays[name], families[name], np.asarray(factors[name])
        if size < x.shape[1] or family.one_feature or not is_alike_for_classes(family):
            factor, gain = np.full(size, np.inf), np.zeros((len(y), size))
        else:
            gain = _of_own_class(family, statistics.blocks[name], x, y, once)
            gain -= _of_own_class(one_class(family), pooled[name], x, np.zeros_like(y), once)
        views = size // len(factor)
        of_rows.append(np.tile(factor - gain, views))
        of_all.append(np.tile(factor, views))
    return np.concatenate(of_rows, axis=1), np.concatenate(of_all)


def _of_own_class(family: Any, statistics: Any, x: Array, y: Array, weight: Array) -> Array:
    """log p(x_d | the row's class y, the other rows), [N, D]."""
    terms, found = left_out(family, statistics, y, weight), np.empty(x.shape)

    def part(some: slice) -> None:
        own = y[some]
        found[some] = np.asarray(terms(x[some], own, weight[some]))[np.arange(len(own)), own]

    in_threads(part, row_blocks(len(x), 8 * x.shape[1] * (y.max(initial=0) + 1), block_bytes=limits.IN_CACHE))
    return found
