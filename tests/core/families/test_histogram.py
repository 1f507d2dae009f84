"""Histogram: rows that leave it, columns that say nothing, what it does not ask of labels and scales, and refusals."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb


@pytest.mark.slow
def test_bayes_theorem_with_joined_cells(rng, key):
    """prior x likelihood = evidence x posterior at draws, most of which have fewer cuts than cells."""
    from tests.laws import prior_density

    X, y = rng.normal(size=(30, 3)) + np.arange(30)[:, None] % 2, np.arange(30) % 2
    post = nb.fit_posterior(nb.NaiveBayes(nb.Histogram(cells=6)), X, y)
    draws = post.sample(key, 20)
    assert (draws["x_cuts"].sum(axis=(1, 2)) < 15).any()
    for i in range(20):
        params = {site: value[i] for site, value in draws.items()}
        likelihood = nb.PointEstimate(post.prior, params).log_joint(X)[np.arange(30), y].sum()
        with jax.enable_x64(True):
            prior, posterior = (float(prior_density(model, params)) for model in (post.prior, post.model))
        assert_allclose(prior + likelihood, post.log_evidence + posterior, rtol=1e-9)


# edges


def test_edges_ignore_the_labels(rng):
    X, model = rng.normal(size=(80, 3)), nb.NaiveBayes(nb.Histogram())
    labels = [np.arange(80) % 2, rng.integers(0, 3, 80), np.repeat([0, 1], 40)]
    first, *others = (model.resolve(X, y).families["x"] for y in labels)
    for other in others:
        assert_allclose(first.edges, other.edges)
        assert_allclose(first.mass, other.mass)


def test_an_increasing_map_changes_no_prediction_at_values_that_were_seen(rng):
    X, y = np.abs(rng.normal(size=(300, 3))) + np.arange(300)[:, None] % 3, np.arange(300) % 3
    X[:, 2] = np.ceil(X[:, 2])
    X[rng.random(X.shape) < 0.1] = np.nan
    model = nb.NaiveBayes(nb.Histogram())
    plain = nb.fit_posterior(model, X, y).predict_log_proba(X)
    for change in (np.log, np.square, lambda x: -1 / x, lambda x: 5.0 + 1e-3 * np.exp(3 * x)):
        assert_allclose(nb.fit_posterior(model, change(X), y).predict_log_proba(change(X)), plain, rtol=1e-9)


# columns that say nothing, and columns that cannot


def test_a_column_of_one_value_says_nothing(rng):
    X, y = np.c_[np.full(30, 2.0), rng.normal(size=30)], np.arange(30) % 2
    post = nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), X, y)
    own = post.model.families["x"]
    assert own.no_cut_probability()[0] == 1.0
    assert np.isfinite(post.log_evidence)
    alone = nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), X[:, 1:], y)
    assert_allclose(post.predict_log_proba(X), alone.predict_log_proba(X[:, 1:]), rtol=1e-12)
    assert_allclose(post.log_evidence, alone.log_evidence, rtol=1e-12)


def test_rows_may_fall_where_none_fell_before(rng):
    X, y = rng.normal(size=(50, 1)), np.arange(50) % 2
    prior = nb.NaiveBayes(nb.Histogram(edges=[-9.0, -1.0, 0.0, 1.0, 9.0])).resolve(X, y)
    far = np.array([[-30.0], [30.0], [np.nan]])
    for post in (nb.fit_posterior(prior, X, y), nb.fit_posterior(prior, np.r_[X, far[:2]], np.r_[y, 1, 1])):
        assert np.isfinite(post.log_joint(far)).all()
        assert np.isfinite(post.log_evidence)
    assert post.predict(far)[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [1000, 8000])
def test_columns_without_a_say_are_found(num_rows):
    """The probability of no cut is above .9 in 95 % of columns that do not depend on the class."""
    rng = np.random.default_rng(num_rows)
    X, y = rng.normal(size=(num_rows, 200)), np.arange(num_rows) % 2
    own = nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), X, y).model.families["x"]
    assert (own.no_cut_probability() > 0.9).mean() >= 0.95


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"cells": 1}, "cells must be a number from 2 to 256, got 1"),
        ({"cells": 257}, "cells must be a number from 2 to 256, got 257"),
        ({"cells": 2.5}, "cells must be a number from 2 to 256, got 2.5"),
        ({"edges": [0.0, 2.0, 1.0]}, "edges must be finite and rise within a column"),
        ({"edges": [0.0, 0.0]}, "edges must be finite and rise within a column"),
        ({"edges": [0.0, np.nan]}, "edges must be finite and rise within a column"),
        ({"edges": [-np.inf, 0.0]}, "edges must be finite and rise within a column"),
        ({"edges": []}, "edges are numbers between bins"),
        ({"edges": ["a"]}, "edges are numbers between bins"),
        ({"total": 0.0}, "totals must lie between 1e-6 and 1e6, got 0.0"),
        ({"total": ()}, "total must be positive numbers"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=f"Histogram: {sentence}"):
        nb.Histogram(**arguments)


def test_bad_rows_and_refusals(rng, key):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = nb.NaiveBayes(nb.Histogram())
    with pytest.raises(ValueError, match="block 'x', column 1: a Histogram cell is a finite number"):
        nb.fit_posterior(model, np.where(np.arange(40).reshape(20, 2) == 1, np.inf, X), y)
    with pytest.raises(
        ValueError, match="block 'x' is Histogram, whose discrete sites gradients cannot move: use fit_p"
    ):
        nb.fit_nuts(model, X, y, key=key)
    halves = [nb.sufficient_statistics(model, X[half], y[half]) for half in (slice(10), slice(10, 20))]
    with pytest.raises(ValueError, match="statistics of Histogram can be merged only if their edges are the same"):
        nb.merge(*halves)
    with pytest.raises(ValueError, match="statistics must be those of the model's blocks"):
        nb.fit_posterior(model.resolve(X[:10], y[:10]), statistics=halves[1])
    with pytest.raises(ValueError, match="Histogram finds its edges from known rows, and inside a JAX transformation"):
        jax.jit(lambda X: nb.fit_posterior(nb.NaiveBayes(nb.Histogram(), num_classes=2), X, y).log_joint(X))(X)
    with pytest.raises(ValueError, match="block 'x' has 2 columns, the model has 3"):
        nb.fit_posterior(nb.NaiveBayes(nb.Histogram(edges=[[0.0], [1.0], [2.0]])), X, y)
