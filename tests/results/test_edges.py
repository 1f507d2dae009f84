"""The smallest data: no rows to predict, one row to fit, one class; and a class without rows, whatever the family."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb

FAMILIES = {
    "bernoulli": nb.Bernoulli(),
    "trials": nb.Binomial(None),
    "categorical": nb.Categorical(3),
    "multinomial": nb.Multinomial(),
    "poisson": nb.Poisson(),
    "normal": nb.Normal(),
    "shared": nb.Normal(variance="shared"),
    "covariance": nb.MultivariateNormal(),
    "discriminant": nb.MultivariateNormal("shared"),
}

FITS = {"posterior": nb.fit_posterior, "mle": nb.fit_mle}


def rows(name, num_rows):
    cells = np.resize([1.0, 0.0, 1.0], (num_rows, 2))
    return (cells, cells + 1) if name == "trials" else cells


CASES = [
    (name, fit)
    for name in FAMILIES
    for fit in FITS
    if (name, fit) not in {("covariance", "mle"), ("discriminant", "mle")}
]
"""All but the likelihoods that have no maximum."""


@pytest.mark.parametrize(("name", "fit"), CASES)
def test_one_row_is_enough_and_none_is_predicted(name, fit):
    found = FITS[fit](nb.NaiveBayes(FAMILIES[name], num_classes=2), rows(name, 1), [1])
    assert found.predict_proba(rows(name, 0)).shape == (0, 2)
    assert found.predict(rows(name, 0)).shape == (0,)
    assert found.log_density(rows(name, 0)).shape == (0,)
    assert_allclose(found.predict_proba(rows(name, 1)).sum(axis=1), 1.0)


QUICK = [c if c[1] == "posterior" else pytest.param(*c, marks=pytest.mark.slow) for c in CASES]


@pytest.mark.parametrize(("name", "fit"), QUICK)
def test_a_single_class_is_certain(name, fit):
    X = rows(name, 4)
    found = FITS[fit](nb.NaiveBayes(FAMILIES[name]), X, np.zeros(4, int))
    assert_allclose(found.predict_proba(X), 1.0)
    assert_allclose(found.predict_log_proba(X), 0.0)
    assert np.isfinite(found.log_density(X)).all()
    assert nb.explain(found, X).contributions.shape[:2] == (4, 1)
