"""The prior's density at given parameters, also on the boundary of the support, where a mode may be."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro import handlers

from bayesnb.arrays.placement import Array
from bayesnb.model.naive_bayes import NaiveBayes, Sites
from bayesnb.numerics.covariances import proper, variances
from bayesnb.numerics.log_prob import LogProb


@jax.jit
def log_prior(model: NaiveBayes, params: Sites) -> LogProb:
    """log p(params) under a resolved model, by NumPyro; on the boundary of the support see ``_density``.

    Zero variances, which columns without information have, are replaced so that the density is finite.
    """

    def proper_value(site: dict[str, Any]) -> Any:
        value: Any = params.get(site["name"])
        if isinstance(site.get("fn"), dist.InverseGamma):
            return jnp.where(value == 0, 1.0, value)
        return proper(value, variances(value) > 0) if isinstance(site.get("fn"), dist.InverseWishart) else value

    with jax.numpy_rank_promotion("allow"):  # NumPyro's own distributions need rank promotion
        trace = handlers.trace(handlers.substitute(model.params, substitute_fn=proper_value)).get_trace()
        parts = [_density(site["fn"], site["value"]) for site in trace.values() if site["type"] == "sample"]
    return LogProb(sum(p.finite for p in parts), sum(p.zeros for p in parts))


def _density(law: Any, value: Array) -> LogProb:
    """A site's density as 0^zeros exp(finite): on the boundary, ``zeros`` is the exponent of the distance to it.

    The boundary is that of a simplex, or a rate of 0. The density is unbounded if the exponent is negative.
    """
    if isinstance(law, dist.Beta):
        value = jnp.stack([value, 1.0 - value], axis=-1)
        law = dist.Dirichlet(jnp.stack([law.concentration1, law.concentration0], axis=-1))
    if not isinstance(law, dist.Dirichlet | dist.Gamma):
        return LogProb(law.log_prob(value).sum(), jnp.zeros(()))
    near = jnp.finfo(value.dtype).tiny
    power = jnp.where(value == 0, law.concentration - 1.0, 0.0).sum()
    return LogProb(law.log_prob(jnp.where(value == 0, near, value)).sum() - power * jnp.log(near), power)
