"""What a fit returns: parameters, a posterior, or draws from it, with one way to predict from each.

Every result reduces to one table, log p(y = k, x) of shape [N, K], and everything else is a normalisation of it.
numpy rows give numpy answers, JAX rows JAX answers; results are pytrees and predict inside jit, vmap and grad.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from bayesnb import check, products
from bayesnb.arrays import Array, at_once, finalise, is_traced, namespace, on_host, to_host
from bayesnb.families.base import Node, pytree
from bayesnb.families.support import short_repr
from bayesnb.log_prob import LogProb, logsumexp
from bayesnb.model import NaiveBayes, Sites
from bayesnb.statistics import ModelStatistics


class Classifier(Node):
    """A generative classifier. X is an array [N, D], or a dict of arrays by block; K classes."""

    model: NaiveBayes

    def log_joint(self, X: Any) -> Array:
        """log p(y = k, x) of each row, [N, K]; -inf where the class is impossible."""
        arrays = self._arrays(X)
        base = self.model.row_base_measure(arrays)
        return self._scored(arrays).log() + (base if isinstance(base, float) else base[:, None])

    def log_density(self, X: Any) -> Array:
        """log p(x) = log sum_k p(y = k, x) of each row, [N]; low for outliers."""
        return logsumexp(self.log_joint(X))

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y = k | x), [N, K]. Where every class is impossible, those with fewest impossible features share."""
        return self._scored(self._arrays(X)).normalised()

    def predict_proba(self, X: Any) -> Array:
        """p(y = k | x), [N, K]; each row sums to one."""
        log_proba = self.predict_log_proba(X)
        return np.exp(log_proba) if on_host(log_proba) else jnp.exp(log_proba)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row, integers [N]."""
        return self.predict_log_proba(X).argmax(axis=-1)

    @abstractmethod
    def with_class_probs(self, class_probs: Any) -> Self:
        """The same fit for a population with these class probabilities [K]."""

    @abstractmethod
    def _columns(self) -> Mapping[str, int | None]:
        """The number of columns of each block."""

    @abstractmethod
    def _score(self, arrays: dict[str, Array]) -> LogProb:
        """log p(y = k, x) of checked rows without the base measure."""

    def _arrays(self, X: Any) -> dict[str, Array]:
        arrays = check.blocks(self.model.families, self.model.single, X)
        check.columns(self.model.families, arrays, self._columns())
        check.values(self.model.families, arrays)
        return arrays

    def _scored(self, arrays: dict[str, Array]) -> LogProb:
        """numpy rows are scored on the host, whatever the fit is made of; JAX rows in one compiled call."""
        if on_host(arrays):
            return (self if is_traced(self) else to_host(self))._score(arrays)
        return _score(self, arrays)


@jax.jit
def _score(fit: Classifier, arrays: dict[str, Array]) -> LogProb:
    return fit._score(arrays)


@pytree
class PointEstimate(Classifier):
    """A model at one value of its parameters: the MLE, the MAP, or parameters that you know.

    Args:
        model: The specification.
        params: Arrays by site: ``class_probs`` [K], ``block_probs`` [K, D, ...], ``block_loc`` and ``block_variance``
        [K, D].

    Raises:
        ValueError: for missing, unknown or ill-shaped sites, and for values that are no parameters.
    """

    model: NaiveBayes
    params: Sites

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", check.params(self.model, self.params))

    @classmethod
    def trusted(cls, model: NaiveBayes, params: Sites) -> Self:
        """From parameters that need no check: a fit's own."""
        estimate = object.__new__(cls)
        object.__setattr__(estimate, "model", model)
        object.__setattr__(estimate, "params", params)
        return estimate

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same parameters for a population with these class probabilities [K]."""
        model = self.model.with_class_probs(class_probs)
        return type(self)(model, {**self.params, "class_probs": model.class_probs})

    def _columns(self) -> dict[str, int | None]:
        blocks = self.model.block_params(self.params)
        return {b: f.columns_of(blocks[b]) for b, f in self.model.families.items()}

    def _score(self, arrays: dict[str, Array]) -> LogProb:
        return self.model.log_likelihood(self.params, arrays)


@pytree
class Posterior(Classifier):
    """The exact posterior: ``prior`` and ``model`` are of one type, before and after the rows of ``statistics``.

    Predictions integrate the parameters out. Hyperparameters that the data resolved are part of ``prior``.
    """

    prior: NaiveBayes
    model: NaiveBayes
    statistics: ModelStatistics

    def __repr__(self) -> str:
        return f"Posterior(prior={self.prior!r}, class_counts={short_repr(self.statistics.class_counts)})"

    @property
    def log_evidence(self) -> Array:
        """log p(X, y), the log marginal likelihood given the resolved prior, base measure included: a scalar.

        With weights or soft labels it is that of the weighted likelihood, which is no probability of data.
        """
        return finalise(_log_evidence, self.prior, self.statistics)

    def sample(self, key: Array, num_samples: int) -> Sites:
        """Independent exact draws of the parameters by site, each [num_samples, K, ...]; key is a jax.random.key."""
        check.key(key)
        check.counts(num_samples=num_samples)
        if on_host(self.model) and not is_traced(key):
            return at_once(_sample, self.model, key, num_samples=num_samples)
        return _sample(self.model, key, num_samples)

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same posterior for another population; prior, statistics and so the evidence stay those of the fit."""
        return type(self)(self.prior, self.model.with_class_probs(class_probs), self.statistics)

    def _columns(self) -> Mapping[str, int | None]:
        return self.model.columns

    def _score(self, arrays: dict[str, Array]) -> LogProb:
        return self.model.log_predictive(arrays)


@pytree
class Draws(Classifier):
    """Draws from the posterior by MCMC. Predictions average the joint over draws, then normalise.

    ``params`` holds arrays [S, ...] by site, S = num_chains x draws a chain, chain after chain; ``model`` is the
    resolved prior; ``sample_stats`` what the sampler said of each draw, [S].
    """

    model: NaiveBayes
    params: Sites
    sample_stats: dict[str, Array]
    num_chains: int = field(metadata={"static": True})

    @property
    def max_r_hat(self) -> float:
        """The largest split R-hat over parameters; near 1 where the chains agree (BDA3, section 11.4)."""
        return float(max((np.nanmax(split_gelman_rubin(chains)) for chains in self._chains()), default=1.0))

    @property
    def min_ess(self) -> float:
        """The smallest effective sample size over parameters; the number of draws where nothing varies."""
        num_draws = self.params["class_probs"].shape[0]
        return float(min((np.nanmin(effective_sample_size(chains)) for chains in self._chains()), default=num_draws))

    @property
    def num_divergences(self) -> int:
        """How many transitions diverged."""
        return int(np.asarray(self.sample_stats["diverging"]).sum())

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same draws for a population with these class probabilities [K]."""
        model = self.model.with_class_probs(class_probs)
        draws = self.params["class_probs"]
        params = {**self.params, "class_probs": namespace(draws).broadcast_to(model.class_probs, draws.shape)}
        return type(self)(model, params, self.sample_stats, self.num_chains)

    def _chains(self) -> list[np.ndarray[Any, Any]]:
        """Each site that varies as [chains, draws, size]."""
        sites = (np.asarray(value, np.float64) for value in self.params.values())
        shaped = (value.reshape(self.num_chains, value.shape[0] // self.num_chains, -1) for value in sites)
        varying = (value[..., np.ptp(value, axis=(0, 1)) > 0] for value in shaped)
        return [value for value in varying if value.size]

    def _columns(self) -> Mapping[str, int | None]:
        return self.model.columns

    def _score(self, arrays: dict[str, Array]) -> LogProb:
        return LogProb(*products.by_rows(_mixture, (self.model, self.params), arrays))


@jax.jit
def _mixture(model: NaiveBayes, params: Sites, arrays: dict[str, Array]) -> LogProb:
    """The mean over draws of p(y, x | params): averaging p(y | x, params) instead would be another, wrong answer."""
    draws = jax.tree.map(jnp.asarray, params)
    num_draws = draws["class_probs"].shape[0]
    first = model.log_likelihood(jax.tree.map(lambda a: a[0], draws), arrays)

    def add(total: LogProb, draw: Sites) -> tuple[LogProb, None]:
        return total.plus(model.log_likelihood(draw, arrays)), None

    total, _ = jax.lax.scan(add, first, jax.tree.map(lambda a: a[1:], draws))
    return LogProb(total.finite - jnp.log(num_draws), total.zeros)


@partial(jax.jit, static_argnames="num_samples")
def _sample(model: NaiveBayes, key: Array, num_samples: int) -> Sites:
    def draw(key: Array) -> Sites:
        with handlers.block(), handlers.seed(rng_seed=key):
            return model.params()

    return jax.vmap(draw)(jax.random.split(key, num_samples))


@jax.jit
def _log_evidence(prior: NaiveBayes, statistics: ModelStatistics) -> Array:
    """log partition of the posterior less that of the prior, plus the base measure."""
    base = [f.log_base_measure(statistics.blocks[b]).sum() for b, f in prior.families.items()]
    if prior.class_probs is not None:
        probs, counts = jnp.asarray(prior.class_probs), statistics.class_counts
        seen = (probs > 0) | (counts == 0)
        base.append(jnp.where(seen, counts * jnp.log(jnp.where(probs > 0, probs, 1.0)), -jnp.inf).sum())
    return prior.update(statistics).log_partition() - prior.log_partition() + sum(base)
