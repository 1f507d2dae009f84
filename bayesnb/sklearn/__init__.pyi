"""The five classes, which load when one is first used."""

from .dropin.five_classes import BernoulliNB as BernoulliNB
from .dropin.five_classes import CategoricalNB as CategoricalNB
from .dropin.five_classes import ComplementNB as ComplementNB
from .dropin.five_classes import GaussianNB as GaussianNB
from .dropin.five_classes import MultinomialNB as MultinomialNB
