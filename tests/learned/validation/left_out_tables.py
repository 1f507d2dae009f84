"""Tables of left-out log ratios of random rows, and their loss in JAX."""

import jax.numpy as jnp
import numpy as np
from jax.nn import log_softmax

from bayesnb.learned.validation._ratio_table import LeftOutRatios

N, K, F = 60, 4, 5


def make_table(rng, *, forest=False, certain=0.0, num_rows=N, num_features=F, worth=(1.2, -0.6)):
    """Features of unequal worth, the last worse than useless; a ``certain`` share of other classes is improbable."""
    ratios = rng.normal(size=(num_rows, K - 1, num_features)) - np.linspace(*worth, num_features)
    prior = np.where(rng.random((num_rows, K - 1)) < certain, -80.0, rng.normal(size=(num_rows, K - 1)))
    log_ratio = rng.normal(size=(num_rows, K - 1)) - 0.5 if forest else None
    return LeftOutRatios(prior, ratios, rng.gamma(2.0, 0.5, num_rows), {"x": num_features}, {}, {}, log_ratio)


def features_of(table):
    """The log ratios with those of forests, [N, K-1, F]."""
    return table.ratios if table.forest is None else np.concatenate([table.ratios, table.forest[:, :, None]], axis=2)


def loss_of(table, powers):
    """-sum_i w_i log p(y_i | x_i), of which the own class is the first and has log odds 0."""
    return loss(powers, table.prior, features_of(table), table.weight)


def loss(powers, prior, features, weight):
    """The same of arrays."""
    return -weight @ log_softmax(jnp.pad(prior + features @ powers, [(0, 0), (1, 0)]), axis=1)[:, 0]
