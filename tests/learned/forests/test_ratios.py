"""What a category adds to the prediction of a feature of any family, also without a row, by fits of the parts."""

import numpy as np
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.learned.forests.children import PARENT, N, Y, features_of, fit_rows, weights_of


def test_predictions_are_those_of_the_parts(problem):
    prior, X = problem
    fit = nb.fit_forests(prior, X, Y)
    features = features_of(prior, X["child"])
    weights = weights_of(features)
    joint, plain = fit.log_joint(X), fit.posterior.log_joint(X)
    for n, k in [(0, 0), (1, 0), (2, 1), (5, 1)]:
        gain = 0.0
        for (own, x), weight in zip(features, weights, strict=True):
            if np.isnan(PARENT[n, 0]):
                continue
            given, alone = (fit_rows(own(k), x[(k == Y) & rows]) for rows in (PARENT[:, 0] == PARENT[n, 0], True))
            ratio = np.exp(given.log_density(x[[n]]) - alone.log_density(x[[n]]))[0]
            gain += np.log1p(weight * ratio) - np.log1p(weight)
        assert_allclose(joint[n, k] - plain[n, k], gain, rtol=1e-7, atol=1e-10)


def test_a_row_leaves_as_if_it_had_never_been(problem):
    prior, X = problem
    weight = np.random.default_rng(5).integers(1, 4, N).astype(float)
    fit = nb.fit_forests(prior, X, Y, sample_weight=weight)
    joint = nb.leave_one_out(fit, X, Y, sample_weight=weight, joint=True)
    for n in (0, 7):
        others = np.arange(N) != n
        rows = {name: x[others] for name, x in X.items()}
        refit = nb.fit_forests(prior, rows, Y[others], sample_weight=weight[others])
        assert_allclose(joint[n], refit.log_joint({name: x[[n]] for name, x in X.items()})[0], rtol=1e-9, atol=1e-10)
