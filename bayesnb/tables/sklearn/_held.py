"""What a fitted estimator holds and answers without scikit-learn, whose import takes as long as JAX's.

Commands and files need no more, so that a prediction on the command line does not wait for it.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self, TypeVar

import numpy as np

from bayesnb.compute.arrays._typing import ArrayLike, ByLabel
from bayesnb.core.results._classifier import Classifier
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from bayesnb.tables.frames._blocks import AnySchema
from bayesnb.tables.frames._series import Array
from bayesnb.tables.sklearn._fitted import Fitted
from bayesnb.tables.sklearn._kept_rows import KeptRows
from bayesnb.tables.sklearn._learned import Learned, describe_learned
from bayesnb.tables.sklearn._settings import Parameters, ordered_probs, require


class Held:
    """The parameters of an estimator, as attributes, and what it learned.

    The fitted attributes are those of ``Fitted``; an estimator that was loaded, or fitted to a table, has a part.
    """

    class_prior: ArrayLike | ByLabel[float] | None
    classes_: Array
    schema_: AnySchema
    statistics_: ModelStatistics
    fit_: Classifier
    n_features_in_: int
    _declared = False
    """Whether ``classes`` of ``partial_fit`` are all there will be."""
    _kept: KeptRows | None = None
    _num_learned = 0
    _has_too_many_pairs = False
    _summaries: Any = None
    _unlabelled: tuple[int, float] | None = None
    _target: str | None = None
    """The name of the column of labels, if it has one."""

    def with_class_prior(self, class_prior: ArrayLike | ByLabel[float] | None) -> Self:
        """A copy for a population with these class probabilities, given as to the constructor; ValueError if invalid.

        It is fitted to the same rows, and rows that ``partial_fit`` adds do not change its class probabilities.
        """
        self._require_fitted()
        probs = ordered_probs(class_prior, self.classes_)
        if probs is None:
            raise ValueError("class_prior must be 'uniform', probabilities or a dict of them by label, got None")
        moved: Any = copy(self)
        moved.fit_ = self.fit_.with_class_probs(probs)
        moved.class_prior = moved.prior_of_fit_ = class_prior
        moved.class_weight = None
        return moved

    def require_prior_of_fit(self) -> None:
        """Raise ValueError if ``class_prior`` was set to something else after the fit."""
        given: Any = self.class_prior
        of_fit = getattr(self, "prior_of_fit_", given)
        if given is not of_fit and not np.array_equal(given, of_fit):
            raise ValueError(
                f"class_prior was set to {given!r} after the fit, which had {of_fit!r}: "
                "fit again, or set it back and set clf.fit_ = clf.fit_.with_class_probs(...)"
            )

    @property
    def learned_(self) -> Learned:
        """What the fit learned besides the posterior: its parts, and powers of the columns."""
        self._require_fitted()
        learned = self._num_learned, self._has_too_many_pairs, self._unlabelled
        return describe_learned(self.fit_, self.schema_.names_by_block, *learned)

    def _require_fitted(self) -> None:
        if not hasattr(self, "fit_"):  # the check takes as long as the prediction of a row
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "fit_")

    def _asked(self) -> Parameters:
        """The parameters, which are checked."""
        asked = Parameters(*(getattr(self, name) for name in Parameters._fields))
        require(asked)
        return asked

    def _fitted(self) -> Fitted:
        """What ``partial_fit`` and ``forget`` go on from."""
        if self._unlabelled is not None:
            raise ValueError("the fit has used rows without a label, which statistics do not hold: fit all rows again")
        learned = self._num_learned, self._has_too_many_pairs, self._kept, self._summaries
        return Fitted(self.schema_, self.classes_, self.statistics_, self.fit_, *learned)

    def _hold(self, found: Fitted, *, declared: bool, target: str | None) -> Self:
        """Set the fitted attributes, all of them, so that an error before leaves them unchanged."""
        self.schema_, self.classes_ = found.schema, found.classes
        self.statistics_, self.fit_ = found.statistics, found.fit
        self._num_learned, self._has_too_many_pairs = found.num_learned, found.has_too_many_pairs
        self._kept, self._summaries, self._declared = found.kept, found.summaries, declared
        self.prior_of_fit_, self._target, self._unlabelled = self.class_prior, target, found.unlabelled
        return self


H = TypeVar("H", bound=Held)


def hold(held: H, attributes: dict[str, Any]) -> H:
    """The same with these attributes, and the default of each parameter that is not among them."""
    held.__dict__.update(Parameters._field_defaults | attributes)
    return held
