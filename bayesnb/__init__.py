"""Naive Bayes written once, as a NumPyro program; MLE, MAP, exact posterior and NUTS from that one specification."""

from bayesnb.families import Bernoulli as Bernoulli
from bayesnb.families import Categorical as Categorical
from bayesnb.families import Family as Family
from bayesnb.families import Multinomial as Multinomial
from bayesnb.families import Normal as Normal
from bayesnb.fit import fit_map as fit_map
from bayesnb.fit import fit_mle as fit_mle
from bayesnb.fit import fit_posterior as fit_posterior
from bayesnb.model import NaiveBayes as NaiveBayes
from bayesnb.nuts import fit_nuts as fit_nuts
from bayesnb.results import Draws as Draws
from bayesnb.results import PointEstimate as PointEstimate
from bayesnb.results import Posterior as Posterior
from bayesnb.statistics import merge as merge
from bayesnb.statistics import sufficient_statistics as sufficient_statistics

__version__ = "0.1.0"
