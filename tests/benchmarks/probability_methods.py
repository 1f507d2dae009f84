"""Our methods of the benchmark of probabilities. A further method is one line of ``OURS``."""

from collections.abc import Callable
from typing import Any, NamedTuple

import bayesnb as nb
from bayesnb.compute.arrays._placement import Array

NUMBERS = "numeric"
"""The block of real numbers of a table; cells of the other blocks are codes."""


class Rows(NamedTuple):
    """Training rows by block, labels 0 to K - 1, the table's model, and a seed for methods that need one."""

    model: nb.NaiveBayes
    X: dict[str, Array]
    y: Array
    seed: int


Method = Callable[[Rows], Any]
"""Fits training rows; the result has ``predict_log_proba``, [N, K]."""


def _fit(numbers: nb.Family, fit: Callable[..., Any] = nb.fit_posterior) -> Method:
    """A fit of the table's model with another family for its numbers."""

    def method(rows: Rows) -> Any:
        families = {block: numbers if block == NUMBERS else f for block, f in rows.model.families.items()}
        return fit(nb.NaiveBayes(families, num_classes=rows.model.num_classes), rows.X, rows.y)

    return method


def _tempered(method: Method, *, per_feature: bool = True) -> Method:
    return lambda rows: nb.temper(method(rows), rows.X, rows.y, per_feature=per_feature)


def estimator(**settings: Any) -> Method:
    """``NaiveBayesClassifier`` with all classes declared; numbers as it sees them where it infers them."""
    numbers: nb.Family = nb.Normal()
    if "method" not in settings and "temper" not in settings:
        numbers = nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram())

    def method(rows: Rows) -> Any:
        families = {block: numbers if block == NUMBERS else f for block, f in rows.model.families.items()}
        classifier = nb.NaiveBayesClassifier(families, **settings)
        return classifier.partial_fit(rows.X, rows.y, classes=range(rows.model.num_classes or 0))

    return method


VIEWS = nb.Views(nb.NormalScores(), nb.Histogram())

OURS: dict[str, Method] = {
    "posterior": _fit(nb.Normal()),
    "posterior, one power": _tempered(_fit(nb.Normal()), per_feature=False),
    "posterior, powers": _tempered(_fit(nb.Normal())),
    "Histogram": _fit(nb.Histogram()),
    "Histogram, powers": _tempered(_fit(nb.Histogram())),
    "Views, powers": _tempered(_fit(VIEWS)),
    "default": estimator(),
    "default without dependence": estimator(dependence=False),
    "forests": _fit(nb.Normal(), nb.fit_forests),
    "forests, powers": _tempered(_fit(nb.Normal(), nb.fit_forests)),
    "forests of Histogram, powers": _tempered(_fit(nb.Histogram(), nb.fit_forests)),
    "forests of Views, powers": _tempered(_fit(VIEWS, nb.fit_forests)),
}
"""Likelihoods are those that the columns suggest; numbers are Normal unless the name says otherwise."""

PLAIN = "posterior"
"""The method that no other may be much worse than."""
