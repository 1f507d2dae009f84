"""Which distributions of NumPyro with one unknown argument theta have a conjugate prior, found from their densities.

    log p(x | theta) = c(x) log g - t(x) g + log h(x),           g = theta^power:  a Gamma prior
    log p(x | theta) = c(x) log g + t(x) log(1 - g) + log h(x),  g = theta:        a Beta prior

Three values of log p give c, t and h of a cell: their product with a constant matrix. A distribution has this form if
40 other values agree.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpyro.distributions import constraints

from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.arrays._placement import Array, allow_promotion
from bayesnb.core.families.parts._densities import Density

Power = float | None
"""The power of theta that has a Gamma prior; None for a probability, which has a Beta prior."""

SHARES = np.array([1e-12, 1e-6, 0.5])
LOG_RATES, LARGEST = np.array([-0.4, -0.3, 0.3]), 0.27
"""Where c, t and h are read: c and h where g is small, t where it is large, for any t up to the largest. They are logs,
in shares of the largest number's."""


def largest_of(dtype: Any, power: Power) -> float:
    """The largest number of which all roots by the power are numbers of this type."""
    return float(jnp.finfo(dtype).max) ** min(1.0, abs(power or 1.0))


def split(x: Array, density: Density, power: Power) -> tuple[Array, Array, Array]:
    """c, t and log h of cells [N, D]; 0 for a missing cell. Pure JAX."""
    x = jnp.asarray(x, jnp.result_type(float))
    missing, largest = jnp.isnan(x), largest_of(x.dtype, power)
    g = SHARES if power is None else largest**LOG_RATES
    logs = jnp.maximum(_log_probs(jnp.where(missing, _some_cells(density)[0], x), g, density, power), -(largest**0.9))
    # no matrix product, which has less precision on some devices
    c, t, log_h = (
        jnp.where(missing, 0.0, sum(float(w) * log for w, log in zip(row, logs, strict=True)))
        for row in np.linalg.inv(_terms(g, power))
    )
    return jnp.maximum(c, 0.0), jnp.maximum(t, 0.0), log_h


@lru_cache(maxsize=256)
def power_of(density: Density) -> Power:
    """The power of theta that has a Gamma prior, None for a Beta prior; ValueError for a density without the form."""
    names, unknown = ", ".join(density.unknown), [*density.unknown.values()]
    values = [1.0, 2.0, *(value for _, value in density.given if value)]
    powers: list[Power] = [sign * value for value in values for sign in (1.0, -1.0)]
    powers = [None] if unknown == [constraints.unit_interval] else powers
    for power in powers if len(unknown) == 1 and getattr(unknown[0], "lower_bound", None) == 0 else []:
        if _has_form(density, power):
            return power
    raise ValueError(
        f"{density.title} with unknown {names} has no conjugate Gamma or Beta prior, because log p(x) is not "
        f"c log g - t g or c log p + t log(1 - p) beside what depends on x alone: give numbers for all arguments but "
        f"one, or use nb.Likelihood(dist.{density.title}), which integrates"
    )


def _has_form(density: Density, power: Power) -> bool:
    x, g = _some_cells(density)[:, None], np.linspace(0.01, 0.99, 40) if power is None else np.logspace(-3.0, 3.0, 40)
    found = np.tensordot(_terms(g, power), np.stack(interpret(split, x, density=density, power=power)), 1)
    off = abs(found - interpret(_log_probs, x, g, density=density, power=power))
    return bool((off < 1e-9 * (1.0 + abs(found))).all())


@lru_cache(maxsize=256)
def common_count(density: Density, power: Power) -> float | None:
    """c, if it is the same for all cells, as of waiting times and measurements."""
    c = interpret(split, _some_cells(density)[:, None], density=density, power=power)[0]
    return round(float(c[0, 0]), 9) if np.ptp(c) < 1e-9 else None


def _terms(g: np.ndarray[Any, Any], power: Power) -> np.ndarray[Any, Any]:
    """What c, t and log h multiply, [G, 3]."""
    return np.stack([np.log(g), np.log1p(-g) if power is None else -g, np.ones_like(g)], axis=-1)


def _log_probs(x: Array, g: Array, density: Density, power: Power) -> Array:
    """log p(x | theta) of cells [N, D] at values of g, [G, N, D]."""
    theta = jnp.asarray(g if power is None else g ** (1.0 / power), x.dtype)[:, None, None]
    with allow_promotion():
        return density.make({density.names[0]: theta}).log_prob(x[None])


def _some_cells(density: Density) -> np.ndarray[Any, Any]:
    """A few values of the support."""
    u, support = np.linspace(-2.1, 2.0, 8), density.support
    if support.is_discrete:
        return np.arange(8.0) % (2 if support is constraints.boolean else 8)
    bounded = {"positive": float(getattr(support, "lower_bound", 0.0)) + np.exp(u), "unit": 1.0 / (1.0 + np.exp(u))}
    return bounded.get(density.scale, u)
