"""Histogram: rows that leave it, columns that say nothing, what it does not ask of labels and scales, and refusals."""

import itertools

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln, gammaln, logsumexp, softmax

import bayesnb as nb


@pytest.mark.slow
@pytest.mark.parametrize("family", [nb.Histogram(cells=6), nb.Histogram.ordered([6, 4, 2])], ids=["numbers", "levels"])
def test_bayes_theorem_with_joined_cells(family, rng, key):
    """prior x likelihood = evidence x posterior at draws, most of which have fewer cuts than cells."""
    from tests.laws import prior_density

    X, y = rng.normal(size=(30, 3)) + np.arange(30)[:, None] % 2, np.arange(30) % 2
    X = np.clip(np.round(X), 0, [5, 3, 1]) if family.levels else X
    post = nb.fit_posterior(nb.NaiveBayes(family), X, y)
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
        ({"levels": (3,)}, "levels are those of nb.Histogram.ordered"),
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


# ordered categories


def by_joining(counts, levels):
    """log p(level | k), [K, C], and the log evidence, from every way to join neighbours; counts [K, C] of rows."""
    size = len(levels)
    logs, means = [], []
    for cuts in itertools.product([0, 1], repeat=size - 1):
        segment = np.cumsum([0, *cuts])
        width = np.bincount(segment)
        own = np.array([np.bincount(segment, row) for row in counts])
        of_prior = np.log(8) + betaln(sum(cuts) + 8, size - sum(cuts))  # p ~ Beta(8, 1), cuts with probability p
        each = gammaln(width + own) - gammaln(width) - own * np.log(width)
        logs.append(of_prior + (each.sum(axis=1) + gammaln(size) - gammaln(size + own.sum(axis=1))).sum())
        shares = (width + own) / (size + own.sum(axis=1, keepdims=True))
        means.append((shares / width)[:, segment])
    return np.log(np.einsum("c,ckl->kl", softmax(logs), means)), logsumexp(logs)


def test_ordered_levels_average_over_all_ways_to_join_neighbours(rng, tmp_path):
    """Of columns with as many levels; those with fewer have no others, and cells may be missing."""
    y = np.arange(40) % 3
    X = np.stack([rng.integers(0, 4, 40), np.minimum(rng.integers(0, 3, 40) + y, 3)], axis=1).astype(float)
    X[::9, 0] = np.nan
    post = nb.fit_posterior(nb.NaiveBayes(nb.Histogram.ordered([4, 4])), X, y)
    counts = np.array([[[(X[y == k, d] == c).sum() for c in range(4)] for k in range(3)] for d in range(2)])
    logs, evidence = zip(*(by_joining(table, range(4)) for table in counts), strict=True)
    rows = np.array(list(itertools.product(range(4), repeat=2)), float)
    joint = np.log(post.model.class_mean())[None] + sum(table.T[rows[:, d].astype(int)] for d, table in enumerate(logs))
    with jax.enable_x64(True):
        assert_allclose(post.log_joint(rows), joint, rtol=1e-9)
    of_labels = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), num_classes=3), np.full((40, 1), np.nan), y).log_evidence
    assert_allclose(post.log_evidence - of_labels, sum(evidence), rtol=1e-9)
    nb.save(post, tmp_path / "fit")
    assert_array_equal(nb.load(tmp_path / "fit").predict_proba(rows), post.predict_proba(rows))
    fewer = nb.NaiveBayes({"x": nb.Histogram.ordered([4]), "z": nb.Histogram.ordered([1])})
    fit = nb.fit_posterior(fewer, {"x": X[:, 1:], "z": np.zeros((40, 1))}, y)
    alone = nb.fit_posterior(nb.NaiveBayes(nb.Histogram.ordered([4])), X[:, 1:], y)
    assert_allclose(fit.predict_proba({"x": X[:, 1:], "z": np.zeros((40, 1))}), alone.predict_proba(X[:, 1:]))
    for wrong in ([], [3, 0]):
        with pytest.raises(ValueError, match="takes the number of levels of each column"):
            nb.Histogram.ordered(wrong)


def test_ordered_columns_know_only_their_own_sizes_and_rows_leave_exactly(rng):
    """Numpy's rows and JAX's: a column of two levels beside one of six, and each row left out as if refitted."""
    y = np.arange(24) % 2
    X = np.stack([rng.integers(0, 6, 24), np.minimum(rng.integers(0, 2, 24) + y, 1)], axis=1).astype(float)
    model, alone = nb.NaiveBayes(nb.Histogram.ordered([6, 2])), nb.NaiveBayes(nb.Histogram.ordered([2]))
    both = nb.fit_posterior(model, X, y).predict_log_proba(np.where([True, False], np.nan, X))
    assert_allclose(both, nb.fit_posterior(alone, X[:, 1:], y).predict_log_proba(X[:, 1:]), rtol=1e-9)
    left = nb.leave_one_out(model, X, y)
    for n in (0, 7, 23):
        others = np.arange(24) != n
        refit = nb.fit_posterior(model, X[others], y[others])
        assert_allclose(left[n], refit.predict_log_proba(X[n : n + 1])[0], rtol=1e-9)
    with jax.enable_x64(True):
        by_jax = nb.fit_posterior(model, jax.numpy.asarray(X), jax.numpy.asarray(y)).predict_log_proba(
            jax.numpy.asarray(X)
        )
        assert_allclose(by_jax, nb.fit_posterior(model, X, y).predict_log_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("ordered", "num_rows", "most"), [(True, 20, -0.01), (True, 100, 0.0), (False, 100, 0.005), (False, 20, 0.005)]
)
def test_few_rows_say_more_of_ordered_levels_than_of_free_ones(ordered, num_rows, most):
    """The mean log loss less that of ``Categorical``, of thresholds of a Normal in five columns, or of free levels."""
    size, changes = 7, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, cuts = np.arange(num_rows + 300) % 2, np.sort(rng.normal(size=(5, size - 1)), axis=1)
        latent = rng.normal(rng.normal(0.0, 0.8, (2, 5))[y], 1.0)
        X = np.stack([np.searchsorted(*pair) for pair in zip(cuts, latent.T, strict=True)], axis=1)
        if not ordered:
            shares = rng.dirichlet(np.ones(size), (2, 5))[y].cumsum(axis=2)
            X = np.minimum((rng.random((len(y), 5, 1)) > shares).sum(axis=2), size - 1)
        losses = []
        for family in (nb.Histogram.ordered([size] * 5), nb.Categorical(size)):
            post = nb.fit_posterior(nb.NaiveBayes(family), X[:num_rows], y[:num_rows])
            losses.append(-post.predict_log_proba(X[num_rows:])[np.arange(300), y[num_rows:]].mean())
        changes.append(losses[0] - losses[1])
    assert np.mean(changes) < most
