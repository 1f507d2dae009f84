"""One small problem for each family and one with all of them: a model with uneven hyperparameters, X and y."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import bayesnb as nb

N, K = 24, 3


class Case(NamedTuple):
    model: nb.NaiveBayes
    X: Any
    y: np.ndarray

    @property
    def tolerance(self) -> float:
        """Of numbers that are integrals by quadrature, as on several lattices."""
        return 1e-6 if any(isinstance(family, nb.Likelihood) for family in self.model.families.values()) else 1e-9

    def rows(self, index: Any) -> Any:
        return jax.tree.map(lambda x: x[index], self.X)


def _missing(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    x = x.astype(float)
    x[rng.random(x.shape) < 0.15] = np.nan
    return x


def _dependent(rng: np.random.Generator, shift: np.ndarray) -> np.ndarray:
    """Correlated columns; a row is missing as a whole."""
    x = rng.normal(size=(N, 3)) @ [[1.0, 0.8, -0.5], [0.0, 1.0, 0.3], [0.0, 0.0, 0.6]] + shift
    x[7] = np.nan
    return x


def _trials(rng: np.random.Generator, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Successes and totals; a cell of either may be missing, and 0 of 0 may stand in both."""
    totals = rng.integers(0, 9, (N, 2))
    successes = rng.binomial(totals, 0.2 + 0.2 * shift)
    return _missing(successes, rng), _missing(totals, rng)


def _families(rng: np.random.Generator) -> dict[str, nb.Family]:
    return {
        "bernoulli": nb.Bernoulli(a=rng.uniform(0.5, 3, 4), b=rng.uniform(0.5, 3, (K, 1))),
        "categorical": nb.Categorical(3, concentration=rng.uniform(0.5, 3, (2, 3))),
        "ragged": nb.Categorical((2, 5, 3), concentration=rng.uniform(0.5, 3, (K, 10))),
        "multinomial": nb.Multinomial(concentration=rng.uniform(0.5, 3, 5)),
        "normal": nb.Normal(),
        "shared": nb.Normal(variance="shared"),
        "binomial": nb.Binomial((4, 7, 1), a=rng.uniform(0.5, 3, 3), b=rng.uniform(0.5, 3, (K, 1))),
        "trials": nb.Binomial(None, a=2.0, b=rng.uniform(0.5, 3, 2)),
        "poisson": nb.Poisson(shape=rng.uniform(0.5, 3, (K, 3)), rate=rng.uniform(0.5, 3, 3)),
        "covariance": nb.MultivariateNormal(),
        "discriminant": nb.MultivariateNormal(
            "shared", loc=rng.normal(size=(K, 3)), strength=[0.5, 1.0, 2.0], df=4.5, scale=np.eye(3) + 0.3
        ),
        "known": nb.NormalKnownVariance(rng.uniform(0.5, 3, (K, 3)), loc=rng.normal(size=3), scale=[0.5, 1.0, 2.0]),
        "histogram": nb.Histogram(edges=[[-1.0, 0.5, 2.5], [-0.8, 1.2, np.inf]]),
        "likelihood": nb.Likelihood(
            dist.Gamma, concentration=dist.LogNormal(0.5, 0.8), frame=[[0.0, 1.0, -5.0, 0.16], [0.0, 1.0, -2.0, 0.18]]
        ),
        "one_rate": nb.OneRate(dist.Weibull, concentration=2.0, a=[0.5, 1.5]),
        "one_share": nb.OneRate(dist.Geometric, a=2.0, b=[[0.5], [1.0], [2.0]]),
        "lognormal": nb.LogNormal(variance="shared"),
        "hurdle": nb.Hurdle(nb.LogitNormal(strength=0.5), at=(1.0, 0.0), concentration=[0.5, 1.5, 2.5]),
        "informed": nb.Normal(loc=rng.normal(size=(K, 3)), strength=0.7, shape=2.5, rate=rng.uniform(0.5, 3, 3)),
    }


def _blocks(rng: np.random.Generator, y: np.ndarray) -> dict[str, np.ndarray]:
    shift = y[:, None]
    words = rng.poisson(2.0, (N, 5)).astype(float)
    words[5] = np.nan
    words[6] = 0
    return {
        "bernoulli": _missing(rng.random((N, 4)) < 0.2 + 0.3 * shift, rng),
        "categorical": _missing(rng.integers(0, 3, (N, 2)), rng),
        "ragged": np.c_[rng.integers(0, 2, N), rng.integers(-1, 5, N), rng.integers(0, 5, N)],
        "multinomial": words,
        "normal": _missing(rng.normal(shift, 1.0, (N, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 0.0], rng),
        "shared": _missing(rng.normal(shift, 1.0, (N, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 0.0], rng),
        "binomial": _missing(rng.binomial([4, 7, 1], 0.2 + 0.2 * shift), rng),
        "trials": _trials(rng, shift),
        "poisson": _missing(rng.poisson(1.0 + shift, (N, 3)), rng),
        "covariance": _dependent(rng, shift) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 0.0],
        "discriminant": _dependent(rng, shift),
        "likelihood": _missing(
            np.random.default_rng(9).gamma(2.0 + shift, 1.0, (N, 2)) * [1.0, 100.0], np.random.default_rng(9)
        ),
        "one_rate": _missing(
            (1.0 + shift) * np.random.default_rng(12).weibull(2.0, (N, 2)) * [1.0, 1e4], np.random.default_rng(9)
        ),
        "one_share": _missing(np.random.default_rng(12).poisson(1.0 + shift, (N, 2)), np.random.default_rng(9)),
        "lognormal": _missing(np.random.default_rng(10).lognormal(0.4 * shift, 0.7, (N, 2)), np.random.default_rng(9)),
        "hurdle": _missing(
            np.clip(np.random.default_rng(11).normal(0.3 + 0.2 * shift, 0.3, (N, 2)), 0.0, 1.0),
            np.random.default_rng(9),
        ),
        "informed": rng.normal(shift, 2.0, (N, 3)),
        "known": _missing(rng.normal(shift, 2.0, (N, 3)), rng),
        "histogram": _missing(rng.normal(2.5 * shift - 2.0, 1.0, (N, 2)), rng),
    }


def make(name: str) -> Case:
    """The case of a family's name, or ``mixed``: blocks of every structure of parameters, statistics and rows."""
    if name == "mixed":
        return mix(MIXED)
    case = mix([name])
    model = nb.NaiveBayes(case.model.families[name], class_concentration=1.5, num_classes=K)
    return Case(model, case.X[name], case.y)


def mix(names: Iterable[str]) -> Case:
    """A model of the blocks of these names, in their order."""
    y = np.arange(N) % K
    families, blocks = _families(np.random.default_rng(7)), _blocks(np.random.default_rng(8), y)
    model = nb.NaiveBayes({name: families[name] for name in names}, class_concentration=[0.5, 1.0, 2.0])
    return Case(model, {name: blocks[name] for name in names}, y)


NAMES = [
    "bernoulli",
    "binomial",
    "trials",
    "categorical",
    "ragged",
    "multinomial",
    "poisson",
    "normal",
    "informed",
    "known",
    "shared",
    "histogram",
    "covariance",
    "discriminant",
    "mixed",
]


MIXED = ["bernoulli", "ragged", "multinomial", "normal", "trials", "covariance"]


MAPPED = ["lognormal", "hurdle"]
"""Families of mapped cells, made of others."""


ONE_RATE = ["one_rate", "one_share"]
"""Families found from a density: with a Gamma prior and with a Beta prior."""


TWINS = ("binomial", "categorical", "informed")
"""Families of a class that another case is of, too: trials, ragged and normal; only the laws run for both."""


def by_default(names: Iterable[Any], *quick: Any, slow: Iterable[Any] | None = None) -> list[Any]:
    """The values of a parametrization: these by default, the others as slow tests, since each compiles anew.

    If ``slow`` are given, only these are slow tests; what is left, and twins, run with ``-m fuzz``.
    """

    def mark(name: Any) -> Any:
        return pytest.mark.slow if name not in TWINS and (slow is None or name in slow) else pytest.mark.fuzz

    return [name if name in quick else pytest.param(name, marks=mark(name)) for name in names]


SEVERAL = by_default(NAMES, *MIXED)
"""One family of every structure by default, and the others as slow tests; the laws run for each family by default."""
