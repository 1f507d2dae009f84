"""Counts without an upper bound, with Gamma priors on their rates."""

from __future__ import annotations

from typing import Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammaln

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array, known
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.primitives import _log_factorials as log_factorials
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, LinearFamily, Params, Score, pytree
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families.parts._statistics import Statistics
from bayesnb.core.families.parts._support import require_shapes


@pytree
class PoissonStatistics(Statistics):
    """``total`` and ``cells`` [K, D]: sum of z x, and of z over observed cells; ``log_base``: sum of -z log x!."""

    total: Array
    cells: Array
    log_base: Array

    axes = (("total", "KD"), ("cells", "KD"), ("log_base", "KD"))

    @property
    def observed_cells(self) -> Array:
        return self.cells

    def require_part(self, part: Self, block: str) -> None:
        super().require_part(part, block)
        left = self.minus(part)
        bad = np.asarray((left.cells == 0) & (left.total > 0))
        if bad.any():
            k, d = np.argwhere(bad)[0]
            raise ValueError(
                f"block {block!r}, column {d}: the rows to take away leave {np.asarray(left.total)[bad][0]:g} events "
                f"in no cell of class {k}, so these rows cannot have been counted; take away rows that were"
            )


@pytree
class Poisson(LinearFamily):
    """Counts of events: lambda_kd ~ Gamma(shape, rate), x_nd | y_n = k ~ Poisson(lambda_kd).

    With a total of s in n cells the posterior is Gamma(shape + s, rate + n); its mode is (shape + s - 1) / (rate + n),
    its mean (shape + s) / (rate + n). The predictive is negative binomial, Gamma(a + x) / (Gamma(a) x!) (r / (r + 1))^a
    (1 / (r + 1))^x with a, r the posterior's shape and rate. Gelman et al., Bayesian Data Analysis, 3rd edition,
    section 2.6.

    Args:
        shape: Prior events, positive; broadcasts to [K, D]. The default Gamma(1, 1) is worth one cell with one event.
        rate: Prior cells, positive; broadcasts to [K, D]. None for shape over the pooled mean: the prior mean is then
            that of the column, whatever its unit. This is the better choice if counts are far from 1: otherwise the one
            cell with one event pulls a class of few rows with a thousand events each towards 0.

    Cells are whole numbers 0, 1, ... or NaN (missing). Sites: ``block_rate`` [K, D], events per cell.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Poisson()), [[2], [4], [9]], [0, 0, 1])
        >>> post.model.families["x"].shape.tolist(), post.model.families["x"].rate.tolist()  # 1 + s, 1 + n
        ([[7.0], [10.0]], [[3.0], [2.0]])
        >>> post.predict_proba([[3], [8]]).round(2)
        array([[0.65, 0.35],
               [0.12, 0.88]])
    """

    shape: Hyperparameter = 1.0
    rate: Hyperparameter = 1.0

    sites = ("rate",)
    axes = (("shape", "KD"), ("rate", "KD"))
    required = ("shape",)
    positive = ("shape", "rate")
    statistics_type = PoissonStatistics
    support = dist.constraints.nonnegative_integer

    def defaults(self, pooled: PoissonStatistics) -> Params:
        mean = pooled.total / jnp.maximum(pooled.cells, 1e-30)
        # a column of zeros has no scale; a rate of 0 would be an invalid prior, and its inverse must be finite
        rate = jnp.where(mean > 0, jnp.atleast_2d(self.shape) / jnp.where(mean > 0, mean, 1.0), 1.0)
        return {"rate": jnp.maximum(rate, jnp.finfo(rate.dtype).tiny ** 0.9)}

    def params(self, block: str) -> Params:
        with plates(block, jnp.shape(self.shape)):
            return {"rate": numpyro.sample(f"{block}_rate", dist.Gamma(self.shape, self.rate))}

    def likelihood(self, params: Params) -> dist.Distribution:
        return dist.Poisson(params["rate"])

    def check_params(self, params: Params, block: str) -> None:
        require_shapes(block, params, rate="KD")
        rate = known(params["rate"])
        if rate is not None and not ((rate >= 0) & (rate < np.inf)).all():
            raise ValueError(f"params['{block}_rate'] must be finite and not negative")

    def statistics(self, x: Array, z: ClassSums) -> PoissonStatistics:
        seen = self.seen(x)
        log_base = z.base(lambda: -log_factorials.log_factorial(x), seen)
        return PoissonStatistics(z.sum(x, seen), z.cell_counts(seen, x.shape[1]), log_base)

    def update(self, statistics: PoissonStatistics) -> Self:
        return self._replace(shape=self.shape + statistics.total, rate=self.rate + statistics.cells)

    def reference(self) -> Params:
        return {"rate": self.shape / self.rate}

    def mode(self) -> Params:
        # below shape 1 the density is unbounded at the boundary, 0
        return {"rate": jnp.maximum(self.shape - 1.0, 0.0) / self.rate}

    def mle(self, statistics: PoissonStatistics) -> Params:
        pooled = statistics.pool()
        own, all_ = (s.total / jnp.where(s.cells > 0, s.cells, 1) for s in (statistics, pooled))
        return {"rate": jnp.where(statistics.cells > 0, own, all_)}

    def coefficients(self, params: Params) -> Linear:
        rate = jnp.asarray(params["rate"])
        return Linear((stable.safe_log(rate),), -rate, ((rate == 0).astype(rate.dtype),), jnp.zeros_like(rate))

    def log_likelihood_ratio(self, statistics: PoissonStatistics, params: Params, reference: Params) -> Array:
        t = reference["rate"]
        change = (params["rate"] - t) / t
        # s log(1 + r) - n t r, where t (rate + n) = shape + s: the first-order terms cancel analytically
        return (statistics.total * stable.log1p_minus(change) + (self.rate * t - self.shape) * change).sum()

    def row_base_measure(self, x: Array) -> Array:
        """-sum_d log x_d! over observed cells."""
        seen = self.seen(x)
        return -log_factorials.row_log_factorials(x if seen is None else either.where(seen, x, 0))

    def predictive_tables(self) -> tuple[Self, Linear]:
        # the linear term in x cancels against the rest, so float32 rows are scored in float64
        offset, always = -self.shape * jnp.log1p(1.0 / self.rate), jnp.asarray(jnp.inf)
        return self, Linear((-jnp.log1p(self.rate),), offset, condition=always)

    def predictive_scorer(self, tables: tuple[Self, Linear]) -> Score:
        family, table = tables
        return products.rising_and_linear(family, family.shape, products.linear(family, table))

    def log_predictive_terms(self, x: Array) -> Array:
        x, shape, rate = jnp.asarray(x, jnp.result_type(float))[:, None, :], self.shape[None], self.rate[None]
        counts = jnp.where(jnp.isnan(x), 0.0, x)
        waiting = shape * jnp.log1p(1.0 / rate) + counts * jnp.log1p(rate)
        return jnp.where(jnp.isnan(x), 0.0, stable.log_gamma_ratio(shape, counts) - waiting)

    def log_partition(self) -> Array:
        return gammaln(self.shape) - self.shape * jnp.log(self.rate)

    def log_partition_ratio(self, statistics: PoissonStatistics) -> Array:
        rate = self.rate + statistics.cells
        waiting = self.shape * jnp.log1p(statistics.cells / self.rate)
        return stable.log_gamma_ratio(self.shape, statistics.total, rate) - waiting
