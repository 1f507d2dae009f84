"""Maps of cells to the real line, and the distributions of mapped cells and of values beside a density."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import ndtr
from jax.scipy.stats import norm
from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array
from bayesnb.core.families.parts._support import OPEN_UNIT, words_of


class Map(NamedTuple):
    """An increasing map z(x) of an interval to the real line, log dz/dx of x, and x(z)."""

    support: Constraint
    forward: Callable[[Array], Array]
    log_slope: Callable[[Array], Array]
    back: Callable[[Array], Array]

    def inside(self, x: Array) -> Array:
        """True for cells of the interval."""
        return self.support(x) & (x < np.inf)

    def z(self, x: Array) -> Array:
        """z; NaN for cells outside of the interval, which tracers may have."""
        return self._inside(self.forward, x)

    def slope(self, x: Array) -> Array:
        """log dz/dx; NaN for the same."""
        return self._inside(self.log_slope, x)

    def _inside(self, of: Callable[[Array], Array], x: Array) -> Array:
        x = either.floats(x)
        inside = self.inside(x)
        return either.where(inside, of(either.where(inside, x, 0.5)), np.nan)


MAPS = {
    "log": Map(constraints.positive, either.log, lambda x: -either.log(x), either.exp),
    "logit": Map(
        OPEN_UNIT,
        lambda x: either.log(x) - either.log1p(-x),
        lambda x: -either.log(x) - either.log1p(-x),
        either.sigmoid,
    ),
}


class MappedCells(dist.Distribution):
    """x where z(x) has the distribution ``base``."""

    def __init__(self, base: dist.Distribution, change: Map) -> None:
        self.base, self.change = base, change
        super().__init__(base.batch_shape, validate_args=False)

    @property
    def support(self) -> Constraint:
        """The interval."""
        return self.change.support

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws of x."""
        return self.change.back(self.base.sample(key, sample_shape))

    def log_prob(self, value: Array) -> Array:
        """The log density of x."""
        inside = self.change.inside(value)
        x = jnp.where(inside, value, 0.5)
        return jnp.where(inside, self.base.log_prob(self.change.z(x)) + self.change.slope(x), -jnp.inf)

    def icdf(self, q: Array) -> Array:
        """Quantiles of x."""
        masked = isinstance(self.base, dist.MaskedDistribution)  # which has no icdf
        return self.change.back((self.base.base_dist if masked else self.base).icdf(q))

    def _moments(self) -> tuple[Array, Array]:
        """Mean and variance by the quantiles Phi(u), as good as the trapezoid rule on a Normal's scores."""
        u = np.linspace(-8.0, 8.0, 161)
        eps = jnp.finfo(jnp.result_type(float)).eps  # float32 rounds Phi(6) to 1
        try:
            x, weights = jax.vmap(self.icdf)(jnp.clip(ndtr(u), eps, 1.0 - eps)), norm.pdf(u) * (u[1] - u[0])
        except (NotImplementedError, ImportError):  # the second is NumPyro's, for another package's function
            return (jnp.full(self.batch_shape, jnp.nan),) * 2
        mean = jnp.tensordot(weights, x, axes=1)
        return mean, jnp.tensordot(weights, jnp.square(x - mean[None]), axes=1)

    mean = property(lambda self: self._moments()[0])
    variance = property(lambda self: self._moments()[1])


class OrValues(Constraint):
    """The numbers of another support, or one of the values ``at``, where None is NaN."""

    def __init__(self, base: Constraint, at: tuple[float | None, ...]) -> None:
        self.base, self.at, self.is_discrete = base, at, base.is_discrete

    def __call__(self, x: Array) -> Array:
        """True for cells inside."""
        return self.base(x) | (find(x, self.at) < len(self.at))

    @property
    def words(self) -> str:
        """What a cell is."""
        values = ", ".join("NaN" if a is None else f"{a:g}" for a in self.at)
        return f"{words_of(self.base)[1]}, {values}"


class HurdleCells(dist.Distribution):
    """The values ``at``, where None is NaN, with ``probs`` [..., A + 1], of which the last is that of the ``base``."""

    support = constraints.real

    def __init__(self, base: dist.Distribution, probs: Array, at: tuple[float | None, ...]) -> None:
        self.base, self.probs, self.at = base, jnp.asarray(probs), at
        super().__init__(jnp.broadcast_shapes(base.batch_shape, self.probs.shape[:-1]), validate_args=False)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws of x."""
        key_of_code, key_of_rest = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        logits = jnp.log(jnp.broadcast_to(self.probs, (*self.batch_shape, len(self.at) + 1)))
        code = jax.random.categorical(key_of_code, logits, shape=shape)
        rest = jnp.broadcast_to(self.base.expand(self.batch_shape).sample(key_of_rest, sample_shape), shape)
        return place(rest, code, self.at)

    def log_prob(self, value: Array) -> Array:
        """The log probability of a value of its own, the log density of any other."""
        code = find(value, self.at)
        discrete = self.base.support.is_discrete
        rest, safe = code == len(self.at), jnp.asarray(0 if discrete else 0.5)
        cells = jnp.where(rest, value, safe)
        density = self.base.log_prob(cells.astype(int) if discrete else cells)
        probs = jnp.broadcast_to(self.probs, (*jnp.shape(density), len(self.at) + 1))
        at = jnp.where(jnp.isnan(code), 0, code).astype(int)
        chosen = jnp.take_along_axis(probs, jnp.broadcast_to(at, density.shape)[..., None], axis=-1)[..., 0]
        return jnp.log(chosen) + jnp.where(rest, density, 0.0)

    @property
    def mean(self) -> Array:
        """The mean of a cell that is not NaN."""
        pairs = zip(jnp.moveaxis(self.probs, -1, 0), (*self.at, self.base.mean), strict=True)
        known = [(p, p * value) for p, value in pairs if value is not None]
        total, mean = (sum(parts) for parts in zip(*known, strict=True))
        return mean / total


def find(x: Array, at: tuple[float | None, ...]) -> Array:
    """The place of each cell's value in ``at``, where None is NaN, and its length for any other; NaN if missing."""
    code = either.where(either.isnan(x), float(at.index(None)) if None in at else np.nan, float(len(at)))
    for place, value in enumerate(at):
        code = code if value is None else either.where(x == value, float(place), code)
    return code


def place(rest: Array, code: Array, at: tuple[float | None, ...]) -> Array:
    """The cells of these codes, the inverse of ``find``."""
    values: Any = np.array([np.nan if value is None else value for value in (*at, 0.0)])
    return jnp.where(code == len(at), rest, jnp.asarray(values)[code])
