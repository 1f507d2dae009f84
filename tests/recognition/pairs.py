"""Recognised models with their rows, and the plain models that were composed by hand with theirs."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions.transforms import PowerTransform

import bayesnb as nb
from bayesnb.core.families.parts._links import ChangedDistribution

RANDOM = np.random.default_rng(0)
ROWS, K = 40, 2
Y = RANDOM.integers(0, K, ROWS)
WEIGHTS = RANDOM.integers(1, 4, ROWS).astype(float)
FLAGS = (RANDOM.random((ROWS, 4)) < 0.3 + 0.3 * Y[:, None]).astype(int)
REALS = RANDOM.normal(size=(ROWS, 3)) + Y[:, None]
COUNTS = RANDOM.poisson(2.0 + Y)
A = np.array([2.0, 3.0, 2.5, 1.5])
PI = np.array([2.0, 3.0])


def words(flags, label=None):
    """One block: features first, flipped, and classes in the other order."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI[::-1]))
    absent = numpyro.sample("absent", dist.Beta(2.0, A[:, None]).expand([4, K]).to_event(2))
    with numpyro.plate("mails", flags.shape[0]):
        spam = numpyro.sample("spam", dist.Categorical(pi[::-1]), obs=label)
        numpyro.sample("words", dist.Bernoulli(1.0 - absent[::-1, ::-1].T[spam][:, ::-1]).to_event(1), obs=flags)


def visits(flags, reals, counts, label=None):
    """Three blocks; the counts are one number a row."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("flag", 4, dim=-2), numpyro.plate("class", K, dim=-1):
        present = numpyro.sample("present", dist.Beta(A[:, None], 2.0))
    with numpyro.plate("column", 3, dim=-2), numpyro.plate("class", K, dim=-1):
        variance = numpyro.sample("variance", dist.InverseGamma(2.0, 3.0))
        mean = numpyro.sample("mean", dist.Normal(1.0, jnp.sqrt(variance / 0.5)))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([K]).to_event(1))
    with numpyro.plate("rows", flags.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=label)
        numpyro.sample("flags", dist.Bernoulli(present.T[y]).to_event(1), obs=flags)
        numpyro.sample("reals", dist.Normal(mean.T[y], jnp.sqrt(variance.T[y])).to_event(1), obs=reals)
        numpyro.sample("counts", dist.Poisson(rate[y]), obs=counts)


def scales(reals, label=None):
    """Priors of its own, with edges, where nothing is integrated: there is no closed form."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("column", 3, dim=-2), numpyro.plate("class", K, dim=-1):
        scale = numpyro.sample("scale", dist.Uniform(0.05, 9.0))
        mean = numpyro.sample("mean", dist.Normal(0.0, 3.0))
    with numpyro.plate("rows", reals.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=label)
        numpyro.sample("reals", dist.Normal(mean.T[y], scale.T[y]).to_event(1), obs=reals)


def logs(reals, flags, label=None):
    """Rows that are no argument: logs of some numbers, the others left out, and the other flags."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("column", 3, dim=-2), numpyro.plate("class", K, dim=-1):
        variance = numpyro.sample("variance", dist.InverseGamma(2.0, 3.0))
        mean = numpyro.sample("mean", dist.Normal(1.0, jnp.sqrt(variance / 0.5)))
    with numpyro.plate("flag", 4, dim=-2), numpyro.plate("class", K, dim=-1):
        absent = numpyro.sample("absent", dist.Beta(A[:, None], 2.0))
    with numpyro.plate("rows", flags.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=label)
        law = dist.Normal(mean.T[y], jnp.sqrt(variance.T[y])).mask(reals < SOME)
        numpyro.sample("logs", law.to_event(1), obs=jnp.log(reals))
        numpyro.sample("others", dist.Bernoulli(absent.T[y]).to_event(1), obs=1 - flags[:, ::-1])


class Pair(NamedTuple):
    """A recognised model with its rows, the model composed by hand with its own, and the rows as one array."""

    ours: nb.NaiveBayes
    X: Any
    plain: nb.NaiveBayes
    X_plain: Any
    side_by_side: Any


POSITIVE, SOME = np.exp(REALS), 8.0
LOGS = {"logs": np.where(POSITIVE < SOME, REALS, np.nan), "others": 1 - FLAGS[:, ::-1]}
BLOCKS = {"flags": FLAGS, "reals": REALS, "counts": COUNTS}
BLOCKS_PLAIN = BLOCKS | {"counts": COUNTS[:, None]}
PLAIN = {
    "words": nb.NaiveBayes(nb.Bernoulli(A, 2.0), class_concentration=PI),
    "visits": nb.NaiveBayes(
        {"flags": nb.Bernoulli(A, 2.0), "reals": nb.Normal(1.0, 0.5, 2.0, 3.0), "counts": nb.Poisson(2.0, 1.0)},
        class_concentration=PI,
    ),
    "logs": nb.NaiveBayes(
        {"logs": nb.Normal(1.0, 0.5, 2.0, 3.0), "others": nb.Bernoulli(A, 2.0)}, class_concentration=PI
    ),
    "scales": nb.NaiveBayes(
        nb.Normal(),
        class_concentration=PI,
        priors={
            "x_variance": ChangedDistribution(dist.Uniform(0.05, 9.0), [PowerTransform(2.0)]),
            "x_loc": dist.Normal(0.0, 3.0),
        },
    ),
}


class Pairs(dict[str, Pair]):
    """By name: a program is recognised when a test asks for it."""

    def __missing__(self, name: str) -> Pair:
        program, args, label, X, X_plain, wide = {
            "words": (words, (FLAGS, Y), "spam", FLAGS, FLAGS, FLAGS),
            "visits": (visits, (*BLOCKS.values(), Y), "y", BLOCKS, BLOCKS_PLAIN, np.hstack([*BLOCKS_PLAIN.values()])),
            "scales": (scales, (REALS, Y), "y", REALS, REALS, REALS),
            "logs": (logs, (POSITIVE, FLAGS, Y), "y", None, LOGS, None),
        }[name]
        with jax.numpy_rank_promotion("allow"):
            ours = nb.from_numpyro(program, args, label=label)
        self[name] = Pair(ours, ours.rows(*args) if X is None else X, PLAIN[name], X_plain, wide)
        return self[name]
