"""The five classes, each with its home; a class and scikit-learn's preprocessing load when it is first used."""

from .dropin.discrete_nb import BernoulliNB as BernoulliNB
from .dropin.discrete_nb import CategoricalNB as CategoricalNB
from .dropin.discrete_nb import ComplementNB as ComplementNB
from .dropin.discrete_nb import MultinomialNB as MultinomialNB
from .dropin.gaussian_nb import GaussianNB as GaussianNB
