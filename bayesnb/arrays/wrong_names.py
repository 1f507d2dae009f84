"""Which public name may be meant by one that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

ELSEWHERE = {
    "fit": "fit_posterior",
    "fit_bayes": "fit_posterior",
    "fit_full_bayes": "fit_posterior",
    "fit_exact": "fit_posterior",
    "fit_ml": "fit_mle",
    "fit_mcmc": "fit_nuts",
    "fit_hmc": "fit_nuts",
    "fit_empirical_bayes": "fit_empirical",
    "Gaussian": "Normal",
    "GaussianNB": "sklearn.GaussianNB",
    "MultinomialNB": "sklearn.MultinomialNB",
    "BernoulliNB": "sklearn.BernoulliNB",
    "CategoricalNB": "sklearn.CategoricalNB",
    "ComplementNB": "sklearn.ComplementNB",
    "Beta": "Bernoulli",
    "Dirichlet": "Categorical",
    "Model": "NaiveBayes",
    "Classifier": "NaiveBayesClassifier",
    "calibrate": "temper",
    "loo": "leave_one_out",
    "bayes_factor": "compare_evidence",
    "read": "load",
}
"""Names that other packages or books use."""


def meant(name: str, names: Sequence[str]) -> str:
    """The end of a sentence, such as ": did you mean fit_map?"; empty if no name is near."""
    known = {other.lower(): right for other, right in ELSEWHERE.items()} | {one.lower(): one for one in names}
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    return f": did you mean {known[near[0]]}?" if near else ""
