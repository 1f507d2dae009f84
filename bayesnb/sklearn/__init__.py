"""scikit-learn's naive Bayes classifiers on the primitives of this package: change the import, keep the code.

Each class is a subclass of scikit-learn's class of the same name, with its parameters, fitted attributes, tags and
metadata routing. What is different, and meant to be, stands at the end of each class's docstring; in short: counts
and predictions are float64 whatever the rows are, any split through ``partial_fit`` gives the fit of the whole, NaN
is a missing cell, and a probability of zero is no NaN.
"""

from bayesnb.sklearn.bernoulli import BernoulliNB as BernoulliNB
from bayesnb.sklearn.categorical import CategoricalNB as CategoricalNB
from bayesnb.sklearn.complement import ComplementNB as ComplementNB
from bayesnb.sklearn.gaussian import GaussianNB as GaussianNB
from bayesnb.sklearn.multinomial import MultinomialNB as MultinomialNB
