"""The density of a column's cells in every class, as it is drawn."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays.class_table import whole
from bayesnb.arrays.compute import compute
from bayesnb.arrays.placement import Array
from bayesnb.families import (
    Binomial,
    Categorical,
    Histogram,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
)
from bayesnb.families.base import Params
from bayesnb.families.parts.cells import log_density_inside
from bayesnb.families.priors import segments
from bayesnb.families.tied_columns import TiedColumns
from bayesnb.primitives.codes import find_cells

FAR = 3.5
"""How far a plotted density extends beyond the classes' means, in standard deviations."""

POINTS = 301
"""The number of points on a plotted density."""


class CellDensities(NamedTuple):
    """``values`` [V] of one column, and ``densities`` [S, K, V], their densities or probabilities under every draw."""

    values: Array
    densities: Array


@singledispatch
def cell_densities(family: Any, params: Params, column: int) -> CellDensities:
    """The values of a column and their densities, for draws of the parameters [S, K, D]."""
    law = cell_law(family, params, column)
    values = _plotted_values(law)
    return CellDensities(values, jnp.exp(law.log_prob(values[None, None])))


@singledispatch
def cell_law(family: Any, params: Params, column: int) -> dist.Distribution:
    """The distribution of a column's cells under every draw, [S, K, 1]."""
    return family.likelihood({site: _at(family, site, value, column) for site, value in params.items()})


def _at(family: Any, site: str, value: Array, column: int) -> Array:
    at = jnp.asarray(value)[..., column, None]
    return at[:, None] if site in family.common_sites else at


def _plotted_values(law: dist.Distribution) -> Array:
    """The values [V] at which a plot shows the distributions [S, K, 1] of one column."""
    if law.has_enumerate_support:
        return np.asarray(law.enumerate_support(expand=False)).ravel()
    mean, variance = np.asarray(law.mean), np.asarray(law.variance)
    if law.support.is_discrete:
        most, width = mean.mean(axis=0).max(), np.sqrt(variance.mean(axis=0).max())
        return np.arange(int(most + FAR * width) + 2)
    middle, far = mean.mean(axis=0), FAR * np.sqrt(np.median(variance, axis=0))
    low, high = (middle - far).min(), (middle + far).max()
    least = float(getattr(law.support, "lower_bound", -np.inf))
    return np.linspace(max(low, least + (high - least) / POINTS) if np.isfinite(least) else low, high, POINTS)


def _normal_law(loc: Array, variance: Array, column: int) -> dist.Distribution:
    if not variance.all():
        raise ValueError(f"column {column} is constant in the fitted rows, so it has no density")
    return dist.Normal(loc, jnp.sqrt(variance))


@cell_law.register(Binomial)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    # if the totals come with the rows, show the distribution of one trial
    total = np.broadcast_to(family.total_count or 1, family.num_columns)[column]
    return dist.Binomial(int(total), probs=_at(family, "probs", params["probs"], column))


@cell_densities.register(Categorical)
def _(family: Any, params: Params, column: int) -> CellDensities:
    probs = params[f"probs_{column}"] if family.site_a_column else params["probs"][:, :, column]
    return CellDensities(np.arange(probs.shape[-1]), probs)


@cell_densities.register(Multinomial)
def _(family: Any, params: Params, column: int) -> CellDensities:
    del family
    return CellDensities(np.zeros(1), whole(params["probs"])[:, :, [column]])


@cell_law.register(Normal)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    loc, variance = (_at(family, site, params[site], column) for site in family.sites)
    return _normal_law(loc, variance, column)


@cell_law.register(NormalKnownVariance)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    variance = jnp.broadcast_to(family.variance, jnp.shape(params["loc"])[-2:])
    return _normal_law(_at(family, "loc", params["loc"], column), variance[:, column, None], column)


@cell_law.register(MultivariateNormal)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    covariance = jnp.asarray(params["covariance"])[..., column, column, None]
    variance = covariance[:, None] if family.shared else covariance
    return _normal_law(jnp.asarray(params["loc"])[..., column, None], variance, column)


@cell_densities.register(Histogram)
def _(family: Any, params: Params, column: int) -> CellDensities:
    one = slice(column, column + 1)
    edges, atoms, mass = (np.asarray(table[0])[one] for table in (family.edges, family.atoms, family.mass))
    known = edges[np.isfinite(edges)]
    if not known.size:
        raise ValueError(f"column {column} is constant in the fitted rows, so it has no density")
    below, above = FAR * (np.diff(known)[[0, -1]] if known.size > 1 else np.ones(2))
    grid = np.linspace(known[0] - below, known[-1] + above, POINTS)
    values = np.unique(np.concatenate([grid, known, atoms[np.isfinite(atoms)]]))[:, None]
    draws = np.asarray(params["probs"])[:, :, one], np.asarray(params["cuts"])[:, None, one]
    probs = compute(segments.split, mass[None, None], *draws)[:, :, 0]
    inside = np.exp(log_density_inside(edges, atoms, values))
    return CellDensities(values[:, 0], probs[:, :, find_cells(values, edges)[:, 0]] * inside[None, None, :, 0])


cell_law.register(TiedColumns, lambda family, params, column: cell_law(family.wide, family.spread(params), column))


@cell_densities.register(TiedColumns)
def _(family: Any, params: Params, column: int) -> CellDensities:
    return cell_densities(family.wide, family.spread(params), column)
