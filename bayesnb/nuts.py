"""NUTS on the model's own NumPyro program, conditioned on the statistics: its cost does not grow with the rows."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpyro
from numpyro.infer import MCMC, NUTS, init_to_value

from bayesnb import check
from bayesnb.arrays import Array, finalise, is_traced, to_host
from bayesnb.draws import Draws
from bayesnb.fit import prepare
from bayesnb.model import NaiveBayes, Sites
from bayesnb.statistics import ModelStatistics

R_HAT, ESS = 1.01, 400
"""Bounds beyond which draws are not to be trusted: Vehtari et al., Rank-normalization, folding, localization (2021)."""

FEWEST = 4
"""Draws a chain without which R-hat is not defined."""


def fit_nuts(
    model: NaiveBayes,
    X: Any = None,
    y: Any = None,
    *,
    key: Array,
    sample_weight: Any = None,
    statistics: ModelStatistics | None = None,
    num_samples: int = 1000,
    num_warmup: int = 1000,
    num_chains: int = 4,
    progress_bar: bool = True,
) -> Draws:
    """Draws from the posterior by the No-U-Turn sampler (Hoffman and Gelman 2014), chains vectorized on one device.

    The likelihood enters through the sufficient statistics, written relative to the posterior mean term by term and,
    for Normal blocks, in units of the posterior: the density is right in float32 at any number of rows.

    Args:
        model: The specification.
        X: An array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        key: A ``jax.random.key``.
        sample_weight: Weights [N].
        statistics: Sufficient statistics instead of rows.
        num_samples: Draws a chain.
        num_warmup: Draws a chain in which the sampler adapts; they are thrown away.
        num_chains: Chains; several are needed to see whether they agree.
        progress_bar: Show progress.

    Warns:
        UserWarning: where R-hat exceeds 1.01, the effective sample size is below 400, or transitions diverged.

    Raises:
        ValueError: where the data do not fit the model, for numbers of draws that are none, and inside a JAX
            transformation.
    """
    check.key(key)
    check.counts(num_samples=num_samples, num_warmup=num_warmup, num_chains=num_chains)
    if num_samples < FEWEST:
        raise ValueError(f"num_samples must be at least {FEWEST}, to see whether chains agree, got {num_samples}")
    model, statistics = prepare(model, X, y, sample_weight, statistics)
    if is_traced(model, statistics, key):
        raise ValueError("fit_nuts cannot run inside a JAX transformation: call it with arrays whose values are known")
    model, statistics = to_host((model, statistics))
    centred, standard, reference = finalise(_centred, model, statistics)
    sampler = MCMC(
        NUTS(_program, init_strategy=init_to_value(values=reference)),
        num_warmup=num_warmup,
        num_samples=num_samples,
        num_chains=num_chains,
        chain_method="vectorized",
        progress_bar=progress_bar,
    )
    sampler.run(key, centred, standard, reference, extra_fields=("diverging", "num_steps", "accept_prob"))
    params = finalise(_restored, model, statistics, to_host(sampler.get_samples()))
    draws = Draws(model, params, to_host(sampler.get_extra_fields()), num_chains)
    _warn(draws)
    return draws


def _program(model: NaiveBayes, statistics: ModelStatistics, reference: Sites) -> None:
    """The model's own sites; all rows are one factor, relative to the reference point."""
    params = model.params()
    numpyro.factor("rows", model.log_likelihood_of(statistics, params, reference))


@jax.jit
def _centred(model: NaiveBayes, statistics: ModelStatistics) -> tuple[NaiveBayes, ModelStatistics, Sites]:
    prior, standard = model.centred(statistics)
    return prior, standard, prior.update(standard).reference()


@jax.jit
def _restored(model: NaiveBayes, statistics: ModelStatistics, params: Sites) -> Sites:
    return jax.vmap(lambda draw: model.restored(statistics, draw))(params)


def _warn(draws: Draws) -> None:
    r_hat, ess, diverged = draws.max_r_hat, draws.min_ess, draws.num_divergences
    found = []
    if r_hat > R_HAT:
        found.append(
            f"the largest R-hat is {r_hat:.3f}, above {R_HAT}: the chains do not agree yet, take more num_warmup"
        )
    if ess < ESS:
        found.append(f"the smallest effective sample size is {ess:.0f}, below {ESS}: take more num_samples")
    if diverged:
        found.append(
            f"{diverged} transitions diverged: parts of the posterior may be missed; use fit_posterior, which is exact"
        )
    if found:
        warnings.warn("do not trust these draws yet: " + "; ".join(found), UserWarning, stacklevel=3)
