"""Integrals over one to three parameters of each class and column: Newton's method to the mode, then a lattice.

    Z = int p(rows | phi) p(phi) dphi = |L| h^Q sum_z exp f(c + L z) / ...,    z on a lattice of spacing h

f is the log of the integrand, c and L L' are its mean and covariance, found on the lattice itself, from the mode and
its curvature. The error of the trapezoid rule falls like exp(-2 pi^2 / h^2) for a Normal, so that the nodes with even
numbers, a lattice of spacing 2 h, tell the error: about the square of |log Z(h) - log Z(2 h)|, or less. Trefethen and
Weideman, The exponentially convergent trapezoidal rule (2014).

Rows are weights W [U, M] on nodes X [U, M] (``frames``), of U units, a class and column each. Weights have signs: where
log p is no polynomial within the bins their sum may be any number. So the last Chebyshev coefficient of log p in each
bin, times the bin's rows, bounds the error, and parameters where it is large are not believed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, ndtr, ndtri

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics._newton import minimise
from bayesnb.compute.numerics._one_by_one import factors
from bayesnb.core.families.parts._densities import Density
from bayesnb.core.families.parts._frames import LAST, ORDER, exact_nodes

LATTICES = {
    1: ((0.4, 25), (0.25, 48), (0.1, 120)),
    2: ((0.75, 10), (0.5, 20), (0.25, 40)),
    3: ((0.75, 8), (0.5, 14), (0.45, 17)),
}
"""By the number of parameters and the level: the spacing h, and how many nodes lie on each side of the middle.

Many rows need the first, since a posterior is then close to a Normal; few rows the second, and none the third.
"""

FEWEST_ROWS = 3.0
"""With fewer the integrand of a prediction is much narrower than the posterior."""

SMALL = -1e30
"""The log of an integrand that is 0, or not believed."""

FARTHEST = 30.0
"""How far Newton's method goes, in spreads of the prior: a likelihood that still rises there has no maximum."""


class Units(NamedTuple):
    """Rows as weights on nodes, [U, M] each; priors: [U, Q] each, and the ``numbers`` [U, H] of those of their own."""

    weights: Array
    nodes: Array
    centre: Array
    spread: Array
    numbers: Array


class Place(NamedTuple):
    """Where lattices lie: ``mean`` c [U, Q], ``factor`` L [U, Q, Q], and their ``level``, [U]."""

    mean: Array
    factor: Array
    level: Array


class Integral(NamedTuple):
    """Lattices at a ``place``, ``log_sum`` log Z [U], and ``errors`` [U, 3]: of the lattice, beyond it, and of bins."""

    place: Place
    log_sum: Array
    errors: Array


@lru_cache(maxsize=16)
def lattice(size: int, level: int) -> tuple[Array, Array, Array]:
    """z [G, Q], and True for nodes with even numbers, and for those on the rim."""
    h, most = LATTICES[size][level]
    numbers = np.array([*itertools.product(range(-most, most + 1), repeat=size)])
    return h * numbers, (numbers % 2 == 0).all(axis=1), (abs(numbers) == most).any(axis=1)


def points(mean: Array, level: int) -> Array:
    """z in the precision of means [U, Q]."""
    return jnp.asarray(lattice(mean.shape[1], level)[0], mean.dtype)


def sums(density: Density, units: Units, phi: Array) -> tuple[Array, Array, Array]:
    """sum_m W_m log p(X_m | phi) at phi [U, G, Q], its error by bins, [U, G] each, and the largest one to believe."""
    weights, exact = units.weights, exact_nodes(density.scale)
    rows = jnp.abs(weights[:, exact:].reshape(len(weights), -1, ORDER).sum(axis=-1))
    used = jnp.concatenate([weights[:, :exact] != 0, jnp.repeat(rows > 0, ORDER, axis=1)], axis=1)
    some = jnp.take_along_axis(units.nodes, used.argmax(axis=1)[:, None], axis=1)  # log p may be infinite elsewhere
    logs = density.log_prob(phi, jnp.where(used, units.nodes, some))
    bins = logs[..., exact:].reshape(*logs.shape[:-1], -1, ORDER) @ jnp.asarray(LAST, logs.dtype)
    off = (jnp.abs(bins).sum(axis=-1) @ rows[:, :, None])[..., 0]
    found = (logs @ jnp.where(used, weights, 0.0)[:, :, None])[..., 0]
    return found, off, 0.01 + 1e-3 * rows.sum(axis=1)[:, None]


def log_likelihood(density: Density, units: Units, phi: Array) -> tuple[Array, Array]:
    """The sums where they are believed, and their errors, [U, G] each."""
    found, off, most = sums(density, units, phi)
    believed = jnp.isfinite(found) & (off < most)
    # as much may lie beyond what is believed as lies next to it
    return jnp.where(believed, found, SMALL), jnp.where(believed, off + (off > 0.1 * most), 0.0)


def log_posterior(density: Density, units: Units, phi: Array) -> tuple[Array, Array]:
    """The same with the log prior added."""
    found, off = log_likelihood(density, units, phi)
    prior = density.log_prior(phi, *(part[:, None] for part in units[2:]))
    return jnp.where(jnp.isfinite(prior), jnp.maximum(found + prior, SMALL), SMALL), off


def candidates(density: Density, units: Units) -> Array:
    """Starting points, [U, C, Q], from the moments of the nodes; the prior's centre is one."""
    weights, x = units.weights, units.nodes
    n = total(units)[:, 0]

    def moments(x: Array) -> tuple[Array, Array]:
        mean = (weights * x).sum(axis=1) / n
        return mean, jnp.sqrt(jnp.maximum((weights * jnp.square(x - mean[:, None])).sum(axis=1) / n, 1e-30))

    mean, deviation = moments(x)
    place, width = moments(jnp.log(x)) if density.scale == "positive" else (mean, deviation)
    size = jnp.abs(mean) + 1e-30
    ratio = jnp.square(size / deviation)
    positive = jnp.stack(
        [size, 1 / size, deviation, 1 / deviation, ratio, ratio / size, width, 1 / width, 0.1 * width], 1
    )
    found = []
    for constraint in density.unknown.values():
        lower = getattr(constraint, "lower_bound", None)
        if lower is None:  # a real number
            found.append(place[:, None] + width[:, None] * jnp.array([-2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0]))
        elif hasattr(constraint, "upper_bound"):
            found.append(jnp.broadcast_to(jnp.array([-2.0, 0.0, 2.0]), (len(n), 3)))
        else:
            found.append(
                jnp.log(jnp.concatenate([positive, jnp.broadcast_to(jnp.array([0.3, 1.0, 5.0]), (len(n), 3))], 1))
            )
    numbers = np.array([*itertools.product(*(range(part.shape[1]) for part in found))])
    grid = jnp.stack([part[:, numbers[:, q]] for q, part in enumerate(found)], axis=-1)
    grid = jnp.where((weights.sum(axis=1) > 0)[:, None, None], grid, units.centre[:, None])
    return jnp.concatenate([units.centre[:, None], grid], axis=1)


def climb(density: Density, units: Units, of: Callable[[Array], Array]) -> Array:
    """Where a function of phi [U, G, Q], with values [U, G], has its maximum, [U, Q]."""
    points = candidates(density, units)
    start = jnp.take_along_axis(points, of(points).argmax(axis=1)[:, None, None], axis=1)[:, 0]
    loss = lambda x: -of((start + units.spread * x.T)[:, None])[:, 0]  # noqa: E731
    bound = jnp.full(start.T.shape, FARTHEST)
    return start + units.spread * minimise(loss, -bound, bound, jnp.asarray(1e-20), jnp.asarray(60)).x.T


def curvature(of: Callable[[Array], Array], at: Array, unit: Array) -> Array:
    """-d2 of the function at [U, Q], in units of ``unit``, [U, Q, Q]."""
    slope = jax.grad(lambda x: of((at + unit * x)[:, None]).sum())
    _, bend = jax.linearize(slope, jnp.zeros_like(at))
    return -jnp.stack([bend(jnp.broadcast_to(row, at.shape)) for row in jnp.eye(at.shape[1])], axis=1)


def inverse(matrix: Array, least: float) -> Array:
    """The inverse of symmetric matrices [U, Q, Q] whose eigenvalues are raised to ``least``."""
    size, axes = jnp.linalg.eigh(jnp.where(jnp.isfinite(matrix), matrix, 0.0))
    return (axes / jnp.maximum(size, least)[:, None]) @ axes.mT


broadcasting = jax.numpy_rank_promotion("allow")
"""NumPyro's densities broadcast, and so do the problems below."""


# the problems, each a function of units, whose arrays are the fields of ``Units``, of ``Place`` and others


@broadcasting
def maxima(*given: Array, density: Density, of: str) -> tuple[Array]:
    """The maximum [U, Q] of the likelihood, or with ``of="posterior"`` of the posterior's density of theta.

    NaN where none is found: where the rows have none, or the bins do not resolve it.
    """
    units = Units(*given)
    per_row = units._replace(weights=units.weights / total(units))

    def value(phi: Array) -> Array:
        if of == "likelihood":
            return log_likelihood(density, per_row, phi)[0]
        return log_posterior(density, units, phi)[0] - density.log_jacobian(phi) + density.log_tilt(phi)

    mode = climb(density, units, value)
    here = lambda z: value((mode + units.spread * z)[:, None])[:, 0]  # noqa: E731
    slope = jax.grad(lambda z: here(z).sum())(jnp.zeros_like(mode))
    scale = 1.0 if of == "likelihood" else jnp.maximum(total(units), 1.0)
    found = (jnp.abs(slope) < limits.FLAT_LIKELIHOOD * scale).all(axis=1) & (here(jnp.zeros_like(mode)) > 0.5 * SMALL)
    return (jnp.where(found[:, None], mode, jnp.nan),)


@broadcasting
def pooled_prior(*given: Array, density: Density) -> tuple[Array, Array]:
    """Unit information: the pooled maximum, and the deviation of each parameter in the information of one row, [U, Q].

    At most ten units where the rows say nothing, as of a dispersion that runs to infinity; there it stays put.
    """
    units = Units(*given)
    per_row, middle = units._replace(weights=units.weights / total(units)), units.centre[:, None]

    def value(phi: Array) -> Array:
        far = jnp.square((phi - middle) / units.spread[:, None]).sum(axis=-1)
        return log_likelihood(density, per_row, phi)[0] - 1e-6 * far

    mode = climb(density, units, value)
    matrix = inverse(curvature(value, mode, units.spread), 0.01)
    return mode, units.spread * jnp.sqrt(jnp.diagonal(matrix, axis1=1, axis2=2))


@broadcasting
def find(*given: Array, density: Density, level: int = 0) -> tuple[Array, ...]:
    """The fields of a ``Place`` and of an ``Integral``; levels above 0 start from a mean and factor."""
    units, rounds = Units(*given[:5]), 2
    if level:
        mean, factor = given[5:]
    else:
        value = lambda phi: log_posterior(density, units, phi)[0]  # noqa: E731
        mean, rounds = climb(density, units, value), 3
        matrix = inverse(curvature(value, mean, units.spread), 0.1)
        factor = units.spread[:, :, None] * factors(matrix)[0]
    size, (h, _) = mean.shape[1], LATTICES[mean.shape[1]][level]
    z, (even, rim) = points(mean, level), (jnp.asarray(part) for part in lattice(size, level)[1:])
    for last in [False] * (rounds - 1) + [True]:
        logs, off = log_posterior(density, units, mean[:, None] + z @ factor.mT)
        log_sum = logsumexp(logs, axis=1)
        share = jnp.exp(logs - log_sum[:, None])
        if not last:
            shift = share @ z
            away = z[None] - shift[:, None]
            spread = jnp.einsum("ug,ugp,ugq->upq", share, away, away) + 1e-4 * jnp.eye(size)
            mean, factor = mean + (factor @ shift[:, :, None])[:, :, 0], factor @ factors(spread)[0]
    change = logsumexp(jnp.where(even, logs, SMALL), axis=1) + size * jnp.log(2.0) - log_sum
    volume = size * jnp.log(h) + jnp.log(jnp.abs(jnp.diagonal(factor, axis1=1, axis2=2))).sum(axis=1)
    errors = jnp.stack([jnp.square(change), jnp.where(rim, share, 0.0).sum(axis=1), (share * off).sum(axis=1)], axis=1)
    return mean, factor, jnp.full(len(mean), float(level)), log_sum + volume, errors


@broadcasting
def integrate(*given: Array, density: Density, level: int) -> tuple[Array]:
    """log int p(x | phi)^(1 - w) p(phi | rows) dphi - log int p(x | phi)^(-w) p(phi | rows) dphi at x [U, n].

    With w = 0 it is the log predictive, with the weight w of a row that of this row without itself.
    """
    units, place, (x, weight) = Units(*given[:5]), Place(*given[5:8]), given[8:]
    phi = place.mean[:, None] + points(place.mean, level) @ place.factor.mT
    logs = log_posterior(density, units, phi)[0][:, :, None]
    cells, w = jnp.nan_to_num(density.log_prob(phi, x), nan=SMALL, neginf=SMALL), weight[:, None]
    cells = jnp.where(logs > SMALL, cells, 0.0)
    return (logsumexp(logs + (1.0 - w) * cells, axis=1) - logsumexp(logs - w * cells, axis=1),)


@broadcasting
def log_integrand(*given: Array, density: Density) -> tuple[Array]:
    """The log of the integrand at the nodes of coarse lattices, [U, G], from which parameters are drawn."""
    mean, factor, _ = given[5:]
    phi = mean[:, None] + points(mean, 0) @ factor.mT
    return (log_posterior(density, Units(*given[:5]), phi)[0],)


def total(units: Units) -> Array:
    """The weight of all rows, [U, 1], at least a little."""
    return jnp.maximum(units.weights.sum(axis=1, keepdims=True), 1e-300)


@broadcasting
def draw(logs: Array, size: int, uniform: Array) -> Array:
    """z [U, Q] of one draw from integrands [U, G], with random numbers [U, 1 + Q]: a cell, and a place within it.

    Relative to a standard Normal a log integrand is taken as linear within each cell.
    """
    h, most = LATTICES[size][0]
    z = jnp.asarray(lattice(size, 0)[0], logs.dtype)
    rest = logs + 0.5 * jnp.square(z).sum(axis=1)
    cube = jnp.maximum(rest, rest.max(axis=1, keepdims=True) - 700.0).reshape(-1, *[2 * most + 1] * size)
    slopes: list[Array] = [jnp.gradient(cube, h, axis=1 + q) for q in range(size)]
    slope = jnp.clip(jnp.stack([one.reshape(len(logs), -1) for one in slopes], axis=-1), -3.0, 3.0)
    low, high = ndtr(z - 0.5 * h - slope), ndtr(z + 0.5 * h - slope)
    mass = rest + (0.5 * jnp.square(slope) - slope * z + jnp.log(jnp.maximum(high - low, 1e-300))).sum(axis=-1)
    heap = jnp.cumsum(jax.nn.softmax(mass, axis=1), axis=1)
    cell = jnp.minimum((heap < uniform[:, :1] * heap[:, -1:]).sum(axis=1), len(z) - 1)[:, None, None]
    low, high, slope = (jnp.take_along_axis(part, cell, axis=1)[:, 0] for part in (low, high, slope))
    found = slope + ndtri(jnp.clip(low + uniform[:, 1:] * (high - low), 1e-16, 1 - 1e-16))
    return jnp.clip(found, z[cell[:, 0, 0]] - 0.5 * h, z[cell[:, 0, 0]] + 0.5 * h)
