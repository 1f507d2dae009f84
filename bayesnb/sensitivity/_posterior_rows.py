"""The exact posterior behind a fit, its checked rows, and functions of their classes block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayesnb.arrays._compute import compute_in_threads
from bayesnb.results._bounds import Site
from bayesnb.results._classifier import Posterior
from bayesnb.results._unwrap import unwrap_pipeline


def take_posterior(given: Any, X: Any, what: str) -> tuple[Posterior, Any]:
    """The posterior of a fit, an estimator or a pipeline, and its rows. ValueError unless it is exact."""
    fit, X, _ = unwrap_pipeline(given, X)
    if not isinstance(fit, Posterior):
        raise ValueError(
            f"{what} asks what pseudo-rows would change, and only an exact posterior says: take nb.fit_posterior, or "
            f'NaiveBayesClassifier with its default method or method="posterior", got {type(fit).__name__}'
        )
    return fit, X


def take_alone(given: Any, X: Any, what: str) -> tuple[Posterior, Any, bool]:
    """The same without the dependence that an average adds, and whether there was some."""
    fit, X = take_posterior(given, X, what)
    return getattr(fit, "alone", fit), X, hasattr(fit, "alone")


def is_exact(sites: dict[str, Site]) -> bool:
    """True if pseudo-rows of all blocks are counts."""
    return all(site.content is None for site in sites.values())


def by_rows(function: Callable[..., Any], sites: dict[str, Site], args: tuple[Any, ...], arrays: Any) -> Any:
    """``function(sites, *args, arrays)`` of checked rows, whose counts of all classes are in memory block by block."""
    numbers = sum(x.shape[1] for x in arrays.values()) * args[0][0].shape[0]
    return compute_in_threads(function, (sites, *args), arrays, numbers)
