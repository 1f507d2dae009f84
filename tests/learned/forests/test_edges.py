"""The evidence of edges from categories to any family is that of fits to the rows of each category."""

import numpy as np
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.learned.forests.children import Y, features_of, weights_of


def test_the_evidence_is_that_of_the_parts(problem):
    prior, X = problem
    fit = nb.fit_forests(prior, X, Y)
    features = features_of(prior, X["child"])
    weights = weights_of(features)
    assert_allclose(fit.edge_probs[-1, :-1], weights / (1.0 + weights), rtol=1e-9)
    assert fit.edge_probs[:-1].max() == 0.0
    gain = np.log1p(weights).sum() - len(features) * np.log1p(1.0 / (len(features) + 1))
    assert_allclose(fit.log_evidence - fit.posterior.log_evidence, gain, rtol=1e-9)
