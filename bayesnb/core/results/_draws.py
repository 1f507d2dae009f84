"""Draws from a posterior as a classifier, with convergence diagnostics."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Self

import jax
import numpy as np
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import compute_rows
from bayesnb.compute.arrays._placement import leading_size, pytree
from bayesnb.compute.arrays._typing import Array, ArrayLike
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import Classifier
from bayesnb.core.results._combine import average_draws


@pytree
class Draws(Classifier):
    """Draws from the posterior by MCMC. Predictions average the joint over draws, then normalise.

    ``params`` holds arrays [S, ...] by site, S = num_chains x draws per chain, chain after chain; ``model`` is the
    resolved prior; ``sample_stats`` the sampler's statistics of each draw, [S].

    Example:
        >>> import jax, numpy as np, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> params, diverging = post.sample(jax.random.key(0), 2000), np.zeros(2000, bool)
        >>> draws = nb.Draws(post.prior, params, {"diverging": diverging}, num_chains=4)
        >>> draws.predict_proba([[1]]).round(1), draws.max_r_hat < 1.05, draws.num_divergences
        (array([[0.8, 0.2]]), True, 0)
    """

    model: NaiveBayes
    params: Sites
    sample_stats: dict[str, Array]
    num_chains: int = field(metadata={"static": True})

    @property
    def max_r_hat(self) -> float:
        """The largest split R-hat over parameters; near 1 if the chains agree (BDA3, section 11.4).

        Infinite if that of a parameter that varies is undefined, as with a NaN among its draws.
        """
        chains = self._chains_that_vary()
        if not chains.size:
            return 1.0
        return float(np.nan_to_num(split_gelman_rubin(chains), nan=np.inf, posinf=np.inf).max())

    @property
    def min_ess(self) -> float:
        """The smallest effective sample size over parameters; the number of draws if nothing varies.

        At most S log10 S for S draws: a larger estimate, or one below 0, is noise from alternating chains (Vehtari et
        al., Rank-normalization, folding, and localization, 2021). 0 if that of a parameter that varies is undefined.
        """
        num_draws = leading_size(self.params)
        most, chains = num_draws * np.log10(num_draws), self._chains_that_vary()
        if not chains.size:
            return float(min(num_draws, most))
        size = np.nan_to_num(effective_sample_size(chains), nan=0.0)
        return float(min(np.where(size < 0, np.inf, size).min(), most))

    @property
    def num_divergences(self) -> int:
        """The number of divergent transitions."""
        return int(np.asarray(self.sample_stats["diverging"]).sum())

    def with_class_probs(self, class_probs: ArrayLike) -> Self:
        """The same draws for a population with these class probabilities [K]."""
        model = self.model.with_class_probs(class_probs)
        draws = self.model.class_probs_of(self.params)
        probs = either.broadcast_to(model.class_probs, draws.shape)
        own = {**self.model.own_params(self.params), "class_probs": probs}
        return replace(self, model=model, params=model.to_sites(own))

    def _chains_that_vary(self) -> np.ndarray[Any, Any]:
        """The parameters that vary, [chains, draws, P] in float64."""
        sites = [np.asarray(value, np.float64).reshape(len(value), -1) for value in self.params.values()]
        whole = np.concatenate(sites, axis=1)
        varying = np.ptp(whole, axis=0) != 0  # true for NaN too
        return whole[:, varying].reshape(self.num_chains, len(whole) // self.num_chains, -1)

    def draws(self, key: Array, num_draws: int) -> tuple[Sites, Array]:
        """A uniform sample of these draws."""
        return self.params, jax.random.randint(key, (num_draws,), 0, leading_size(self.params))

    def _scorer(self) -> Score:
        return lambda arrays: LogProb(*compute_rows(_mixture, (self.model, self.params), dict(arrays)))


@jax.jit
def _mixture(model: NaiveBayes, params: Sites, arrays: dict[str, Array]) -> LogProb:
    return average_draws(lambda draw: model.log_likelihood(draw, arrays), params)
