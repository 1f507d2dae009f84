"""What a fitted classifier says of itself: the names and likelihoods of its columns, and its repr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesnb.arrays.typing import ByColumn
from bayesnb.families import Family
from bayesnb.frames.blocks import Schema
from bayesnb.frames.column_kinds import SKIP
from bayesnb.frames.series import Array, label
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.sklearn.changes import ChangesLater
from bayesnb.sklearn.fit_methods import missing_evidence


class DescribesFit(ChangesLater):
    """A fitted classifier that says what its columns and classes are."""

    likelihoods: str | Family | NaiveBayes | Sequence[object] | ByColumn
    schema_: Schema

    @property
    def known_names(self) -> dict[str, object]:
        """The names of classes, columns and their values, as ``nb.explain`` and ``nb.top_features`` take them."""
        check_is_fitted(self, "fit_")
        columns, single = self.schema_.names_by_block, self.fit_.model.single
        features = columns["x"] if single else columns
        names = {"column_names": self.schema_.names, "value_names": self.schema_.value_names}
        return {"class_names": [label(value) for value in self.classes_.tolist()], "feature_names": features, **names}

    @property
    def class_count_(self) -> Array:
        """Sums of weights by class [K]."""
        return np.asarray(self.statistics_.class_counts)

    @property
    def likelihoods_(self) -> dict[str, str]:
        """The likelihood of each column, or `skip`, by name."""
        return dict(zip(self.schema_.names, self.schema_.kinds, strict=True))

    @property
    def missing_evidence_(self) -> dict[str, float]:
        """log p(missing | y) / p(missing) of each column whose missing cells are informative, by its name.

        With n1k missing and n0k other cells in class k, B the Beta function and Beta(l, l) the prior, it is
        sum_k log B(l + n1k, l + n0k) / B(l, l) - log B(l + sum_k n1k, l + sum_k n0k) / B(l, l).
        """
        check_is_fitted(self, "fit_")
        return missing_evidence(self.schema_, self._model(self.schema_, self.classes_, views=False), self.statistics_)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = copy(self)
        if isinstance(self.likelihoods, Mapping):
            shown.likelihoods = dict(self.likelihoods)  # InferredLikelihoods print as a table
        parameters = super(DescribesFit, shown).__repr__(N_CHAR_MAX)
        parameters = " ".join(line.strip() for line in parameters.splitlines())
        if not hasattr(self, "schema_"):
            return parameters
        counts = Counter(self.likelihoods_.values())
        left_out = counts.pop(SKIP, 0)
        kinds = [f"{count} {kind}" for kind, count in counts.most_common()]
        return f"{parameters}: {', '.join([*kinds, *([f'{left_out} left out'] if left_out else [])])}"
