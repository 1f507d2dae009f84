"""Rows without labels, against the sum over all labellings of a handful of them."""

from itertools import product

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb

X = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0], [1, 0, 1]])
Y = np.array([0, 0, 1, 1, -1, -1, -1])
MODEL = nb.NaiveBayes(nb.Bernoulli(2.0, 1.5), class_concentration=2.0, num_classes=2)


@pytest.mark.slow
def test_nuts_sums_labels_out():
    labellings = []
    for labels in product([0, 1], repeat=3):
        fit = nb.fit_posterior(MODEL, X, np.r_[Y[:4], labels])
        labellings.append((float(fit.log_evidence), fit.model.reference(), fit.log_joint(X)))
    weight = np.exp([log_evidence for log_evidence, *_ in labellings])
    weight /= weight.sum()
    draws = nb.fit_nuts(MODEL, X, Y, key=jax.random.key(0), num_samples=1000, num_warmup=500, progress_bar=False)
    for site in ("class_probs", "x_probs"):
        expected = sum(w * np.asarray(means[site]) for w, (_, means, _) in zip(weight, labellings, strict=True))
        error = draws.params[site].std(axis=0) / np.sqrt(draws.min_ess)
        assert (np.abs(draws.params[site].mean(axis=0) - expected) < 5 * error).all(), site
    joint = sum(w * np.exp(table) for w, (*_, table) in zip(weight, labellings, strict=True))
    assert_allclose(draws.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=0.02)


def test_every_row_labelled_is_the_closed_form():
    labels = np.array([0, 0, 1, 1, 0, 1, 1])
    for fit in (nb.fit_map, nb.fit_mle):
        found, expected = nb.fit_em(MODEL, X, labels, fit=fit), fit(MODEL, X, labels)
        for site, value in expected.params.items():
            assert_allclose(found.params[site], value, rtol=1e-12)
        assert found.converged


def test_the_objective_never_falls_and_ends_at_a_maximum():
    found = nb.fit_em(MODEL, X, Y)
    trace = np.asarray(found.log_posterior)
    assert found.converged
    assert (np.diff(trace) > -1e-9).all()

    def objective(class_probs, probs):
        """log p(labelled rows) + log p(unlabelled x) + the log prior density up to a constant."""
        terms = np.where(X[:, None], np.log(probs), np.log1p(-probs)).sum(axis=2) + np.log(class_probs)
        prior = np.log(class_probs).sum() + (np.log(probs) + 0.5 * np.log1p(-probs)).sum()
        return terms[np.arange(4), Y[:4]].sum() + np.logaddexp(*terms[4:].T).sum() + prior

    best = objective(found.params["class_probs"], found.params["x_probs"])
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = 1e-3 * rng.normal()
        probs = found.params["x_probs"] + 1e-3 * rng.normal(size=(2, 3))
        shifted = found.params["class_probs"] + [step, -step]
        assert objective(shifted, probs) <= best + 1e-8


def test_unlabelled_rows_help():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 600)
    rate = np.where(rng.random((2, 40)) < 0.5, 0.3, 0.6)
    x = (rng.random((600, 40)) < rate[y]).astype(int)
    partly = np.where(np.arange(600) < 6, y, -1)
    partly[:6] = y[:6] = [0, 1, 0, 1, 0, 1]
    x[:6] = (rng.random((6, 40)) < rate[y[:6]]).astype(int)
    model = nb.NaiveBayes(nb.Bernoulli.laplace(1.0))
    few = (nb.fit_map(model, x[:6], y[:6]).predict(x) == y).mean()
    semi = (nb.fit_em(model, x, partly).predict(x) == y).mean()
    assert semi > few + 0.05


def test_what_is_refused():
    with pytest.raises(ValueError, match="unlabelled rows, y = -1, are supported by fit_em and fit_nuts"):
        nb.fit_posterior(MODEL, X, Y)
    with pytest.raises(ValueError, match="-2"):
        nb.fit_em(MODEL, X, np.where(Y < 0, -2, Y))
    with pytest.raises(ValueError, match="unlabelled_weight"):
        nb.fit_em(MODEL, X, Y, unlabelled_weight=1.5)
    with pytest.raises(ValueError, match="key"):
        nb.fit_em(MODEL, X, np.full(7, -1))
