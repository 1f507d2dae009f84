"""The evidence of edges from categories to any family is that of fits to the rows of each category."""

import numpy as np
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.jaxpr_numpy import _program as program
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


def test_other_numbers_of_segments_are_traced_no_more(rng):
    """Each fold has its own, and a trace of tens of milliseconds would serve one of them."""
    model, x = nb.NaiveBayes(nb.Histogram(cells=8)), rng.normal(size=(60, 4))
    segments, traced = set(), []
    for scale in (0.1, 1.0, 4.0, 0.5):
        y = (scale * x[:, 0] + x[:, 1] + x[:, 2] > 0).astype(int)
        before = program._trace.cache_info().misses
        fit = nb.fit_forests(model, x, y, structure="best")
        fit.predict(x[:3])
        segments.add(tuple(map(len, fit.segments)))
        traced.append(program._trace.cache_info().misses - before)
    assert len(segments) > 2
    assert traced[1:] == [0, 0, 0]
