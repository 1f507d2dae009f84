"""What users give in the place of a fit: an estimator, or a pipeline."""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesnb as nb
from bayesnb.core.results._unwrap import unwrap, unwrap_pipeline

X, Y = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 5), [0, 1, 1, 0] * 5


def test_a_fit_and_its_rows_are_given_back():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, Y)
    assert unwrap(post, X) == (post, X)
    assert unwrap_pipeline(post)[:2] == (post, None)


def test_a_pipeline_ends_in_an_estimator_with_a_fit():
    pipe = make_pipeline(
        FunctionTransformer(), nb.NaiveBayesClassifier(method="posterior", likelihoods="bernoulli")
    ).fit(X, Y)
    fit, rows, _ = unwrap_pipeline(pipe, X)
    np.testing.assert_allclose(fit.predict_proba(rows), pipe.predict_proba(X))
