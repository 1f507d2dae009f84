"""The compared methods as fits of one table, each with its prior."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesnb.families import Family
from bayesnb.families.words import FAMILIES
from bayesnb.files.tables.table import Table
from bayesnb.fits.averaged import fit_averaged
from bayesnb.fits.closed_form import fit_map, fit_mle, fit_posterior
from bayesnb.fits.empirical import EmpiricalPosterior, fit_empirical
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.validation.temper import temper

Array = np.ndarray[Any, Any]
Fitter = Callable[[Any, Array], Any]

METHODS = ("MLE", "MAP", "full Bayes", "learned prior", "averaged", "tempered", "feature weights")
RIVALS = ("logistic regression", "random forest")
REFERENCE = "full Bayes"
CURES = ("tempered", "feature weights")
"""The methods that learn how much to trust the features."""


def bayes_model(table: Table) -> NaiveBayes:
    """Build the model of full Bayes: Beta(1, 1) and Dirichlet(1), and for numbers the unit-information prior."""
    return _model(table, FAMILIES["bernoulli"](), FAMILIES["categorical"], 1.0)


def map_model(table: Table) -> NaiveBayes:
    """Build the model whose posterior mode is Laplace 1 for all counts; numbers are treated as in full Bayes."""
    return _model(table, FAMILIES["bernoulli"].laplace(), FAMILIES["categorical"].laplace, 2.0)


def priors(table: Table) -> dict[str, str]:
    """A short description of each method's prior: first for counts, including classes, then for numbers."""
    normal = ", NIG" if "numeric" in table.blocks else ""
    bayes = f"Dirichlet 1{normal}"
    return {
        "MLE": "none",
        "MAP": f"Laplace 1{normal}",
        "full Bayes": bayes,
        "learned prior": "learned",
        "averaged": bayes,
        "tempered": bayes,
        "feature weights": bayes,
        "logistic regression": "L2, C = 1",
        "random forest": "none",
    }


def coincide(table: Table) -> bool:
    """Whether MAP and full Bayes must agree: for counts alone the exact predictive is Laplace's rule."""
    return "numeric" not in table.blocks


def fitters(table: Table, seed: int = 0) -> dict[str, Fitter]:
    """Return, for each method, the function that fits X and y; ``seed`` is for the random forest."""
    bayes, laplace = bayes_model(table), map_model(table)
    return {
        "MLE": lambda X, y: fit_mle(bayes, X, y),
        "MAP": lambda X, y: fit_map(laplace, X, y),
        "full Bayes": lambda X, y: fit_posterior(bayes, X, y),
        "learned prior": lambda X, y: learned_prior(bayes, X, y),
        "averaged": lambda X, y: fit_averaged(bayes, X, y),
        "tempered": lambda X, y: temper(fit_posterior(bayes, X, y), X, y),
        "feature weights": lambda X, y: temper(fit_posterior(bayes, X, y), X, y, per_feature=True),
        "logistic regression": lambda X, y: _rival("logistic regression", table, X, y, seed),
        "random forest": lambda X, y: _rival("random forest", table, X, y, seed),
    }


def learned_prior(model: NaiveBayes, X: Any, y: Array) -> EmpiricalPosterior:
    """Fit under the learned prior; on small training sets it often ends at its bounds, so do not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit_empirical(model, X, y)


def _rival(method: str, table: Table, X: Any, y: Array, seed: int) -> Any:
    from bayesnb.comparison.rivals import fit_rival  # scikit-learn takes a second to import

    return fit_rival(method, X, y, num_classes=len(table.classes), seed=seed)


def _model(
    table: Table, binary: Family, categorical: Callable[[tuple[int, ...]], Family], concentration: float
) -> NaiveBayes:
    blocks: dict[str, Any] = {}
    if "binary" in table.blocks:
        blocks["binary"] = binary
    if "categorical" in table.blocks:
        blocks["categorical"] = categorical(tuple(len(c.values) for c in table.blocks["categorical"]))
    if "numeric" in table.blocks:
        blocks["numeric"] = FAMILIES["normal"]()
    # a small training set may lack a class, so the number of classes is declared
    return NaiveBayes(blocks, class_concentration=concentration, num_classes=len(table.classes))
