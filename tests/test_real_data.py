"""Real data, and scikit-learn as the oracle where it has the same model; the folder is named by BAYESNB_DATA."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

import bayesnb as nb
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import open_data


def idx(path, header):
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


@pytest.fixture(scope="module")
def digits(data):
    images = idx(data / "mnist" / "t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784)
    return images, idx(data / "mnist" / "t10k-labels-idx1-ubyte.gz", 8).astype(int)


def test_mushrooms_as_categorical_nb(data):
    """MAP under Laplace 1 is scikit-learn's CategoricalNB with alpha 1, but for its class prior."""
    frame = pd.read_csv(data / "mushroom" / "agaricus-lepiota.data", header=None)
    codes = np.stack([pd.Categorical(frame[column]).codes for column in frame.columns], axis=1).astype(int)
    X, y = codes[:, 1:], codes[:, 0]
    sizes = tuple(X.max(axis=0) + 1)
    rival = CategoricalNB(alpha=1.0).fit(X, y)
    fit = nb.fit_map(nb.NaiveBayes(nb.Categorical.laplace(sizes, 1.0), class_concentration=1.0), X, y)
    assert_allclose(fit.log_joint(X), rival.predict_joint_log_proba(X), rtol=1e-9)
    assert_allclose(fit.predict_log_proba(X), rival.predict_log_proba(X), rtol=1e-7, atol=1e-9)


def test_digits_as_bernoulli_nb(digits):
    images, y = digits
    X = (images > 127).astype(np.float32)
    fit = nb.fit_map(nb.NaiveBayes(nb.Bernoulli.laplace(1.0), class_concentration=1.0), X, y)
    rival = BernoulliNB(alpha=1.0).fit(X, y)
    assert_allclose(fit.log_joint(X), rival.predict_joint_log_proba(X), rtol=1e-4)
    assert (fit.predict(X) == rival.predict(X)).mean() > 0.9999


def test_digits_as_gaussian_nb(digits):
    """Columns that vary in every class, where neither needs a floor under the variance."""
    images, y = digits
    varies = np.all([images[y == k].std(axis=0) > 20 for k in range(10)], axis=0)
    assert varies.sum() > 100
    X = images[:, varies] / 255
    fit, rival = nb.fit_mle(nb.NaiveBayes(nb.Normal()), X, y), GaussianNB(var_smoothing=0.0).fit(X, y)
    assert_allclose(fit.params["x_loc"], rival.theta_, rtol=1e-9)
    assert_allclose(fit.params["x_variance"], rival.var_, rtol=1e-9)
    assert_allclose(fit.log_joint(X), rival.predict_joint_log_proba(X), rtol=1e-9)


@pytest.mark.slow
def test_digits_as_linear_discriminant_analysis(digits):
    """The 200 pixels that vary most, from their bytes."""
    images, y = digits
    X = images[:, np.argsort(images.std(axis=0))[-200:]]
    fit = nb.fit_mle(nb.NaiveBayes(nb.MultivariateNormal("shared")), X, y)
    rival = LinearDiscriminantAnalysis(solver="lsqr").fit(X.astype(float), y)
    assert_allclose(fit.params["x_covariance"], rival.covariance_, rtol=1e-7, atol=1e-6)
    assert_allclose(fit.predict_proba(X), rival.predict_proba(X.astype(float)), atol=1e-7)
    assert_allclose(nb.linear_form(fit).weights, rival.coef_, rtol=1e-5, atol=1e-8)


@pytest.mark.slow
def test_all_pixels_have_a_covariance_under_the_prior(digits):
    """Many are constant, and more so within a class; half of the images tell the other half."""
    images, y = digits
    fit = nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal("shared")), images[::2], y[::2])
    assert (fit.predict(images[1::2]) == y[1::2]).mean() > 0.84
    assert np.isfinite(fit.log_evidence)


def test_penguins_as_discriminant_analysis(data):
    """Lengths and depths in mm beside grams; whole rows in the fit, missing cells in prediction."""
    table = make_table(open_data(str(data / "penguins.csv")), "species")
    x, y = table.X["numeric"], table.y
    whole = ~np.isnan(x).any(axis=1)
    quadratic = nb.fit_mle(nb.NaiveBayes(nb.MultivariateNormal()), x[whole], y[whole])
    rival = QuadraticDiscriminantAnalysis(store_covariance=True).fit(x[whole], y[whole])
    theirs = nb.PointEstimate(quadratic.model, {**quadratic.params, "x_covariance": np.array(rival.covariance_)})
    assert_allclose(theirs.predict_proba(x[whole]), rival.predict_proba(x[whole]), rtol=1e-6, atol=1e-12)
    linear = nb.fit_mle(nb.NaiveBayes(nb.MultivariateNormal("shared")), x[whole], y[whole])
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(x[whole], y[whole])
    assert_allclose(linear.predict_proba(x[whole]), lda.predict_proba(x[whole]), rtol=1e-6, atol=1e-12)
    assert (~whole).sum() == 2
    for fit in (quadratic, linear, nb.fit_posterior(quadratic.model, x[whole], y[whole])):
        assert_allclose(fit.predict_proba(x).sum(axis=1), 1.0)
        assert_allclose(fit.predict_proba(x[~whole]), np.tile(np.exp(fit.predict_log_proba(x[~whole])[0]), (2, 1)))


def test_penguins_with_their_missing_cells(data):
    table = make_table(open_data(str(data / "penguins.csv")), "species")
    families = {
        "categorical": nb.Categorical(tuple(len(c.values) for c in table.blocks["categorical"])),
        "numeric": nb.Normal(),
    }
    assert {name: x.shape[1] for name, x in table.X.items()} == {"categorical": 3, "numeric": 4}
    assert int((table.X["categorical"] < 0).sum()) == 11
    assert int(np.isnan(table.X["numeric"]).sum()) == 8
    train = np.random.default_rng(0).random(len(table.y)) < 0.5  # the file alternates female and male
    fit = nb.fit_posterior(nb.NaiveBayes(families), *table.rows(train))
    X, y = table.rows(~train)
    proba = fit.predict_proba(X)
    assert (proba.argmax(axis=1) == y).mean() > 0.95
    assert_allclose(proba.sum(axis=1), 1.0)
