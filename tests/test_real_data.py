"""Real data, and scikit-learn as the oracle where it has the same model; the folder is named by BAYESNB_DATA."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

import bayesnb as nb
from bayesnb.reading import read
from bayesnb.tables import make_table


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


def test_penguins_with_their_missing_cells(data):
    table = make_table(read(str(data / "penguins.csv")), "species")
    families = {
        "binary": nb.Bernoulli(),
        "categorical": nb.Categorical(tuple(len(c.values) for c in table.blocks["categorical"])),
        "numeric": nb.Normal(),
    }
    assert {name: x.shape[1] for name, x in table.X.items()} == {"binary": 1, "categorical": 2, "numeric": 4}
    assert int(np.isnan(table.X["binary"]).sum()) == 11
    assert int(np.isnan(table.X["numeric"]).sum()) == 8
    train = np.random.default_rng(0).random(len(table.y)) < 0.5  # the file alternates female and male
    fit = nb.fit_posterior(nb.NaiveBayes(families), *table.rows(train))
    X, y = table.rows(~train)
    proba = fit.predict_proba(X)
    assert (proba.argmax(axis=1) == y).mean() > 0.95
    assert_allclose(proba.sum(axis=1), 1.0)
