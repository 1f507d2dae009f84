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

from bayesnb.arrays._compute import compute_in_threads
from bayesnb.arrays._placement import Array
from bayesnb.results._bounds import Site, sum_outer
from bayesnb.results._classifier import Posterior
from bayesnb.results._pseudo_rows import codes_of, pseudo_counts, share_of
from bayesnb.results._unwrap import unwrap_pipeline

GRID = 16
"""Intervals of the shares among which the smallest phi is sought where it may have several minima."""

MOST_STEPS = 60
"""Of Newton's method between bounds, which halve at least where it does not converge."""


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

    def log_probs(self, share: Array, pseudo_rows: Array) -> Array:
        """The sum over columns of log probabilities, [K, N], with pseudo-rows [K, N] of which such shares count."""
        probs = share_of(self, share, pseudo_rows[None, :, None]).sum(axis=0)
        powers = self.powers[None]
        possible = probs > 0
        logs = jnp.where(possible, jnp.log(jnp.where(possible, probs, 1.0)), -jnp.inf)
        return jnp.where(powers > 0, powers * jnp.where(powers > 0, logs, 0.0), 0.0).sum(axis=1)


class Classes(NamedTuple):
    """All classes beside each row: ``counts`` of blocks, ``weights`` n [K, N] or [K, 1] with their ``power``."""

    blocks: tuple[RowCounts, ...]
    weights: Array
    power: Array
    learned: Array

    def low(self, pseudo_rows: Array) -> Array:
        """log low(t), [K, N]; -inf if impossible."""
        return self._cells_low(pseudo_rows) + self._log_weights(pseudo_rows)

    def least(self, pseudo_rows: Array) -> Array:
        """A bound of log low of any number of pseudo-rows up to this, [K, N]."""
        return self._cells_low(pseudo_rows) + self._log_weights(0.0 * pseudo_rows)

    def high(self, pseudo_rows: Array) -> Array:
        """log high(t), [K, N]."""
        parts = [block.log_probs(block.most, pseudo_rows) for block in self.blocks]
        return sum(parts, self._log_weights(pseudo_rows))

    def _cells_low(self, pseudo_rows: Array) -> Array:
        return sum([block.log_probs(block.least, pseudo_rows) for block in self.blocks], jnp.zeros((1, 1)))

    def _log_weights(self, pseudo_rows: Array) -> Array:
        weights = self.weights + self.learned * pseudo_rows
        return jnp.where(weights > 0, self.power * jnp.log(jnp.where(weights > 0, weights, 1.0)), -jnp.inf)

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
    counted = {b: site for b, site in sites.items() if site.content is None}
    blocks = tuple(_row_counts(site, jnp.asarray(arrays[b])) for b, site in counted.items())
    kind = jnp.result_type(float)
    return Classes(blocks, jnp.asarray(counts, kind)[:, None], jnp.asarray(power, kind), jnp.asarray(learned, kind))


def _row_counts(site: Site, x: Array) -> RowCounts:
    counts: Any = pseudo_counts(site.family, site.vacuous)
    places, seen = codes_of(site.family, x).places()
    powers = jnp.ones(x.shape) if site.powers is None else jnp.broadcast_to(site.powers[None], x.shape)
    powers = powers if seen is None else jnp.where(seen, powers, 0.0)
    return RowCounts(counts.found, counts.total, counts.most, counts.least, powers.T).map(
        lambda table: jnp.take(table, places.T, axis=2, mode="clip")
    )


def others_of_rows(sites: dict[str, Site], arrays: dict[str, Array], s: Array) -> tuple[Array, Array]:
    """Outer bounds of the scores of all other blocks, with s pseudo-rows [1, N]: two [K, N], or 0. Pure JAX."""
    found = [sum_outer(site, s[0], arrays[b]) for b, site in sites.items() if site.content is not None]
    low, high = (sum([pair[end].T for pair in found], jnp.zeros((1, 1))) for end in (0, 1))
    return low, high


def smallest_margin(
    one: Classes, other: Classes, pseudo_rows: Array, start: Array | float = 0.5
) -> tuple[Array, Array]:
    """min phi and the share u where it is, [K, N], for s pseudo-rows [1, N]; -inf if class 1 may be impossible.

    The search begins at the share ``start``.
    """

    def phi(share: Array) -> Array:
        return one.low((1.0 - share) * pseudo_rows) - other.high(share * pseudo_rows)

    shape = jnp.broadcast_shapes(one.weights.shape, other.weights.shape, pseudo_rows.shape)
    ends = jnp.zeros(shape), jnp.ones(shape)
    low, high = jax.lax.cond(one.convex().all(), lambda: ends, lambda: _bracket(phi, shape))
    share = _stationary(phi, low, high, jnp.clip(start + 0.0 * low, low, high))
    tried = jnp.stack([share, *ends])
    values = jax.lax.map(phi, tried)
    values = jnp.where(jnp.isnan(values), -jnp.inf, values)
    best = values.argmin(axis=0)[None]
    return tuple(jnp.take_along_axis(table, best, axis=0)[0] for table in (values, tried))  # type: ignore[return-value]


def _bracket(phi: Callable[[Array], Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The neighbours of the smallest of values at equal distances."""
    values = jax.lax.map(lambda u: phi(jnp.full(shape, u)), jnp.linspace(0.0, 1.0, GRID + 1))
    best = values.argmin(axis=0)
    return jnp.maximum(best - 1.0, 0.0) / GRID, jnp.minimum(best + 1.0, GRID) / GRID


def _stationary(phi: Callable[[Array], Array], first: Array, last: Array, start: Array) -> Array:
    """Where phi is least between two shares, if it has one minimum there, by Newton's method."""
    ones = jnp.ones_like(first)
    # phi is flat at its minimum: it is right to twice as many digits as the share; at 0 it may be infinite
    enough = jnp.sqrt(jnp.finfo(first.dtype).eps)
    first = first + enough * (last - first)

    def step(state: tuple[Array, Array, Array, Array, int]) -> tuple[Array, Array, Array, Array, int]:
        low, high, share, _, n = state
        slope = lambda share: jax.jvp(phi, (share,), (ones,))[1]  # noqa: E731
        falls, bends = jax.jvp(slope, (share,), (ones,))
        low, high = jnp.where(falls < 0, share, low), jnp.where(falls < 0, high, share)
        newton = jnp.clip(share - falls / bends, first, last)
        inside = (bends > 0) & ((newton > low) | (low == first)) & ((newton < high) | (high == last))
        new = jnp.where(inside, newton, 0.5 * (low + high))
        return low, high, new, jnp.abs(new - share), n + 1

    def go_on(state: tuple[Array, Array, Array, Array, int]) -> Array:
        return (state[3] > enough).any() & (state[4] < MOST_STEPS)

    return jax.lax.while_loop(go_on, step, (first, last, jnp.clip(start, first, last), ones, 0))[2]


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


def is_exact(sites: dict[str, Site]) -> bool:
    """True if pseudo-rows of all blocks are counts."""
    return all(site.content is None for site in sites.values())


def by_rows(function: Callable[..., Any], sites: dict[str, Site], args: tuple[Any, ...], arrays: Any) -> Any:
    """``function(sites, *args, arrays)`` of checked rows, whose counts of all classes are in memory block by block."""
    numbers = sum(x.shape[1] for x in arrays.values()) * args[0][0].shape[0]
    return compute_in_threads(function, (sites, *args), arrays, numbers)
