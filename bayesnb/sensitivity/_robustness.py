"""How many pseudo-rows, whatever they contain, it takes to change a decision.

s* is the least s at which the most probable class no longer dominates some other. The smallest log odds of a pair fall
with s and are convex in it, so that Newton's method from below never passes the root; it is kept between bounds, which
also serve where they are not convex.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.arrays._placement import Node, promote_dtypes, pytree
from bayesnb.arrays._typing import Array, Rows
from bayesnb.results._bounds import check_question, class_weights, sites_of
from bayesnb.results._classifier import Posterior
from bayesnb.sensitivity._dominance import MOST_STEPS, Classes, classes_of_rows, smallest_margin
from bayesnb.sensitivity._posterior_rows import by_rows, take_posterior

FEWEST, MOST = 1e-12, 1e12
"""Pseudo-rows that count as none, and as many as one likes."""


@pytree
class Robustness(Node):
    """How many pseudo-rows change the decision of each row: ``s_star`` [N], infinite if none do.

    ``labels`` [N] are the most probable classes, and ``rivals`` [N] those that s_star pseudo-rows bring level. Of them
    the share ``support`` [N] has the rival's label and the row's own cells; the rest has the label of the row's class
    and other cells. Where ``exact`` is False, s_star is a lower bound. ``ignores_dependence`` is True if it is that of
    the part of a default fit without dependence.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[0], [0], [1], [1]], [0, 0, 1, 1])
        >>> found = nb.robustness(post, [[0]])
        >>> found.s_star.round(2), found.labels, found.rivals, found.support.round(2)
        (array([1.73]), array([0]), array([1]), array([1.]))
    """

    s_star: Array
    labels: Array
    rivals: Array
    support: Array
    exact: bool = field(default=True, metadata={"static": True})
    ignores_dependence: bool = field(default=False, metadata={"static": True})


@promote_dtypes
def robustness(post: Posterior, X: Rows, prior: str | None = None) -> Robustness:
    """The number of pseudo-rows that would change the decision of each row, if one could choose their content.

    Two rows may both have a probability of .93, one from 4 rows and one from 4,000: the first has the smaller s_star.
    If every row and the prior count c times, s_star is c times as large.

    Args:
        post: An exact posterior, or an estimator or pipeline with one. Of a default fit, its part without dependence.
        X: Rows, as the fit takes them.
        prior: None for the fit as it is and the pseudo-rows; "vacuous" for pseudo-rows in the place of its prior, the
            imprecise Dirichlet model: s_star is then 0 where no row of the class has one of the cells.

    Raises:
        ValueError: for fits that are not exact posteriors, and for another ``prior``.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]] * 2, [1, 1, 1, 0, 0, 0] * 2
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> nb.robustness(post, [[1, 1], [1, 0]]).s_star.round(2)
        array([5.55, 2.55])
    """
    check_question(prior)
    fit, X = take_posterior(post, X, "robustness")
    weights = class_weights(fit, prior)
    s_star, labels, rivals, support = by_rows(_first_change, sites_of(fit, prior), (weights,), fit.arrays(X))
    return Robustness(s_star, labels, rivals, support, ignores_dependence=hasattr(fit, "parts"))


class _Search(NamedTuple):
    """Of each rival [K, N]: s to try next, bounds of where it comes level, the share that supports it, and whether s is
    known; and the number of steps.
    """

    s: Array
    low: Array
    high: Array
    support: Array
    known: Array
    step: Array

    @property
    def open(self) -> Array:
        """Lower bounds of what is not known yet, infinite if it cannot be the least."""
        least = jnp.where(self.known, self.s, jnp.inf).min(axis=0, keepdims=True)
        return jnp.where(self.known | (self.low >= least), jnp.inf, self.low)


@jax.jit
def _first_change(sites: Any, weights: Any, arrays: dict[str, Array]) -> tuple[Array, ...]:
    classes = classes_of_rows(sites, weights, arrays)
    scores = classes.low(jnp.zeros((1, 1)))
    best = scores.argmax(axis=0)
    own, impossible = jnp.arange(len(scores))[:, None] == best[None], jnp.isneginf(scores.max(axis=0))[None]
    one = classes.take(best)
    convex = one.convex().all()

    def try_next(search: _Search, rival: Array | None) -> _Search:
        """One step for every rival, or for one of each row."""
        other = classes if rival is None else classes.take(rival)
        here = search if rival is None else jax.tree.map(lambda table: _look(table, rival), search._replace(step=own))
        new = _step(one, other, here, convex)
        if rival is not None:
            at = jnp.arange(len(scores))[:, None] == rival[None]
            new = jax.tree.map(lambda old, value: jnp.where(at, value, old), search._replace(step=own), new)
        return new._replace(step=search.step + 1)

    zeros = jnp.zeros(scores.shape)
    start = _Search(jnp.where(own, jnp.inf, zeros + 1.0), zeros, zeros + jnp.inf, zeros, own, jnp.zeros((), int))
    search = jax.lax.while_loop(
        lambda search: jnp.isfinite(search.open).any() & (search.step < MOST_STEPS * len(scores)),
        lambda search: try_next(search, search.open.argmin(axis=0)),
        try_next(start, None),
    )
    s = jnp.where(search.known, search.s, jnp.inf)
    rival = s.argmin(axis=0)
    s_star = jnp.where(impossible[0], 0.0, s.min(axis=0))
    return s_star, best, rival, _look(search.support, rival)[0]


def _look(table: Array, which: Array) -> Array:
    """The entries of one class of each row, [1, N]."""
    return jnp.take_along_axis(table, which[None], axis=0)


def _step(one: Classes, other: Classes, search: _Search, convex: Array) -> _Search:
    """Newton's step in s, or one that divides what is between the bounds."""
    s, low, high = search.s, search.low, search.high
    s = jnp.where(search.known, 1.0, s)
    _, share = smallest_margin(one, other, s)
    margin, slope = jax.jvp(lambda s: one.low((1.0 - share) * s) - other.high(share * s), (s,), (jnp.ones_like(s),))
    low, high = jnp.where(margin > 0, s, low), jnp.where(margin > 0, high, s)
    newton = s - margin / slope
    between = jnp.where(jnp.isinf(high), 8.0 * s, jnp.sqrt(jnp.maximum(low, FEWEST) * high))
    new = jnp.where((newton > low) & (newton < high), newton, between)
    low = jnp.where(convex & (newton > low) & (newton < high), newton, low)  # convex: not beyond the root
    known = (jnp.abs(new - s) <= jnp.finfo(s.dtype).eps ** 0.6 * s) | (new >= MOST) | (high <= 2.0 * FEWEST)
    new = jnp.where(new >= MOST, jnp.inf, jnp.where(high <= 2.0 * FEWEST, 0.0, new))
    before = search.known
    return _Search(
        jnp.where(before, search.s, new),
        low,
        high,
        jnp.where(before, search.support, share),
        before | known,
        search.step,
    )
