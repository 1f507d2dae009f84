"""Decisions that say when they do not know: those that no other dominates under a set of priors.

Decision j dominates j' if it costs less under every prior of the set, sum_k p(k | x) (costs[k, j'] - costs[k, j]) > 0.
Where two classes alone have different costs, one sign each, that is a pair of classes, and exact; else the sum is
bounded class by class. Troffaes, Decision making under uncertainty using imprecise probabilities (2007).
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Node, known, promote_dtypes, pytree
from bayesnb.compute.arrays._typing import Array, ArrayLike, Rows
from bayesnb.compute.numerics._log_prob import logsumexp
from bayesnb.core.results._bounds import check_question, class_weights, sites_of
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._decisions import check_costs
from bayesnb.inspection.sensitivity._dominance import by_rows, classes_of_rows, smallest_margin, take_alone


@pytree
class SetDecisions(Node):
    """The decisions of each row that no other dominates, ``sets`` [N, J], booleans; the classes if no costs are given.

    ``exact`` is False if sets may be too large, as with costs that differ in more than two classes; and
    ``ignores_dependence`` is True if they are those of the part of a default fit without dependence.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[0], [0], [1], [1]], [0, 0, 1, 1])
        >>> found = nb.decide_set(post, [[0], [float("nan")]], s=0.5)
        >>> found.sizes.tolist(), found.exact
        ([1, 2], True)
    """

    sets: Array
    exact: bool = field(default=True, metadata={"static": True})
    ignores_dependence: bool = field(default=False, metadata={"static": True})

    @property
    def sizes(self) -> Array:
        """The number of decisions in each set, [N]; 1 where the rows decide."""
        return self.sets.sum(axis=1)


@promote_dtypes
def decide_set(
    post: Posterior, X: Rows, s: float = 1.0, costs: ArrayLike | None = None, prior: str | None = None
) -> SetDecisions:
    """The classes of each row that no other class dominates, whatever s pseudo-rows contain.

    Class j dominates k if it is more probable under every prior of the set; all sites of the model share the same
    pseudo-rows. A set of one class is a decision that no such prior changes; larger ones are best left to a person, or
    to more data. Sets are nested in s. The method: docs/theory/robustness.md. Zaffalon, The naive credal classifier
    (2002).

    Args:
        post: An exact posterior, or an estimator or pipeline with one. Of a default fit, its part without dependence.
        X: Rows, as the fit takes them.
        s: The number of pseudo-rows.
        costs: [K, J], what decision j costs if the class is k; by default every error costs 1.
        prior: None for the fit as it is and the pseudo-rows; "vacuous" for the pseudo-rows in the place of its prior,
            the imprecise Dirichlet model. With it, a class none of whose rows has this value can be neither chosen nor
            ruled out.

    Raises:
        ValueError: for fits that are not exact posteriors, columns that are no categories, a negative or infinite s,
            and costs of a wrong shape.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1, 1], [1, 0], [1, 1], [0, 0], [0, 1], [0, 0]] * 2, [1, 1, 1, 0, 0, 0] * 2
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> nb.decide_set(post, [[1, 1], [1, 0]], s=3.0).sets
        array([[False,  True],
               [ True,  True]])
    """
    check_question(prior, s)
    fit, X, alone = take_alone(post, X, "decide_set")
    sites, args = sites_of(fit, prior), (class_weights(fit, prior), s * 1.0)
    arrays = fit.arrays(X)
    if costs is not None:
        table = check_costs(costs, fit.model.num_classes or 0)
        sets, pairs = _maximal(by_rows(_margins, sites, args, arrays), table)
        return SetDecisions(sets, pairs, alone)
    sets = by_rows(_not_worse_than_best, sites, args, arrays)
    found = known(sets)
    # what the best class does not dominate, another may
    some = slice(None) if found is None else np.flatnonzero(found.sum(axis=1) > 2)
    few, _ = _maximal(by_rows(_margins, sites, args, {b: x[some] for b, x in arrays.items()}))
    if found is not None:
        changed = np.array(found)
        changed[some] = few
        few = either.like(changed, sets)
    return SetDecisions(few, True, alone)


@jax.jit
def _not_worse_than_best(sites: Any, weights: Any, s: Array, arrays: dict[str, Array]) -> Array:
    """The most probable class of each row, and those that it does not dominate, [N, K]."""
    classes = classes_of_rows(sites, weights, arrays)
    rows = jnp.full((1, jax.tree.leaves(arrays)[0].shape[0]), s)
    scores = classes.low(0.0 * rows).value
    best = scores.argmax(axis=0)
    own = jnp.arange(len(scores))[:, None] == best[None]
    margins, *_ = smallest_margin(classes.take(best), classes, rows)
    return (own | ~(margins > 0)).T


@jax.jit
def _margins(sites: Any, weights: Any, s: Array, arrays: dict[str, Array]) -> tuple[Array, Array, Array]:
    """The smallest log odds of every class against every other, [N, K, K]; and each class's bounds, [N, K]."""
    classes = classes_of_rows(sites, weights, arrays)
    rows = jnp.full((1, jax.tree.leaves(arrays)[0].shape[0]), s)
    num_classes = classes.weights.shape[0]
    odds = jax.lax.map(lambda k: smallest_margin(classes.take(k), classes, rows)[0], jnp.arange(num_classes))
    return jnp.moveaxis(odds, 2, 0), classes.least(rows).T, classes.high(rows).value.T


def _maximal(margins: tuple[Array, Array, Array], costs: Array | None = None) -> tuple[Array, bool]:
    """The decisions that no other dominates, [N, J], and whether that is exact."""
    odds, low, high = margins
    exact, costs = True, 1.0 - np.eye(low.shape[1]) if costs is None else costs
    undominated = []
    for other in costs.T:
        beaten = either.zeros_like(low[:, 0]) > 0
        for one in costs.T:
            (saves,), (loses,) = np.nonzero(other > one), np.nonzero(other < one)
            saved, lost = np.log((other - one)[saves]), np.log((one - other)[loses])
            if len(saves) == len(loses) == 1:
                margin = odds[:, saves[0], loses[0]] + (saved[0] - lost[0])
            elif not len(saves):
                continue
            else:
                exact &= not len(loses)
                margin = logsumexp(low[:, saves] + saved[None])
                margin = margin - logsumexp(high[:, loses] + lost[None]) if len(loses) else margin
            beaten = beaten | (margin > (0.0 if len(loses) else -np.inf))
        undominated.append(~beaten)
    return either.concatenate([column[:, None] for column in undominated], axis=1), exact
