"""Compare models of the same rows by their evidence: log Bayes factors, in a table.

    log BF_ab = log p(X, y | model a) - log p(X, y | model b)

Kass and Raftery, Bayes factors (1995): a factor of 20 (3 nats) is strong evidence, 150 (5 nats) very strong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import jax
import numpy as np
import scipy.special

from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import Array, to_double
from bayesnb.compute.arrays._typing import ArrayLike, Estimator, LabelsLike, Table
from bayesnb.compute.numerics._dirichlet import log_multivariate_beta_ratio
from bayesnb.core.families import Histogram, Likelihood, Mapped, Multinomial, MultivariateNormal, Normal
from bayesnb.core.families._mapped import whole
from bayesnb.core.families._views import Views, generative
from bayesnb.core.families.parts._bin_statistics import bin_mass, same_bins
from bayesnb.core.families.parts._support import require_positive
from bayesnb.core.fits._closed_form import fit_posterior
from bayesnb.core.fits._empirical import EmpiricalPosterior
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Classifier, Posterior
from bayesnb.core.results._unwrap import unwrap_pipeline
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._sufficient_statistics import same_sums
from bayesnb.learned.forests._posterior import ForestPosterior

POOLED = (
    "A prior from the pooled rows has seen them, though not their labels. Models that share it compare well; beside a\n"
    "prior that is given as numbers its evidence is a little too large."
)


@dataclass(frozen=True, repr=False)
class EvidenceComparison:
    """Models of the same rows, the one with the largest evidence first.

    Attributes:
        log_evidence: log p(X, y) of each model by name, in nats, as ``compare_evidence`` makes them comparable.
        probability: The posterior probability of each model, if all were equally probable before.
        from_data: By name, the hyperparameters that have the value which the pooled rows give by default.
        learned: The names of models whose prior was learned from the rows.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1], [1], [1], [0], [0], [0]], [0, 0, 0, 1, 1, 1]
        >>> models = {"flat": nb.NaiveBayes(nb.Bernoulli()), "strong": nb.NaiveBayes(nb.Bernoulli(9, 9))}
        >>> found = nb.compare_evidence(models, X, y)
        >>> {name: round(value, 2) for name, value in found.probability.items()}
        {'flat': 0.75, 'strong': 0.25}
    """

    log_evidence: dict[str, float]
    probability: dict[str, float]
    from_data: dict[str, tuple[str, ...]]
    learned: tuple[str, ...]

    def log_bayes_factor(self, of: str, against: str) -> float:
        """log p(X, y | of) - log p(X, y | against): positive if the rows are evidence for ``of``."""
        for name in (of, against):
            if name not in self.log_evidence:
                raise ValueError(
                    f"there is no model {name!r}: expected one of {', '.join(map(repr, self.log_evidence))}"
                )
        return self.log_evidence[of] - self.log_evidence[against]

    def __repr__(self) -> str:
        """The table, and what the priors mean for it."""
        width, best = max(map(len, self.log_evidence)), next(iter(self.log_evidence))
        lines = [f"{'':{width}}  {'log evidence':>14}  {'log Bayes factor':>16}  {'probability':>11}"]
        for name, value in self.log_evidence.items():
            factor = self.log_bayes_factor(name, best)
            lines.append(f"{name:{width}}  {value:14.3f}  {factor:16.3f}  {self.probability[name]:11.3g}")
        for name, given in self.from_data.items():
            lines.append(f"{name}: {' and '.join(given)} of its prior come from the pooled rows.")
        lines += [POOLED] if self.from_data else []
        lines += [f"{name}: its prior was learned from these rows, which favours it." for name in self.learned]
        return "\n".join(lines)


def compare_evidence(
    models: Mapping[str, NaiveBayes | Classifier | Estimator],
    X: Table | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    precision: ArrayLike | Mapping[str, ArrayLike] | None = None,
) -> EvidenceComparison:
    """The evidence of several models of the same rows, and their Bayes factors.

    A Bayes factor compares priors as well as likelihoods. By default the ``loc`` and ``rate`` of Normal come from the
    rows of all classes pooled, and the table names such hyperparameters. They weigh as much as a row or two and do not
    look at the labels, so models that share them compare well. Beside a prior that is given as numbers, the evidence is
    a little too large, since the prior has seen the rows.

    A cell of a Normal has a density, in the unit of its column; a count and a point mass of a Histogram a probability.
    With the ``precision`` of measurement no unit matters (Lindsey, Some statistical heresies, 1999):

        log P(rows as measured) = log p(X, y) + sum over cells with a density of log precision.

    A Histogram whose edges were found in these rows compares with the same edges only. Beside another family or other
    edges its shares of bins, if they come from the rows, cost what docs/theory/evidence.md says.

    Args:
        models: By name, fits from ``fit_posterior`` or ``fit_forests``, or a fitted ``NaiveBayesClassifier``; or
            models, for X and y.
        X, y, sample_weight: The rows for models that are not fitted, as in ``fit_posterior``.
        precision: The width to which columns are measured, in their units and narrow beside their spread: a number, one
            a column [D], or a dict by block. It is needed where a density stands beside a probability.

    Raises:
        ValueError: for fits of different rows, fits without an evidence, models without rows, a Histogram whose edges
            were found in the rows beside another family or other edges, and a density beside a probability without
            precision.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0.1], [0.3], [0.2], [0.4], [1.5], [-3.1], [2.8], [-2.0]], [0, 0, 0, 0, 1, 1, 1, 1]
        >>> own, shared = (nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance=v)), X, y) for v in ("own", "shared"))
        >>> round(nb.compare_evidence({"own": own, "shared": shared}).log_bayes_factor("own", "shared"), 1)
        1.4
    """
    if not isinstance(models, Mapping) or not models:
        raise ValueError(f"compare_evidence takes a dict of fits or models by name, got {type(models).__name__}")
    fits = {str(name): _fit(str(name), given, X, y, sample_weight) for name, given in models.items()}
    posteriors = {name: fit.posterior if isinstance(fit, ForestPosterior) else fit for name, fit in fits.items()}
    first, *others = fits
    for other in others:
        _require_same_rows(first, posteriors[first], other, posteriors[other])
    more = _to_one_measure(posteriors, precision)
    found = {name: float(fit.log_evidence) + more[name] for name, fit in fits.items()}
    ranked = dict(sorted(found.items(), key=lambda item: -item[1]))
    shares = scipy.special.softmax(list(ranked.values()))
    learned = tuple(name for name in ranked if isinstance(fits[name], EmpiricalPosterior))
    from_data = {name: _from_data(posteriors[name]) for name in ranked if name not in learned}
    return EvidenceComparison(
        log_evidence=ranked,
        probability=dict(zip(ranked, shares.tolist(), strict=True)),
        from_data={name: given for name, given in from_data.items() if given},
        learned=learned,
    )


def _fit(name: str, given: Any, X: Any, y: Any, sample_weight: Any) -> Posterior | ForestPosterior:
    arguments.require_known("compare_evidence", given, X, y, sample_weight)
    if isinstance(given, NaiveBayes):
        if X is None or y is None:
            raise ValueError(f"{name!r} is a model that is not fitted: give its rows, X and y")
        return fit_posterior(given, X, y, sample_weight=sample_weight)
    fit = unwrap_pipeline(given)[0]
    if hasattr(fit, "encoded"):
        raise ValueError(f"{name!r} is a {type(fit).__name__} that is not fitted: call its fit first")
    if not isinstance(fit, Posterior | ForestPosterior):
        raise ValueError(
            f"{name!r} is a {type(fit).__name__}, which has no evidence: give a fit from fit_posterior or fit_empirical"
        )
    return fit


def _require_same_rows(name: str, fit: Posterior, other_name: str, other: Posterior) -> None:
    """Raise ValueError if the statistics show that two fits are of different rows; families may differ."""
    ours, theirs = to_double((fit.statistics, other.statistics))
    num_columns = (sum(columns or 0 for columns in of.columns().values()) for of in (fit, other))
    pairs = [(ours.class_counts, theirs.class_counts), tuple(num_columns)]
    for block in ours.blocks.keys() & theirs.blocks.keys():
        of_block = ours.blocks[block], theirs.blocks[block]
        a, b = map(vars, of_block)
        # sums of one name are comparable if they have one shape: means of Normal and of MultivariateNormal
        structures: list[Any] = [jax.tree.structure(one) for one in of_block]
        names = a.keys() if structures[0] == structures[1] else {"mean"} & a.keys() & b.keys()
        names -= {"log_base", "edges", "atoms", "frame", "parts", "density"}
        for bins, sums in (("edges", "counts"), ("frame", "weights")):
            if not same_bins(a.get(bins, 0), b.get(bins, 0)):
                names -= {sums}
        pairs += [(a[key], b[key]) for key in names if np.shape(a[key]) == np.shape(b[key])]
        cells = [one.observed_cells for one in of_block]
        known = all(one is not None for one in cells) and "parts" not in a | b  # a hurdle counts those with a density
        if known and np.shape(cells[0]) == np.shape(cells[1]):
            pairs.append(tuple(cells))
    if not all(same_sums(a, b) for a, b in pairs):
        raise ValueError(
            f"{name!r} and {other_name!r} are fits of different rows, by their statistics: evidence is comparable only "
            "for the same X, y and weights"
        )


def _to_one_measure(fits: Mapping[str, Posterior], precision: Any) -> dict[str, float]:
    """What each log evidence needs so that all compare: log precisions, and the cost of shares from the rows."""
    given = {name: {b: generative(f) for b, f in fit.prior.families.items()} for name, fit in fits.items()}
    parts = {name: to_double((given[name], fit.statistics)) for name, fit in fits.items()}
    more, before = dict.fromkeys(fits, 0.0), None
    for name, (families, statistics) in parts.items():
        blocks, num_rows = statistics.blocks, statistics.class_counts.sum()
        weights = {b: density_weight(family, blocks[b], num_rows) for b, family in families.items()}
        for b, family in families.items():
            others = [of_other.get(b) for of_other, _ in parts.values()]
            more[name] += _cost_of_shares(family, others, blocks[b], weights[b], f"{name!r}, block {b!r}")
        if precision is not None:
            more[name] += _log_precisions(precision, weights)
        elif before is not None and not _same_weights(before, weights):
            raise ValueError(
                f"cells have a density, in the unit of their column, in one of {next(iter(fits))!r} and {name!r}, and "
                "a probability in the other: give precision, the width to which each column is measured, in its unit, "
                "such as compare_evidence(..., precision=0.1)"
            )
        before = weights
    return more


def _same_weights(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """True if the same columns have densities; in blocks of other names or columns as many cells do."""
    if {b: len(weight) for b, weight in ours.items()} == {b: len(weight) for b, weight in theirs.items()}:
        return all(same_sums(ours[b], theirs[b]) for b in ours)
    return same_sums(*(sum(weight.sum() for weight in of.values()) for of in (ours, theirs)))


@singledispatch
def _cost_of_shares(family: Any, others: list[Any], statistics: Any, weight: Any, owner: str) -> float:
    """What the evidence of shares of bins that the rows gave is too large by, beside ``others`` without the same."""
    del family, others, statistics, weight, owner
    return 0.0


@_cost_of_shares.register(Histogram)
def _(family: Any, others: list[Any], statistics: Any, weight: Any, owner: str) -> float:
    """The log of B(n + 1/2) / B(1/2) / prod_g (n_g / N)^n_g for shares of bins that the rows gave, 0 for others.

    That is the probability of the bins under Dirichlet(1/2) (Krichevsky and Trofimov, The performance of universal
    encoding, 1981) over the most that any mixture of classes gives them: so the evidences of all rows sum to one.
    """
    alike = (one for one in others if same_bins(family.edges, getattr(one, "edges", 0)))
    if sum(np.allclose(family.mass, one.mass, rtol=1e-5) for one in alike) == len(others):
        return 0.0
    counts, mass, edges = statistics.counts.sum(axis=0), np.asarray(family.mass[0]), np.asarray(family.edges[0])
    if ((np.isfinite(edges).sum(axis=1) < 2) & (weight > 0)).any():
        raise ValueError(f"{owner}: a column with one edge has no bin with a width of its own: give two edges or more")
    if not np.allclose(mass, compute(bin_mass, counts, edges), rtol=1e-5):
        return 0.0
    if family.found:
        raise ValueError(
            f"{owner}: the edges of the Histogram were found in these very rows and have seen them, so that its "
            "evidence is too large beside another family or other edges: give edges that a schema has or other rows "
            "gave, nb.Histogram(edges=...), or a model that other rows resolved, model.resolve(X, y)"
        )
    learned = compute(log_multivariate_beta_ratio, np.where(mass > 0, 0.5, 0.0), counts)
    return float(learned.sum() - scipy.special.rel_entr(counts, counts.sum(axis=1, keepdims=True)).sum())


@_cost_of_shares.register(Mapped)
def _(family: Any, others: list[Any], statistics: Any, weight: Any, owner: str) -> float:
    own, counted = next(whole(family, statistics))
    return _cost_of_shares(own, [next(whole(one))[0] for one in others], counted, weight, owner)


def _log_precisions(precision: Any, weights: Mapping[str, Any]) -> float:
    total, given = 0.0, precision if isinstance(precision, Mapping) else dict.fromkeys(weights, precision)
    for b, weight in weights.items():
        if not weight.any():
            continue
        if np.shape(given.get(b, [])) not in ((), weight.shape):
            raise ValueError(
                f"precision is a number, one for each column [D], or a dict of these by block, and block {b!r} has "
                f"{len(weight)} columns; got {precision!r}"
            )
        require_positive("compare_evidence", precision=given[b])
        total += float((weight * np.log(np.asarray(given[b], np.float64))).sum())
    return total


def _defaults(family: Any, pooled: Any) -> Any:
    return family.defaults(pooled)


def _from_data(fit: Posterior) -> tuple[str, ...]:
    """The hyperparameters that have the values which the pooled rows give by default, with their blocks."""
    prior, statistics = to_double((fit.prior, fit.statistics))
    found: list[str] = []
    for block, family in prior.families.items():
        defaults = compute(_defaults, family, statistics.blocks[block].pool())
        # a default without a column axis, such as df, depends on the number of columns alone
        by_column = [name for name, letters in family.axes if name in defaults and "D" in letters]
        same = [name for name in by_column if np.allclose(getattr(family, name), defaults[name], rtol=1e-5, atol=0.0)]
        found += same if prior.single else [f"{block}.{name}" for name in same]
    return tuple(found)


@singledispatch
def is_continuous(family: Any) -> bool:
    """True if cells are measurements, False if they are counts or codes."""
    return not family.likelihood(family.reference()).support.is_discrete


@singledispatch
def density_share(family: Any) -> Array:
    """The share of each column's values that have a density, in the unit of the column, and no probability, [D]."""
    return np.full(family.num_columns, float(is_continuous(family)))


@singledispatch
def density_weight(family: Any, statistics: Any, num_rows: float) -> Array:
    """The weight of the cells of each column that have a density, [D]."""
    share, seen = density_share(family), statistics.observed_cells
    return share * (num_rows if seen is None or not share.any() else seen.sum(axis=0))


is_continuous.register(Multinomial, lambda _: False)


@density_share.register(Normal)
@density_share.register(MultivariateNormal)
def _(family: Any) -> Array:
    scale = np.asarray(family.prior[-1])  # 0 for a column of one value, whose factor is 1
    return scale.any(axis=tuple(range(scale.ndim - 1))) * 1.0


is_continuous.register(Histogram, lambda _: True)
is_continuous.register(Views, lambda _: True)
is_continuous.register(Mapped, lambda family: is_continuous(family.parts[0]))
is_continuous.register(Likelihood, lambda family: not family.support.is_discrete)


density_share.register(Mapped, lambda family: density_share(family.parts[0]))
density_weight.register(Mapped, lambda family, of, rows: density_weight(family.parts[0], of.parts[0], rows))


@density_share.register(Histogram)
def _(family: Any) -> Array:
    edges, points = (np.isfinite(np.asarray(table[0])).sum(axis=1) for table in (family.edges, family.atoms))
    return np.where(edges > 0, 1.0 - points / (1.0 + edges), 0.0)


@density_weight.register(Histogram)
def _(family: Any, statistics: Any, num_rows: float) -> Array:
    del num_rows
    return (statistics.counts.sum(axis=0) * ~np.isfinite(np.asarray(family.atoms[0]))).sum(axis=1)
