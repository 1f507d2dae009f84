"""Bernoulli features with Beta priors, and what all families of successes in trials have."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics import _stable as stable
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Hyperparameter, LinearFamily, Params, pytree
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families.parts._statistics import Statistics, require_sums, without
from bayesnb.core.families.parts._support import Axes, require_probabilities, require_shapes


@pytree
class TrialStatistics(Statistics):
    """``successes`` and ``trials`` [K, D]: sums of z times the successes, and times the trials, of observed cells."""

    successes: Array
    trials: Array

    axes: ClassVar[Axes] = (("successes", "KD"), ("trials", "KD"))

    def check(self, block: str, num_classes: int) -> None:
        super().check(block, num_classes)
        # the two sums of weights are computed separately, so they differ by rounding
        if not (np.asarray(self.successes) <= np.asarray(self.trials) * (1 + 1e-4)).all():
            raise ValueError(f"statistics of block {block!r}: successes must not be more than trials")

    def minus(self, part: Self) -> Self:
        left = super().minus(part)
        return replace(left, successes=either.minimum(left.successes, left.trials))

    def require_part(self, part: Self, block: str) -> None:
        super().require_part(part, block)
        failures, of_part = self.trials - self.successes, part.trials - part.successes
        require_sums(f"block {block!r}", "failures", failures, of_part, self.trials)


class BetaFamily(LinearFamily):
    """A family whose parameters are probabilities of success, theta_kd ~ Beta(a, b): sites ``block_probs`` [K, D]."""

    a: Hyperparameter
    b: Hyperparameter

    sites = ("probs",)
    axes = (("a", "KD"), ("b", "KD"))
    required = positive = ("a", "b")

    def params(self, block: str) -> Params:
        with plates(block, jnp.shape(self.a)):
            return {"probs": numpyro.sample(f"{block}_probs", dist.Beta(self.a, self.b))}

    def check_params(self, params: Params, block: str) -> None:
        require_shapes(block, params, probs="KD")
        require_probabilities(block, "probs", params["probs"])

    def update(self, statistics: TrialStatistics) -> Self:
        failures = statistics.trials - statistics.successes
        return self._replace(a=self.a + statistics.successes, b=self.b + failures)

    def reference(self) -> Params:
        return {"probs": dirichlet.dirichlet_mean(self._concentration())[..., 0]}

    def mode(self) -> Params:
        return {"probs": dirichlet.dirichlet_mode(self._concentration())[..., 0]}

    def mle(self, statistics: TrialStatistics) -> Params:
        return {"probs": dirichlet.dirichlet_mle(_counts(statistics))[..., 0]}

    def log_likelihood_ratio(self, statistics: TrialStatistics, params: Params, reference: Params) -> Array:
        t, change = reference["probs"], params["probs"] - reference["probs"]
        pair = jnp.stack([change / t, -change / (1.0 - t)], axis=-1)
        return dirichlet.centred_log_likelihood(_counts(statistics), pair, self._concentration()).sum()

    def log_partition(self) -> Array:
        return dirichlet.log_multivariate_beta(self._concentration())[..., 0]

    def log_partition_ratio(self, statistics: TrialStatistics) -> Array:
        return dirichlet.log_multivariate_beta_ratio(self._concentration(), _counts(statistics))[..., 0]

    def _concentration(self) -> Array:
        return jnp.stack([self.a, self.b], axis=-1)


def _counts(statistics: TrialStatistics) -> Array:
    return jnp.stack([statistics.successes, statistics.trials - statistics.successes], axis=-1)


@pytree
class BernoulliStatistics(TrialStatistics):
    """``successes`` and ``trials`` [K, D]: sum of z x, and of z over observed cells."""

    @property
    def observed_cells(self) -> Array:
        return self.trials


@pytree
class Bernoulli(BetaFamily):
    """Binary features: theta_kd ~ Beta(a, b), x_nd | y_n = k ~ Bernoulli(theta_kd).

    With s ones in n cells the posterior is Beta(a + s, b + n - s); its mode is (a + s - 1) / (a + b + n - 2), its mean,
    which is also the predictive probability of a one, (a + s) / (a + b + n). Gelman et al., Bayesian Data Analysis,
    3rd edition, section 2.4. The default Beta(1, 1) is uniform; its predictive is Laplace's rule of succession.

    Args:
        a: Prior successes, positive; broadcasts to [K, D].
        b: Prior failures, positive; broadcasts to [K, D].

    Cells are 0, 1, False, True or NaN (missing). Sites: ``block_probs`` [K, D].

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=1.0, b=1.0)), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> post.model.families["x"].a.tolist(), post.model.families["x"].b.tolist()  # a + s, b + n - s of each class
        ([[3.0], [1.0]], [[2.0], [2.0]])
        >>> post.predict_proba([[1]]).round(3)  # proportional to 4/6 * 3/5 and 2/6 * 1/3
        array([[0.783, 0.217]])
    """

    a: Hyperparameter = 1.0
    b: Hyperparameter = 1.0

    statistics_type = BernoulliStatistics
    support = dist.constraints.boolean
    takes_sparse = True

    @classmethod
    def laplace(cls, smoothing: float = 1.0) -> Self:
        """Beta(1 + l, 1 + l): its MAP is the textbook estimate (s + l) / (n + 2 l)."""
        return cls(a=1.0 + smoothing, b=1.0 + smoothing)

    def category_sizes(self, num_columns: int) -> tuple[int, ...]:
        return (2,) * num_columns

    def likelihood(self, params: Params) -> dist.Distribution:
        return dist.Bernoulli(probs=params["probs"])

    def statistics(self, x: Array, z: ClassSums) -> BernoulliStatistics:
        return BernoulliStatistics(*z.trials(x))

    def coefficients(self, params: Params) -> Linear:
        p = jnp.asarray(params["probs"])
        never, always = (p == 0).astype(p.dtype), (p == 1).astype(p.dtype)
        # a one is impossible where p = 0, a zero where p = 1
        return _affine(stable.safe_log(p), stable.safe_log1p(-p))._replace(zeros=(never - always,), zero_offset=always)

    def log_predictive_terms(self, x: Array) -> Array:
        success, failure = self._log_predictive()
        x = x[:, None, :]
        return jnp.where(jnp.isnan(x), 0.0, jnp.where(x == 1, success, failure))

    def left_out_terms(self, statistics: BernoulliStatistics, x: Array, y: Array, weight: Array) -> Array:
        one, missing, w = (x == 1).astype(weight.dtype), jnp.isnan(x), weight[:, None]
        found, trials = statistics.successes[y], statistics.trials[y]
        a = self.a[y] + without(found, one * w, trials)
        b = self.b[y] + without(trials - found, (1.0 - one) * w, trials)
        return jnp.where(missing, 0.0, jnp.log(jnp.where(one > 0, a, b) / (a + b)))

    def predictive_tables(self) -> Linear:
        return _affine(*self._log_predictive())

    predictive_scorer = LinearFamily.likelihood_scorer

    def _log_predictive(self) -> tuple[Array, Array]:
        """log of the predictive probabilities of a one and of a zero, [K, D]; 1 - p would lose a small b."""
        return jnp.log(self.a / (self.a + self.b)), jnp.log(self.b / (self.a + self.b))


def _affine(success: Array, failure: Array) -> Linear:
    """x (log p - log q) + log q."""
    return Linear((success - failure,), failure)
