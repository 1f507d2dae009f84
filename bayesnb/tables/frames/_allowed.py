"""What may be asked in words, looked up before JAX and pandas are loaded: a wrong word is refused at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.tables.frames._values import DataError, closest

METHODS = ("default", "posterior", "map", "mle", "nuts", "empirical", "averaged")
"""The methods of the estimator."""

COMPARED_AS = {"full Bayes": "posterior", "learned prior": "empirical", "MAP": "map", "MLE": "mle", "NUTS": "nuts"}
"""The methods by their names in a comparison and in prose."""

TEMPERED = ("tempered", "feature weights", "temper", "per_feature")
"""Names of tempered fits elsewhere; here it is an argument."""

BOUNDS = (1e-100, 1e15)
"""Range of positive smoothing; outside it, rounding loses the pseudo-counts or the counts."""

LIKELIHOODS = (
    "bernoulli", "categorical", "ordered", "normal", "histogram", "poisson", "multinomial", "beta", "cauchy", "gamma",
    "gumbel", "inverse_gamma", "logistic", "negative_binomial", "von_mises", "weibull", "exponential", "geometric",
    "lognormal", "logit_normal", "student", "words", "character n-grams",
)  # fmt: skip
"""The likelihoods of columns."""


def require_method(method: Any, smoothing: Any) -> None:
    """Raise ValueError for a method that there is not, and a smoothing that it cannot have."""
    if not isinstance(method, str) or method not in METHODS:
        name = method if isinstance(method, str) else ""
        hint = f"; here it is called '{COMPARED_AS[name]}'" if name in COMPARED_AS else closest(name, METHODS)
        if name in TEMPERED:
            hint = (
                "; tempering is an argument of NaiveBayesClassifier, temper=True or 'per_feature', or "
                "nb.temper(clf, X, y) after a fit"
            )
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}{hint}")
    number = not isinstance(smoothing, bool) and isinstance(smoothing, int | float | np.number)
    may_be_zero = method in ("map", "mle")
    low, high = BOUNDS
    if not number or not (low <= smoothing <= high or (smoothing == 0 and may_be_zero)):
        least = "0 or " * may_be_zero + f"{low:g}"
        raise ValueError(
            f"smoothing must be a number from {least} to {high:g} for method {method!r}, got {smoothing!r}"
        )


def require_likelihood(kind: Any) -> None:
    """Raise DataError for what is no word of a likelihood."""
    known = (*LIKELIHOODS, "skip", "a list of its levels")
    if not isinstance(kind, str) or kind not in known:
        hint = closest(kind, known) if isinstance(kind, str) else ""
        raise DataError(f"{kind!r} is not a likelihood of a column: expected one of {', '.join(known)}{hint}")
