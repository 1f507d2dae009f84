"""The families: one file for each likelihood with its conjugate prior, all with the same parts in the same order.

``base`` defines the interface. A family knows the rows of one block and their classes, and nothing about models.
"""

from typing import Any

from bayesnb.families.base import Family as Family
from bayesnb.families.bernoulli import Bernoulli as Bernoulli
from bayesnb.families.binomial import Binomial as Binomial
from bayesnb.families.categorical import Categorical as Categorical
from bayesnb.families.histogram import Histogram as Histogram
from bayesnb.families.multinomial import Multinomial as Multinomial
from bayesnb.families.multivariate_normal import MultivariateNormal as MultivariateNormal
from bayesnb.families.normal import Normal as Normal
from bayesnb.families.normal_known_variance import NormalKnownVariance as NormalKnownVariance
from bayesnb.families.poisson import Poisson as Poisson
from bayesnb.families.tied_columns import TiedBernoulli as TiedBernoulli
from bayesnb.families.tied_columns import TiedCategorical as TiedCategorical
from bayesnb.families.tied_columns import TiedNormal as TiedNormal
from bayesnb.families.tied_columns import TiedPoisson as TiedPoisson
from bayesnb.families.views import NormalScores as NormalScores
from bayesnb.families.views import Views as Views

FAMILIES: dict[str, Any] = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "normal": Normal,
    "histogram": Histogram,
    "poisson": Poisson,
    "multinomial": Multinomial,
}
"""The families by their names on the command line and in ``likelihoods``."""
