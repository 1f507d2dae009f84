"""The five classes, each with its home; a class and scikit-learn's preprocessing load when it is first used."""

from .dropin.bernoulli_nb import BernoulliNB as BernoulliNB
from .dropin.categorical_nb import CategoricalNB as CategoricalNB
from .dropin.gaussian_nb import GaussianNB as GaussianNB
from .dropin.multinomial_nb import ComplementNB as ComplementNB
from .dropin.multinomial_nb import MultinomialNB as MultinomialNB
