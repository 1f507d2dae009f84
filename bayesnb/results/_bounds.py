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

from bayesnb.arrays._compute import compute, compute_rows
from bayesnb.arrays._placement import Array, known, promote_dtypes
from bayesnb.numerics import _stable as stable
from bayesnb.numerics._log_prob import LogProb
from bayesnb.primitives.products._linear_scores import Score
from bayesnb.results._combine import score_categories, table_sizes
from bayesnb.results._intervals import Interval
from bayesnb.results._pseudo_rows import pseudo_counts
from bayesnb.rows import _arguments as arguments

VACUOUS = "vacuous"
"""The pseudo-rows are in the place of the prior."""


class Site(NamedTuple):
    """A block of a fit: its family, its powers [D] or None, and its statistics if the prior is ``vacuous``."""

    family: Any
    powers: Array | None
    vacuous: Any


def sites_of(fit: Any, prior: str | None) -> dict[str, Site]:
    """The blocks of a checked posterior."""
    powers = fit.powers or {}
    found = {b: fit.statistics.blocks[b] if prior == VACUOUS else None for b in fit.model.families}
    return {b: Site(family, powers.get(b), found[b]) for b, family in fit.model.families.items()}


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
    arrays = fit.arrays(X)
    pairs = {b: bound_scores(site, s, b) for b, site in sites_of(fit, prior).items()}
    low, high = ([pair[end](arrays[b]) for b, pair in pairs.items()] for end in (0, 1))
    counts, power, learned = class_weights(fit, prior)
    parts = LogProb.times(*low).log(), LogProb.times(*high).log()
    return Interval(*compute_rows(_probabilities, (counts, power, s * learned), parts))


def bound_scores(site: Site, s: Any, block: str) -> tuple[Score, Score]:
    """The scores of the least and the largest predictive of a block's rows."""
    tables = compute(_category_bounds, site, s)
    if tables is None:
        raise ValueError(f"block {block!r}: pseudo-rows of {type(site.family).__name__} have no bounds yet")
    return tuple(score_categories(site.family, table) for table in tables)  # type: ignore[return-value]


@jax.jit
def _category_bounds(site: Site, s: Any) -> tuple[LogProb, LogProb] | None:
    counts = pseudo_counts(site.family, site.vacuous)
    if counts is None:
        return None
    powers = None
    if site.powers is not None:
        sizes = table_sizes(site.family, site.family.num_columns)
        powers = jnp.repeat(
            jnp.broadcast_to(site.powers, (len(sizes),)), np.array(sizes), total_repeat_length=sum(sizes)
        )
    low, high = (_raised(probs, powers) for probs in counts.probs(s))
    return low, high


def _raised(probs: Array, powers: Array | None) -> LogProb:
    """The log probabilities [K, S] times powers [S]; a power of 0 makes nothing impossible."""
    logs, never = stable.safe_log(probs), (probs == 0).astype(probs.dtype)
    return LogProb(logs, never) if powers is None else LogProb(logs * powers[None], never * (powers > 0)[None])


@jax.jit
def _probabilities(counts: Array, power: Array, s: Array, parts: tuple[Array, Array]) -> tuple[Array, Array]:
    low, high = parts
    fewest, most = (((jnp.asarray(counts, low.dtype) + more) ** power)[None] for more in (0.0, s))
    first = _is_first(high)
    second = jnp.where(first, -jnp.inf, high).max(axis=1, keepdims=True)
    # units in which nothing that matters is 0: what exceeds the second largest decides alone
    least, largest = (_exp(part, second) for part in (low, high))
    rest, alone = jnp.where(first, 0.0, largest), power == 1.0
    # all of s on the worst class; with a power, on every class
    others = _others(jnp.where(alone, fewest, most) * largest, first)
    worst = jnp.where(first, rest.max(axis=1, keepdims=True), largest.max(axis=1, keepdims=True))
    lower = _share(fewest * least, others + jnp.where(alone, s, 0.0) * worst)
    top = low.max(axis=1, keepdims=True)
    least, largest = (_exp(part, top) for part in (low, high))
    return lower, _share(most * largest, _others(fewest * least, _is_first(low)))


def _is_first(logs: Array) -> Array:
    """True for the largest entry of each row."""
    return jnp.arange(logs.shape[1])[None] == logs.argmax(axis=1)[:, None]


def _exp(logs: Array, unit: Array) -> Array:
    """exp(logs - unit), but finite."""
    room = jnp.log(jnp.finfo(logs.dtype).max) - 10.0
    return jnp.exp(jnp.minimum(logs - jnp.where(jnp.isfinite(unit), unit, 0.0), room))


def _others(parts: Array, first: Array) -> Array:
    """The sum of the other entries of each row; a difference where the largest is among them, which cannot cancel."""
    rest = jnp.where(first, 0.0, parts)
    return jnp.where(first, rest.sum(axis=1, keepdims=True), parts.sum(axis=1, keepdims=True) - parts)


def _share(own: Array, others: Array) -> Array:
    return jnp.where(own > 0, 1.0 / (1.0 + others / jnp.where(own > 0, own, 1.0)), 0.0)
