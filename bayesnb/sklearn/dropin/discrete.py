"""The common base of the discrete classes: smoothing by pseudo-counts, and the class prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.sklearn.dropin.base import BaseNB
from bayesnb.sklearn.dropin.smoothing import log


class BaseDiscreteNB(BaseNB):
    """Adds alpha, force_alpha, fit_prior and class_prior, with the same meaning as in scikit-learn."""

    alpha: Any
    fit_prior: bool
    class_prior: Any

    @property
    def _alpha(self) -> Any:
        alpha = self._check_alpha()
        if not np.isfinite(alpha).all():
            raise ValueError(f"alpha must be finite, got {self.alpha!r}")
        return alpha

    def _learn_classes(self, class_counts: Array) -> None:
        """Set ``class_count_`` and ``class_log_prior_``."""
        self.class_count_ = class_counts
        if self.class_prior is not None:
            prior = np.asarray(self.class_prior, np.float64)
            if prior.shape != class_counts.shape:
                raise ValueError(
                    f"Number of priors must match number of classes: got shape {prior.shape} for {len(class_counts)}"
                )
            if not (np.isfinite(prior).all() and (prior >= 0).all() and prior.any()):
                raise ValueError(f"Priors must be non-negative and finite, and not all zero, got {prior.tolist()}")
        else:
            prior = class_counts if self.fit_prior else np.ones(len(class_counts))
        self.class_log_prior_ = log(prior / prior.sum())
