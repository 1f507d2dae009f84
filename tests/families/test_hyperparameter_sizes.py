"""Priors that outweigh any data, and hyperparameters near the ends of what numbers can hold."""

from fractions import Fraction
from math import log, log1p

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln
from scipy.stats import norm

import bayesnb as nb

Y = np.array([0, 0, 0, 0, 1, 1, 1])
ONES = np.array([[1], [1], [1], [0], [0], [0], [1]])


def urn(prior, counts):
    """log of prod_c a_c (a_c + 1) ... / (A (A + 1) ...): the exact probability of labelled draws, as a fraction."""
    total, value, drawn = sum(map(Fraction, prior)), Fraction(1), 0
    for a, count in zip(prior, counts, strict=True):
        for j in range(int(count)):
            value *= (Fraction(a) + j) / (total + drawn)
            drawn += 1
    return log(value)


def by_class(X, values):
    return [[int((X[k == Y, 0] == v).sum()) for v in values] for k in (0, 1)]


SIZES = [1e-100, 1e-3, 1.0, 1e8, 1e15, 1e99]


@pytest.mark.parametrize("size", SIZES)
def test_evidence_of_counts_is_that_of_an_urn(size):
    """Bayes factors are differences of these, so they are right to 1e-9 nats, however large the prior."""
    counts = by_class(ONES, (1, 0))
    expected = sum(urn((size, 2 * size), c) for c in counts)
    labels = urn((size, size), (4, 3))
    bernoulli = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(size, 2 * size), class_concentration=size), ONES, Y)
    assert_allclose(bernoulli.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    assert_allclose(bernoulli.evidence_table().labels, labels, rtol=1e-12, atol=1e-9)
    binomial = nb.fit_posterior(nb.NaiveBayes(nb.Binomial(1, size, 2 * size)), ONES, Y)
    assert_allclose(binomial.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    categorical = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(2, [2 * size, size])), ONES, Y)
    assert_allclose(categorical.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    words = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial([size, 2 * size])), np.c_[ONES, 1 - ONES], Y)
    assert_allclose(words.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)
    assert np.isfinite(bernoulli.log_joint(ONES)).all()
    assert_allclose(bernoulli.predict_proba(ONES).sum(axis=1), 1.0)


@pytest.mark.parametrize("size", SIZES)
def test_evidence_of_poisson_counts_is_a_product_of_negative_binomials(size):
    X = np.array([[3], [0], [2], [5], [1], [0], [4]])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Poisson(size, size)), X, Y)
    expected = 0.0
    for k in (0, 1):
        shape = rate = Fraction(size)
        for x in X[k == Y, 0].tolist():
            rising = Fraction(1)
            for j in range(x):
                rising *= (shape + j) / (rate + 1)
            expected += log(rising) - float(shape) * log1p(float(1 / rate)) - float(gammaln(x + 1))
            shape, rate = shape + x, rate + 1
    assert_allclose(fit.evidence_table().features["x"].sum(), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("family", [nb.Normal, nb.MultivariateNormal])
@pytest.mark.parametrize("size", [1e15, 1e99])
def test_evidence_under_a_prior_that_is_sure_is_a_normal_density(family, size):
    X = np.random.default_rng(0).normal(size=(7, 2))
    prior = (
        nb.Normal(loc=0.5, strength=size, shape=size, rate=2 * size)
        if family is nb.Normal
        else nb.MultivariateNormal(loc=0.5, strength=size, df=size, scale=2 * size * np.eye(2))
    )
    fit = nb.fit_posterior(nb.NaiveBayes(prior), X, Y)
    expected = norm.logpdf(X, 0.5, np.sqrt(2.0)).sum()
    assert_allclose(fit.evidence_table().features["x"].sum(), expected, rtol=1e-9)
    assert_allclose(fit.log_joint(X), np.log([5 / 9, 4 / 9])[None] + norm.logpdf(X, 0.5, 2**0.5).sum(1)[:, None])


@pytest.mark.parametrize("size", [1.0, 1e15])
def test_float32_keeps_a_hundredth_of_a_nat(size):
    counts = by_class(ONES, (1, 0))
    expected = sum(urn((size, 2 * size), c) for c in counts) + urn((1.0, 1.0), (4, 3))

    @jax.jit
    def evidence(X):
        return nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(size, 2 * size), num_classes=2), X, Y).log_evidence

    assert_allclose(evidence(jnp.asarray(ONES)), expected, atol=1e-2)


@pytest.mark.parametrize("value", [1e-308, 1e-101, 1e101, 1e307])
@pytest.mark.parametrize(
    "make",
    [
        lambda v: nb.Bernoulli(a=v),
        lambda v: nb.Bernoulli(b=v),
        lambda v: nb.Binomial(3, a=v),
        lambda v: nb.Categorical(3, concentration=v),
        lambda v: nb.Multinomial(concentration=[1.0, v]),
        lambda v: nb.Poisson(shape=v),
        lambda v: nb.Poisson(rate=v),
        lambda v: nb.Normal(strength=v),
        lambda v: nb.Normal(shape=v),
        lambda v: nb.Normal(rate=v),
        lambda v: nb.MultivariateNormal(strength=v),
        lambda v: nb.MultivariateNormal(df=v),
        lambda v: nb.MultivariateNormal(scale=np.diag([v, v])),
        lambda v: nb.NaiveBayes(nb.Bernoulli(), class_concentration=[1.0, v]),
    ],
)
def test_a_size_that_would_overflow_is_refused_with_the_bound(make, value):
    with pytest.raises(ValueError, match=r"at (least 1e-100 and at )?most 1e\+100"):
        make(value)


@pytest.mark.parametrize("family", [nb.Normal, nb.MultivariateNormal])
def test_a_prior_mean_that_would_overflow_is_refused_with_the_bound(family):
    with pytest.raises(ValueError, match=r"loc must be at most 1e\+100 in size, got 1e\+155"):
        family(loc=-1e155)


CORNERS = {
    "normal": lambda a, b: nb.Normal(loc=a, strength=a, shape=b, rate=b),
    "crossed": lambda a, b: nb.Normal(loc=-b, strength=b, shape=b, rate=a, variance="shared"),
    "poisson": lambda a, b: nb.Poisson(a, b),
    "binomial": lambda a, b: nb.Binomial(4, a, b),
    "bernoulli": lambda a, b: nb.Bernoulli(a, b),
}


@pytest.mark.parametrize("pair", [(1e-100, 1e100), (1e100, 1e-100), (1e-100, 1e-100), (1e100, 1e100)])
@pytest.mark.parametrize("name", CORNERS)
def test_nothing_at_the_bounds_is_nan(name, pair):
    fit = nb.fit_posterior(nb.NaiveBayes(CORNERS[name](*pair)), ONES, Y)
    assert not np.isnan(fit.log_evidence)
    assert_allclose(fit.predict_proba(ONES).sum(axis=1), 1.0)
    assert not np.isnan(nb.leave_one_out(fit.prior, ONES, Y)).any()


@pytest.mark.parametrize("family", [nb.Normal(), nb.MultivariateNormal()])
def test_cells_whose_squares_overflow_are_refused(family):
    X = np.array([[1.0], [1e200], [2.0]])
    with pytest.raises(ValueError, match=r"finite number below .*got 1e\+200"):
        nb.fit_posterior(nb.NaiveBayes(family), X, [0, 1, 1])
    with pytest.raises(ValueError, match=r"finite number below .*got 1e\+200"):
        nb.fit_posterior(nb.NaiveBayes(family), X[[0, 2, 2]], [0, 1, 1]).predict(X)


@pytest.mark.parametrize("family", [nb.Poisson(), nb.Binomial(None), nb.Multinomial()])
def test_huge_counts_are_no_nan(family):
    huge = np.array([[1.0, 2.0], [1e200, 1.0], [2.0, 1e200], [4.0, 1.0]])
    X = (huge, 2 * huge) if isinstance(family, nb.Binomial) else huge
    fit = nb.fit_posterior(nb.NaiveBayes(family), X, [0, 1, 0, 1])
    assert not np.isnan([*fit.predict_proba(X).ravel(), fit.log_evidence]).any()
