"""scikit-learn's door: its naive Bayes classifiers with their parameters, attributes, tags and metadata routing.

Counts and predictions are float64 whatever the rows are, any split through ``partial_fit`` gives the fit of the whole,
NaN is a missing cell, and a probability of zero is no NaN; each class's docstring ends with what is meant to differ. It
knows nothing of files.
"""

from bayesnb.sklearn.dropin.bernoulli import BernoulliNB as BernoulliNB
from bayesnb.sklearn.dropin.categorical import CategoricalNB as CategoricalNB
from bayesnb.sklearn.dropin.complement import ComplementNB as ComplementNB
from bayesnb.sklearn.dropin.gaussian import GaussianNB as GaussianNB
from bayesnb.sklearn.dropin.multinomial import MultinomialNB as MultinomialNB
