"""Normal features with normal-inverse-gamma priors."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import Self

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute_rows
from bayesnb.compute.arrays._placement import Array, known
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives._distances import LOG_2PI
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.products._student import Student, log_student
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, LinearFamily, Params, Score, Tied, pytree
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families.parts._support import require_finite_numbers, require_shapes
from bayesnb.core.families.priors import _normal_inverse_gamma as normal_inverse_gamma
from bayesnb.core.families.priors._normal_inverse_gamma import (
    NormalInverseGamma,
    NormalStatistics,
    log_student_cells,
    student,
)


@pytree
class Normal(Tied, LinearFamily):
    """Real features: sigma2_kd ~ InverseGamma(shape, rate), mu_kd | sigma2_kd ~ Normal(loc, sigma2_kd / strength),
    x_nd | y_n = k ~ Normal(mu_kd, sigma2_kd).

    With n values of mean m and squared deviations S the posterior has strength' = strength + n, loc' = (strength loc
    + n m) / strength', shape' = shape + n/2, rate' = rate + S/2 + strength n (m - loc)^2 / (2 strength'). Its joint
    mode is mu = loc', sigma2 = rate' / (shape' + 3/2); the predictive is Student's t with 2 shape' degrees of freedom
    about loc' with squared scale rate' (strength' + 1) / (shape' strength'). Murphy, Conjugate Bayesian analysis of
    the Gaussian distribution (2007), section 3 (m, kappa, a, b there); Gelman et al., Bayesian Data Analysis, 3.3.

    The default prior is unit information, column by column and blind to the labels: loc is the pooled mean, rate the
    pooled variance V (divisor n), strength = shape = 1: one pseudo-row for the mean, two for the variance. Rescaling
    a column changes no prediction. A column that is constant in the fitted rows has rate 0, and its factor is 1.

    With ``variance="shared"`` all classes have one variance per column, sigma2_d: shape' and rate' add up the terms of
    all classes, the mode is sigma2 = rate' / (shape' + 1 + K/2), and ``linear_form`` has the log odds of an estimate.

    Args:
        variance: "own", a variance for each class and column, or "shared", one for each column.
        loc: Prior mean; None for the pooled mean.
        strength: Pseudo-rows behind loc, positive.
        shape: Half the pseudo-rows behind the variance, positive.
        rate: Scale of the variance, positive; None for V, the pooled variance.

    All broadcast to [K, D]; a shared variance has shape and rate [D]. Cells are finite numbers or NaN (missing). Sites:
    ``block_loc`` [K, D] and ``block_variance`` [K, D], or [D] if it is shared.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Normal(loc=0.0, rate=1.0)), [[1.0], [5.0], [9.0]], [0, 0, 1])
        >>> post.model.families["x"].loc.tolist()  # 6 / (1 + 2) and 9 / (1 + 1)
        [[2.0], [4.5]]
    """

    loc: Hyperparameter = None
    strength: Hyperparameter = 1.0
    shape: Hyperparameter = 1.0
    rate: Hyperparameter = None
    variance: str = field(default="own", metadata={"static": True})

    sites = ("loc", "variance")
    may_be_common = "variance"
    choices = ("own", "shared")
    axes = (("loc", "KD"), ("strength", "KD"), ("shape", "TD"), ("rate", "TD"))
    required = ("strength", "shape")
    positive = ("strength", "shape", "rate")
    squared = ("loc",)
    statistics_type = NormalStatistics

    def defaults(self, pooled: NormalStatistics) -> Params:
        return {"loc": pooled.mean, "rate": pooled.variance}

    @property
    def prior(self) -> NormalInverseGamma:
        """The hyperparameters."""
        return NormalInverseGamma(self.loc, self.strength, self.shape, self.rate)

    def params(self, block: str) -> Params:
        off = self.prior.scaleless
        with plates(block, jnp.shape(self.loc), common=self.shared):
            distribution = dist.InverseGamma(self.as_site(self.shape), self.as_site(self.prior.proper_rate))
            variance = numpyro.sample(f"{block}_variance", distribution)
        with plates(block, jnp.shape(self.loc)):
            spread = jnp.sqrt(self.as_table(variance) / self.strength)
            loc = numpyro.sample(f"{block}_loc", dist.Normal(self.loc, spread))
        return {"loc": jnp.where(off, self.loc, loc), "variance": jnp.where(self.as_site(off), 0.0, variance)}

    def likelihood(self, params: Params) -> dist.Distribution:
        loc, variance = params["loc"], params["variance"]
        constant = variance == 0
        # narrow enough to generate the constant, wide enough for a finite density, which the mask then drops
        narrow = 1e-6 * (1.0 + jnp.abs(loc))
        scale = jnp.where(constant, narrow, jnp.sqrt(jnp.where(constant, 1.0, variance)))
        return dist.Normal(loc, scale).mask(~constant)

    def check_params(self, params: Params, block: str) -> None:
        require_shapes(block, params, loc="KD", variance="D" if self.shared else "KD")
        require_finite_numbers(f"params of block {block!r}", **params)
        table = known(self.as_table(params["variance"]))
        if table is not None and not ((table > 0) | (table == 0).all(axis=0, keepdims=True)).all():
            raise ValueError(
                f"params['{block}_variance'] must be positive, or 0 in every class if the column is constant"
            )

    def statistics(self, x: Array, z: ClassSums) -> NormalStatistics:
        return NormalStatistics(*z.moments(x))

    def update(self, statistics: NormalStatistics) -> Self:
        return self._replace(**normal_inverse_gamma.update(self.prior, statistics)._asdict())

    def reference(self) -> Params:
        """The mean of loc; for the variance, whose mean may not exist, one over the mean precision."""
        return {"loc": self.loc, "variance": self.as_site(self.prior.proper_rate / self.shape)}

    def mode(self) -> Params:
        loc, variance = normal_inverse_gamma.mode(self.prior)
        return {"loc": loc, "variance": self.as_site(variance)}

    def mle(self, statistics: NormalStatistics) -> Params:
        pooled = statistics.pool()
        seen = statistics.count > 0
        loc = jnp.where(seen, statistics.mean, pooled.mean)
        if self.shared:
            count = jnp.where(pooled.count > 0, pooled.count, 1)
            variance = self.sum_tied(statistics.squares) / count
        else:
            variance = jnp.where(seen, statistics.variance, pooled.variance)
        return {"loc": loc, "variance": self.as_site(jnp.maximum(variance, limits.VARIANCE_FLOOR * pooled.variance))}

    def coefficients(self, params: Params) -> Linear:
        mu, variance = jnp.asarray(params["loc"]), self.as_table(jnp.asarray(params["variance"]))
        off = variance == 0
        variance = jnp.broadcast_to(jnp.where(off, 1.0, variance), mu.shape)
        centre = products.centre_of(mu)
        mu = mu - centre
        precision = jnp.where(off, 0.0, 1.0 / variance)
        offset = -0.5 * precision * jnp.square(mu) - jnp.where(off, 0.0, 0.5 * (jnp.log(variance) + LOG_2PI))
        condition = jnp.max(precision * jnp.square(mu), initial=0.0)
        return Linear((-0.5 * precision, precision * mu), offset, centre=centre, condition=condition)

    def features(self, x: Array) -> tuple[Array, ...]:
        return (x * x, x)

    def likelihood_tables(self, params: Params) -> tuple[Linear, Params]:
        return self.coefficients(params), params

    def likelihood_scorer(self, tables: tuple[Linear, Params]) -> Score:
        coefficients, params = tables
        return products.linear(self, coefficients, partial(compute_rows, _direct, (self, params)))

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        x, loc, variance = x[:, None, :], jnp.asarray(params["loc"]), self.as_table(jnp.asarray(params["variance"]))
        off, missing = variance[None] == 0, jnp.isnan(x)
        variance = jnp.where(off, 1.0, variance[None])
        z = stable.squarable((jnp.where(missing, 0.0, x) - loc[None]) / jnp.sqrt(variance))
        terms = jnp.where(missing | off, 0.0, -0.5 * (z * z + jnp.log(variance) + LOG_2PI))
        return LogProb(terms, jnp.zeros_like(terms))

    def log_likelihood_ratio(self, statistics: NormalStatistics, params: Params, reference: Params) -> Array:
        n, before, after = statistics.count, self.as_table(reference["variance"]), self.as_table(params["variance"])
        off = self.prior.scaleless | (before == 0)
        old, new = jnp.where(off, 1.0, before), jnp.where(off, 1.0, after)
        r = new / old - 1.0
        fitted = (statistics.squares + n * jnp.square(statistics.mean - reference["loc"])) / old
        moved = params["loc"] - reference["loc"]
        shift = n * moved * (2.0 * (reference["loc"] - statistics.mean) + moved) / new
        # sum first: n - fitted is of order one only in the sum over the classes that share the variance
        excess = self.sum_tied(n) * stable.log_ratio_excess(r) + self.sum_tied(n - fitted) * r / (1.0 + r)
        return jnp.where(off, 0.0, -0.5 * (excess + self.sum_tied(shift))).sum()

    def predictive_tables(self) -> Student:
        return student(self.prior)

    def predictive_scorer(self, tables: Student) -> Score:
        return lambda x: LogProb(log_student(tables, x), None)

    def log_predictive_terms(self, x: Array) -> Array:
        tables = jax.tree.map(lambda table: jnp.asarray(table)[None], self.prior)
        return log_student_cells(tables, jnp.asarray(x, jnp.result_type(float))[:, None, :])

    def left_out_terms(self, statistics: NormalStatistics, x: Array, y: Array, weight: Array) -> Array:
        x = jnp.asarray(x, jnp.result_type(float))
        return log_student_cells(normal_inverse_gamma.leave_out(self.prior, statistics, x, y, weight), x)

    def leave_one_out_terms(self, statistics: NormalStatistics, x: Array, y: Array, weight: Array) -> Array:
        if not self.shared:
            return super().leave_one_out_terms(statistics, x, y, weight)
        x = jnp.asarray(x, jnp.result_type(float))
        posteriors = normal_inverse_gamma.leave_out_by_class(self.prior, statistics, x, y, weight)
        return log_student_cells(posteriors, x[:, None, :])

    def log_partition(self) -> Array:
        return normal_inverse_gamma.log_partition(self.prior)

    def log_partition_ratio(self, statistics: NormalStatistics) -> Array:
        return normal_inverse_gamma.log_partition_ratio(self.prior, statistics)

    def log_base_measure(self, statistics: NormalStatistics) -> Array:
        return jnp.where(self.prior.scaleless, 0.0, -0.5 * LOG_2PI * self.sum_tied(statistics.count))


_direct = jax.jit(lambda family, params, x: family.log_likelihood_terms(params, x).finite.sum(axis=-1))
"""The log likelihood computed cell by cell, [N, K]: unlike the matrix product, it does not cancel."""
