"""The families: one file for each likelihood with its conjugate prior, all with the same parts in the same order.

A family knows the rows of one block and their classes, and nothing about models. ``Family`` is their contract; a family
of your own needs it and ``Hyperparameter``, ``Statistics``, ``plates`` and ``pytree``.
"""

from functools import partial
from typing import Any

from bayesnb.core.families._base import Family as Family
from bayesnb.core.families._base import Hyperparameter as Hyperparameter
from bayesnb.core.families._base import pytree as pytree
from bayesnb.core.families._bernoulli import Bernoulli as Bernoulli
from bayesnb.core.families._binomial import Binomial as Binomial
from bayesnb.core.families._categorical import Categorical as Categorical
from bayesnb.core.families._histogram import Histogram as Histogram
from bayesnb.core.families._hurdle import Hurdle as Hurdle
from bayesnb.core.families._hyperparameters import plates as plates
from bayesnb.core.families._likelihood import Likelihood as Likelihood
from bayesnb.core.families._likelihood import OfNumPyro as OfNumPyro
from bayesnb.core.families._mapped import Mapped as Mapped
from bayesnb.core.families._multinomial import Multinomial as Multinomial
from bayesnb.core.families._multivariate_normal import MultivariateNormal as MultivariateNormal
from bayesnb.core.families._normal import Normal as Normal
from bayesnb.core.families._normal_known_variance import NormalKnownVariance as NormalKnownVariance
from bayesnb.core.families._one_rate import OneRate as OneRate
from bayesnb.core.families._poisson import Poisson as Poisson
from bayesnb.core.families._transformed import LogitNormal as LogitNormal
from bayesnb.core.families._transformed import LogNormal as LogNormal
from bayesnb.core.families._transformed import Transformed as Transformed
from bayesnb.core.families._views import NormalScores as NormalScores
from bayesnb.core.families._views import Views as Views
from bayesnb.core.families.parts._statistics import Statistics as Statistics

FAMILIES: dict[str, Any] = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "ordered": Histogram.ordered,
    "normal": Normal,
    "histogram": Histogram,
    "poisson": Poisson,
    "multinomial": Multinomial,
    **{
        word: partial(Likelihood, name)
        for word, name in {
            "beta": "Beta", "cauchy": "Cauchy", "gamma": "Gamma", "gumbel": "Gumbel", "inverse_gamma": "InverseGamma",
            "logistic": "Logistic", "negative_binomial": "NegativeBinomial2", "von_mises": "VonMises",
            "weibull": "Weibull",
        }.items()
    },
    "exponential": partial(OneRate, "Exponential"),
    "geometric": partial(OneRate, "Geometric"),
    "lognormal": LogNormal,
    "logit_normal": LogitNormal,
    "student": partial(Likelihood, "StudentT", df=4.0),
}  # fmt: skip
"""The families by their names on the command line and in ``likelihoods``."""
