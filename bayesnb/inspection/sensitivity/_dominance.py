"""When one class is more probable than another under every prior of s pseudo-rows, which all sites share.

Of s pseudo-rows the share u supports class 2, all alike and like the row, and the others class 1, all unlike it:

    phi(u) = log low_1((1 - u) s) - log high_2(u s)
    low_1(t)  = (n_1 + t) prod_d ((a_1d + least_d t) / (b_1d + t))^w_d,    high_2 likewise with the ``most``

with cell counts a and their sums b. Class 1 dominates class 2 if min phi > 0. Without powers and with prior counts of 0
this is Zaffalon, The naive credal classifier (2002), section 4. -log high is convex and falls in t, so that the minimum
uses all pseudo-rows, falls with s, and sets of classes are nested. log low is convex unless a class has few rows beside
the prior counts of a feature: where sum_d w_d (n / b_d)^2 is below the power of n, the minimum is bracketed on a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._compute import compute_in_threads
from bayesnb.compute.arrays._placement import Array, varying_as
from bayesnb.compute.numerics._newton import find_root
from bayesnb.core.results._bounds import Site
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._pseudo_rows import codes_of, pseudo_counts, share_of
from bayesnb.core.results._unwrap import unwrap_pipeline

GRID = 16
"""Intervals of the shares among which the smallest phi is sought where it may have several minima."""


class Curve(NamedTuple):
    """A function of the number of pseudo-rows and its first two derivatives, [K, N] each."""

    value: Array
    slope: Array
    bend: Array


class RowCounts(NamedTuple):
    """The counts of the categories in N rows of a block: ``PseudoCounts`` [A, K, D, N], and powers [D, N], 0 where a
    cell is missing.
    """

    found: Array
    total: Array
    most: Array
    least: Array
    powers: Array

    def map(self, change: Callable[[Array], Array]) -> Self:
        """The same with other tables of counts."""
        return type(self)(change(self.found), change(self.total), change(self.most), change(self.least), self.powers)

    def log_probs(self, share: Array, pseudo_rows: Array) -> Curve:
        """The sum over columns of log probabilities with pseudo-rows [K, N] of which such shares count."""
        t, powers = pseudo_rows[None, :, None], self.powers[None]
        parts = share_of(self, share, t)
        inverse = 1.0 / jnp.where(self.total + t > 0, self.total + t, 1.0)
        rise = (share - parts) * inverse
        probs = parts.sum(axis=0)
        possible = probs > 0
        probs = jnp.where(possible, probs, 1.0)
        logs = jnp.where(possible, jnp.log(probs), -jnp.inf)
        slope = rise.sum(axis=0) / probs
        bend = -2.0 * (rise * inverse).sum(axis=0) / probs - slope * slope
        logs = jnp.where(powers > 0, powers * jnp.where(powers > 0, logs, 0.0), 0.0)
        return Curve(logs.sum(axis=1), (powers * slope).sum(axis=1), (powers * bend).sum(axis=1))


class Classes(NamedTuple):
    """All classes beside each row: ``counts`` of blocks, ``weights`` n [K, N] or [K, 1] with their ``power``."""

    blocks: tuple[RowCounts, ...]
    weights: Array
    power: Array
    learned: Array

    def low(self, pseudo_rows: Array) -> Curve:
        """log low(t); -inf if impossible."""
        return self._add([block.log_probs(block.least, pseudo_rows) for block in self.blocks], pseudo_rows)

    def high(self, pseudo_rows: Array) -> Curve:
        """log high(t)."""
        return self._add([block.log_probs(block.most, pseudo_rows) for block in self.blocks], pseudo_rows)

    def least(self, pseudo_rows: Array) -> Array:
        """A bound of log low of any number of pseudo-rows up to this, [K, N]."""
        return self.low(pseudo_rows).value - self._log_weights(pseudo_rows).value + self._log_weights(0.0).value

    def _add(self, curves: list[Curve], pseudo_rows: Array) -> Curve:
        return Curve(*(sum(parts[1:], parts[0]) for parts in zip(self._log_weights(pseudo_rows), *curves, strict=True)))

    def _log_weights(self, pseudo_rows: Array | float) -> Curve:
        weights = self.weights + self.learned * pseudo_rows
        known = jnp.where(weights > 0, weights, 1.0)
        slope = self.learned / known
        value = jnp.where(weights > 0, self.power * jnp.log(known), -jnp.inf)
        return Curve(value, self.power * slope, -self.power * slope * slope)

    def take(self, which: Array) -> Self:
        """One class for each row, [N], or one for all, []: K is then 1."""

        def of(table: Array) -> Array:
            axis = table.ndim - (3 if table.ndim == 4 else 2)
            if table.shape[axis] == 1:
                return table
            if which.ndim == 0:
                return jax.lax.dynamic_slice_in_dim(table, which, 1, axis)
            place = which.reshape((1,) * (table.ndim - 1) + which.shape)
            return jnp.take_along_axis(jnp.broadcast_to(table, (*table.shape[:-1], which.shape[0])), place, axis=axis)

        blocks = tuple(block.map(of) for block in self.blocks)
        return self._replace(blocks=blocks, weights=of(self.weights))

    def convex(self) -> Array:
        """True for classes of which log low is known to be convex, [K, N]."""
        bend = jnp.zeros(())
        for block in self.blocks:
            ratio = self.weights[None, :, None] / jnp.where(block.total > 0, block.total, 1.0)
            own = jnp.where(block.least == 0, block.powers[None, None] * jnp.square(ratio), 0.0)
            bend = bend + own.max(axis=0).sum(axis=1)
        return bend >= self.power * self.learned


def classes_of_rows(sites: dict[str, Site], weights: tuple[Array, Array, Array], arrays: dict[str, Array]) -> Classes:
    """The counts of all classes in the cells of checked rows. Pure JAX."""
    counts, power, learned = weights
    blocks = tuple(_row_counts(site, jnp.asarray(arrays[b])) for b, site in sites.items())
    kind = jnp.result_type(float)
    return Classes(blocks, jnp.asarray(counts, kind)[:, None], jnp.asarray(power, kind), jnp.asarray(learned, kind))


def _row_counts(site: Site, x: Array) -> RowCounts:
    counts = pseudo_counts(site.family, site.vacuous)
    places, seen = codes_of(site.family, x).places()
    powers = jnp.ones(x.shape) if site.powers is None else jnp.broadcast_to(site.powers[None], x.shape)
    powers = powers if seen is None else jnp.where(seen, powers, 0.0)
    return RowCounts(counts.found, counts.total, counts.most, counts.least, powers.T).map(
        lambda table: jnp.take(table, places.T, axis=2, mode="clip")
    )


def smallest_margin(one: Classes, other: Classes, pseudo_rows: Array) -> tuple[Array, Array, Array]:
    """min phi, its derivative by s and the share u where it is, [K, N], for s pseudo-rows [1, N].

    min phi is -inf if class 1 may be impossible.
    """

    def phi(share: Array) -> tuple[Curve, Curve]:
        return one.low((1.0 - share) * pseudo_rows), other.high(share * pseudo_rows)

    def rise(share: Array) -> tuple[Array, Array]:
        """The sum of 1 / slope of both parts, which has the sign of phi's slope if low rises in the share, as the
        other part falls. It is about linear in the share, as slopes are sums of 1 / (count + t).
        """
        low, high = phi(share)
        bend = low.bend / low.slope**2 - high.bend / high.slope**2
        rises = low.slope < 0
        value = jnp.where(rises, 1.0 / high.slope + 1.0 / low.slope, -1.0)
        return value, jnp.where(rises, pseudo_rows * bend, jnp.nan)

    shape = jnp.broadcast_shapes(one.weights.shape, other.weights.shape, pseudo_rows.shape)
    tiny = jnp.finfo(pseudo_rows.dtype).eps  # at the share 0 phi may be infinite
    ends = varying_as((jnp.full(shape, tiny), jnp.ones(shape)), one, other, pseudo_rows)
    first, last = jax.lax.cond(one.convex().all(), lambda: ends, lambda: _bracket(phi, shape, tiny))
    share = find_root(rise, first, last, last, lambda _: tiny ** (1 / 3))
    # the logarithms, which take longer than all else, only here: steps need derivatives alone
    low, high = phi(share)
    value, slope = low.value - high.value, (1.0 - share) * low.slope - share * high.slope
    return jnp.where(jnp.isnan(value), -jnp.inf, value), slope, share


def _bracket(phi: Callable[[Array], tuple[Curve, Curve]], shape: tuple[int, ...], first: Array) -> tuple[Array, Array]:
    """The neighbours of the smallest of values at equal distances."""

    def value(u: Array) -> Array:
        low, high = phi(jnp.full(shape, u))
        return low.value - high.value

    best = jax.lax.map(value, jnp.linspace(0.0, 1.0, GRID + 1)).argmin(axis=0)
    return jnp.maximum((best - 1.0) / GRID, first), jnp.minimum(best + 1.0, GRID) / GRID


# the exact posterior behind a fit, and its rows


def take_posterior(given: Any, X: Any, what: str) -> tuple[Posterior, Any]:
    """The posterior of a fit, an estimator or a pipeline, and its rows. ValueError unless it is exact."""
    fit, X, _ = unwrap_pipeline(given, X)
    if not isinstance(fit, Posterior):
        raise ValueError(
            f"{what} asks what pseudo-rows would change, and only an exact posterior says: take nb.fit_posterior, or "
            f'NaiveBayesClassifier with its default method or method="posterior", got {type(fit).__name__}'
        )
    return fit, X


def take_alone(given: Any, X: Any, what: str) -> tuple[Posterior, Any, bool]:
    """The same without the dependence that an average adds, and whether there was some."""
    fit, X = take_posterior(given, X, what)
    return getattr(fit, "alone", fit), X, hasattr(fit, "alone")


def by_rows(function: Callable[..., Any], sites: dict[str, Site], args: tuple[Any, ...], arrays: Any) -> Any:
    """``function(sites, *args, arrays)`` of checked rows, whose counts of all classes are in memory block by block."""
    numbers = sum(x.shape[1] for x in arrays.values()) * args[0][0].shape[0]
    return compute_in_threads(function, (sites, *args), arrays, numbers)
