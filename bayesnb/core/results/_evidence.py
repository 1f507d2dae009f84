"""The evidence, log p(X, y): the log marginal likelihood, split by label, feature and class.

    log p(X, y) = log p(y) + sum over blocks, features d and classes k of log p(x_d of class k | y)

Each part is the log partition of the posterior minus that of the prior, plus the base measure: Murphy, Conjugate
Bayesian analysis of the Gaussian distribution (2007), section 3.5; Minka, Estimating a Dirichlet distribution (2000).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import to_double
from bayesnb.compute.arrays._typing import Array
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.core.families import Likelihood, Mapped
from bayesnb.core.families._likelihood import errors_of
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._sufficient_statistics import ModelStatistics


class EvidenceTable(NamedTuple):
    """``labels``: log p(y). ``features``: log p(x_d | y) by block, feature and class, [K, D]; [K, 1] if a block is
    one feature, and one row if the classes share a parameter.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> table = post.evidence_table()
        >>> table.features["x"].round(2)  # log of 1/3 for two equal cells, of 1/6 for two that differ
        array([[-1.1 , -1.1 ],
               [-1.1 , -1.79]])
        >>> bool(abs(table.total - post.log_evidence) < 1e-6)
        True
    """

    labels: Array
    features: dict[str, Array]

    @property
    def total(self) -> Array:
        """log p(X, y)."""
        return self.labels + sum(part.sum() for part in self.features.values())


def evidence_table(prior: NaiveBayes, statistics: ModelStatistics) -> EvidenceTable:
    """The parts of the evidence of rows under a resolved prior; in float64 unless the values are traced.

    log p(X, y) of 1e8 rows has eight digits before the point: float32 cannot represent it to within one nat.
    """
    table = compute(evidence, *to_double((prior, statistics)))
    return table._replace(features={name: table.features[name] for name in prior.families})


@jax.jit
def evidence(prior: NaiveBayes, statistics: ModelStatistics) -> EvidenceTable:
    """The same in JAX's current precision."""
    counts, blocks = statistics.class_counts, statistics.blocks
    features = {
        b: family.log_partition_ratio(blocks[b]) + family.log_base_measure(blocks[b])
        for b, family in prior.families.items()
    }
    if prior.class_probs is None:
        labels = dirichlet.log_multivariate_beta_ratio(jnp.asarray(prior.class_concentration), counts).sum()
    else:
        probs = jnp.asarray(prior.class_probs)
        possible = (probs > 0) | (counts == 0)
        labels = jnp.where(possible, counts * jnp.log(jnp.where(probs > 0, probs, 1.0)), -jnp.inf).sum()
    return EvidenceTable(labels, features)


@singledispatch
def quadrature_errors(family: Any) -> dict[str, Array]:
    """How far the integrals of a posterior's family are off, [K, D] each, by their cause; none if they are exact.

    ``lattice``: the spacing of its points; ``rim``: what lies beyond it; ``binning``: the numbers' bins.
    """
    del family
    return {}


@quadrature_errors.register(Likelihood)
def _(family: Any) -> dict[str, Array]:
    errors = compute(errors_of, family)
    return {name: errors[..., i] for i, name in enumerate(("lattice", "rim", "binning"))}


quadrature_errors.register(Mapped, lambda family: quadrature_errors(family.parts[0]))
