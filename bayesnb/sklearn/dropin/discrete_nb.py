"""The base of the discrete classes: smoothing by pseudo-counts, the class prior, tables of log probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives.scoring import Score
from bayesnb.sklearn.dropin.base_nb import BaseNB, check_class_probs


class BaseDiscreteNB(BaseNB):
    """Adds alpha, force_alpha, fit_prior and class_prior, with the same meaning as in scikit-learn."""

    alpha: Any
    fit_prior: bool
    class_prior: Any

    @abstractmethod
    def _set_features(self, statistics: Any, alpha: Any) -> tuple[Array, ...]:
        """Like ``_set_parameters``, after the attributes of the classes are set."""

    def _set_parameters(self, statistics: Any, class_counts: Array) -> tuple[Array, ...]:
        alpha, num_classes = self._check_alpha(), len(class_counts)
        if not np.isfinite(alpha).all():
            raise ValueError(f"alpha must be finite, got {self.alpha!r}")
        if self.class_prior is not None:
            prior = check_class_probs(self.class_prior, num_classes)
        else:
            prior = class_counts if self.fit_prior else np.ones(num_classes)
        self.class_count_, self.class_log_prior_ = class_counts, log(prior / prior.sum())
        return self._set_features(statistics, alpha)

    @abstractmethod
    def _table(self, *parameters: Any) -> Any:
        """The table of log probabilities from which the family scores rows."""

    def _score(self, class_probs: Array, *parameters: Any) -> Score:
        return self._model.likelihood_scorer((class_probs, {"x": self._table(*parameters)}))

    def _visible_parameters(self) -> tuple[Array, ...]:
        return np.exp(self.class_log_prior_), self.feature_log_prob_


def log_frequencies(counts: Array, alpha: Any, sizes: Array) -> Array:
    """log((count + alpha) / sum(count + alpha)), [K, S], for simplexes of these sizes laid end to end.

    If alpha is 0, a class without counts gets the counts of all classes, or ones if these are zero as well.
    """
    starts = np.cumsum(sizes) - sizes
    raised = counts + alpha
    totals = np.add.reduceat(raised, starts, axis=1)
    if not totals.all():
        pooled = raised.sum(axis=0)
        pooled = np.where(np.repeat(np.add.reduceat(pooled, starts), sizes) > 0, pooled, 1.0)
        raised = np.where(np.repeat(totals > 0, sizes, axis=1), raised, pooled)
        totals = np.add.reduceat(raised, starts, axis=1)
    return log(raised) - np.repeat(np.log(totals), sizes, axis=1)


def log(values: Array) -> Array:
    """The logarithm, -inf for zero."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def count_zeros(logs: Array) -> LogProb:
    """Log probabilities, with each -inf as a zero factor."""
    never = np.isneginf(logs)
    return LogProb(np.where(never, 0.0, logs), never.astype(float))
