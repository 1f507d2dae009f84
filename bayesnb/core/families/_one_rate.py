"""Any distribution of NumPyro with one unknown argument that has a conjugate Gamma or Beta prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import betaln, gammaln
from numpyro.distributions.transforms import PowerTransform

from bayesnb.compute.arrays._compute import compute_in_threads
from bayesnb.compute.arrays._own_primitives import refuse
from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, Params
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families._likelihood import OfNumPyro
from bayesnb.core.families.parts._conjugate_form import LARGEST, Power, common_count, largest_of, power_of, split
from bayesnb.core.families.parts._densities import Density, read_arguments
from bayesnb.core.families.parts._statistics import Statistics


@pytree
class OneRateStatistics(Statistics):
    """What rows add to ``a`` and ``b``, [K, D]: sums of z c and z t; and sums of z over observed cells, and z log h.

    The density that gave c, t and h is that of one family.
    """

    a: Array
    b: Array
    cells: Array
    log_base: Array
    density: tuple[Any, ...] = field(default=(), metadata={"static": True})

    axes = (("a", "KD"), ("b", "KD"), ("cells", "KD"), ("log_base", "KD"))

    @property
    def observed_cells(self) -> Array:
        return self.cells


@pytree
class OneRate(OfNumPyro):
    """Any distribution of NumPyro with one unknown rate, scale or probability theta that has a conjugate prior:

        g_kd = theta_kd^power ~ Gamma(a, b),   or theta_kd ~ Beta(a, b),     x_nd | y_n = k ~ distribution(theta_kd)

    There is no list: the power, and the c and t that a cell adds to a and b, are found from log p(x | theta) = c log g
    - t g + log h, or c log theta + t log(1 - theta) + log h. So Exponential, Poisson, Gamma of known concentration and
    Pareto of known scale (power 1), Laplace of known location (-1), HalfNormal, Normal and LogNormal of known mean (-2)
    and Weibull of known concentration k (-k) have a Gamma prior; Geometric and NegativeBinomial of known total_count
    a Beta prior. The predictive is h Gamma(a + c) / Gamma(a) b^a / (b + t)^(a + c), or h B(a + c, b + t) / B(a, b).

    Args:
        distribution: A distribution of NumPyro, such as ``dist.Exponential``.
        a: Of the prior, positive; broadcasts to [K, D]. The default 1 is worth one cell, where a cell has c = 1.
        b: Of the prior, positive; broadcasts to [K, D]. None for a times the ratio of t to c of all rows, whatever
            their labels: the prior mean of g is then that of the column, whatever its unit.
        given: Of a resolved model or a posterior.
        **arguments: Numbers for its other arguments, as in ``nb.OneRate(dist.Weibull, concentration=2.0)``.

    Sites: ``block_argument`` [K, D], theta itself, such as ``x_rate``.

    Raises:
        ValueError: for a distribution without such a prior; ``nb.Likelihood`` integrates it.

    Example:
        >>> import bayesnb as nb, numpyro.distributions as dist
        >>> waits = nb.NaiveBayes(nb.OneRate(dist.Exponential, b=1.0))
        >>> post = nb.fit_posterior(waits, [[0.5], [1.5], [4.0]], [0, 0, 1])
        >>> family = post.model.families["x"]  # a + n and b + sum x of each class
        >>> family.a.round(9).tolist(), family.b.round(9).tolist()
        ([[3.0], [2.0]], [[3.0], [5.0]])
    """

    distribution: Any = field(default=None, metadata={"static": True})
    given: tuple[tuple[str, float], ...] = field(default=(), metadata={"static": True})
    a: Hyperparameter = 1.0
    b: Hyperparameter = None

    axes = (("a", "KD"), ("b", "KD"))
    required = ("a",)
    positive = ("a", "b")
    statistics_type = OneRateStatistics

    def __init__(
        self,
        distribution: Callable[..., dist.Distribution] | str,
        *,
        given: tuple[tuple[str, float], ...] = (),
        a: Hyperparameter = 1.0,
        b: Hyperparameter = None,
        **arguments: float,
    ) -> None:
        density, _ = read_arguments(distribution, {**dict(given), **arguments}, "OneRate")
        if density.priors:
            raise ValueError(f"OneRate: a and b are the prior of {density.priors[0][0]}: give them as numbers")
        power_of(density)
        self.__dict__.update(distribution=density.distribution, given=density.given, a=a, b=b)
        self.__post_init__()

    @property
    def density(self) -> Density:
        return Density(self.distribution, self.given)

    @property
    def power(self) -> Power:
        """The power of theta that has a Gamma prior; None for a Beta prior."""
        return power_of(self.density)

    def defaults(self, pooled: OneRateStatistics) -> Params:
        some = (pooled.a > 0) & (pooled.b > 0)  # else the column has no scale
        ratio = jnp.where(some, pooled.b / jnp.where(some, pooled.a, 1.0), 1.0)
        return {"b": jnp.maximum(jnp.atleast_2d(self.a) * ratio, jnp.finfo(ratio.dtype).tiny ** 0.9)}

    def tilt(self, powers: tuple[float, ...]) -> Self:
        """The prior times powers of theta, and of 1 - theta where it is a probability."""
        a, b = self.a + powers[0] / (self.power or 1.0), self.b
        return self._replace(a=a, b=b + powers[1] if self.power is None else b)

    def params(self, block: str) -> Params:
        prior = dist.Beta(self.a, self.b) if self.power is None else dist.Gamma(self.a, self.b)
        if self.power not in (None, 1.0):
            prior = dist.TransformedDistribution(prior, PowerTransform(1.0 / self.power))
        with plates(block, jnp.shape(self.a)):
            return {self.sites[0]: numpyro.sample(f"{block}_{self.sites[0]}", prior)}

    def split(self, x: Array) -> tuple[Array, Array, Array]:
        """c, t and log h of cells [N, D]; 0 for a missing cell. Pure JAX."""
        return split(x, self.density, self.power)

    def statistics(self, x: Array, z: ClassSums) -> OneRateStatistics:
        bare = self._replace(a=None, b=None)  # which may be hyperpriors
        c, t, log_h = compute_in_threads(OneRate.split, (bare,), x, 8 * x.shape[1], compiles=False)
        refuse(
            t > largest_of(t.dtype, self.power) ** LARGEST,
            f"column {{column}} holds {{0}}, which is too far from 1 for the sums of {self!r}: give it in another unit",
            x,
        )
        cells = z.cell_counts(self.seen(x), x.shape[1])
        sums = z.sum(c), z.sum(t), cells, z.base(lambda: log_h)
        return OneRateStatistics(*sums, (self.distribution, self.given))

    def update(self, statistics: OneRateStatistics) -> Self:
        return self._replace(a=self.a + statistics.a, b=self.b + statistics.b)

    def _site(self, g: Array) -> Params:
        return {self.sites[0]: g if self.power in (None, 1.0) else g ** (1.0 / self.power)}

    def _mean(self, a: Array, b: Array) -> Array:
        total = a + b if self.power is None else b
        return a / jnp.where(total > 0, total, 1.0)

    def reference(self) -> Params:
        return self._site(self._mean(self.a, self.b))

    def mode(self) -> Params:
        if self.power is None:
            return self._site(dirichlet.dirichlet_mode(jnp.stack([self.a, self.b], axis=-1))[..., 0])
        # in the space of theta, where the density has a factor theta^(power - 1)
        return self._site(jnp.maximum(self.a - 1.0 / self.power, 0.0) / self.b)

    def mle(self, statistics: OneRateStatistics) -> Params:
        own, pooled = (self._mean(one.a, one.b) for one in (statistics, statistics.pool()))
        return self._site(jnp.where(statistics.cells > 0, own, pooled))

    def log_likelihood_ratio(self, statistics: OneRateStatistics, params: Params, reference: Params) -> Array:
        new, old = (one[self.sites[0]] ** (self.power or 1.0) for one in (params, reference))
        second = jnp.log1p((old - new) / (1.0 - old)) if self.power is None else old - new
        return (statistics.a * jnp.log1p((new - old) / old) + statistics.b * second).sum()

    def log_predictive_terms(self, x: Array) -> Array:
        c, t, log_h = (part[:, None] for part in self.split(x))
        count = None if self.power is None else common_count(self.density, self.power)
        if count is not None:  # log-gammas of a table, not of each cell
            a, b, missing = self.a[None], self.b[None], jnp.isnan(jnp.asarray(x))[:, None]
            ratio = stable.log_gamma_ratio(a, jnp.full_like(a, count), b)
            return log_h + jnp.where(missing, 0.0, ratio - (a + count) * jnp.log1p(t / b))
        return log_h + jax.tree.map(lambda table: table[None], self).log_change(c, t)

    def log_partition(self) -> Array:
        return betaln(self.a, self.b) if self.power is None else gammaln(self.a) - self.a * jnp.log(self.b)

    def log_partition_ratio(self, statistics: OneRateStatistics) -> Array:
        return self.log_change(statistics.a, statistics.b)

    def log_change(self, c: Array, t: Array) -> Array:
        """The change of the log partition by c and t; for those of one cell its predictive, less log h."""
        if self.power is None:
            return dirichlet.log_multivariate_beta_ratio(
                jnp.stack([self.a, self.b], axis=-1), jnp.stack([c, t], axis=-1)
            )[..., 0]
        return stable.log_gamma_ratio(self.a, c, self.b + t) - self.a * jnp.log1p(t / self.b)
