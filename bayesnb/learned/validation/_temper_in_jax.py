"""Learn the powers of ``temper`` inside JAX: under jit, vmap and grad, where numpy's solvers cannot run.

The objective is that of ``temper``. The common power is found by bisection and powers of features by projected Newton
steps, a fixed number of each. A last step of Newton's method carries the derivatives: at a minimum it does not move,
and its derivative is that of the minimum by the implicit function theorem. Blondel et al., Efficient and modular
implicit differentiation (2022), section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._placement import Array, varying_as
from bayesnb.compute.numerics._one_by_one import inverses
from bayesnb.core.families._views import start_powers
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._combine import has_word_terms, raise_lengths
from bayesnb.core.rows._checks import columns_in
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.core.rows._part import part_size
from bayesnb.learned.validation._ratio_table import Groups, class_part, count_features

LOG_TEMPERATURES = (-12.0, 0.0)
"""Bounds of log T, whose prior has standard deviation 1: the common power never makes the model more confident."""

SCALES = (1.0, 0.3, 0.2, 0.1, 0.03)
"""The standard deviations of delta that are compared by evidence."""

TOO_LOW = 20.0
"""Nats of evidence that a scale may lose against the first before smaller ones are left out."""

NUM_STEPS = 8, 6
"""Newton's steps for the common power; and for each scale, which begins at the mode of the one before."""

WORD_STEPS = (np.inf, 8), (1.0, 16)
"""Bounds on the powers of words, and steps under each: without the bound of 1 the loss has a single minimum more often.
"""

WORDS = (0.0, 1.0, *LOG_TEMPERATURES), (0.0, 1.0, -12.0, 12.0), (0.75, 0.25, 0.0, 1.0), (0.0, 1.0, -12.0, 12.0)
"""Means, standard deviations and bounds of log T of the features beside blocks of counts, and of log c, b and log a.

b was .6 to .95 in four collections of texts. Few rows, which leave-one-out predicts without an error, do not say what b
is, and long rows stay weighed down."""

AT_LEAST = (-1.0, np.inf)
"""The bounds of delta."""


class Ratios(NamedTuple):
    """Left-out log ratios of all classes to a row's own, as in ``LeftOutRatios``: ``prior`` [N, K], ``ratios``
    [N, K, F], ``weight`` [N]; ``sizes``, the number of features by block; ``words`` [N, K] and ``lengths`` [N].
    """

    prior: Array
    ratios: Array
    weight: Array
    sizes: dict[str, int]
    words: dict[str, Array]
    lengths: dict[str, Array]

    def loss(self, powers: Array) -> tuple[Array, Array, Array]:
        """-sum_i weight_i log p(y_i | x_i) under powers [F], its gradient [F] and second derivatives [F, F]."""
        return _log_loss(self.prior + self.ratios @ powers, self.ratios, self.weight)

    def select(self, features: np.ndarray[Any, Any], factors: np.ndarray[Any, Any]) -> Ratios:
        """The table with these features and their ratios times factors."""
        return self._replace(ratios=self.ratios[:, :, features] * factors[None, None])


def _log_loss(joint: Array, ratios: Array, weight: Array) -> tuple[Array, Array, Array]:
    """The loss of log ratios [N, K], and its derivatives in the powers of these features [N, K, F]."""
    total = jax.nn.logsumexp(joint, axis=1)
    probs = jnp.exp(joint - total[:, None])
    mean = jnp.einsum("nk,nkf->nf", probs, ratios)
    about_mean = jnp.sqrt(weight[:, None] * probs)[:, :, None] * (ratios - mean[:, None])
    spread = about_mean.reshape(-1, ratios.shape[2])
    return weight @ total, weight @ mean, spread.T @ spread


def left_out_log_ratios(posterior: Posterior, rows: LabelledRows, *, by_feature: bool) -> Ratios:
    """Those of all rows, or of every second, third, ... of each class; see ``_leave_one_out``.

    A part that does not depend on the rows' order would have a size that is known only when it runs.
    """
    total = posterior.statistics.class_counts.sum()
    num_powers = sum(count_features(rows, by_feature).values())
    every = -(-rows.num_rows // max(part_size(rows.num_rows, rows.num_classes, num_powers), 1))
    if every > 1:
        rows = rows.select(jnp.argsort(rows.labels.y, stable=True)[::every])
    y, weight = rows.labels.y, rows.weight()
    once, own = jnp.minimum(weight, 1.0), jnp.arange(len(y))

    def relative(table: Array) -> Array:
        return table - table[own, y][:, None]

    prior = relative(class_part(posterior, y, once, learned=True))
    blocks, words, lengths = dict[str, Array](), dict[str, Array](), dict[str, Array]()
    families: dict[str, Any] = posterior.prior.families
    for name, family in families.items():
        given = posterior.statistics.blocks[name], rows.arrays[name], y, once
        if has_word_terms(family) and rows.arrays[name].shape[1]:
            terms, lengths[name] = family.leave_out_shared_words(*given)
            words[name] = relative(terms)
            continue
        terms = family.leave_one_out_terms(*given) * start_powers(family, columns_in(family, given[1]))[None, None]
        blocks[name] = relative(terms if by_feature else terms.sum(axis=2, keepdims=True))
    ratios = jnp.concatenate([jnp.zeros((*prior.shape, 0), prior.dtype), *blocks.values()], axis=2)
    sizes = {name: block.shape[2] for name, block in blocks.items()}
    return Ratios(prior, ratios, weight * (total / weight.sum()), sizes, words, lengths)


def learn_temperature(table: Ratios) -> Array:
    """The power T that all features share: Newton's method for log T, or half the interval where it would leave it."""
    summed = table._replace(ratios=table.ratios.sum(axis=2, keepdims=True))

    def slopes(log_t: Array, table: Ratios) -> tuple[Array, Array]:
        t = jnp.exp(log_t)
        _, slope, curvature = table.loss(t[None])
        return t * slope[0] + log_t, t * slope[0] + t**2 * curvature[0, 0] + 1.0

    def advance(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, high, at = state
        slope, curvature = slopes(at, fixed)
        low, high = jnp.where(slope > 0.0, low, at), jnp.where(slope > 0.0, at, high)
        newton = at - slope / curvature
        inside = (curvature > 0.0) & (low <= newton) & (newton <= high)
        return low, high, jnp.where(inside, newton, 0.5 * (low + high))

    fixed = jax.lax.stop_gradient(summed)
    low, high = varying_as([jnp.asarray(end, summed.ratios.dtype) for end in LOG_TEMPERATURES], fixed)
    *_, found = jax.lax.fori_loop(0, NUM_STEPS[0], advance, (low, high, high))
    slope, curvature = slopes(found, summed)
    inside = (LOG_TEMPERATURES[0] < found) & (found < LOG_TEMPERATURES[1])
    step = jnp.where(inside, slope / jax.lax.stop_gradient(curvature), 0.0)
    return jnp.exp(found - (step - jax.lax.stop_gradient(step)))


class _Mode(NamedTuple):
    """Numbers, the loss there and its second derivatives; Newton's step, and the length of the next trial."""

    at: Array
    loss: Array
    curvature: Array
    step: Array
    length: Array


def _step_from(at: Array, slope: Array, curvature: Array, bounds: Sequence[Any]) -> Array:
    """Newton's step in the numbers that are not held at the lower or the upper bound."""
    free = ~(((at <= bounds[0]) & (slope > 0.0)) | ((at >= bounds[1]) & (slope < 0.0)))
    of_free = jnp.where(free[:, None] & free[None, :], curvature, jnp.eye(len(at)))
    return jnp.where(free, inverses(of_free)[0] @ jnp.where(free, slope, 0.0), 0.0)


def _descend(loss: Callable[[Array], Any], start: Array, bounds: Sequence[Any], num_steps: int) -> _Mode:
    """The minimum inside of bounds, by so many projected Newton steps; ``loss`` gives both derivatives as well."""

    def advance(_: int, mode: _Mode) -> _Mode:
        tried = jnp.clip(mode.at - mode.length * mode.step, *bounds)
        value, slope, curvature = loss(tried)
        one = jnp.ones_like(mode.length)
        moved = _Mode(tried, value, curvature, _step_from(tried, slope, curvature, bounds), one)
        shorter = mode._replace(length=0.25 * mode.length)
        return jax.tree.map(lambda new, old: jnp.where(value <= mode.loss, new, old), moved, shorter)

    unknown = jnp.full((), jnp.inf, start.dtype)
    begin = _Mode(start, unknown, jnp.eye(len(start), dtype=start.dtype), 0 * start, jnp.ones_like(unknown))
    return jax.lax.fori_loop(0, num_steps, advance, varying_as(begin, start))


def find_words(columns: Array, lengths: Array, weight: Array) -> Array:
    """log T of the other features, log c and b of each block of counts [B], and log a, end to end, [2 B + 2].

    ``columns`` [N, K, B + 2] are the log ratios of the features, of the blocks, whose rows have ``lengths`` [N, B] in
    words, and of the classes.
    """
    num = lengths.shape[1]
    at, _, *bounds = varying_as(_words_scales(num, columns.dtype), columns, lengths, weight)
    for most, num_steps in WORD_STEPS:
        at = _descend(partial(_words_loss, columns, lengths, weight, most), at, bounds, num_steps).at
    return at


def _words_scales(num: int, dtype: Any) -> Array:
    """The means, standard deviations, lower and upper bounds of these numbers, [4, 2 B + 2]."""
    return jnp.asarray(np.repeat(np.array(WORDS), (1, num, num, 1), axis=0).T, dtype)


def _words_loss(columns: Array, lengths: Array, weight: Array, most: float, at: Array) -> tuple[Array, Array, Array]:
    """The loss, its gradient, and the matrix of Gauss and Newton, which is positive."""
    num = lengths.shape[1]

    def powers(at: Array, words: Array) -> Array:
        logs, exponents = at[: num + 1], at[num + 1 : -1]
        by_row = raise_lengths(jnp.exp(logs[1:]), exponents, words, most)
        return jnp.concatenate([jnp.exp(logs[:1]), by_row, jnp.exp(at[-1:])])

    of_rows = jax.vmap(powers, in_axes=(None, 0))(at, lengths)
    slopes = jax.vmap(jax.jacfwd(powers), in_axes=(None, 0))(at, lengths)
    joint, ratios = jnp.einsum("nkc,nc->nk", columns, of_rows), jnp.einsum("nkc,ncm->nkm", columns, slopes)
    value, slope, curvature = _log_loss(joint, ratios, weight)
    mean, scale, *_ = _words_scales(num, at.dtype)
    off = (at - mean) / scale
    return value + 0.5 * off @ off, slope + off / scale, curvature + jnp.diag(scale**-2)


def learn_words(table: Ratios) -> Array:
    """``find_words`` of a table, with its derivatives."""
    parts = [table.ratios.sum(axis=2), *table.words.values(), table.prior]
    given = jnp.stack(parts, axis=2), jnp.stack([*table.lengths.values()], axis=1), table.weight
    at = find_words(*jax.lax.stop_gradient(given))

    def loss(at: Array) -> tuple[Array, Array]:
        return _words_loss(*given, 1.0, at)[:2]

    curvature = jax.lax.stop_gradient(jax.jacfwd(lambda at: loss(at)[1])(at))
    step = _step_from(at, loss(at)[1], curvature, _words_scales(len(table.words), at.dtype)[2:])
    return at - (step - jax.lax.stop_gradient(step))


def learn_deviations(table: Ratios, temperature: Array) -> Array:
    """delta [F] at the scale with the largest evidence, by projected Newton steps."""
    num_features = table.ratios.shape[2]
    fixed, fixed_t = jax.lax.stop_gradient((table, temperature))

    def loss(delta: Array, scale: Array, table: Ratios, t: Array) -> tuple[Array, Array, Array]:
        value, slope, curvature = table.loss(t * (1.0 + delta))
        prior = 0.5 * (delta @ delta) / scale**2
        return value + prior, t * slope + delta / scale**2, t**2 * curvature + jnp.eye(num_features) / scale**2

    def at_scale(start: Array, scale: Array) -> tuple[Array, tuple[Array, Array]]:
        mode = _descend(lambda delta: loss(delta, scale, fixed, fixed_t), start, AT_LEAST, NUM_STEPS[1])
        log_evidence = -mode.loss - 0.5 * inverses(scale**2 * mode.curvature)[1]
        return mode.at, (log_evidence, mode.at)

    scales = varying_as(jnp.asarray(SCALES, table.ratios.dtype), fixed, fixed_t)
    _, (log_evidence, modes) = jax.lax.scan(at_scale, jnp.full(num_features, 0.0 * scales[0]), scales)
    left_out = jnp.cumsum(log_evidence < log_evidence[0] - TOO_LOW) > 0
    best = jnp.argmax(jnp.where(left_out, -jnp.inf, log_evidence))
    _, slope, curvature = loss(modes[best], scales[best], table, temperature)
    step = _step_from(modes[best], slope, jax.lax.stop_gradient(curvature), AT_LEAST)
    return modes[best] - (step - jax.lax.stop_gradient(step))


def learn_powers(groups: Groups, table: Ratios) -> Array:
    """The powers [F] of the features: the mean of those that each group learns."""
    powers = []
    for of_group in groups.split(table):
        temperature = learn_temperature(of_group)
        some = of_group.ratios.shape[2] > 0
        powers.append(temperature * (1.0 + learn_deviations(of_group, temperature)) if some else jnp.zeros(0))
    return groups.join(powers)
