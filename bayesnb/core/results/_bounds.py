"""Bounds of class probabilities over sets of priors: every site of the model gets s pseudo-rows of its own.

With bounds L_k and U_k of prod_d p(x_d | k)^w_d, one site a feature and class, and class counts n_k, pseudo-counts of
the prior included,

    lower p(c | x) = n_c L_c / (n_c L_c + sum_o n_o U_o + s max_o U_o),         o other than c
    upper p(c | x) = (n_c + s) U_c / ((n_c + s) U_c + sum_o n_o L_o)

as the class probabilities are a site, too, whose pseudo-rows are all of the worst class. Both are attained. With a
power of the class prior each of its counts gets the s pseudo-rows, and the bounds are outer ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._cells import row_sums
from bayesnb.compute.arrays._compute import compute, compute_rows
from bayesnb.compute.arrays._placement import Array, known, promote_dtypes
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives._bounded_shares import Weights, bound_shares
from bayesnb.core.families import Normal
from bayesnb.core.families._views import by_view
from bayesnb.core.results._combine import raise_lengths, score_categories, table_sizes
from bayesnb.core.results._intervals import Interval
from bayesnb.core.results._outer_bounds import Content, normal_box, outer_terms, usual_content
from bayesnb.core.results._pseudo_rows import pseudo_counts
from bayesnb.core.rows import _arguments as arguments

VACUOUS = "vacuous"
"""The pseudo-rows are in the place of the prior."""


class Site(NamedTuple):
    """A block of a fit: its family, its powers and the exponent of its length, its statistics if the prior is vacuous,
    and the content of pseudo-rows if they are not counts.
    """

    family: Any
    powers: Array | None
    exponent: Array | None
    vacuous: Any
    content: Content | None

    def row_powers(self, x: Array) -> Array:
        """The powers of the terms of rows, [N, F], or [1, F] or [1, 1] if all are alike. Pure JAX."""
        if self.powers is None:
            return jnp.ones((1, 1))
        if self.exponent is None:
            return by_view(self.family, self.powers).reshape(1, -1)
        words = row_sums(x)
        return raise_lengths(self.powers, self.exponent, jnp.where(jnp.isnan(words), 0.0, words))[:, None]


def sites_of(fit: Any, prior: str | None, ranges: Any = None) -> dict[str, Site]:
    """The blocks of a posterior. ValueError for blocks without bounds, and ranges that do not fit them."""
    families, found = fit.model.families, {}
    given = ranges if isinstance(ranges, Mapping) else {} if ranges is None else {"x": ranges}
    for block, family in families.items():
        own = fit.statistics.blocks[block]
        vacuous, content = own if prior == VACUOUS else None, None
        if jax.eval_shape(pseudo_counts, family, vacuous) is None:
            if prior == VACUOUS:
                raise ValueError(
                    f"block {block!r}: the imprecise Dirichlet model is of categories, Bernoulli, Categorical and "
                    f"Histogram blocks, got {type(family).__name__}: give prior=None"
                )
            usual = compute(_usual_content, family, own, fit.statistics.class_counts)
            if usual is None:
                raise ValueError(
                    f"block {block!r}: pseudo-rows of {type(family).__name__} have no bounds: leave it out of the model"
                )
            content = usual if block not in given else _check_range(block, given[block], usual)
        elif block in given:
            raise ValueError(f"block {block!r}: ranges are of numbers and counts, and its cells are categories")
        exponent = (fit.length_exponents or {}).get(block)
        found[block] = Site(family, (fit.powers or {}).get(block), exponent, vacuous, content)
    if set(given) - set(families):
        raise ValueError(f"ranges must be (least, most), or a dict of them by block {[*families]}, got {[*given]}")
    return found


_usual_content = jax.jit(lambda family, own, counts: usual_content(family, own, jnp.maximum(counts.sum(), 1.0)))


def _check_range(block: str, given: Any, usual: Content) -> Content:
    """The range as arrays [1, D]; it must have the middle of the usual one inside."""
    try:
        least, most = (np.broadcast_to(np.asarray(end, float), usual[0].shape) for end in given)
    except (TypeError, ValueError):
        raise ValueError(f"ranges of block {block!r} must be two numbers, or two arrays [D], got {given!r}") from None
    middle = known(0.5 * (usual[0] + usual[1]))
    if not np.isfinite([least, most]).all() or (
        middle is not None and not ((least <= middle) & (middle <= most)).all()
    ):
        raise ValueError(
            f"ranges of block {block!r} must be finite and contain the mean of every column, got {given!r} for means "
            f"{middle}"
        )
    return least, most


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
def predict_bounds(fit: Any, X: Any, s: Any, prior: str | None, ranges: Any) -> Interval:
    """Lower and upper probabilities of the classes, [N, K]."""
    check_question(prior, s)
    fit = getattr(fit, "alone", fit)  # without the dependence that an average adds
    arrays = fit.arrays(X)
    scores = [_of_block(site, s, arrays[b]) for b, site in sites_of(fit, prior, ranges).items()]
    counts, power, learned = class_weights(fit, prior)
    fewest, most = ((either.floats(counts) + more) ** power for more in (0.0, s * learned))
    # all of s on the worst class; with a power, on every class
    alone = power == 1.0
    weights = Weights(fewest, most, either.where(alone, fewest, most), either.where(alone, s * learned, 0.0))
    return Interval(*bound_shares(weights, scores[0].times(*scores[1:]).log()))


def _of_block(site: Site, s: Any, x: Array) -> LogProb:
    """The scores of rows by the least predictive of each class and by the largest, [N, 2 K]."""
    if site.content is None:
        return score_categories(site.family, compute(_category_bounds, site, s))(x)
    return LogProb(score_outer(site.family, site, either.floats(s).reshape(1), x), None)


@singledispatch
def score_outer(family: Any, site: Site, s: Array, x: Array) -> Array:
    """Outer bounds of a block's score with up to s pseudo-rows, [1], beside each other, [N, 2 K]."""
    del family
    return either.concatenate(compute_rows(sum_outer, (site, s), x), axis=1)


@score_outer.register(Normal)
def _(family: Any, site: Site, s: Array, x: Array) -> Array:
    powers = np.ones(1) if site.powers is None else site.powers
    return compute(normal_box, family, s.reshape(1, 1, 1), site.content).scores(x, powers)


@jax.jit
def sum_outer(site: Site, s: Array, x: Array) -> tuple[Array, Array]:
    """Outer bounds of a block's score with up to s pseudo-rows, [N] or [1]: two [N, K]."""
    powers = site.row_powers(x)[:, None]
    low, high = outer_terms(site.family, s[:, None, None], site.content, x)
    return (powers * low).sum(axis=2), (powers * high).sum(axis=2)


@jax.jit
def _category_bounds(site: Site, s: Any) -> LogProb:
    """The logs of the least probabilities of categories and of the largest, [2 K, S]; a power of 0 allows all."""
    counts: Any = pseudo_counts(site.family, site.vacuous)
    probs = jnp.concatenate(counts.probs(s))
    logs, never = stable.safe_log(probs), (probs == 0).astype(probs.dtype)
    if site.powers is None:
        return LogProb(logs, never)
    sizes = table_sizes(site.family, site.family.num_columns)
    powers = jnp.repeat(jnp.broadcast_to(site.powers, (len(sizes),)), np.array(sizes), total_repeat_length=sum(sizes))
    return LogProb(logs * powers[None], never * (powers > 0)[None])
