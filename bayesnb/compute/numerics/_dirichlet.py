"""The Dirichlet distribution: mean, mode, log partition, log likelihood relative to its mean, and log frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics._stable import log1p_minus, log_gamma_ratio

Total = Callable[[Array], Array]
"""A function that sums the entries of each simplex, in a shape that broadcasts against them."""


def total(x: Array) -> Array:
    """The sum over the last axis, which is kept."""
    return x.sum(axis=-1, keepdims=True)


def dirichlet_mean(concentration: Array, total: Total = total) -> Array:
    """E[theta] = a / sum a."""
    return concentration / total(concentration)


def dirichlet_mode(concentration: Array, total: Total = total) -> Array:
    """argmax of Dirichlet(a): max(a - 1, 0) renormalised, or the mean if that is all zero.

    For a >= 1 it is the mode (a - 1) / (sum a - C) of the density on the simplex. Below 1 the density is unbounded on
    the boundary; the result then lies there, on the side of the categories with counts.
    """
    raised = jnp.maximum(concentration - 1.0, 0.0)
    return _share(jnp.where(total(raised) > 0, raised, concentration), total)


def dirichlet_mle(counts: Array, total: Total = total) -> Array:
    """counts / sum counts, over classes on axis 0.

    The likelihood of a class without counts is flat: the class gets the estimate of all classes pooled, or the uniform
    distribution if there are no counts at all.
    """
    counts = jnp.asarray(counts, jnp.result_type(float))
    pooled = counts.sum(axis=0, keepdims=True)
    pooled = jnp.where(total(pooled) > 0, pooled, 1.0)
    return _share(jnp.where(total(counts) > 0, counts, pooled), total)


def _share(counts: Array, total: Total) -> Array:
    """counts / sum counts, and exactly 1 for a category with all counts: compiled division may be off by a rounding."""
    sums = total(counts)
    return jnp.where(counts == sums, 1.0, counts / jnp.where(sums > 0, sums, 1.0))


def log_multivariate_beta(concentration: Array, total: Total = total) -> Array:
    """The log partition of Dirichlet(a): sum log Gamma(a) - log Gamma(sum a), in the shape that ``total`` gives."""
    sums = total(concentration)
    return total(gammaln(concentration)) - gammaln(jnp.where(sums > 0, sums, 1.0))  # the sum of no entries is 0


def log_multivariate_beta_ratio(concentration: Array, counts: Array, total: Total = total) -> Array:
    """The log partition of Dirichlet(a + n) minus that of Dirichlet(a), in the shape that ``total`` gives."""
    counts = counts.astype(concentration.dtype)
    before, change = total(concentration), total(counts)
    if not before.size or not concentration.size:
        return either.zeros_like(before)
    unit = before + change
    parts = log_gamma_ratio(concentration, counts, unit)
    return total(parts) - log_gamma_ratio(before, change, unit)


def centred_log_likelihood(counts: Array, change: Array, prior: Array) -> Array:
    """sum_c n_c log(theta_c / t_c) over the last axis, with t = (n + a) / sum(n + a) the posterior mean.

    ``change`` is r = (theta - t) / t. The sum is written as sum n (log1p(r) - r) - sum a r: the first order terms of n
    and of the simplex's constraint cancel analytically. In float32 at 1e8 rows they would leave noise of several nats.
    """
    return (counts * log1p_minus(change) - prior * change).sum(axis=-1)


def log_frequencies(counts: Array, alpha: Any, sizes: Any) -> Array:
    """log((count + alpha) / sum(count + alpha)), [K, S], for simplexes of these sizes laid end to end.

    If alpha is 0, a class without counts gets the counts of all classes, or ones if these are zero as well.
    """
    if not np.isfinite(alpha).all():
        raise ValueError(f"alpha must be finite, got {alpha!r}")
    starts = np.cumsum(sizes) - sizes
    raised = counts + alpha
    totals = np.add.reduceat(raised, starts, axis=1)
    if not totals.all():
        pooled = raised.sum(axis=0)
        pooled = np.where(np.repeat(np.add.reduceat(pooled, starts), sizes) > 0, pooled, 1.0)
        raised = np.where(np.repeat(totals > 0, sizes, axis=1), raised, pooled)
        totals = np.add.reduceat(raised, starts, axis=1)
    with np.errstate(divide="ignore"):
        # in place: memory that the system has yet to give takes longer than the logarithms
        logs, log_totals = np.log(raised, out=raised), np.log(totals)
    # one simplex broadcasts, which takes a tenth of the time
    logs -= log_totals if len(sizes) == 1 else log_totals[:, np.repeat(np.arange(len(sizes)), sizes)]
    return logs
