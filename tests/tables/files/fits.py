"""A model of six rows, and every kind of fit of it."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import bayesnb as nb
from bayesnb.core.fits._nuts import HierarchicalDraws

X, Y = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 0]]), np.array([0, 1, 1, 0, 1, 0])
MODEL = nb.NaiveBayes(nb.Bernoulli(), class_concentration=2.0)
HYPER = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0)))


def hierarchical():
    statistics = nb.sufficient_statistics(HYPER, X, Y)
    draws = nb.fit_posterior(MODEL, X, Y).sample(jax.random.key(0), 2)
    prior = nb.NaiveBayes(nb.Bernoulli(a=2.0)).resolve(X, Y)
    return HierarchicalDraws(prior, {**draws, "x_prior_a": np.array([1.0, 3.0])}, {}, 1, HYPER, statistics)


FITS = {
    "MAP of JAX rows": lambda: nb.fit_map(MODEL, jnp.asarray(X), jnp.asarray(Y)),
    "another population": lambda: nb.fit_posterior(MODEL, X, Y).with_class_probs([0.3, 0.7]),
    "an impossible class": lambda: nb.fit_mle(MODEL, X, Y).with_class_probs([1.0, 0.0]),
    "tempered": lambda: nb.temper(nb.fit_posterior(MODEL, X, Y), X, Y, per_feature=True),
    "powers of words": lambda: nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), X, Y).with_powers(
        0.9, length_exponents=0.5, class_power=0.4
    ),
    "learned prior": lambda: nb.fit_empirical(MODEL, X, Y),
    "averaged": lambda: nb.fit_averaged(MODEL, X, Y),
    "EM": lambda: nb.fit_em(MODEL, X, np.where(Y == 1, -1, Y), max_iterations=3),
    "draws": lambda: nb.Draws(MODEL.resolve(X, Y), nb.fit_posterior(MODEL, X, Y).sample(jax.random.key(0), 9), {}, 1),
    "draws of hyperparameters": hierarchical,
    "known parameters": lambda: nb.PointEstimate(MODEL, {"class_probs": [0.75, 0.25], "x_probs": [[0.8, 0, 1]] * 2}),
}
