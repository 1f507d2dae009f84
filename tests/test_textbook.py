"""Numbers that textbooks print or that anyone can work out on paper."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb

# ten rows: class 0 has four, class 1 has six
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
FLAG = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 1])[:, None]
COLOUR = np.array([0, 0, 1, 1, 2, 2, 2, 2, 1, 2])[:, None]
WORDS = np.array(
    [[2, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 3, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1]]
)
# counts [K, C] by class and category: for the flag ones come first
COUNTS = {"flag": [[3, 1], [1, 5]], "colour": [[2, 2, 0], [0, 1, 5]], "words": [[3, 0, 1], [1, 4, 2]]}
FAMILIES = {
    "flag": (FLAG, nb.Bernoulli, lambda l: nb.Bernoulli(a=l, b=l), nb.Bernoulli.laplace),
    "colour": (
        COLOUR,
        nb.Categorical,
        lambda l: nb.Categorical(3, concentration=l),
        lambda l: nb.Categorical.laplace(3, l),
    ),
    "words": (WORDS, nb.Multinomial, lambda l: nb.Multinomial(concentration=l), nb.Multinomial.laplace),
}


def table(params):
    """The estimated probabilities as [K, C]; a Bernoulli's are those of a one and of a zero."""
    probs = np.asarray(params["x_probs"])
    if probs.shape == (2, 1):
        return np.concatenate([probs, 1 - probs], axis=1)
    return probs.reshape(2, 3)


def test_spam_from_known_parameters():
    """Cornell CS 4780, spam exercise. Three emails in four are spam. Spam holds the word "money" with probability .8
    and "perceptron" with .01; other email .4 and .1. An email with both words is spam with probability
    .75 · .8 · .01 / (.75 · .8 · .01 + .25 · .4 · .1) = 3/8, and with "perceptron" only with probability
    .75 · .2 · .01 / (.75 · .2 · .01 + .25 · .6 · .1) = 1/11.
    """
    model = nb.NaiveBayes(nb.Bernoulli())
    known = nb.PointEstimate(model, {"class_probs": [0.75, 0.25], "x_probs": [[0.8, 0.01], [0.4, 0.1]]})
    spam = known.predict_proba(np.array([[1, 1], [0, 1]]))[:, 0]
    assert_allclose(spam, [0.375, 1 / 11], rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("smoothing", [1, 2])
def test_smoothing_on_ten_rows(name, smoothing):
    """Two priors give the textbook estimate (count + l) / (n + l C): the mode under laplace(l), which is
    Dirichlet(1 + l), and the mean under Dirichlet(l). Crossed over they give (count + l - 1) / (n + l C - C) and
    (count + 1 + l) / (n + C + l C).
    """
    X, _, dirichlet, laplace = FAMILIES[name]
    counts = np.array(COUNTS[name])
    n, size = counts.sum(axis=1, keepdims=True), counts.shape[1]
    textbook = (counts + smoothing) / (n + smoothing * size)
    narrower = (counts + smoothing - 1) / (n + smoothing * size - size)
    wider = (counts + 1 + smoothing) / (n + size + smoothing * size)

    def fit(how, family):
        return how(nb.NaiveBayes(family), X, Y)

    assert_allclose(table(fit(nb.fit_map, laplace(smoothing)).params), textbook, rtol=1e-12)
    assert_allclose(table(fit(nb.fit_posterior, dirichlet(smoothing)).model.reference()), textbook, rtol=1e-6)
    assert_allclose(table(fit(nb.fit_map, dirichlet(smoothing)).params), narrower, rtol=1e-12)
    assert_allclose(table(fit(nb.fit_posterior, laplace(smoothing)).model.reference()), wider, rtol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_smoothing_is_the_relative_frequency(name):
    """l = 0: the MLE count / n is the mode under the uniform prior too."""
    X, _, _, laplace = FAMILIES[name]
    counts = np.array(COUNTS[name])
    model = nb.NaiveBayes(laplace(0))
    for fit in (nb.fit_mle(model, X, Y), nb.fit_map(model, X, Y)):
        assert_allclose(table(fit.params), counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)
        assert_allclose(fit.params["class_probs"], [0.4, 0.6], rtol=1e-12)


def test_mode_of_a_dirichlet():
    """argmax of Dirichlet(a + n) is (n + a - 1) / (N + sum a - C). Below one it is max(n + a - 1, 0), renormalised:
    the edge that holds the counts; and with no such edge, the mean."""

    def mode(concentration, codes):
        model = nb.NaiveBayes(nb.Categorical(3, concentration=concentration), num_classes=1)
        return nb.fit_map(model, np.array(codes).reshape(-1, 1), np.zeros(len(codes), int)).params["x_probs"][0, 0]

    assert_allclose(mode([1.5, 2, 4], [0, 0, 1]), np.array([2.5, 2, 3]) / 7.5, rtol=1e-12)
    assert_allclose(mode(0.5, [0, 0, 1]), [0.75, 0.25, 0], rtol=1e-12)
    assert_allclose(mode([0.5, 0.25, 0.25], []), [0.5, 0.25, 0.25], rtol=1e-12)


# Manning, Raghavan and Schuetze, Introduction to Information Retrieval, table 13.1; the columns are
# Chinese, Beijing, Shanghai, Macao, Tokyo, Japan, and class 0 is "about China"
DOCUMENTS = np.array([[2, 1, 0, 0, 0, 0], [2, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]])
ABOUT = np.array([0, 0, 0, 1])
FIFTH = np.array([[3, 0, 0, 0, 1, 1]])


def test_china_by_counts():
    """Example 13.1: about China 3/4 · (3/7)^3 · 1/14 · 1/14 = .0003, not 1/4 · (2/9)^3 · 2/9 · 2/9 = .0001. The book
    leaves out the multinomial coefficient 5! / 3!, which is the same for both."""
    fit = nb.fit_map(nb.NaiveBayes(nb.Multinomial.laplace(1)), DOCUMENTS, ABOUT)
    book = np.array([3 / 4 * (3 / 7) ** 3 / 14**2, 1 / 4 * (2 / 9) ** 5])
    assert_allclose(np.exp(fit.log_joint(FIFTH)[0]), 20 * book, rtol=1e-12)
    assert_allclose(book.round(4), [0.0003, 0.0001])
    assert fit.predict(FIFTH) == [0]


def test_china_by_presence():
    """Example 13.2: about China 3/4 · 4/5 · 1/5 · 1/5 · (1 - 2/5)^3 = .005, not 1/4 · (2/3)^3 · (1 - 1/3)^3 = .022."""
    fit = nb.fit_map(nb.NaiveBayes(nb.Bernoulli.laplace(1)), DOCUMENTS > 0, ABOUT)
    book = np.array([3 / 4 * 4 / 5 / 5**2 * (3 / 5) ** 3, 1 / 4 * (2 / 3) ** 6])
    assert_allclose(np.exp(fit.log_joint(FIFTH > 0)[0]), book, rtol=1e-12)
    assert_allclose(book.round(3), [0.005, 0.022])
    assert fit.predict(FIFTH > 0) == [1]


def test_draws_average_the_joint(rng):
    """p(y | x, data) is proportional to the mean over draws of p(y, x | theta). The mean of p(y | x, theta) is another,
    wrong answer: with three rows a class it says .972 at x = 4 where the exact predictive, two Student densities, says
    .985."""
    samples, prior = ([0.0, 0.5, 1.0], [2.0, 2.5, 3.0]), {"loc": 0.0, "strength": 0.1, "shape": 2.0, "rate": 1.0}
    model = nb.NaiveBayes(nb.Normal(**prior), class_probs=[0.5, 0.5])
    X, y, new = np.concatenate(samples)[:, None], np.repeat([0, 1], 3), np.array([[4.0]])
    exact = nb.fit_posterior(model, X, y)
    family = exact.model.families["x"]
    loc, strength, shape, rate = (getattr(family, name)[:, 0] for name in ("loc", "strength", "shape", "rate"))
    student = stats.t.pdf(4.0, 2 * shape, loc, np.sqrt(rate * (strength + 1) / (shape * strength)))
    truth = student[1] / student.sum()
    assert_allclose(exact.predict_proba(new)[0, 1], truth, rtol=1e-10)

    size = 20_000
    variance = rate / rng.gamma(shape, size=(size, 2))
    mean = rng.normal(loc, np.sqrt(variance / strength))
    params = {"class_probs": np.full((size, 2), 0.5), "x_loc": mean[..., None], "x_variance": variance[..., None]}
    draws = nb.Draws(exact.prior, params, {"diverging": np.zeros(size, bool)}, 1)
    joint = stats.norm.pdf(4.0, mean, np.sqrt(variance))
    # the standard error of a ratio of means, by the delta method
    error = np.std(joint[:, 1] - truth * joint.sum(axis=1)) / joint.sum(axis=1).mean() / np.sqrt(size)
    assert_allclose(draws.predict_proba(new)[0, 1], truth, rtol=0, atol=5 * error)
    wrong = (joint[:, 1] / joint.sum(axis=1)).mean()
    assert abs(wrong - truth) > 10 * error


# Gaussians with parameters that are given


def given(class_probs, loc, variance):
    params = {"class_probs": class_probs, "x_loc": np.array(loc, float), "x_variance": np.array(variance, float)}
    return nb.PointEstimate(nb.NaiveBayes(nb.Normal()), params)


def test_two_gaussian_columns():
    """Class means (20, 7) and (2, 2), variances (8, 5) and (1, 5), priors .2 and .8. At x = (2, 2) the likelihoods are
    3.3158e-12 and .071176, and the posterior of the first class is 1.165e-11."""
    known, x = given([0.2, 0.8], [[20, 7], [2, 2]], [[8, 5], [1, 5]]), np.array([[2.0, 2.0]])
    likelihood = np.exp(known.log_joint(x)[0]) / [0.2, 0.8]
    assert_allclose(likelihood, [3.3158e-12, 0.071176], rtol=2e-5)
    assert_allclose(known.predict_proba(x)[0, 0], 1.165e-11, rtol=5e-4)
    covariance = {"class_probs": [0.2, 0.8], "x_loc": [[20.0, 7.0], [2.0, 2.0]]}
    covariance["x_covariance"] = np.array([np.diag([8.0, 5.0]), np.diag([1.0, 5.0])])
    full = nb.PointEstimate(nb.NaiveBayes(nb.MultivariateNormal()), covariance)
    assert_allclose(full.predict_proba(x), known.predict_proba(x), rtol=1e-10)


def test_the_narrower_gaussian_is_not_always_the_likelier():
    """N(2000, 800^2) against N(200, 100^2): at x = 250 the densities are 4.557e-5 and 3.521e-3, the second wins; the
    first wins on the far left too, for the densities cross at -136.0 and 478.8."""
    known = given([0.5, 0.5], [[2000], [200]], [[800**2], [100**2]])
    density = 2 * np.exp(known.log_joint(np.array([[250.0]]))[0])
    assert_allclose(density, [4.557e-5, 3.521e-3], rtol=2e-4)
    loc, variance = np.array([2000.0, 200.0]), np.array([800.0**2, 100.0**2])
    form = -0.5 / variance, loc / variance, -0.5 * (loc**2 / variance + np.log(variance))  # of x^2, x and 1
    crossings = np.sort(np.roots([float(np.diff(part)[0]) for part in form]))
    assert_allclose(known.predict_proba(crossings[:, None]), np.full((2, 2), 0.5), rtol=1e-9)
    assert_allclose(crossings, [-136.0, 478.8], atol=0.05)
    assert_array_equal(known.predict(np.array([[-300.0], [250.0], [900.0]])), [0, 1, 0])


# counts


def test_five_in_a_hundred():
    """C(100, 5) .08^5 .92^95 = .09: a word of probability .08 stands five times in a text of a hundred words."""
    for family, x in ((nb.Binomial(100), [[5]]), (nb.Binomial(None), (np.array([[5]]), np.array([[100]])))):
        known = nb.PointEstimate(nb.NaiveBayes(family), {"class_probs": [1.0], "x_probs": [[0.08]]})
        probability = np.exp(known.log_density(x))
        assert_allclose(probability, 75_287_520 * 0.08**5 * 0.92**95, rtol=1e-12)
        assert_allclose(probability.round(2), 0.09)


def test_calls_in_an_hour():
    """Poisson: at 3 calls an hour none in an hour has probability e^-3 = .0498, five e^-3 3^5 / 5! = .1008."""
    known = nb.PointEstimate(nb.NaiveBayes(nb.Poisson()), {"class_probs": [1.0], "x_rate": [[3.0]]})
    assert_allclose(np.exp(known.log_density([[0], [5]])).round(4), [0.0498, 0.1008])


# products of many


@pytest.mark.parametrize(("convert", "nats"), [(np.float64, 1e-8), (np.float32, 1e-2), (jnp.asarray, 0.3)])
def test_a_product_of_two_thousand_probabilities(convert, nats):
    """.01^2000 is 0 in floating point, and so is .0101^2000; their ratio is 1.01^2000 = 4.4e8."""
    params = {"class_probs": [0.5, 0.5], "x_probs": np.array([[0.01], [0.0101]]) * np.ones(2000)}
    known = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), params)
    row = convert(np.ones((1, 2000)))
    assert_allclose(known.log_joint(row), [np.log(0.5) + 2000 * np.log([0.01, 0.0101])], rtol=0, atol=nats)
    assert_allclose(np.diff(known.predict_log_proba(row)), [[2000 * np.log(1.01)]], rtol=0, atol=nats)


@pytest.mark.parametrize("convert", [np.float64, np.float32, jnp.asarray])
def test_a_product_of_three_thousand_densities(convert):
    """Columns one apart in the means: at the middle of all but one the classes are level, and the one decides."""
    known = given([0.5, 0.5], np.array([[0.0], [1.0]]) * np.ones(3000), np.ones((2, 3000)))
    row = np.full((1, 3000), 0.5)
    row[0, 7] = 2.0
    assert_allclose(
        np.exp(known.predict_log_proba(convert(row))), [[1 / (1 + np.exp(1.5)), 1 / (1 + np.exp(-1.5))]], rtol=1e-3
    )
    expected = stats.norm.logpdf(row).sum() + np.log(0.5)
    assert_allclose(np.asarray(known.log_joint(convert(row)))[0, 0], expected, rtol=1e-5)
