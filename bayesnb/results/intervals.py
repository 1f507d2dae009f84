"""Credible intervals of predictions, from the uncertainty of the parameters.

    theta ~ p(theta | rows),    P(y = k | x, theta)  and  w_d (log p(x_d | k, theta) - log p(x_d | j, theta))

The ends are quantiles over draws. The mean of P(y = k | x, theta) over p(theta | x, rows) is ``predict_proba``; as the
number of rows grows, both ends of an interval converge to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.host_calls import at_once
from bayesnb.arrays.placement import Array, is_traced, on_host, to_host
from bayesnb.arrays.sparse import dense
from bayesnb.model.class_prior import joint
from bayesnb.model.naive_bayes import NaiveBayes, Sites
from bayesnb.numerics.log_prob import LogProb
from bayesnb.results.fitted import Fitted
from bayesnb.rows import arguments

Powers = dict[str, Array] | None

AT_ONCE = 1 << 26
"""The largest size in bytes of the results of one block of rows under every draw."""


class Interval(NamedTuple):
    """The ends of equal-tailed credible intervals, two arrays of one shape."""

    low: Array
    high: Array


def predict_interval(fit: Fitted, X: Any, level: float, key: Array, num_draws: int) -> Interval:
    """Intervals of P(y = k | x, theta), [N, K]; see ``Classifier.predict_interval``."""
    given = _prepared(fit, X, level, key, num_draws)
    by_feature = given.powers is not None
    return Interval(*_quantiles(_probabilities, given, level, by_feature))


def contribution_interval(
    fit: Fitted, X: Any, level: float, key: Array, num_draws: int, against: int
) -> dict[str, Interval]:
    """Intervals of each feature's log odds, [N, K, D] by block; see ``Classifier.contribution_interval``."""
    given = _prepared(fit, X, level, key, num_draws)
    num_classes = fit.model.num_classes or 0
    if isinstance(against, bool) or not isinstance(against, int | np.integer) or not 0 <= against < num_classes:
        raise ValueError(f"against is a class, an integer from 0 to {num_classes - 1}, got {against!r}")
    low, high = _quantiles(partial(_contributions, int(against)), given, level, by_feature=True)
    return {block: Interval(low[block], high[block]) for block in fit.model.families}


class _Given(NamedTuple):
    model: NaiveBayes
    params: Sites
    powers: Powers
    arrays: dict[str, Array]


def _prepared(fit: Fitted, X: Any, level: Any, key: Array, num_draws: int) -> _Given:
    require_level(level)
    return drawn(fit, fit.arrays(X), key, num_draws)


def require_level(level: Any) -> None:
    """Raise ValueError unless this is a number between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise ValueError(f"level is the probability inside the interval, between 0 and 1, got {level!r}")


def drawn(fit: Fitted, arrays: dict[str, Array], key: Array, num_draws: int) -> _Given:
    """Draws of the parameters, together with the checked rows."""
    arguments.key(key)
    params = getattr(fit, "params", None)
    one = fit.model if params is None else {site: value[:1] for site, value in params.items()}
    arguments.draws(one, num_draws=num_draws)
    fit = to_host(fit) if on_host(arrays) and not is_traced(fit) else fit
    params, which = fit.draws(key, num_draws)
    if is_traced(which, params):
        params = jax.tree.map(jnp.asarray, params)
    elif on_host(arrays):
        params, which = to_host((params, which))
    return _Given(fit.model, {s: v[which] for s, v in params.items()}, getattr(fit, "weights", None), arrays)


def _quantiles(of_rows: Callable[..., Any], given: _Given, level: float, by_feature: bool) -> tuple[Any, Any]:
    """The quantiles over draws of ``of_rows(model, powers, rows, draw)`` [N, ...], block by block of rows."""
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    model, params, powers, arrays = given
    num_rows = jax.tree.leaves(arrays)[0].shape[0]
    width = sum(x.shape[1] for x in arrays.values()) if by_feature else 1
    row_bytes = 8 * params["class_probs"].size * width
    size = 1 << max(min(AT_ONCE // max(row_bytes, 1), max(num_rows, 1)), 1).bit_length() - 1
    # take the nearest draw: interpolation would fail for impossible events, whose logarithms are -inf
    if not on_host(given):

        def ends(row: dict[str, Array]) -> Any:
            values = _under_every_draw(of_rows, model, params, powers, {b: x[None] for b, x in row.items()})
            return jax.tree.map(lambda v: jnp.quantile(v[:, 0], tails, axis=0, method="nearest"), values)

        both = jax.lax.map(ends, arrays, batch_size=size)
        return jax.tree.map(lambda v: v[:, 0], both), jax.tree.map(lambda v: v[:, 1], both)
    parts = []
    for start in range(0, max(num_rows, 1), size):
        rows = jax.tree.map(lambda x, start=start: dense(x[start : start + size]), arrays)
        values = at_once(_under_every_draw, of_rows, model, params, powers, rows)
        parts.append(jax.tree.map(lambda v: np.quantile(v, tails, axis=0, method="nearest"), values))
    both = jax.tree.map(lambda *pieces: np.concatenate(pieces, axis=1), *parts)
    return jax.tree.map(lambda v: v[0], both), jax.tree.map(lambda v: v[1], both)


@partial(jax.jit, static_argnums=0)
def _under_every_draw(
    of_rows: Callable[..., Any], model: NaiveBayes, params: Sites, powers: Powers, rows: dict[str, Array]
) -> Any:
    # one draw at a time: intermediate arrays, for some families D times the result, are in memory for one draw only
    return jax.lax.map(lambda draw: of_rows(model, powers, rows, draw), params)


def _probabilities(model: NaiveBayes, powers: Powers, rows: dict[str, Array], draw: Sites) -> Array:
    """P(y = k | x, theta), [N, K]."""
    if powers is None:
        return model.log_likelihood(draw, rows).shares()
    terms = _terms(model, powers, rows, draw)
    blocks = [jax.tree.map(lambda part: part.sum(-1), part) for part in terms.values()]
    return joint(draw["class_probs"], blocks).shares()


def _contributions(
    against: int, model: NaiveBayes, powers: Powers, rows: dict[str, Array], draw: Sites
) -> dict[str, Array]:
    """Log odds by block, [N, K, D]."""
    terms = _terms(model, powers, rows, draw)
    return {block: _log_odds(part.log(), against) for block, part in terms.items()}


def _log_odds(log_prob: Array, against: int) -> Array:
    """Log odds relative to one class, [N, K, D]; two impossible events have even odds."""
    other = log_prob[:, against, None]
    even = log_prob == other
    return jnp.where(even, 0.0, log_prob - jnp.where(even, 0.0, other))


def _terms(model: NaiveBayes, powers: Powers, rows: dict[str, Array], draw: Sites) -> dict[str, LogProb]:
    """w_d log p(x_d | k, theta) by block, [N, K, D]."""
    blocks, powers = model.block_params(draw), powers or {}
    terms = {name: f.log_likelihood_terms(blocks[name], rows[name]) for name, f in model.families.items()}
    return {
        name: LogProb(part.finite * jnp.asarray(powers.get(name, np.ones(1)))[None, None], part.zeros)
        for name, part in terms.items()
    }
