"""A fit as a formula: softmax of it is the prediction; weights are scikit-learn's, and those worked out on paper."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

import bayesnb as nb

K, N = 3, 30
Y = np.repeat(np.arange(K), [12, 10, 8])
RANDOM = np.random.default_rng(3)
REALS = RANDOM.normal(size=(N, 3)) @ [[1.0, 0.8, 0.2], [0.0, 0.5, 0.1], [0.0, 0.0, 2.0]] + Y[:, None]
X = {
    "flags": RANDOM.integers(0, 2, (N, 4)),
    "words": RANDOM.poisson(1.0 + Y[:, None], (N, 3)),
    "events": RANDOM.poisson([0.5, 30.0] * (1 + Y[:, None]), (N, 2)),
    "wins": RANDOM.binomial(7, 0.2 + 0.2 * Y[:, None], (N, 2)),
    "trials": RANDOM.binomial([3, 9], 0.2 + 0.2 * Y[:, None], (N, 2)),
    "codes": RANDOM.integers(0, 3, (N, 2)),
    "ragged": np.c_[RANDOM.integers(0, 2, N), RANDOM.integers(0, 4, N)],
    "reals": np.c_[REALS * [1.0, 100.0, 1e-3] + [0.0, 1e3, 0.0], np.full(N, 0.1)],
    "plane": REALS,
    "own": REALS * [1.0, 100.0, 1e-3],
    "bent": REALS,
}
AFFINE = {
    "flags": nb.Bernoulli.laplace(),
    "words": nb.Multinomial.laplace(),
    "events": nb.Poisson(shape=2.0),
    "wins": nb.Binomial.laplace(7),
    "trials": nb.Binomial.laplace((3, 9)),
    "codes": nb.Categorical.laplace(3),
    "ragged": nb.Categorical.laplace((2, 4)),
    "reals": nb.Normal(variance="shared"),
    "plane": nb.MultivariateNormal("shared"),
}
CURVED = {"own": nb.Normal(), "bent": nb.MultivariateNormal()}
SIZES = {"codes": (3, 3), "ragged": (2, 4)}


def features(name):
    """The rows of a block as the form takes them: categories one-hot, columns laid end to end."""
    if name not in SIZES:
        return X[name]
    return np.concatenate([np.eye(size)[column] for column, size in zip(X[name].T, SIZES[name], strict=True)], axis=1)


def fitted(name, fit=nb.fit_map):
    return fit(nb.NaiveBayes({**AFFINE, **CURVED}[name]), X[name], Y)


def blocks(*names, fit=nb.fit_map):
    families = {**AFFINE, **CURVED}
    rows = {name: X[name] for name in names}
    return fit(nb.NaiveBayes({name: families[name] for name in names}), rows, Y), rows


def score(form, rows):
    """w x + b of blocks, or of one."""
    weights = form.weights if isinstance(form.weights, dict) else {"": form.weights}
    rows = rows if isinstance(rows, dict) else {"": rows}
    return form.intercept + sum(rows[name] @ np.asarray(w).T for name, w in weights.items())


@pytest.mark.parametrize("name", AFFINE)
def test_softmax_of_the_linear_form_is_the_prediction(name):
    fit = fitted(name)
    form = nb.linear_form(fit)
    assert form.weights.shape == (K, features(name).shape[1])
    assert_allclose(softmax(score(form, features(name)), axis=1), fit.predict_proba(X[name]), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", ["flags", "codes", "ragged"])
def test_the_exact_predictive_is_affine_for_coins_and_dice(name):
    fit = fitted(name, nb.fit_posterior)
    form = nb.linear_form(fit)
    assert_allclose(softmax(score(form, features(name)), axis=1), fit.predict_proba(X[name]), rtol=1e-9)


def test_weights_of_blocks_go_by_name():
    fit, rows = blocks(*AFFINE)
    form = nb.linear_form(fit)
    assert set(form.weights) == set(AFFINE)
    table = score(form, {name: features(name) for name in AFFINE})
    assert_allclose(softmax(table, axis=1), fit.predict_proba(rows), rtol=1e-6, atol=1e-12)


# scikit-learn


def test_coefficients_of_linear_discriminant_analysis():
    form = nb.linear_form(fitted("plane", nb.fit_mle))
    rival = LinearDiscriminantAnalysis(solver="lsqr").fit(X["plane"], Y)
    assert_allclose(form.weights, rival.coef_, rtol=1e-8)
    assert_allclose(np.diff(form.intercept), np.diff(rival.intercept_), rtol=1e-8)


def test_coefficients_of_multinomial_and_bernoulli_nb():
    words, rival = nb.linear_form(fitted("words")), MultinomialNB().fit(X["words"], Y)
    assert_allclose(words.weights, rival.feature_log_prob_, rtol=1e-12)
    assert_allclose(words.intercept, rival.class_log_prior_, rtol=1e-12)
    flags, rival = nb.linear_form(fitted("flags")), BernoulliNB().fit(X["flags"], Y)
    none = np.log1p(-np.exp(rival.feature_log_prob_))
    assert_allclose(flags.weights, rival.feature_log_prob_ - none, rtol=1e-9, atol=1e-12)
    assert_allclose(flags.intercept, rival.class_log_prior_ + none.sum(axis=1), rtol=1e-9)


# where there is none


@pytest.mark.parametrize(
    ("form", "make", "says"),
    [
        (nb.linear_form, lambda: fitted("own"), r"block 'x', Normal, is not affine in x; those of"),
        (nb.linear_form, lambda: fitted("bent"), r"MultivariateNormal, is not affine in x; those of"),
        (nb.linear_form, lambda: fitted("plane", nb.fit_posterior), r"exact predictive .*: take the form of fit_map"),
        (nb.linear_form, lambda: fitted("words", nb.fit_posterior), r"Multinomial, is not affine"),
        (nb.linear_form, lambda: fitted("events", nb.fit_posterior), r"Poisson, is not affine"),
        (nb.linear_form, lambda: fitted("own", nb.fit_posterior), r"exact predictive of block 'x', Normal, is not"),
        (nb.linear_form, lambda: blocks("flags", "own")[0], r"block 'own', Normal, is not affine"),
    ],
)
def test_predictions_without_such_a_form(form, make, says):
    with pytest.raises(ValueError, match=says):
        form(make())


def test_totals_beside_the_rows_have_no_form():
    x = X["wins"], np.full((N, 2), 7)
    with pytest.raises(ValueError, match="Binomial, is not affine"):
        nb.linear_form(nb.fit_map(nb.NaiveBayes(nb.Binomial(None, a=2.0, b=2.0)), x, Y))


@pytest.mark.parametrize(
    ("family", "cell"),
    [
        (nb.Bernoulli(), 0),
        (nb.Bernoulli(), 1),
        (nb.Binomial(7), 0),
        (nb.Binomial(7), 7),
        (nb.Categorical(3), 1),
        (nb.Multinomial(), 0),
        (nb.Poisson(), 0),
    ],
)
def test_a_probability_of_zero_has_no_weight(family, cell):
    """In class 0 the first column has shown but one value."""
    x, y = np.array([[cell, 1], [cell, 0], [0, 1], [1, 0]]), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="a probability is zero, so its coefficient would be infinite: smooth the fit"):
        nb.linear_form(nb.fit_mle(nb.NaiveBayes(family), x, y))


def test_a_class_of_probability_zero_has_no_intercept():
    fit = nb.fit_mle(nb.NaiveBayes(nb.Normal(variance="shared"), num_classes=3), X["plane"][Y < 2], Y[Y < 2])
    with pytest.raises(ValueError, match="a class has probability zero, so its intercept would be infinite"):
        nb.linear_form(fit)


def test_draws_have_no_form(key):
    post = fitted("flags", nb.fit_posterior)
    draws = nb.Draws(post.prior, post.sample(key, 4), {}, 1)
    with pytest.raises(ValueError, match="a PointEstimate or a Posterior, got Draws: draws are a mixture"):
        nb.linear_form(draws)
    with pytest.raises(ValueError, match="got ndarray"):
        nb.linear_form(np.zeros(3))


# on a device


def test_a_constant_column_has_no_weight():
    assert_array_equal(nb.linear_form(fitted("reals")).weights[:, 3], 0)
    wide = nb.fit_map(nb.NaiveBayes(nb.MultivariateNormal("shared")), np.insert(X["plane"], 1, 0.1, axis=1), Y)
    form = nb.linear_form(wide)
    assert_array_equal(form.weights[:, 1], 0)
    assert_allclose(np.delete(form.weights, 1, axis=1), nb.linear_form(fitted("plane")).weights, rtol=1e-9)


# weights and intercepts of a fit of two classes, worked out on paper
