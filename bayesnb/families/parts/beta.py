"""Priors of probabilities: families of successes in trials with Beta priors."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.arrays import either
from bayesnb.arrays.placement import Array
from bayesnb.families.base import Hyperparameter, LinearFamily, Params, pytree
from bayesnb.families.hyperparameters import plates
from bayesnb.families.parts.statistics import Statistics, require_sums
from bayesnb.families.parts.support import Axes, require_probabilities, require_shapes
from bayesnb.numerics import dirichlet


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
