"""Credible intervals of predictions, from the uncertainty of the parameters.

    theta ~ p(theta | rows),    P(y = k | x, theta)  and  w_d (log p(x_d | k, theta) - log p(x_d | j, theta))

The ends are quantiles over draws. As the number of rows grows, both converge to ``predict_proba``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import dense
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import is_traced, leading_size, on_host, promote_dtypes, to_host
from bayesnb.compute.arrays._typing import Array
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.core.families._base import Family
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._combine import Powers, raise_class_probs, sum_terms
from bayesnb.core.rows import _arguments as arguments


class Interval(NamedTuple):
    """The ends of equal-tailed credible intervals, two arrays of one shape.

    Example:
        >>> import jax, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> low, high = post.predict_interval([[1]], level=0.8, key=jax.random.key(0), num_draws=100)
        >>> low.shape, bool((low < post.predict_proba([[1]])).all() and (post.predict_proba([[1]]) < high).all())
        ((1, 2), True)
    """

    low: Array
    high: Array


def tails(level: float) -> np.ndarray[Any, Any]:
    """The probabilities below the two ends of an equal-tailed interval. ValueError for a level outside (0, 1)."""
    arguments.require_probability(level=level)
    return np.array([0.5 - level / 2, 0.5 + level / 2])


class ParameterDraws(NamedTuple):
    """Draws of a model's parameters [S, ...] by site, the powers of a posterior, and checked rows by block.

    The ends of intervals are the ``tails`` [2] of quantities under these draws.
    """

    model: NaiveBayes
    params: Sites
    powers: Powers | None
    arrays: dict[str, Array]
    tails: Array


def draw_parameters(fit: Any, arrays: dict[str, Array], key: Array, num_draws: int, level: float) -> ParameterDraws:
    """Draws of the parameters of a ``Classifier``, with the checked rows."""
    ends = tails(level)
    arguments.check_key(key)
    params = getattr(fit, "params", None)
    one = fit.model if params is None else {site: value[:1] for site, value in params.items()}
    arguments.check_draws(one, num_draws=num_draws)
    fit = to_host(fit) if on_host(arrays) and not is_traced(fit) else fit
    params, which = fit.draws(key, num_draws)
    if is_traced(which, params):
        params = jax.tree.map(jnp.asarray, params)
    elif on_host(arrays):
        params, which = to_host((params, which))
    drawn = {site: value[which] for site, value in params.items()}
    return ParameterDraws(fit.model, drawn, getattr(fit, "all_powers", None), arrays, ends)


def probability_interval(given: ParameterDraws) -> Interval:
    """Intervals of P(y = k | x, theta), [N, K]."""
    return Interval(*quantiles(_probabilities, given, by_feature=given.powers is not None))


def contribution_interval(given: ParameterDraws, against: Any) -> dict[str, Interval]:
    """Intervals of each feature's log odds, [N, K, D] by block."""
    num_classes = given.model.num_classes or 0
    if isinstance(against, bool) or not isinstance(against, int | np.integer) or not 0 <= against < num_classes:
        raise ValueError(f"against must be a class, an integer from 0 to {num_classes - 1}, got {against!r}")
    low, high = quantiles(_Contributions(int(against)), given, by_feature=True)
    return {block: Interval(low[block], high[block]) for block in given.model.families}


@promote_dtypes
def quantiles(of_rows: Callable[..., Any], given: ParameterDraws, by_feature: bool) -> tuple[Any, Any]:
    """Both ends of intervals of ``of_rows(model, powers, rows, draw)`` [N, ...], block by block of rows.

    ``of_rows`` must be a module-level function or a frozen dataclass: an equal one is not compiled again.
    """
    model, params, powers, arrays, ends = given
    num_rows = leading_size(arrays)
    width = sum(x.shape[1] for x in arrays.values()) if by_feature else 1
    row_bytes = 8 * model.class_probs_of(params).size * width
    # a power of two, so that few block sizes are compiled
    size = 1 << max(min(limits.AT_ONCE_BYTES // max(row_bytes, 1), max(num_rows, 1)), 1).bit_length() - 1
    # take the nearest draw: interpolation would fail for impossible events, whose logarithms are -inf
    if not on_host(given):

        def of_row(row: dict[str, Array]) -> Any:
            values = _under_every_draw(model, params, powers, {b: x[None] for b, x in row.items()}, of_rows=of_rows)
            return jax.tree.map(lambda v: jnp.quantile(v[:, 0], ends, axis=0, method="nearest"), values)

        both = jax.lax.map(of_row, arrays, batch_size=size)
        return jax.tree.map(lambda v: v[:, 0], both), jax.tree.map(lambda v: v[:, 1], both)
    parts = []
    for start in range(0, max(num_rows, 1), size):
        rows = jax.tree.map(lambda x, start=start: dense(x[start : start + size]), arrays)
        values = compute(_under_every_draw, model, params, powers, rows, of_rows=of_rows)
        parts.append(jax.tree.map(lambda v: np.quantile(v, ends, axis=0, method="nearest"), values))
    both = jax.tree.map(lambda *pieces: np.concatenate(pieces, axis=1), *parts)
    return jax.tree.map(lambda v: v[0], both), jax.tree.map(lambda v: v[1], both)


@partial(jax.jit, static_argnames="of_rows")
def _under_every_draw(
    model: NaiveBayes, params: Sites, powers: Any, rows: dict[str, Array], *, of_rows: Callable[..., Any]
) -> Any:
    # one draw at a time: intermediate arrays, for some families D times the result, are in memory for one draw only
    return jax.lax.map(lambda draw: of_rows(model, powers, rows, draw), params)


def _probabilities(model: NaiveBayes, powers: Any, rows: dict[str, Array], draw: Sites) -> Array:
    if powers is None:
        return model.log_likelihood(draw, rows).shares()
    probs = raise_class_probs(model, powers, model.class_probs_of(draw))
    return sum_terms(probs, feature_terms(model, draw, powers, rows)).shares()


@dataclass(frozen=True)
class _Contributions:
    """The log odds of each feature given parameters, by block, [N, K, D]."""

    against: int

    def __call__(self, model: NaiveBayes, powers: Any, rows: dict[str, Array], draw: Sites) -> dict[str, Array]:
        terms = feature_terms(model, draw, powers, rows)
        return {block: log_odds(part.log(), self.against) for block, part in terms.items()}


def log_odds(log_prob: Array, against: int) -> Array:
    """Log odds relative to one class, [N, K, D]; two impossible events have even odds."""
    other = log_prob[:, against, None]
    even = log_prob == other
    return jnp.where(even, 0.0, log_prob - jnp.where(even, 0.0, other))


def log_likelihood_terms(family: Family, params: Sites, x: Array) -> LogProb:
    """The terms of a block's rows, [N, K, D]."""
    return family.log_likelihood_terms(params, x)


def feature_terms(
    model: NaiveBayes,
    params: Sites,
    powers: Any,
    arrays: Mapping[str, Array],
    of_block: Callable[..., LogProb] = log_likelihood_terms,
) -> dict[str, LogProb]:
    """w_d log p(x_d | k, theta) by block, [N, K, D], or other terms of its family, parameters and rows. Pure JAX."""
    blocks, terms = model.block_params(params), {}
    for name, family in model.families.items():
        part = of_block(family, blocks[name], arrays[name])
        if powers is not None:
            part = part._replace(finite=powers.raise_terms(name, family, part.finite, arrays[name]))
        terms[name] = part
    return terms
