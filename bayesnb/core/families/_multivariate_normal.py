"""Real features that depend on each other: a full covariance, with a normal-inverse-Wishart prior."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays._compute import compute, compute_rows
from bayesnb.compute.arrays._placement import Array, known
from bayesnb.compute.numerics._covariances import (
    inside,
    log_determinant_excess,
    outer,
    proper,
    require_covariance,
    variances,
    whiten,
)
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.numerics._one_by_one import factors
from bayesnb.compute.primitives._distances import (
    LOG_2PI,
    Whitening,
    distances,
    log_normal,
    log_student,
    log_student_of_rows,
    whitening,
)
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, Params, Score, Tied, conjugate_update, pytree
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families._normal import Normal
from bayesnb.core.families.parts._support import require_finite_numbers, require_positive, require_shapes
from bayesnb.core.families.priors import _normal_inverse_wishart as normal_inverse_wishart
from bayesnb.core.families.priors._normal_inverse_gamma import sum_shared
from bayesnb.core.families.priors._normal_inverse_wishart import MultivariateNormalStatistics, NormalInverseWishart


@pytree
class MultivariateNormal(Tied):
    """Real features with a covariance: Sigma_k ~ InverseWishart(df, scale), mu_k | Sigma_k ~ Normal(loc, Sigma_k /
    strength), x_n | y_n = k ~ Normal(mu_k, Sigma_k), which is quadratic discriminant analysis.

    With n rows of mean m and scatter matrix S the posterior has strength' = strength + n, loc' = (strength loc + n m) /
    strength', df' = df + n, scale' = scale + S + strength n / strength' (m - loc)(m - loc)'. Its joint mode is mu =
    loc', Sigma = scale' / (df' + D + 2); the predictive is Student's t in D dimensions with df' - D + 1 degrees of
    freedom about loc' with scale matrix scale' (strength' + 1) / (strength' (df' - D + 1)). With
    ``covariance="shared"`` the classes have one Sigma, which is linear discriminant analysis: df and scale add up the
    terms of all classes, and the mode is Sigma = scale' / (df' + D + 1 + K). The MLE is S / n + smoothing I; without
    smoothing it needs more rows per class than columns, or inside a JAX transformation it is NaN. The default prior is
    that of ``Normal`` in each column, with correlations uniform on [-1, 1]. Murphy, Conjugate Bayesian analysis of the
    Gaussian distribution (2007), section 9; Barnard, McCulloch and Meng, Modeling covariance matrices (2000).

    Args:
        covariance: "full", a covariance for each class, or "shared", one for all.
        smoothing: lambda, added to the diagonal of the MLE in the square of the columns' unit; not negative.
        loc: Prior mean, broadcasts to [K, D]; None for the pooled mean.
        strength: Pseudo-rows behind loc, positive, a number or [K].
        df: Degrees of freedom, above D - 1, a number or [K]; None for D + 1.
        scale: Positive definite, [D, D] or [K, D, D]; None for 2 diag(V).

    Cells are finite numbers or NaN (missing). A row is predicted by its observed cells, exactly; in a fit it must have
    all of them or none, for a closed form. The block counts as one feature. Sites: ``block_loc`` [K, D] and
    ``block_covariance`` [K, D, D], or [D, D] if it is shared.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.1], [0.0, 2.0], [1.0, 1.1], [2.0, 0.0]], [0, 0, 0, 1, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal()), X, y)
        >>> post.predict_proba([[2.0, 2.0]]).round(2)  # the columns rise together in class 0
        array([[0.85, 0.15]])
    """

    covariance: str = field(default="full", metadata={"static": True})
    smoothing: Hyperparameter = 0.0
    loc: Hyperparameter = None
    strength: Hyperparameter = 1.0
    df: Hyperparameter = None
    scale: Hyperparameter = None

    sites = ("loc", "covariance")
    may_be_common = "covariance"
    choices = ("full", "shared")
    axes = (("loc", "KD"), ("strength", "K"), ("df", "T"), ("scale", "TDD"))
    required = ("strength", "smoothing")
    positive = ("strength", "df")
    squared = ("loc", "smoothing")
    statistics_type = MultivariateNormalStatistics
    one_feature = True
    diagonal = Normal
    """The family of rows whose covariances are all diagonal."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_finite_numbers("MultivariateNormal", scale=self.scale)
        smoothing = known(self.smoothing)
        if smoothing is not None and (smoothing.ndim or smoothing < 0):
            raise ValueError(f"MultivariateNormal: smoothing is a number, 0 or more, got {self.smoothing!r}")
        if self.shared and np.shape(self.df) not in ((), (1,)):
            shape = np.shape(self.df)
            raise ValueError(f"MultivariateNormal: df is a number if the covariance is shared, got shape {shape}")
        if self.scale is not None:
            require_covariance("MultivariateNormal: scale", self.scale)
            require_positive("MultivariateNormal: scale", diagonal=variances(self.scale))

    def defaults(self, pooled: MultivariateNormalStatistics) -> Params:
        size = pooled.num_columns
        return {"loc": pooled.mean, "df": size + 1.0, "scale": 2.0 * pooled.covariance * jnp.eye(size)[None]}

    @property
    def prior(self) -> NormalInverseWishart:
        """The hyperparameters."""
        return NormalInverseWishart(self.loc, self.strength, self.df, self.scale)

    @property
    def declared_columns(self) -> int | None:
        return None if self.scale is None else np.shape(self.scale)[-1]

    def params(self, block: str) -> Params:
        on = self.prior.varying
        with plates(block, self.loc.shape[:1], common=self.shared):
            scale = proper(self.as_site(self.scale), self.as_site(on))
            # NumPyro's validation compiles for every number of columns, also under a trace
            distribution = dist.InverseWishart(self.as_site(self.df), scale, validate_args=False)
            covariance = self.as_table(numpyro.sample(f"{block}_covariance", distribution))
        with plates(block, self.loc.shape[:1]):
            spread = covariance / self.strength[:, None, None]
            distribution = dist.MultivariateNormal(self.loc, covariance_matrix=spread, validate_args=False)
            loc = numpyro.sample(f"{block}_loc", distribution)
        return self.with_constants(loc, covariance)

    def with_constants(self, loc: Array, covariance: Array) -> Params:
        """Parameters with constants for the columns without a scale."""
        loc = jnp.where(self.prior.varying, loc, self.loc)
        return {"loc": loc, "covariance": self.as_site(self.prior.cut(covariance))}

    def likelihood(self, params: Params) -> dist.Distribution:
        return dist.MultivariateNormal(params["loc"], covariance_matrix=params["covariance"])

    def observe(self, block: str, params: Params, x: Array | None, total_count: Array | None) -> Array:
        del total_count
        loc, covariance = params["loc"], params["covariance"]
        on = variances(covariance) > 0
        if x is None:
            return numpyro.sample(block, self.likelihood({"loc": loc, "covariance": generating(loc, covariance)}))
        seen = ~jnp.isnan(x) & on
        return numpyro.sample(block, NormalOfSeen(loc, covariance, seen), obs=jnp.nan_to_num(x))

    def check_params(self, params: Params, block: str) -> None:
        require_shapes(block, params, loc="KD", covariance="DD" if self.shared else "KDD")
        require_finite_numbers(f"params of block {block!r}", **params)
        require_covariance(f"params['{block}_covariance']", params["covariance"], may_be_idle=True)

    def statistics(self, x: Array, z: ClassSums) -> MultivariateNormalStatistics:
        return MultivariateNormalStatistics(*z.scatter(x))

    def update(self, statistics: MultivariateNormalStatistics) -> Self:
        return self._replace(**normal_inverse_wishart.update(self.prior, statistics)._asdict())

    def reference(self) -> Params:
        return self.with_constants(*normal_inverse_wishart.mean(self.prior))

    def mode(self) -> Params:
        return self.with_constants(*normal_inverse_wishart.mode(self.prior))

    def mle(self, statistics: MultivariateNormalStatistics) -> Params:
        pooled, seen = statistics.pool(), statistics.count > 0
        loc = jnp.where(seen[:, None], statistics.mean, pooled.mean)
        if self.shared:
            count = jnp.where(pooled.count > 0, pooled.count, 1)
            covariance = self.sum_tied(statistics.scatter) / count[:, None, None]
        else:
            covariance = jnp.where(seen[:, None, None], statistics.covariance, pooled.covariance)
        return {"loc": loc, "covariance": self.as_site(covariance + self.smoothing * jnp.eye(loc.shape[1])[None])}

    def likelihood_tables(self, params: Params) -> Whitening:
        return whitening(params["loc"], self.as_table(params["covariance"]))

    def likelihood_scorer(self, tables: Whitening) -> Score:
        return lambda x: LogProb(compute_rows(log_normal, (), distances(tables, x)), None)

    def log_likelihood_ratio(
        self, statistics: MultivariateNormalStatistics, params: Params, reference: Params
    ) -> Array:
        before, after = ((p["loc"], self.as_table(p["covariance"])) for p in (reference, params))
        return log_ratio_of_rows(statistics, before, after, self.prior.varying)

    def log_predictive_terms(self, x: Array) -> Array:
        df, about = self.predictive_tables()
        return log_student(df[None], distances(about, jnp.asarray(x)))[..., None]

    def predictive_tables(self) -> tuple[Array, Whitening]:
        """Degrees of freedom of the multivariate t, and its centre and scale matrix, [K, ...]."""
        df = self.df - self.loc.shape[1] + 1.0
        return df, whitening(self.loc, self.scale * ((1.0 + 1.0 / self.strength) / df)[:, None, None])

    def predictive_scorer(self, tables: tuple[Array, Whitening]) -> Score:
        df, about = tables
        return lambda x: LogProb(log_student_of_rows(df[None], about, x), None)

    def left_out_terms(self, statistics: MultivariateNormalStatistics, x: Array, y: Array, weight: Array) -> Array:
        return jnp.take_along_axis(self.leave_one_out(statistics, x, y, weight), y[:, None], axis=1)

    def leave_one_out_terms(self, statistics: MultivariateNormalStatistics, x: Array, y: Array, weight: Array) -> Array:
        return self.leave_one_out(statistics, jnp.asarray(x), y, weight)[..., None]

    def leave_one_out(self, statistics: MultivariateNormalStatistics, x: Array, y: Array, weight: Array) -> Array:
        posterior = compute(conjugate_update, self, statistics).prior
        return normal_inverse_wishart.log_left_out(self.prior, posterior, statistics.count, x, y, weight)

    def log_partition(self) -> Array:
        return normal_inverse_wishart.log_partition(self.prior)

    def log_partition_ratio(self, statistics: MultivariateNormalStatistics) -> Array:
        return normal_inverse_wishart.log_partition_ratio(self.prior, statistics)

    def log_base_measure(self, statistics: MultivariateNormalStatistics) -> Array:
        return (-0.5 * LOG_2PI * self.prior.varying.sum(axis=1) * self.sum_tied(statistics.count))[:, None]


class NormalOfSeen(dist.Distribution):
    """The normal distribution of those cells of a row that are ``seen`` [..., D]; the others have density one."""

    arg_constraints: ClassVar = {
        "loc": dist.constraints.real_vector,
        "covariance_matrix": dist.constraints.positive_semidefinite,
    }
    pytree_data_fields = ("loc", "covariance_matrix", "seen")
    support = dist.constraints.real_vector

    def __init__(self, loc: Array, covariance_matrix: Array, seen: Array) -> None:
        self.loc, self.covariance_matrix, self.seen = loc, covariance_matrix, seen
        super().__init__(seen.shape[:-1], seen.shape[-1:], validate_args=False)

    def log_prob(self, value: Array) -> Array:
        """Other cells are set to their mean, with variance one, and their density is subtracted."""
        distribution = dist.MultivariateNormal(self.loc, covariance_matrix=proper(self.covariance_matrix, self.seen))
        return distribution.log_prob(jnp.where(self.seen, value, self.loc)) + 0.5 * LOG_2PI * (~self.seen).sum(axis=-1)


def generating(loc: Array, covariance: Array) -> Array:
    """The covariance, with a narrow variance for columns that are constant."""
    narrow = jnp.square(1e-6 * (1.0 + jnp.abs(loc)))[..., None] * jnp.eye(loc.shape[-1])
    return jnp.where(inside(variances(covariance) > 0), covariance, narrow)


@jax.jit
def sample_normals(loc: Array, covariance: Array, noise: Array, draw: Array, y: Array) -> Array:
    """Rows m + L e of classes ``y``, [N, D], from draws of the parameters; one factor for each draw and class."""
    factor, _ = factors(generating(loc, covariance))
    own = y if factor.shape[1] > 1 else jnp.zeros_like(y)
    varying = jax.lax.map(lambda row: factor[row[0], row[1]] @ row[2], (draw, own, noise), batch_size=16)
    constant = (variances(covariance) == 0)[draw, own]
    return loc[draw, y] + jnp.where(constant, 0.0, varying)


def affine_form(loc: Array, covariance: Array) -> tuple[Array, Array]:
    """w [K, D] and b [K] with log p(x | k) = w x + b, up to a term that all classes with this covariance share."""
    on = variances(covariance) > 0
    _, inverse = factors(proper(covariance, on))
    precision = jnp.where(inside(on), inverse.mT @ inverse, 0.0)
    coefficients = (precision @ loc[:, :, None])[:, :, 0]
    return coefficients, -0.5 * (loc * coefficients).sum(axis=1)


def log_ratio_of_rows(
    statistics: MultivariateNormalStatistics, before: tuple[Array, Array], after: tuple[Array, Array], on: Array
) -> Array:
    """The log likelihood of rows at means and covariances ``after`` minus that ``before``, over the columns ``on``."""
    n, (loc, old), (new_loc, new) = statistics.count, before, after
    old, new = proper(old, on), proper(new, on)
    fitted = jnp.where(inside(on), outer(statistics.mean - loc) * n[:, None, None] + statistics.scatter, 0.0)
    bend = log_determinant_excess(sum_shared(n, old), sum_shared(fitted, old), old, new, on)
    moved = jnp.where(on, new_loc - loc, 0.0)
    pull = jnp.where(on, 2.0 * (loc - statistics.mean), 0.0) + moved
    metric = factors(new)[1]
    shift = n * (whiten(metric, moved) * whiten(metric, pull)).sum(axis=-1)
    return -0.5 * (bend.sum() + shift.sum())
