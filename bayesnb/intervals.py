"""Credible intervals of predictions: what the uncertainty of the parameters leaves open.

    theta ~ p(theta | rows),    P(y = k | x, theta)  and  w_d (log p(x_d | k, theta) - log p(x_d | j, theta))

Their quantiles over draws. The mean of the first over p(theta | x, rows) is ``predict_proba``; as rows pile up both
ends of an interval meet it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb import check, products
from bayesnb.arrays import Array, is_traced, on_host, to_host
from bayesnb.class_prior import joint
from bayesnb.log_prob import LogProb
from bayesnb.model import NaiveBayes, Sites

if TYPE_CHECKING:
    from bayesnb.results import Classifier

Weights = dict[str, Array] | None

ROWS = 8
"""Rows that are worked on at a time, each under every draw."""


class Interval(NamedTuple):
    """The ends of equal-tailed credible intervals, two arrays of one shape."""

    low: Array
    high: Array


def predict_interval(fit: Classifier, X: Any, level: float, key: Array, num_draws: int) -> Interval:
    """Of P(y = k | x, theta), [N, K]; see ``Classifier.predict_interval``."""
    arrays, arguments = _prepared(fit, X, level, key, num_draws)
    ends = products.by_rows(_of_probabilities, arguments, arrays)
    return Interval(ends[:, 0], ends[:, 1])


def contribution_interval(
    fit: Classifier, X: Any, level: float, key: Array, num_draws: int, against: int
) -> dict[str, Interval]:
    """Of each feature's log odds, [N, K, D] by block; see ``Classifier.contribution_interval``."""
    arrays, arguments = _prepared(fit, X, level, key, num_draws)
    num_classes = fit.model.num_classes or 0
    if isinstance(against, bool) or not isinstance(against, int | np.integer) or not 0 <= against < num_classes:
        raise ValueError(f"against is a class, an integer from 0 to {num_classes - 1}, got {against!r}")
    ends = products.by_rows(partial(_of_contributions, int(against)), arguments, arrays)
    return {block: Interval(part[:, 0], part[:, 1]) for block, part in ends.items()}


def _prepared(fit: Classifier, X: Any, level: Any, key: Array, num_draws: int) -> tuple[dict[str, Array], Any]:
    if isinstance(level, bool) or not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise ValueError(f"level is the probability inside the interval, between 0 and 1, got {level!r}")
    check.key(key)
    check.counts(num_draws=num_draws)
    arrays = fit._arrays(X)
    fit = to_host(fit) if on_host(arrays) and not is_traced(fit) else fit
    params, which = fit.draws(key, num_draws)
    params = {site: value[which] for site, value in params.items()}
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    model, weights = fit.model, getattr(fit, "weights", None)
    return arrays, (model, params, weights, tails)


@jax.jit
def _of_probabilities(model: NaiveBayes, params: Sites, weights: Weights, tails: Array, arrays: Any) -> Array:
    def probability(row: dict[str, Array], draw: Sites) -> Array:
        return jnp.exp(_joint(model, draw, weights, row).normalised())

    return _quantiles(probability, params, tails, arrays)


@partial(jax.jit, static_argnums=0)
def _of_contributions(
    against: int, model: NaiveBayes, params: Sites, weights: Weights, tails: Array, arrays: Any
) -> dict[str, Array]:
    def contributions(row: dict[str, Array], draw: Sites) -> dict[str, Array]:
        terms = _terms(model, draw, weights, row)
        return {block: _log_odds(part.log(), against) for block, part in terms.items()}

    return _quantiles(contributions, params, tails, arrays)


def _quantiles(of_row: Any, params: Sites, tails: Array, arrays: dict[str, Array]) -> Any:
    """The quantiles of ``of_row(row, draw)`` over draws, for one row after the other, [N, 2, ...]."""

    def ends(row: dict[str, Array]) -> Any:
        alone = {block: x[None] for block, x in row.items()}
        values = jax.vmap(lambda draw: jax.tree.map(lambda value: value[0], of_row(alone, draw)))(params)
        # the nearest draw, not a point between two: impossible events have logarithms of -inf
        return jax.tree.map(lambda value: jnp.quantile(value, tails, axis=0, method="nearest"), values)

    return jax.lax.map(ends, arrays, batch_size=ROWS)


def _log_odds(log_prob: Array, against: int) -> Array:
    """Relative to one class, [N, K, D]; two impossible events have even odds."""
    other = log_prob[:, against, None]
    even = log_prob == other
    return jnp.where(even, 0.0, log_prob - jnp.where(even, 0.0, other))


def _joint(model: NaiveBayes, draw: Sites, weights: Weights, rows: dict[str, Array]) -> LogProb:
    """log p(k) + sum_d w_d log p(x_d | k, theta), [N, K]."""
    if weights is None:
        return model.log_likelihood(draw, rows)
    terms = _terms(model, draw, weights, rows)
    return joint(draw["class_probs"], [LogProb(part.finite.sum(-1), part.zeros.sum(-1)) for part in terms.values()])


def _terms(model: NaiveBayes, draw: Sites, weights: Weights, rows: dict[str, Array]) -> dict[str, LogProb]:
    """w_d log p(x_d | k, theta) by block, [N, K, D]."""
    blocks, powers = model.block_params(draw), weights or {}
    terms = {name: f.log_likelihood_terms(blocks[name], rows[name]) for name, f in model.families.items()}
    return {
        name: LogProb(part.finite * jnp.asarray(powers.get(name, np.ones(1)))[None, None], part.zeros)
        for name, part in terms.items()
    }
