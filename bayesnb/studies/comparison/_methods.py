"""The table of methods: names, priors, meanings and styles in plots; to look a name up takes no JAX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bayesnb.tables.frames._values import DataError, closest

REFERENCE = "full Bayes"
"""The method that all others are compared with."""

CONJUGATE = ("Laplace 1", "Dirichlet 1")

PRIOR_MEANINGS = {
    "Laplace 1": "every count plus one, class counts too (the mode under Dirichlet(2))",
    "Dirichlet 1": "the uniform prior, integrated out exactly",
    "NIG": "normal-inverse-gamma with unit information: one pseudo-row for the mean, two for the variance",
    "learned": "the prior, column by column, that the training rows and a weak hyperprior make likely",
    "L2, C = 1": "scikit-learn's default penalty",
}


class Style(NamedTuple):
    """How plots draw a method: its ``layer``, where larger markers are below smaller ones, its hatch and its line.

    The colours are those of Okabe and Ito, safe for colour-blind people; marker, line and hatch differ in greyscale.
    """

    layer: int
    hatch: str
    line: dict[str, Any]


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Attributes:
        prior: Its prior for counts and classes, in short; see `PRIOR_MEANINGS`.
        meaning: What it predicts with.
        style: Its style in plots; None if plots leave it out, since more lines would overlap.
    """

    prior: str
    meaning: str
    style: Style | None = None

    def full_prior(self, numeric: bool) -> str:
        """Its prior, including that for numbers if there are any."""
        return f"{self.prior}, NIG" if numeric and self.prior in CONJUGATE else self.prior


COMPARED = {
    "MLE": Method(
        prior="none",
        meaning="the parameters under which the training rows are most probable",
        style=Style(7, "....", {"color": "#555555", "marker": "s", "linestyle": ":", "markersize": 5}),
    ),
    "MAP": Method(
        prior="Laplace 1",
        meaning="the most probable parameters given the training rows",
        style=Style(6, "////", {"color": "#D55E00", "marker": "^", "linestyle": "--", "markersize": 5}),
    ),
    REFERENCE: Method(
        prior="Dirichlet 1",
        meaning="the average over all parameters under the exact posterior",
        style=Style(
            1, "", {"color": "#0072B2", "marker": "o", "linestyle": "-", "markersize": 8, "markerfacecolor": "white"}
        ),
    ),
    "learned prior": Method(
        prior="learned",
        meaning="full Bayes under a prior learned column by column: it describes rows better, not always classes",
    ),
    "averaged": Method(
        prior="Dirichlet 1",
        meaning="the exact average over all subsets of columns that may depend on the class",
    ),
    "tempered": Method(
        prior="Dirichlet 1",
        meaning="full Bayes with one power on all columns' likelihoods, learned from exact leave-one-out predictions",
        style=Style(4, "----", {"color": "#009E73", "marker": "D", "linestyle": "-.", "markersize": 5}),
    ),
    "feature weights": Method(
        prior="Dirichlet 1",
        meaning="the same with a power for each column",
        style=Style(5, "\\\\\\\\", {"color": "#CC79A7", "marker": "v", "linestyle": (0, (8, 2)), "markersize": 6}),
    ),
    "default": Method(
        prior="Dirichlet 1",
        meaning="NaiveBayesClassifier(): learned weights, three views of numbers, dependence, flags of missing cells",
        style=Style(8, "++", {"color": "#000000", "marker": "*", "linestyle": (0, (4, 1)), "markersize": 8}),
    ),
    "logistic regression": Method(
        prior="L2, C = 1",
        meaning="scikit-learn's, with one-hot categories and standardised numbers",
        style=Style(3, "||||", {"color": "#56B4E9", "marker": "X", "linestyle": (0, (2, 1)), "markersize": 6}),
    ),
    "random forest": Method(
        prior="none",
        meaning="300 trees",
        style=Style(
            2, "xxxx", {"color": "#E69F00", "marker": "P", "linestyle": (0, (6, 1, 1, 1, 1, 1)), "markersize": 6}
        ),
    ),
}
"""All methods, in the order of the output."""

RIVALS = ("logistic regression", "random forest")
NAIVE_BAYES = tuple(name for name in COMPARED if name not in RIVALS)
CURES = ("tempered", "feature weights", "default")
"""The methods that learn how much to trust the columns; the last also learns their dependence."""

ELSEWHERE = {
    "posterior": REFERENCE,
    "fit_posterior": REFERENCE,
    "empirical": "learned prior",
    "fit_empirical": "learned prior",
    "fit_averaged": "averaged",
    "fit_map": "MAP",
    "fit_mle": "MLE",
    "temper": "tempered",
    "per_feature": "feature weights",
}
"""Names of methods in the rest of the package, with those of a comparison."""


def check_methods(methods: Sequence[str]) -> None:
    """Raise DataError for a method that a comparison does not have, or without the one all others are compared with."""
    for name in methods:
        require_method(name)
    if REFERENCE not in methods:
        raise DataError(f"the methods must include '{REFERENCE}', which the others are compared with: add it")


def require_method(name: str) -> None:
    """Raise DataError unless there is a method of this name."""
    if name in COMPARED:
        return
    if name in ("nuts", "fit_nuts"):
        raise DataError("'nuts' is no method of a comparison: --nuts checks the exact posterior with it")
    hint = f"; here it is called '{ELSEWHERE[name]}'" if name in ELSEWHERE else closest(name, COMPARED)
    raise DataError(f"there is no method '{name}' among {', '.join(COMPARED)}{hint}")
