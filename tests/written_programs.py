"""The programs of models/ with rows for each, and the NaiveBayes that stands for each."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

import bayesnb as nb
from models import (
    bernoulli,
    binomial,
    categorical,
    gamma,
    histogram,
    log_normal,
    mixed,
    multinomial,
    multivariate_normal,
    normal,
    normal_known_variance,
    normal_shared_variance,
    poisson,
    student_t,
    zero_inflated,
)

ROWS, K, POINTS = 12, 3, 5
RANDOM = np.random.default_rng(0)
Y = jnp.asarray(np.arange(ROWS) % K)
FLAGS = jnp.asarray(RANDOM.integers(0, 2, (ROWS, 4)).astype(float))
CODES = jnp.asarray(RANDOM.integers(0, 4, (ROWS, 2)))
COUNTS = jnp.asarray(RANDOM.poisson(2.0, (ROWS, 5)).astype(float))
TOTALS = COUNTS + jnp.asarray(RANDOM.integers(0, 4, COUNTS.shape).astype(float))  # some cells are 0 of 0
REALS = jnp.asarray(RANDOM.normal(3.0, 2.0, (ROWS, 3)))
NIG = {"loc": 2.0, "strength": 0.5, "shape": 2.0, "rate": 3.0}
NIG_BY_COLUMN = {"loc": jnp.array([3.0, 2.0, 4.0]), "strength": 0.5, "shape": 2.0, "rate": jnp.array([4.0, 1.0, 2.0])}
WAITS = jnp.asarray(RANDOM.gamma(2.0, 1.5, (ROWS, 3)))
ZEROS = jnp.asarray(RANDOM.poisson(2.0, (ROWS, 3)) * (RANDOM.random((ROWS, 3)) < 0.7) * 1.0)
EDGES, MASS = jnp.array([[1.0, 2.0, 4.0], [2.0, 3.5, 5.0], [0.0, 1.5, 6.0]]), jnp.array([[0.1, 0.4, 0.3, 0.2]] * 3)
KNOWN = {"variance": jnp.array([4.0, 1.0, 2.0]), "loc": 2.0, "scale": jnp.array([3.0, 2.0, 4.0])}
NIW = {"loc": jnp.array([3.0, 2.0, 4.0]), "strength": 0.5, "df": 5.5, "scale": 2.0 * jnp.eye(3) + 0.5}


def simplices(*shape):
    return RANDOM.dirichlet(np.ones(shape[-1]), (POINTS, *shape[:-1]))


def normal_sites(block):
    loc, variance = RANDOM.normal(2.0, 2.0, (POINTS, K, 3)), RANDOM.gamma(2.0, 2.0, (POINTS, K, 3))
    return {f"{block}_loc": loc, f"{block}_variance": variance}


def covariances(*shape):
    roots = RANDOM.normal(size=(POINTS, *shape, 3, 5))
    return roots @ np.swapaxes(roots, -1, -2)


PROGRAMS = {
    "bernoulli": (bernoulli.model, (FLAGS, Y, K)),
    "categorical": (categorical.model, (CODES, Y, K, 4)),
    "binomial": (binomial.model, (COUNTS, 20, Y, K)),
    "trials": (binomial.model, (COUNTS, TOTALS, Y, K)),
    "multinomial": (multinomial.model, (COUNTS, Y, K)),
    "poisson": (poisson.model, (COUNTS, Y, K)),
    "normal": (normal.model, (REALS, Y, K)),
    "normal_shared_variance": (normal_shared_variance.model, (REALS, Y, K)),
    "normal_known_variance": (normal_known_variance.model, (REALS, Y, K)),
    "histogram": (histogram.model, (REALS, Y, K)),
    "multivariate_normal": (multivariate_normal.model, (REALS, Y, K)),
    "shared_covariance": (multivariate_normal.model, (REALS, Y, K)),
    "log_normal": (log_normal.model, (WAITS, Y, K)),
    "gamma": (gamma.model, (WAITS, Y, K)),
    "student_t": (student_t.model, (REALS, Y, K)),
    "zero_inflated": (zero_inflated.model, (ZEROS, Y, K)),
    "mixed": (mixed.model, (FLAGS, CODES[:, :1], REALS, Y, K)),
}
ROWS_OF = {
    "bernoulli": FLAGS,
    "categorical": CODES,
    "binomial": COUNTS,
    "trials": (COUNTS, TOTALS),
    "multinomial": COUNTS,
    "poisson": COUNTS,
    "normal": REALS,
    "normal_shared_variance": REALS,
    "normal_known_variance": REALS,
    "histogram": REALS,
    "multivariate_normal": REALS,
    "shared_covariance": REALS,
    "log_normal": WAITS,
    "gamma": WAITS,
    "student_t": REALS,
    "zero_inflated": ZEROS,
    "mixed": {"symptoms": FLAGS, "blood": CODES[:, :1], "vitals": REALS},
}
PARAMS = {
    "bernoulli": {"x_probs": RANDOM.uniform(0.01, 0.99, (POINTS, K, 4))},
    "categorical": {"x_probs": simplices(K, 2, 4)},
    "binomial": {"x_probs": RANDOM.uniform(0.01, 0.99, (POINTS, K, 5))},
    "trials": {"x_probs": RANDOM.uniform(0.01, 0.99, (POINTS, K, 5))},
    "multinomial": {"x_probs": simplices(K, 5)},
    "poisson": {"x_rate": RANDOM.gamma(2.0, 2.0, (POINTS, K, 5))},
    "normal": normal_sites("x"),
    "log_normal": normal_sites("x"),
    "histogram": {
        "x_probs": simplices(K, 3, 4),
        "x_cuts": RANDOM.integers(0, 2, (POINTS, 3, 3)),
        "x_total": RANDOM.integers(0, 2, (POINTS, 3)),
    },
    "normal_known_variance": {"x_loc": RANDOM.normal(2.0, 2.0, (POINTS, K, 3))},
    "normal_shared_variance": {**normal_sites("x"), "x_variance": RANDOM.gamma(2.0, 2.0, (POINTS, 3))},
    "multivariate_normal": {"x_loc": RANDOM.normal(2.0, 2.0, (POINTS, K, 3)), "x_covariance": covariances(K)},
    "shared_covariance": {"x_loc": RANDOM.normal(2.0, 2.0, (POINTS, K, 3)), "x_covariance": covariances()},
    "gamma": {
        "x_concentration": RANDOM.gamma(2.0, 1.0, (POINTS, K, 3)),
        "x_rate": RANDOM.gamma(2.0, 1.0, (POINTS, K, 3)),
    },
    "student_t": {
        "x_loc": RANDOM.normal(2.0, 2.0, (POINTS, K, 3)),
        "x_scale": RANDOM.gamma(2.0, 1.0, (POINTS, K, 3)),
    },
    "zero_inflated": {
        "x_gate": RANDOM.uniform(0.01, 0.99, (POINTS, K, 3)),
        "x_rate": RANDOM.gamma(2.0, 1.0, (POINTS, K, 3)),
    },
    "mixed": {
        "symptoms_probs": RANDOM.uniform(0.01, 0.99, (POINTS, K, 4)),
        "blood_probs": simplices(K, 1, 4),
        **normal_sites("vitals"),
    },
}
BLOCKS = {"symptoms": nb.Bernoulli(), "blood": nb.Categorical(4), "vitals": nb.Normal(**NIG)}
SAME = [  # program, its hyperparameters, and the model that we compose
    ("bernoulli", {}, nb.NaiveBayes(nb.Bernoulli())),
    (
        "bernoulli",
        {"a": 2.0, "b": 0.5, "class_concentration": 3.0},
        nb.NaiveBayes(nb.Bernoulli(a=2.0, b=0.5), class_concentration=3.0),
    ),
    ("categorical", {"concentration": 0.7}, nb.NaiveBayes(nb.Categorical(4, concentration=0.7))),
    ("binomial", {"a": 2.0, "b": 0.5}, nb.NaiveBayes(nb.Binomial(20, a=2.0, b=0.5))),
    ("trials", {"a": 2.0, "b": 0.5}, nb.NaiveBayes(nb.Binomial(None, a=2.0, b=0.5))),
    ("multinomial", {"concentration": 1.5}, nb.NaiveBayes(nb.Multinomial(concentration=1.5))),
    ("poisson", {"shape": 2.0, "rate": 0.5}, nb.NaiveBayes(nb.Poisson(shape=2.0, rate=0.5))),
    ("normal", NIG, nb.NaiveBayes(nb.Normal(**NIG))),
    ("normal", NIG_BY_COLUMN, nb.NaiveBayes(nb.Normal(**NIG_BY_COLUMN))),
    ("normal_shared_variance", NIG_BY_COLUMN, nb.NaiveBayes(nb.Normal(variance="shared", **NIG_BY_COLUMN))),
    ("histogram", {"edges": EDGES, "mass": MASS}, nb.NaiveBayes(nb.Histogram(edges=EDGES, mass=MASS[None]))),
    ("normal_known_variance", KNOWN, nb.NaiveBayes(nb.NormalKnownVariance(**KNOWN))),
    ("multivariate_normal", NIW, nb.NaiveBayes(nb.MultivariateNormal(**NIW))),
    ("shared_covariance", {"shared": True, **NIW}, nb.NaiveBayes(nb.MultivariateNormal("shared", **NIW))),
    ("mixed", NIG, nb.NaiveBayes(BLOCKS)),
]
OTHERS = [  # the same for programs of mapped cells, or whose posterior is summed over a lattice
    ("log_normal", NIG, nb.NaiveBayes(nb.LogNormal(**NIG))),
    (
        "gamma",
        {"scale": 2.0},
        nb.NaiveBayes(nb.Likelihood(dist.Gamma, concentration=dist.LogNormal(0.0, 2.0), rate=dist.LogNormal(0.0, 2.0))),
    ),
    (
        "student_t",
        {"loc": 1.0, "scale": 3.0},
        nb.NaiveBayes(nb.Likelihood(dist.StudentT, df=4.0, loc=dist.Normal(1.0, 3.0), scale=dist.HalfNormal(3.0))),
    ),
    (
        "zero_inflated",
        {"a": 2.0, "rate": 0.5},
        nb.NaiveBayes(nb.Likelihood(dist.ZeroInflatedPoisson, gate=dist.Beta(2.0, 1.0), rate=dist.Gamma(1.0, 0.5))),
    ),
]
