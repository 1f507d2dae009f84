"""The five classes, which load when one is first used."""

from .dropin._five_classes import BernoulliNB as BernoulliNB
from .dropin._five_classes import CategoricalNB as CategoricalNB
from .dropin._five_classes import ComplementNB as ComplementNB
from .dropin._five_classes import GaussianNB as GaussianNB
from .dropin._five_classes import MultinomialNB as MultinomialNB
