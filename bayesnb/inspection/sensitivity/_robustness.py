"""How many pseudo-rows, whatever they contain, it takes to change a decision.

s* is the least s at which the most probable class no longer dominates some other: the root of the smallest log odds of
all pairs, which fall with s and are mostly convex in it.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._placement import Node, promote_dtypes, pytree, varying_as
from bayesnb.compute.arrays._typing import Array, Rows
from bayesnb.compute.numerics._newton import find_root
from bayesnb.core.results._bounds import check_question, class_weights, sites_of
from bayesnb.core.results._classifier import Posterior
from bayesnb.inspection.sensitivity._dominance import by_rows, classes_of_rows, smallest_margin, take_alone

FEWEST, MOST = 1e-12, 1e12
"""Pseudo-rows that count as none, and as many as one likes."""


@pytree
class Robustness(Node):
    """How many pseudo-rows change the decision of each row: ``s_star`` [N], infinite if none do.

    ``labels`` [N] are the most probable classes, and ``rivals`` [N] those that s_star pseudo-rows bring level. Of them
    the share ``support`` [N] has the rival's label and the row's own cells; the rest has the label of the row's class
    and other cells. ``ignores_dependence`` is True if it is that of the part of a default fit without dependence.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[0], [0], [1], [1]], [0, 0, 1, 1])
        >>> found = nb.robustness(post, [[0]])
        >>> found.s_star.round(2), found.labels, found.rivals, found.support.round(2)
        (array([1.73]), array([0]), array([1]), array([1.]))
        >>> found.sentence(s=5)
        'no decision on 1 row changes if up to 1.7 pseudo-rows of any content are added; 0 % stay with up to 5'
    """

    s_star: Array
    labels: Array
    rivals: Array
    support: Array
    ignores_dependence: bool = field(default=False, metadata={"static": True})

    def sentence(self, s: float = 10.0) -> str:
        """What a paper may say of these rows: how many pseudo-rows change no decision, and how many decisions s change.

        Numbers are rounded down. Of a default fit it is said of the part without dependence.

        Raises:
            ValueError: if s is no number of pseudo-rows, or there are no rows.
        """
        check_question(None, s)
        s_star = np.asarray(self.s_star)
        if not s_star.size:
            raise ValueError("the sentence is of one row or more, and nb.robustness was given none")
        stay = f"{100 * np.count_nonzero(s_star > s) // len(s_star)} %"
        least, alone = np.floor(10.0 * s_star.min()) / 10.0, "without dependence, " * self.ignores_dependence
        rows = "1 row" if len(s_star) == 1 else f"{len(s_star):,} rows"
        if least == 0:
            return f"{alone}{stay} of the decisions on {rows} stay if up to {s:g} pseudo-rows of any content are added"
        if np.isinf(least):
            return f"{alone}no decision on {rows} changes, however many pseudo-rows of any content are added"
        first = f"{least:,.1f}".removesuffix(".0")
        added = f"if up to {first} pseudo-rows of any content are added"
        return f"{alone}no decision on {rows} changes {added}; {stay} stay with up to {s:g}"


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
        ValueError: for fits that are not exact posteriors, columns that are no categories, and for another ``prior``.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]] * 2, [1, 1, 1, 0, 0, 0] * 2
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> nb.robustness(post, [[1, 1], [1, 0]]).s_star.round(2)
        array([5.55, 2.55])
    """
    check_question(prior)
    fit, X, alone = take_alone(post, X, "robustness")
    weights = class_weights(fit, prior)
    s_star, labels, rivals, support = by_rows(_first_change, sites_of(fit, prior), (weights,), fit.arrays(X))
    return Robustness(s_star, labels, rivals, support, alone)


def own_s_star(fit: Any, X: Any, prior: str | None = None) -> Array:
    """s_star of the labels that a fit itself predicts, [N]: 0 where its part without dependence has another one."""
    found = robustness(fit, X, prior)
    return np.where(found.ignores_dependence & (found.labels != fit.predict(X)), 0.0, found.s_star)


@jax.jit
def _first_change(sites: Any, weights: Any, arrays: dict[str, Array]) -> tuple[Array, ...]:
    classes, num_rows = classes_of_rows(sites, weights, arrays), jax.tree.leaves(arrays)[0].shape[0]
    none, ones = varying_as((jnp.zeros((1, num_rows)), jnp.ones((1, num_rows))), sites, weights, arrays)
    scores = classes.low(none).value
    best = scores.argmax(axis=0)
    one, own = classes.take(best), jnp.arange(len(scores))[:, None] == best[None]

    def of_first_rival(s: Array) -> tuple[Array, ...]:
        """The rival with the smallest log odds [1, N], these, their slope, and the share of rows that support it."""
        margin, *others = smallest_margin(one, classes, s)
        margin = jnp.where(own, jnp.inf, margin)
        rival = margin.argmin(axis=0, keepdims=True)
        return rival, *(jnp.take_along_axis(table, rival, axis=0) for table in (margin, *others))

    def fall(s: Array) -> tuple[Array, Array]:
        _, margin, slope, _ = of_first_rival(s)
        return -margin, -slope

    enough = jnp.finfo(scores.dtype).eps ** 0.45  # of a step that squares the error
    s = find_root(fall, FEWEST * ones, MOST * ones, ones, lambda s: enough * s, lambda a, b: jnp.sqrt(a * b))
    rival, _, _, support = (table[0] for table in of_first_rival(s))
    s_star = jnp.where(s > 0.5 * MOST, jnp.inf, jnp.where(s < 2.0 * FEWEST, 0.0, s))[0]
    return jnp.where(jnp.isneginf(scores.max(axis=0)), 0.0, s_star), best, rival, support
