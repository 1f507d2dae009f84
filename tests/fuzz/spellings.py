"""Spellings of each family: how a program may write its prior and its likelihood."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import logit
from numpyro.distributions import constraints
from numpyro.distributions.transforms import AffineTransform, ExpTransform, PowerTransform, SigmoidTransform

import bayesnb as nb
from tests.recognition.case import CODES, COUNTS, FLAGS, REALS, TRIALS, C

Tables = dict[str, Any]
"""Latents by site, each with the class as its first axis."""

A, B, LOC, STRENGTH = np.array([2.0, 1.5, 3.0]), 2.5, np.array([0.5, 2.0, -1.0]), 0.5
MATRIX = 2.0 * np.eye(3) + 0.5
SIMPLEX, WORDS, PI = np.array([1.5, 2.0, 1.25, 3.0]), np.array([1.5, 2.0, 1.25]), np.array([1.5, 2.5])


def log_of(law: dist.Distribution) -> dist.Distribution:
    return dist.TransformedDistribution(law, ExpTransform().inv)


def root_of(law: dist.Distribution) -> dist.Distribution:
    return dist.TransformedDistribution(law, PowerTransform(0.5))


class Spelling(NamedTuple):
    """Laws of the latent sites, from earlier ones and ``o``, which orients hyperparameters; then what they mean."""

    laws: dict[str, Callable[[Callable[[Any], Any], Tables], dist.Distribution]]
    canonical: Callable[[Tables], Tables]
    parameters: Callable[[Tables], Tables]
    """What the cells' distribution takes, from latents of classes or of rows."""


def one(site: str, law: Any, canonical: Any, **parameters: Any) -> Spelling:
    """A spelling with one latent."""
    return Spelling(
        {site: lambda o, _: law(o)},
        lambda v: {"canonical": canonical(v[site])},
        lambda v: {name: value(v[site]) for name, value in parameters.items()},
    )


def same(v: Any) -> Any:
    return v


def double(v: Any) -> Any:
    return 2.0 * v


def changed(law: dist.Distribution, change: Any) -> dist.Distribution:
    return dist.TransformedDistribution(law, change)


def other(v: Any) -> Any:
    return 1.0 - v


BETA = (
    one("theta", lambda o: dist.Beta(o(A), B), same, probs=same),
    one("theta", lambda o: dist.Beta(o(A), B), same, logits=logit),
    one("theta", lambda o: dist.BetaProportion(o(A) / (o(A) + B), o(A) + B), same, probs=same),
    one("absent", lambda o: dist.Beta(B, o(A)), other, probs=other),
    one("eta", lambda o: dist.TransformedDistribution(dist.Beta(o(A), B), SigmoidTransform().inv), jax.nn.sigmoid,
        logits=same),
    one("half", lambda o: changed(dist.Beta(o(A), B), AffineTransform(0.0, 0.5, constraints.unit_interval)), double,
        probs=double),
)  # fmt: skip
GAMMA = (
    one("rate", lambda o: dist.Gamma(o(A), B), same, rate=same),
    one("waiting", lambda o: dist.InverseGamma(o(A), B), jnp.reciprocal, rate=jnp.reciprocal),
    one("daily", lambda o: dist.Gamma(o(A), 7.0 * B), lambda v: 7.0 * v, rate=lambda v: 7.0 * v),
    one("log_rate", lambda o: log_of(dist.Gamma(o(A), B)), jnp.exp, rate=jnp.exp),
)


def dirichlet(concentration: Any) -> tuple[Spelling, ...]:
    def law(o: Any) -> dist.Distribution:
        del o
        return dist.Dirichlet(concentration)

    def softmax(v: Any) -> Any:
        return jax.nn.softmax(jnp.log(v) + 1.0, axis=-1)

    parameters = {"probs": same}, {"logits": jnp.log}, {"probs": softmax}
    return tuple(one("theta", law, same, **spelled) for spelled in parameters)


def normal(site: str, law: Any, variance: Any) -> Spelling:
    """A latent of which the variance is a function, and a mean that follows it."""
    return Spelling(
        {
            site: lambda o, _: law(o),
            "mu": lambda o, v: dist.Normal(o(LOC), o(jnp.sqrt(variance(v[site]) / STRENGTH))),
        },
        lambda v: {"loc": v["mu"], "variance": variance(v[site])},
        lambda v: {"loc": v["mu"], "scale": jnp.sqrt(variance(v[site]))},
    )


INVERSE_GAMMA = (
    normal("variance", lambda o: dist.InverseGamma(o(A), B), same),
    normal("tau", lambda o: dist.Gamma(o(A), B), jnp.reciprocal),
    normal("log_variance", lambda o: log_of(dist.InverseGamma(o(A), B)), jnp.exp),
    normal("sigma", lambda o: root_of(dist.InverseGamma(o(A), B)), jnp.square),
)
KNOWN_VARIANCE = (
    Spelling(
        {"mu": lambda o, _: dist.Normal(o(LOC), STRENGTH)},
        lambda v: {"loc": v["mu"]},
        lambda v: {"loc": v["mu"], "scale": jnp.broadcast_to(jnp.sqrt(A), v["mu"].shape)},
    ),
    Spelling(
        {"loss": lambda o, _: dist.Normal(-o(LOC), STRENGTH)},
        lambda v: {"loc": -v["loss"]},
        lambda v: {"loc": -v["loss"], "scale": jnp.broadcast_to(A**0.5, v["loss"].shape)},
    ),
    Spelling(
        {"z": lambda o, _: dist.Normal(o(LOC - 2.0) / 3.0, STRENGTH / 3.0)},
        lambda v: {"loc": 2.0 + 3.0 * v["z"]},
        lambda v: {"loc": 2.0 + 3.0 * v["z"], "scale": jnp.broadcast_to(A**0.5, v["z"].shape)},
    ),
)


def wishart(site: str, law: Any, covariance: Any, **parameters: Any) -> Spelling:
    """A latent matrix of which the covariance is a function, and a mean that follows it."""
    return Spelling(
        {site: lambda *_: law(), "mu": lambda o, v: dist.MultivariateNormal(LOC, o(covariance(v[site]) / STRENGTH))},
        lambda v: {"loc": v["mu"], "covariance": covariance(v[site])},
        lambda v: {"loc": v["mu"]} | {name: value(v[site]) for name, value in parameters.items()},
    )


INVERSE_WISHART = (
    wishart("covariance", lambda: dist.InverseWishart(5.5, MATRIX), same, covariance_matrix=same),
    wishart("covariance", lambda: dist.InverseWishart(5.5, MATRIX), same, scale_tril=jnp.linalg.cholesky),
    wishart("precision", lambda: dist.Wishart(5.5, rate_matrix=MATRIX), jnp.linalg.inv, precision_matrix=same),
)


def with_covariance(total_count: Any, **parameters: Any) -> dist.Distribution:
    """Rows of reals, which have no total."""
    del total_count
    return dist.MultivariateNormal(**parameters)


class Kind(NamedTuple):
    """A family: its rows, prior, parameter, spellings and the cells' distribution; False if the row is one cell."""

    X: np.ndarray
    family: nb.Family
    parameter: str
    spellings: tuple[Spelling, ...]
    cells: Callable[..., dist.Distribution]
    columns: bool = True


KINDS = {
    "bernoulli": Kind(FLAGS, nb.Bernoulli(A, B), "probs", BETA, dist.Bernoulli),
    "binomial": Kind(COUNTS, nb.Binomial(TRIALS, A, B), "probs", BETA, lambda **p: dist.Binomial(TRIALS, **p)),
    "poisson": Kind(COUNTS, nb.Poisson(A, B), "rate", GAMMA, dist.Poisson),
    "categorical": Kind(CODES, nb.Categorical(C, SIMPLEX), "probs", dirichlet(SIMPLEX), dist.Categorical),
    "multinomial": Kind(COUNTS, nb.Multinomial(WORDS), "probs", dirichlet(WORDS),
                        dist.Multinomial, False),
    "normal": Kind(REALS, nb.Normal(LOC, STRENGTH, A, B), "", INVERSE_GAMMA, dist.Normal),
    "known variance": Kind(REALS, nb.NormalKnownVariance(A, LOC, STRENGTH), "", KNOWN_VARIANCE, dist.Normal),
    "covariance": Kind(REALS, nb.MultivariateNormal(loc=LOC, strength=STRENGTH, df=5.5, scale=MATRIX), "",
                       INVERSE_WISHART, with_covariance, False),
}  # fmt: skip
