"""Numbers of successes in known numbers of trials, with Beta priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._own_primitives import refuse
from bayesnb.compute.arrays._placement import Array, known
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.primitives import _log_factorials as log_factorials
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, Params, pytree
from bayesnb.core.families._bernoulli import BetaFamily, TrialStatistics
from bayesnb.core.families.parts._statistics import without


@pytree
class BinomialStatistics(TrialStatistics):
    """``successes`` and ``trials`` [K, D]; ``log_base`` [K, D]: sum of z times the log binomial coefficients."""

    log_base: Array

    axes = (*TrialStatistics.axes, ("log_base", "KD"))


@pytree
class Binomial(BetaFamily):
    """Successes in trials: theta_kd ~ Beta(a, b), x_nd | y_n = k ~ Binomial(t_nd, theta_kd), such as how often a word
    occurs in a text of t words.

    With s successes in n trials the posterior is Beta(a + s, b + n - s), as for Bernoulli; the predictive is the
    Beta-binomial, C(t, x) B(a + x, b + t - x) / B(a, b). Gelman et al., Bayesian Data Analysis, 3rd edition, section
    2.4. The totals are taken as given, the same for every class.

    Args:
        total_count: t: an int for every column, one int per column, or None if X is a pair (successes, totals) of
            arrays [N, D].
        a: Prior successes, positive; broadcasts to [K, D].
        b: Prior failures, positive; broadcasts to [K, D].

    Cells are whole numbers 0..t, or NaN (missing). Sites: ``block_probs`` [K, D]. Internally rows are [N, 2 D],
    successes and then totals, and a missing cell is 0 of 0.

    Example:
        >>> import bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Binomial.laplace(10, 1.0)), [[7], [1], [3]], [0, 1, 1])
        >>> fit.params["x_probs"].round(3)  # (7 + 1) / (10 + 2) and (4 + 1) / (20 + 2)
        array([[0.667],
               [0.227]])
        >>> own = nb.NaiveBayes(nb.Binomial.laplace(None, 1.0))  # each cell has its own total
        >>> nb.fit_map(own, ([[7], [1], [3]], [[10], [5], [15]]), [0, 1, 1]).params["x_probs"].round(3)
        array([[0.667],
               [0.227]])
    """

    total_count: int | Sequence[int] | None = field(metadata={"static": True})
    a: Hyperparameter = 1.0
    b: Hyperparameter = 1.0

    statistics_type = BinomialStatistics

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "total_count", _totals(self.total_count))

    @classmethod
    def laplace(cls, total_count: int | Sequence[int] | None, smoothing: float = 1.0) -> Self:
        """Beta(1 + l, 1 + l): its MAP is the textbook estimate (s + l) / (n + 2 l)."""
        return cls(total_count, a=1.0 + smoothing, b=1.0 + smoothing)

    @property
    def declared_columns(self) -> int | None:
        return len(self.total_count) if isinstance(self.total_count, tuple) else None

    def likelihood(self, params: Params, total_count: Array | None = None) -> dist.Distribution:
        totals = self.total_count if total_count is None else total_count
        return dist.Binomial(total_count=jnp.asarray(1 if totals is None else totals), probs=params["probs"])

    def observe(self, block: str, params: Params, x: Array | None, total_count: Array | None) -> Array:
        if x is not None:
            x, totals = jnp.split(x, 2, axis=1)
            # 0 of 0 has probability one; without the mask its gradient would be 0 / 0
            distribution = self.likelihood(params, jnp.maximum(totals, 1)).mask(totals > 0)
            return numpyro.sample(block, distribution.to_event(1), obs=x)
        if self.total_count is not None:
            return numpyro.sample(block, self.likelihood(params).to_event(1))
        if total_count is None:
            raise ValueError(f"block {block!r}: to generate Binomial rows give total_count, the trials of each cell")
        totals = jnp.asarray(total_count)
        totals = jnp.broadcast_to(totals[:, None] if totals.ndim == 1 else totals, params["probs"].shape)
        return numpyro.sample(block, self.likelihood(params, totals).to_event(1)), totals

    def check(self, x: Array, block: str) -> None:
        successes, totals = either.split(x, 2, axis=1)
        good = (successes >= 0) & (successes <= totals) & (either.floor(successes) == successes) & (totals < np.inf)
        good &= either.floor(totals) == totals
        sentence = "{column}: a Binomial cell is a whole number of successes between 0 and its total, or NaN (missing)"
        refuse(~good, f"block {block!r}, column {sentence}, got {{0}} of {{1}}", successes, totals)

    def seen(self, x: Array) -> None:
        """None: a missing cell is 0 of 0, which has probability one and needs no mask."""
        del x

    def statistics(self, x: Array, z: ClassSums) -> BinomialStatistics:
        successes, totals = either.split(x, 2, axis=1)
        log_base = z.base(lambda: _log_coefficients(successes, totals))
        return BinomialStatistics(z.sum(successes), z.sum(totals), log_base)

    def coefficients(self, params: Params) -> Linear:
        p = jnp.asarray(params["probs"])
        nothing = jnp.zeros_like(p)
        zeros = (p == 0).astype(p.dtype), (p == 1).astype(p.dtype)
        return Linear((stable.safe_log(p), stable.safe_log1p(-p)), nothing, zeros, nothing)

    def features(self, x: Array) -> tuple[Array, ...]:
        successes, totals = either.split(x, 2, axis=1)
        return successes, totals - successes

    def row_base_measure(self, x: Array) -> Array:
        """The log binomial coefficients, sum_d log C(t_d, x_d)."""
        return _log_coefficients(*either.split(x, 2, axis=1)).sum(axis=1)

    def log_predictive_terms(self, x: Array) -> Array:
        cells = jnp.split(jnp.asarray(x, jnp.result_type(float))[:, None, :], 2, axis=2)
        successes, totals = cells
        a, b = self.a[None], self.b[None]
        some = stable.log_gamma_ratio(a, successes) + stable.log_gamma_ratio(b, totals - successes)
        return some - stable.log_gamma_ratio(a + b, totals)

    def left_out_terms(self, statistics: BinomialStatistics, x: Array, y: Array, weight: Array) -> Array:
        successes, totals = jnp.split(jnp.asarray(x, jnp.result_type(float)), 2, axis=1)
        failures, w = totals - successes, weight[:, None]
        found, trials = statistics.successes[y], statistics.trials[y]
        # what rounding leaves of the successes is judged by the size of the trials
        a = self.a[y] + without(found, w * successes, trials)
        b = self.b[y] + without(trials - found, w * failures, trials)
        some = stable.log_gamma_ratio(a, successes) + stable.log_gamma_ratio(b, failures)
        return some - stable.log_gamma_ratio(a + b, totals)


def _log_coefficients(successes: Array, totals: Array) -> Array:
    """log C(t, x), cell by cell."""
    parts = log_factorials.log_factorial(successes) + log_factorials.log_factorial(totals - successes)
    return log_factorials.log_factorial(totals) - parts


def _totals(given: Any) -> int | tuple[int, ...] | None:
    """The numbers of trials in hashable form, as part of the model's structure."""
    if given is None:
        return None
    try:
        values = known(given)
    except ValueError:
        values = np.empty((0, 0))
    if values is None:
        raise ValueError("Binomial: total_count is part of the model's structure: give ints, not traced values")
    many = values.ndim == 1
    good = values.ndim < 2 and values.size and np.issubdtype(values.dtype, np.integer)
    if not good or values.min() < 1 or values.max() > np.iinfo(np.int32).max:
        raise ValueError(
            f"Binomial: total_count must be a positive int below 2^31, one per column, or None, got {given!r}"
        )
    return tuple(int(t) for t in values) if many else int(values)
