"""Compare models of the same rows by their evidence: log Bayes factors, in a table.

    log BF_ab = log p(X, y | model a) - log p(X, y | model b)

Kass and Raftery, Bayes factors (1995): a factor of 20 (3 nats) is strong evidence, 150 (5 nats) very strong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from bayesnb.arrays.host_calls import at_once
from bayesnb.arrays.placement import to_double
from bayesnb.arrays.typing import ArrayLike, Estimator, LabelsLike, Table
from bayesnb.fits.closed_form import fit_posterior
from bayesnb.fits.empirical import EmpiricalPosterior
from bayesnb.forests.results import ForestPosterior
from bayesnb.inspection.display_names import steps_of
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Classifier, Posterior
from bayesnb.rows import arguments

POOLED = (
    "A prior from the pooled rows has seen them, though not their labels. Models that share it compare well; beside a\n"
    "prior that is given as numbers its evidence is a little too large."
)


@dataclass(frozen=True, repr=False)
class EvidenceComparison:
    """Models of the same rows, the one with the largest evidence first.

    Attributes:
        log_evidence: log p(X, y) of each model by name, in nats.
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
) -> EvidenceComparison:
    """The evidence of several models of the same rows, and their Bayes factors.

    A Bayes factor compares priors as well as likelihoods. By default the ``loc`` and ``rate`` of Normal come from the
    rows of all classes pooled, and the table names such hyperparameters. They weigh as much as a row or two and do not
    look at the labels, so models that share them compare well. Beside a prior that is given as numbers, the evidence is
    a little too large, since the prior has seen the rows.

    Cells must have the same unit and kind in all models: a density is not comparable with a probability.

    Args:
        models: By name, fits from ``fit_posterior`` or ``fit_forests``, or a fitted ``NaiveBayesClassifier``; or
            models, for X and y.
        X, y, sample_weight: The rows for models that are not fitted, as in ``fit_posterior``.

    Raises:
        ValueError: for fits of different rows, fits without an evidence, and models without rows.

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
    found = {name: float(fit.log_evidence) for name, fit in fits.items()}
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
    _, last = steps_of(given)
    if hasattr(last, "partial_fit") and not hasattr(last, "fit_"):
        raise ValueError(f"{name!r} is a {type(last).__name__} that is not fitted: call its fit first")
    fit = getattr(last, "fit_", last)
    if not isinstance(fit, Posterior | ForestPosterior):
        raise ValueError(
            f"{name!r} is a {type(fit).__name__}, which has no evidence: give a fit from fit_posterior or fit_empirical"
        )
    return fit


def _require_same_rows(name: str, fit: Posterior, other_name: str, other: Posterior) -> None:
    """Raise ValueError if the statistics show that two fits are of different rows; families may differ."""
    ours, theirs = to_double((fit.statistics, other.statistics))
    pairs = [(ours.class_counts, theirs.class_counts), (_num_columns(fit), _num_columns(other))]
    for block in ours.blocks.keys() & theirs.blocks.keys():
        a, b = vars(ours.blocks[block]), vars(theirs.blocks[block])
        # sums of one name are comparable if they have one shape: means of Normal and of MultivariateNormal
        names = a.keys() if type(ours.blocks[block]) is type(theirs.blocks[block]) else {"mean"} & a.keys() & b.keys()
        comparable = (key for key in names if key != "log_base" and np.shape(a[key]) == np.shape(b[key]))
        pairs += [(a[key], b[key]) for key in comparable]
    if not all(_close(a, b) for a, b in pairs):
        raise ValueError(
            f"{name!r} and {other_name!r} are fits of different rows, by their statistics: evidence is comparable only "
            "for the same X, y and weights"
        )


def _close(a: Any, b: Any) -> bool:
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-6 * float(np.abs(b).max(initial=0.0)))


def _num_columns(fit: Posterior) -> int:
    return sum(columns or 0 for columns in fit.columns().values())


def _from_data(fit: Posterior) -> tuple[str, ...]:
    """The hyperparameters that have the values which the pooled rows give by default, with their blocks."""
    prior, statistics = to_double((fit.prior, fit.statistics))
    found: list[str] = []
    for block, family in prior.families.items():
        defaults = at_once(type(family).defaults, family, statistics.blocks[block].pool())
        # a default without a column axis, such as df, depends on the number of columns alone
        by_column = [name for name, letters in family.axes if name in defaults and "D" in letters]
        same = [name for name in by_column if np.allclose(getattr(family, name), defaults[name], rtol=1e-5, atol=0.0)]
        found += same if prior.single else [f"{block}.{name}" for name in same]
    return tuple(found)
