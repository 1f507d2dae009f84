"""What the tests of several modules look at: a forest of histograms, and any family as a child of categories."""

import pytest

import bayesnb as nb
from tests import cases
from tests.learned.forests import children
from tests.learned.forests.histograms import MODEL, X, Y


@pytest.fixture(scope="session")
def fit():
    return nb.fit_forests(MODEL, X, Y)


@pytest.fixture(params=cases.by_default(children.CHILDREN, "poisson", "words", "together"))
def problem(request):
    family, x = children.CHILDREN[request.param]
    model = nb.NaiveBayes({"child": family, "parent": nb.Categorical(children.SIZE)})
    X = {"child": x, "parent": children.PARENT}
    return model.resolve(X, children.Y), X
