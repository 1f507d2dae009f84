"""Bounds of class probabilities over sets of priors: every site of the model gets s pseudo-rows of its own.

With bounds L_k and U_k of prod_d p(x_d | k)^w_d, one site a feature and class, and class counts n_k, pseudo-counts of
the prior included,

    lower p(c | x) = n_c L_c / (n_c L_c + sum_o n_o U_o + s max_o U_o),         o other than c
    upper p(c | x) = (n_c + s) U_c / ((n_c + s) U_c + sum_o n_o L_o)

as the class probabilities are a site, too, whose pseudo-rows are all of the worst class. Both are attained. With a
power of the class prior each of its counts gets the s pseudo-rows, and the bounds are outer ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import Array, known, promote_dtypes
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives._bounded_shares import Weights, bound_shares
from bayesnb.core.results._combine import score_categories, table_sizes
from bayesnb.core.results._intervals import Interval
from bayesnb.core.results._pseudo_rows import pseudo_counts, require_categories
from bayesnb.core.rows import _arguments as arguments

VACUOUS = "vacuous"
"""The pseudo-rows are in the place of the prior."""


class Site(NamedTuple):
    """A block of a fit: its family, its powers, and its statistics if the prior is vacuous."""

    family: Any
    powers: Array | None
    vacuous: Any


def sites_of(fit: Any, prior: str | None) -> dict[str, Site]:
    """The blocks of a posterior. ValueError for columns that are no categories."""
    require_categories(fit.model)
    powers, statistics = fit.powers or {}, fit.statistics.blocks
    return {
        block: Site(family, powers.get(block), statistics[block] if prior == VACUOUS else None)
        for block, family in fit.model.families.items()
    }


def class_weights(fit: Any, prior: str | None) -> tuple[Array, Array, Array]:
    """Counts of the classes [K], the power of their probabilities, and 1 if pseudo-rows add to them, else 0."""
    model = fit.model
    if model.class_probs is not None:
        if fit.class_power is not None:
            raise ValueError(
                "bounds take a power of the class prior or class probabilities of another population, not both: give "
                "post.with_powers(post.powers)"
            )
        return model.class_probs, np.ones(()), np.zeros(())
    counts = fit.statistics.class_counts if prior == VACUOUS else model.class_concentration
    return counts, np.ones(()) if fit.class_power is None else fit.class_power, np.ones(())


def check_question(prior: Any, s: Any = 1.0) -> None:
    """ValueError unless s is a number of pseudo-rows, and ``prior`` None or "vacuous"."""
    if prior not in (None, VACUOUS):
        raise ValueError(
            f"prior must be None, for the fit as it is and s pseudo-rows more, or {VACUOUS!r}, for s pseudo-rows in "
            f"the place of its prior, got {prior!r}"
        )
    if np.ndim(s) == 0 and known(s) is None:
        return
    if np.ndim(s) or isinstance(s, bool) or not arguments.is_number(s) or s < 0 or (prior == VACUOUS and s == 0):
        least = "above 0 in the place of the prior" if prior == VACUOUS else "0 or more"
        raise ValueError(f"s must be a number of pseudo-rows, finite and {least}, got {s!r}")


@promote_dtypes
def predict_bounds(fit: Any, X: Any, s: Any, prior: str | None) -> Interval:
    """Lower and upper probabilities of the classes, [N, K]."""
    check_question(prior, s)
    fit = getattr(fit, "alone", fit)  # without the dependence that an average adds
    arrays, sites = fit.arrays(X), sites_of(fit, prior)
    scores = [score_categories(site.family, compute(_category_bounds, site, s))(arrays[b]) for b, site in sites.items()]
    counts, power, learned = class_weights(fit, prior)
    fewest, most = ((either.floats(counts) + more) ** power for more in (0.0, s * learned))
    # all of s on the worst class; with a power, on every class
    alone = power == 1.0
    weights = Weights(fewest, most, either.where(alone, fewest, most), either.where(alone, s * learned, 0.0))
    return Interval(*bound_shares(weights, scores[0].times(*scores[1:]).log()))


@jax.jit
def _category_bounds(site: Site, s: Any) -> LogProb:
    """The logs of the least probabilities of categories and of the largest, [2 K, S]; a power of 0 allows all."""
    probs = jnp.concatenate(pseudo_counts(site.family, site.vacuous).probs(s))
    logs, never = stable.safe_log(probs), (probs == 0).astype(probs.dtype)
    if site.powers is None:
        return LogProb(logs, never)
    sizes = table_sizes(site.family, site.family.num_columns)
    powers = jnp.repeat(jnp.broadcast_to(site.powers, (len(sizes),)), np.array(sizes), total_repeat_length=sum(sizes))
    return LogProb(logs * powers[None], never * (powers > 0)[None])
