"""Weights and intercepts of a fit of two classes, worked out on paper."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import logit

import bayesnb as nb

TWO = {"class_probs": [0.3, 0.7]}


def difference(form):
    return form.weights[1] - form.weights[0], form.intercept[1] - form.intercept[0]


def test_log_odds_of_coins():
    theta = np.array([[0.2, 0.9], [0.6, 0.5]])
    known = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), {**TWO, "x_probs": theta})
    weights, intercept = difference(nb.linear_form(known))
    assert_allclose(weights, logit(theta[1]) - logit(theta[0]), rtol=1e-12)
    assert_allclose(intercept, np.log(0.7 / 0.3) + np.log((1 - theta[1]) / (1 - theta[0])).sum(), rtol=1e-12)


def test_log_odds_of_words():
    theta = np.array([[0.2, 0.8], [0.6, 0.4]])
    known = nb.PointEstimate(nb.NaiveBayes(nb.Multinomial()), {**TWO, "x_probs": theta})
    weights, intercept = difference(nb.linear_form(known))
    assert_allclose(weights, np.log(theta[1] / theta[0]), rtol=1e-12)
    assert_allclose(intercept, np.log(0.7 / 0.3), rtol=1e-12)


def test_log_odds_of_events():
    rate = np.array([[0.2, 8.0], [0.6, 4.0]])
    known = nb.PointEstimate(nb.NaiveBayes(nb.Poisson()), {**TWO, "x_rate": rate})
    weights, intercept = difference(nb.linear_form(known))
    assert_allclose(weights, np.log(rate[1] / rate[0]), rtol=1e-12)
    assert_allclose(intercept, np.log(0.7 / 0.3) - (rate[1] - rate[0]).sum(), rtol=1e-12)


def test_log_odds_of_a_common_variance_are_those_of_ng_and_jordan():
    """w = (mu_1 - mu_0) / sigma2, b = log odds of the prior - sum (mu_1^2 - mu_0^2) / (2 sigma2)."""
    loc, variance = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([2.0, 0.5])
    params = {**TWO, "x_loc": loc, "x_variance": variance}
    weights, intercept = difference(
        nb.linear_form(nb.PointEstimate(nb.NaiveBayes(nb.Normal(variance="shared")), params))
    )
    assert_allclose(weights, (loc[1] - loc[0]) / variance, rtol=1e-12)
    expected = np.log(0.7 / 0.3) - ((loc[1] ** 2 - loc[0] ** 2) / (2 * variance)).sum()
    assert_allclose(intercept, expected, rtol=1e-12)


def test_quadratic_form_of_two_gaussians():
    """A = -1 / (2 sigma2), w = mu / sigma2, b = log pi - mu^2 / (2 sigma2) - log sigma, beside what is common."""
    loc, variance = np.array([[20.0], [2.0]]), np.array([[8.0], [5.0]])
    known = nb.PointEstimate(nb.NaiveBayes(nb.Normal()), {**TWO, "x_loc": loc, "x_variance": variance})
    form = nb.quadratic_form(known)
    assert_allclose(form.matrix[:, 0, 0], [-1 / 16, -1 / 10], rtol=1e-12)
    assert_allclose(form.weights[:, 0], [20 / 8, 2 / 5], rtol=1e-12)
    intercept = np.log([0.3, 0.7]) - np.array([400 / 16, 4 / 10]) - 0.5 * np.log([8.0, 5.0])
    assert_allclose(np.diff(form.intercept), np.diff(intercept), rtol=1e-12)
