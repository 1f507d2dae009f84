"""Normal features with normal-inverse-gamma priors."""

from __future__ import annotations

from typing import Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln

from bayesnb import products, special
from bayesnb.arrays import Array, finalise, is_traced, namespace, observed
from bayesnb.families.base import Family, Hyperparameter, Params, Statistics, plates, pytree, weights_of
from bayesnb.families.support import (
    broadcast,
    first_bad_column,
    require_finite,
    require_positive,
    require_shape,
)
from bayesnb.log_prob import LogProb
from bayesnb.products import Linear
from bayesnb.sums import ClassSums

VARIANCE_FLOOR = 1e-9
"""Smallest variance of the MLE, in units of the column's own pooled variance."""

SQUARABLE = 0.45
"""The largest number to this power is the largest cell: its square is a number, with room to add squares up."""

LOG_2PI = 1.8378770664093453


@pytree
class NormalStatistics(Statistics):
    """``count``, ``mean`` and ``squares`` (the sum of squared deviations from the mean), each [K, D]."""

    count: Array
    mean: Array
    squares: Array

    def merge(self, other: Self) -> Self:
        """Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979)."""
        count = self.count + other.count
        share = other.count.astype(self.mean.dtype) / namespace(count).where(count > 0, count, 1)
        change = other.mean - self.mean
        # an empty side has no mean: taking the other's keeps a constant column exact
        mean = namespace(count).where(self.count > 0, self.mean + change * share, other.mean)
        return type(self)(count, mean, self.squares + other.squares + change * change * self.count * share)

    def pool(self) -> Self:
        classes = [jax.tree.map(lambda a, k=k: a[k : k + 1], self) for k in range(self.count.shape[0])]
        pooled = classes[0]
        for one in classes[1:]:
            pooled = pooled.merge(one)
        return pooled


@pytree
class Normal(Family):
    """Real features: sigma2_kd ~ InverseGamma(shape, rate), mu_kd | sigma2_kd ~ Normal(loc, sigma2_kd / strength),
    x_nd | y_n = k ~ Normal(mu_kd, sigma2_kd).

    With n values of mean m and squared deviations S the posterior has strength' = strength + n, loc' = (strength loc
    + n m) / strength', shape' = shape + n/2, rate' = rate + S/2 + strength n (m - loc)^2 / (2 strength'). Its joint
    mode is mu = loc', sigma2 = rate' / (shape' + 3/2); the predictive is Student's t with 2 shape' degrees of freedom
    about loc' with squared scale rate' (strength' + 1) / (shape' strength'). Murphy, Conjugate Bayesian analysis of
    the Gaussian distribution (2007), section 3 (m, kappa, a, b there); Gelman et al., Bayesian Data Analysis, section
    3.3.

    The default prior is unit information, column by column and blind to the labels: loc is the pooled mean, rate the
    pooled variance V (divisor n), strength = shape = 1: one pseudo-row for the mean, two for the variance. Rescaling
    a column changes no prediction. Over 78 cells of 17 real data sets and sizes 20 to 500 the exact posterior under
    it has median log loss .846, against 1.486 for the MLE with smoothed variances, and beats it in 94 % of cells; the
    MAP has 1.151.

    A column that is constant where it was fitted says nothing about its scale: its rate is 0 and its factor is 1.

    Args:
        loc: Prior mean; None for the pooled mean.
        strength: Pseudo-rows behind loc, positive.
        shape: Half the pseudo-rows behind the variance, positive.
        rate: Scale of the variance, positive; None for V, the pooled variance.

    All broadcast to [K, D]. Cells are finite numbers or NaN (missing). Sites: ``block_loc`` and ``block_variance``
    [K, D].
    """

    loc: Hyperparameter = None
    strength: Hyperparameter = 1.0
    shape: Hyperparameter = 1.0
    rate: Hyperparameter = None

    sites = ("loc", "variance")
    statistics_type = NormalStatistics

    def __post_init__(self) -> None:
        super().__post_init__()
        require_finite("Normal", loc=self.loc)
        require_positive("Normal", strength=self.strength, shape=self.shape, rate=self.rate)

    def resolve(self, pooled: NormalStatistics, num_classes: int) -> Self:
        shape = (num_classes, pooled.count.shape[-1])
        loc = pooled.mean if self.loc is None else self.loc
        rate = _variance(pooled) if self.rate is None else self.rate
        given = {"loc": loc, "strength": self.strength, "shape": self.shape, "rate": rate}
        return self._replace(**{name: broadcast(value, shape, name) for name, value in given.items()})

    def params(self, block: str) -> Params:
        off = self._scaleless()
        with plates(block, jnp.shape(self.loc)):
            variance = numpyro.sample(f"{block}_variance", dist.InverseGamma(self.shape, self._site_rate()))
            loc = numpyro.sample(f"{block}_loc", dist.Normal(self.loc, jnp.sqrt(variance / self.strength)))
        return {"loc": jnp.where(off, self.loc, loc), "variance": jnp.where(off, 0.0, variance)}

    def likelihood(self, params: Params) -> dist.Distribution:
        loc, variance = params["loc"], params["variance"]
        constant = variance == 0
        # narrow enough to generate the constant, wide enough for a finite density, which the mask then drops
        narrow = 1e-6 * (1.0 + jnp.abs(loc))
        scale = jnp.where(constant, narrow, jnp.sqrt(jnp.where(constant, 1.0, variance)))
        return dist.Normal(loc, scale).mask(~constant)

    def check_params(self, params: Params, block: str) -> None:
        for site in self.sites:
            require_shape(block, site, params[site], "[K, D]", 2)
        if params["loc"].shape != params["variance"].shape:
            shapes = params["loc"].shape, params["variance"].shape
            raise ValueError(f"params['{block}_loc'] and params['{block}_variance'] must have one shape, got {shapes}")
        require_finite(f"params of block {block!r}", **params)
        variance = params["variance"]
        if not is_traced(variance) and not bool(((variance > 0) | (variance == 0).all(axis=0, keepdims=True)).all()):
            raise ValueError(
                f"params['{block}_variance'] must be positive; a column that says nothing has 0 in every class"
            )

    def check(self, x: Array, block: str) -> None:
        xp = namespace(x)
        if not jnp.issubdtype(x.dtype, jnp.inexact):
            return
        with np.errstate(over="ignore", invalid="ignore"):
            if xp.isfinite(xp.vdot(x, x)):  # one pass: all is finite, and so are the squares
                return
        # numpy rows are fitted in float64 whatever their type
        fitted = np.float64 if xp is np else jnp.promote_types(x.dtype, jnp.float32)
        largest = min(float(jnp.finfo(x.dtype).max), float(jnp.finfo(fitted).max) ** SQUARABLE)
        bad = xp.abs(x) > largest
        if bad.any():
            column = first_bad_column(bad)
            raise ValueError(
                f"block {block!r}, column {column}: a Normal cell is a finite number below {largest:.0e} or NaN "
                f"(missing), got {x[:, column][bad[:, column]][0]}; give the column in another unit"
            )

    def seen(self, x: Array) -> Array | None:
        return observed(x)

    def statistics(self, x: Array, z: ClassSums) -> NormalStatistics:
        return NormalStatistics(*z.moments(x))

    def update(self, statistics: NormalStatistics) -> Self:
        n, off = statistics.count, self._scaleless()
        strength = self.strength + n
        change = statistics.mean - self.loc
        rate = self.rate + 0.5 * (statistics.squares + self.strength * n / strength * jnp.square(change))
        loc = self.loc + n / strength * change
        # a column without a scale stays without one
        return self._replace(
            loc=jnp.where(off, self.loc, loc),
            strength=strength,
            shape=self.shape + 0.5 * n,
            rate=jnp.where(off, 0.0, rate),
        )

    def reference(self) -> Params:
        """The mean of loc; for the variance, whose mean may not exist, one over the mean precision."""
        return {"loc": self.loc, "variance": self._site_rate() / self.shape}

    def mode(self) -> Params:
        return {"loc": self.loc, "variance": self.rate / (self.shape + 1.5)}

    def mle(self, statistics: NormalStatistics) -> Params:
        pooled = statistics.pool()
        seen = statistics.count > 0
        variance = jnp.where(seen, _variance(statistics), _variance(pooled))
        loc = jnp.where(seen, statistics.mean, pooled.mean)
        return {"loc": loc, "variance": jnp.maximum(variance, VARIANCE_FLOOR * _variance(pooled))}

    def weights(self, params: Params) -> Linear:
        mu, variance = jnp.asarray(params["loc"]), jnp.asarray(params["variance"])
        off = self._scaleless() | (variance == 0)
        variance = jnp.where(off, 1.0, variance)
        centre = mu.mean(axis=0, keepdims=True)
        mu = mu - centre
        precision = jnp.where(off, 0.0, 1.0 / variance)
        offset = -0.5 * precision * jnp.square(mu) - jnp.where(off, 0.0, 0.5 * (jnp.log(variance) + LOG_2PI))
        condition = jnp.max(precision * jnp.square(mu), initial=0.0)
        return Linear((-0.5 * precision, precision * mu), offset, centre=centre, condition=condition)

    def features(self, x: Array) -> tuple[Array, ...]:
        return (x * x, x)

    def log_likelihood(self, params: Params, x: Array) -> LogProb:
        def direct(rows: Array) -> Array:
            return products.by_rows(_direct, (self, params), rows)

        return products.linear(self, finalise(weights_of, self, params), x, direct)

    def log_likelihood_of(self, statistics: NormalStatistics, params: Params, reference: Params) -> Array:
        n, off = statistics.count, self._scaleless() | (reference["variance"] == 0)
        old = jnp.where(off, 1.0, reference["variance"])
        new = jnp.where(off, 1.0, params["variance"])
        r = new / old - 1.0
        before = (statistics.squares + n * jnp.square(statistics.mean - reference["loc"])) / old
        moved = params["loc"] - reference["loc"]
        shift = n * moved * (2.0 * (reference["loc"] - statistics.mean) + moved) / new
        terms = -0.5 * (n * special.log_ratio_excess(r) + (n - before) * r / (1.0 + r) + shift)
        return jnp.where(off, 0.0, terms).sum()

    def centred(self, statistics: NormalStatistics) -> tuple[Self, NormalStatistics]:
        n, (centre, scale) = statistics.count, self._posterior_units(statistics)
        prior = self._replace(loc=(self.loc - centre) / scale, rate=self.rate / jnp.square(scale))
        mean = jnp.where(n > 0, (statistics.mean - centre) / scale, 0.0)
        return prior, NormalStatistics(n, mean, statistics.squares / jnp.square(scale))

    def restored(self, statistics: NormalStatistics, params: Params) -> Params:
        off, (centre, scale) = self._scaleless(), self._posterior_units(statistics)
        loc, variance = centre + scale * params["loc"], jnp.square(scale) * params["variance"]
        return {"loc": jnp.where(off, self.loc, loc), "variance": jnp.where(off, 0.0, variance)}

    def _posterior_units(self, statistics: NormalStatistics) -> tuple[Array, Array]:
        """The posterior mean of loc and the root of the posterior rate / shape."""
        posterior = self.update(statistics)
        return posterior.loc, jnp.sqrt(posterior._site_rate() / posterior.shape)

    def log_predictive_terms(self, x: Array) -> Array:
        off = self._scaleless()
        rate = self._site_rate()
        half = self.shape + 0.5
        width = 2.0 * rate * (self.strength + 1.0) / self.strength
        offset = special.log_gamma_ratio(self.shape, 0.5) - 0.5 * jnp.log(jnp.pi * width)
        loc, width, half, offset, off = (a[None] for a in jnp.broadcast_arrays(self.loc, width, half, offset, off))
        x = jnp.asarray(x, jnp.result_type(float))[:, None, :]
        missing = jnp.isnan(x)
        z = (jnp.where(missing, 0.0, x) - loc) / jnp.sqrt(width)
        return jnp.where(missing | off, 0.0, offset - half * special.log1p_square(z))

    def log_partition(self) -> Array:
        value = gammaln(self.shape) - self.shape * jnp.log(self._site_rate()) - 0.5 * jnp.log(self.strength)
        return jnp.where(self._scaleless(), 0.0, value)

    def log_base_measure(self, statistics: NormalStatistics) -> Array:
        return jnp.where(self._scaleless(), 0.0, -0.5 * LOG_2PI * statistics.count)

    def _scaleless(self) -> Array:
        """Columns without a scale, which have factor 1; none while the prior is unresolved."""
        return jnp.zeros((), bool) if self.rate is None else jnp.asarray(self.rate) == 0

    def _site_rate(self) -> Array:
        """The rate with which a column is sampled: one without a scale keeps a proper site, which touches nothing."""
        return jnp.where(self._scaleless(), 1.0, self.rate)


def _variance(statistics: NormalStatistics) -> Array:
    """Sum of squared deviations over n, 0 for fewer than two values."""
    n = statistics.count
    return statistics.squares / namespace(n).where(n > 0, n, 1)


@jax.jit
def _direct(family: Normal, params: Params, x: Array) -> Array:
    """The log likelihood cell by cell: no product, no cancellation, [N, K]."""
    loc, variance = (jnp.asarray(params[site]) for site in family.sites)
    off = family._scaleless() | (variance == 0)
    loc, off, variance = loc[None], off[None], jnp.where(off, 1.0, variance)[None]
    x = x[:, None, :]
    missing = jnp.isnan(x)
    z = special.squarable((jnp.where(missing, 0.0, x) - loc) / jnp.sqrt(variance))
    terms = -0.5 * (z * z + jnp.log(variance) + LOG_2PI)
    return jnp.where(missing | off, 0.0, terms).sum(axis=-1)
