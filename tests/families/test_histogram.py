"""Histogram: the exact average over all cuts, its edges, draws and modes."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import comb, gammaln, logsumexp, softmax

import bayesnb as nb
from bayesnb.arrays._compute import interpret
from bayesnb.families.parts._bin_statistics import find_edges
from bayesnb.families.parts._bins import NumbersInBins
from bayesnb.primitives._codes import find_bins

TOTALS = (1.0, 4.0)


def resolved(counts, edges=None, total=TOTALS):
    """A posterior's family for cells with these counts [K, D, G], and masses that these counts give."""
    counts = np.asarray(counts, float)
    edges = np.arange(counts.shape[2] - 1.0) if edges is None else edges
    statistics = nb.NaiveBayes(nb.Histogram(edges=edges, total=total), num_classes=len(counts))
    centres = np.concatenate([edges - 0.5, edges[-1:] + 0.5])
    rows = np.tile(centres[:, None], (len(counts), counts.shape[1]))
    labels = np.repeat(np.arange(len(counts)), len(centres))
    # rows of the columns together: the same number of each cell in every column
    assert (counts == counts[:, :1]).all()
    return nb.fit_posterior(statistics, rows, labels, sample_weight=counts[:, 0].reshape(-1))


def predicted(post):
    """The cells' predictive probabilities, [K, D, G]."""
    own = post.model.families["x"]
    return np.exp(interpret(type(own).predictive_tables, own).finite).reshape(own.counts.shape)


def log_dirichlet_multinomial(mass, counts, total):
    return (
        gammaln(total) - gammaln(total + counts.sum()) + (gammaln(total * mass + counts) - gammaln(total * mass)).sum()
    )


def enumerate_models(mass, counts):
    """Every total and set of cuts: the log of prior times likelihood, and the cells' predictive [K, G]."""
    size = counts.shape[1]
    logs, tables = [], []
    for total, bits in itertools.product(TOTALS, itertools.product([0, 1], repeat=size - 1)):
        segment = np.concatenate([[0], np.cumsum(bits)])
        q, c = np.bincount(segment, mass), np.array([np.bincount(segment, row) for row in counts])
        log = -np.log(len(TOTALS)) - np.log(size) - np.log(comb(size - 1, sum(bits)))
        log += sum(log_dirichlet_multinomial(q, row, total) for row in c)
        share = mass / q[segment]
        log += (counts.sum(axis=0) * np.log(share)).sum()
        means = (total * q + c) / (total + c.sum(axis=1, keepdims=True))
        logs.append(log)
        tables.append(means[:, segment] * share)
    return np.array(logs), np.array(tables)


@pytest.mark.parametrize(
    ("num_classes", "size", "scale"),
    [pytest.param(2, 10, 3, marks=pytest.mark.slow), (3, 7, 1), (2, 6, 2000), (4, 5, 0.3)],
)
def test_it_is_the_average_over_all_cuts(num_classes, size, scale, rng):
    counts = rng.poisson(scale * rng.dirichlet(np.ones(size), num_classes) * size)[:, None].astype(float)
    counts[:, :, 0] += counts.sum() == 0
    post = resolved(counts)
    own = post.model.families["x"]
    mass = np.asarray(own.mass)[0, 0]
    logs, tables = enumerate_models(mass, counts[:, 0])
    evidence = logsumexp(logs)
    shares = softmax(logs)  # adds up to one, as exp(logs - evidence) does not if the logs are large
    expected = np.einsum("m,mkg->kg", shares, tables)
    assert_allclose(predicted(post)[:, 0], expected, rtol=1e-12)
    base = interpret(type(own).log_base_measure, post.prior.families["x"], post.statistics.blocks["x"])[0, 0]
    inside = base - (counts[:, 0].sum(axis=0) * np.log(mass)).sum()
    assert_allclose(post.evidence_table().features["x"][0, 0], evidence + inside, rtol=1e-12)
    bits = np.array([*itertools.product([0, 1], repeat=size - 1)] * len(TOTALS))
    assert_allclose(own.cut_probability()[0], shares @ bits, atol=1e-12)
    assert_allclose(own.no_cut_probability()[0], shares @ (bits.sum(axis=1) == 0), atol=1e-12)
    best = nb.fit_map(post.prior, statistics=post.statistics).params
    place = logs.argmax()
    assert best["x_cuts"][0].tolist() == bits[place].tolist()
    assert best["x_total"][0] == place // (1 << (size - 1))


def test_the_segments_of_a_map_are_dirichlet_modes(rng):
    counts = rng.poisson(6, (2, 1, 8)).astype(float)
    counts[0, :, :3] *= 4
    counts[1, :, 5:] *= 4
    post = resolved(counts)
    params, mass = (
        nb.fit_map(post.prior, statistics=post.statistics).params,
        np.asarray(post.model.families["x"].mass)[0, 0],
    )
    cuts, total = np.asarray(params["x_cuts"])[0], TOTALS[int(params["x_total"][0])]
    assert 0 < cuts.sum() < 7
    segment = np.concatenate([[0], np.cumsum(cuts)])
    for row, probs in zip(counts[:, 0], np.asarray(params["x_probs"])[:, 0], strict=True):
        a = total * np.bincount(segment, mass) + np.bincount(segment, row) - 1
        assert_allclose(probs, (a / a.sum())[segment] * mass / np.bincount(segment, mass)[segment], rtol=1e-9)


@pytest.mark.parametrize(
    "weight", [pytest.param(1.0, marks=pytest.mark.slow), 7.0, pytest.param(60.0, marks=pytest.mark.slow)]
)
def test_rows_leave_with_their_weight_as_if_they_had_never_been(weight, rng):
    X, y = rng.normal(size=(40, 2)) + np.arange(40)[:, None] % 2, np.arange(40) % 2
    weights = np.where(np.arange(40) < 8, weight, 1.0)
    prior = nb.NaiveBayes(nb.Histogram(cells=9)).resolve(X, y, sample_weight=weights)
    left = nb.leave_one_out(prior, X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(40), weights.astype(int))
    for n in (0, 3, 20):
        others = np.arange(40) != n
        refit = nb.fit_posterior(prior, X[others], y[others], sample_weight=weights[others])
        assert_allclose(left[n], refit.predict_log_proba(X[n : n + 1])[0], rtol=1e-9)
        rows = repeated[repeated != n]
        assert_allclose(
            left[n], nb.fit_posterior(prior, X[rows], y[rows]).predict_log_proba(X[n : n + 1])[0], rtol=1e-9
        )


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1.0, 7.0])
def test_rows_of_jax_leave_as_those_of_numpy(weight, rng):
    X, y = rng.normal(size=(40, 2)) + np.arange(40)[:, None] % 2, np.arange(40) % 2
    weights = np.where(np.arange(40) < 8, weight, 1.0)
    prior = nb.NaiveBayes(nb.Histogram(cells=9)).resolve(X, y, sample_weight=weights)
    left = nb.leave_one_out(prior, X, y, sample_weight=weights)
    by_jax = jax.jit(lambda X, y, w: nb.leave_one_out(prior, X, y, sample_weight=w))
    with jax.enable_x64(True):
        assert_allclose(by_jax(jnp.asarray(X), jnp.asarray(y), jnp.asarray(weights)), left, rtol=1e-8)


def test_rows_of_many_weights_leave_as_if_they_had_never_been(rng):
    """As many weights as rows, some of which outweigh all others: no table of weights, and nothing vanishes."""
    X, y = rng.normal(size=(30, 2)) + np.arange(30)[:, None] % 3, np.arange(30) % 3
    X[4, 1] = np.nan
    weights = rng.gamma(1.0, 3.0, 30) + 1e-3
    weights[:6] *= 1e4
    prior = nb.NaiveBayes(nb.Histogram(cells=9)).resolve(X, y, sample_weight=weights)
    left = nb.leave_one_out(prior, X, y, sample_weight=weights)
    for n in (0, 3, 4, 7, 20):
        others = np.arange(30) != n
        refit = nb.fit_posterior(prior, X[others], y[others], sample_weight=weights[others])
        assert_allclose(left[n], refit.predict_log_proba(X[n : n + 1])[0], rtol=1e-8)


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


def test_draws_are_from_the_posterior(rng, key):
    X, y = rng.normal(size=(60, 2)) + np.arange(60)[:, None] % 2, np.arange(60) % 2
    post = nb.fit_posterior(nb.NaiveBayes(nb.Histogram(cells=7)), X, y)
    own, draws = post.model.families["x"], post.sample(key, 4000)
    for drawn, expected in (
        (draws["x_cuts"], own.cut_probability()),
        (draws["x_cuts"].sum(axis=2) == 0, own.no_cut_probability()),
    ):
        error = np.sqrt(expected * (1 - expected) / 4000)
        assert (np.abs(drawn.mean(axis=0) - expected) < 5 * error + 1e-12).all()
    mean = predicted(post)
    error = draws["x_probs"].std(axis=0) / np.sqrt(4000)
    assert (np.abs(draws["x_probs"].mean(axis=0) - mean) < 5 * error).all()


# edges


def test_edges_lie_between_values_and_atoms_have_their_own():
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=2000), rng.exponential(size=2000), rng.integers(0, 9, 2000), np.full(2000, 3.0)]
    columns[1][rng.random(2000) < 0.6] = 0.0
    X = np.stack(columns, axis=1)
    edges, atoms = find_edges(X, None, 32)
    counts = [np.bincount(find_bins(X[:, [d]], edges[[d]])[:, 0]) for d in range(4)]
    assert len(counts[0]) == 32
    assert np.ptp(counts[0]) <= 1
    assert counts[1][0] == (X[:, 1] == 0).sum()
    assert np.ptp(counts[1][1:]) <= 1
    assert atoms[1, 0] == 0
    assert np.isinf(atoms[1, 1:]).all()
    assert_allclose(edges[2, :8], np.arange(8) + 0.5)
    assert atoms[2, :9].tolist() == [*range(9)]
    assert np.isinf(edges[3]).all()
    assert atoms[3, 0] == 3
    assert not np.isin(edges[:, :8], X).any()


def test_weights_are_repetitions_in_edges():
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(90, 2)).round(1), rng.integers(0, 4, 90)
    for one, other in zip(
        find_edges(X, weight.astype(float), 12), find_edges(np.repeat(X, weight, axis=0), None, 12), strict=True
    ):
        assert_allclose(one, other)


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


@pytest.mark.slow
def test_densities_integrate_to_one_and_draws_have_them():
    rng = np.random.default_rng(2)
    X = np.stack([rng.normal(size=500), rng.exponential(size=500)], axis=1)
    X[rng.random(500) < 0.4, 1] = 0.0
    edges, atoms = find_edges(X, None, 6)
    probs = rng.dirichlet(np.ones(6), 2) * np.isfinite(np.c_[np.zeros(2), edges])
    probs /= probs.sum(axis=1, keepdims=True)
    law = NumbersInBins(probs, edges, atoms)
    grid = np.linspace(-60, 60, 600_001)
    density = np.exp(np.asarray(law.log_prob(np.stack([grid, grid], axis=1))))
    assert_allclose(density[:, 0].sum() * np.diff(grid)[0], 1.0, rtol=1e-3)
    outside = ~(find_bins(grid[:, None], edges[1:])[:, 0] == 0)
    assert_allclose(density[outside, 1].sum() * np.diff(grid)[0] + probs[1, 0], 1.0, rtol=1e-3)
    draws = np.asarray(law.sample(jax.random.key(0), (20_000,)))
    for d in range(2):
        found = np.bincount(find_bins(draws[:, [d]], edges[[d]])[:, 0], minlength=6) / 20_000
        assert (np.abs(found - probs[d]) < 5 * np.sqrt(probs[d] / 20_000) + 1e-12).all()
        error = draws[:, d].std() / np.sqrt(20_000)
        assert abs(draws[:, d].mean() - np.asarray(law.mean)[d]) < 5 * error
    inner = draws[find_bins(draws[:, [0]], edges[:1])[:, 0] == 2, 0]
    assert stats.kstest(inner, stats.uniform(edges[0, 1], edges[0, 2] - edges[0, 1]).cdf).pvalue > 1e-3


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
def test_a_block_without_columns_says_nothing(rng, key):
    y = np.arange(12) % 2
    X = {"none": np.zeros((12, 0)), "some": rng.normal(size=(12, 2))}
    both, alone = nb.NaiveBayes({"none": nb.Histogram(), "some": nb.Normal()}), nb.NaiveBayes(nb.Normal())
    for fit in (nb.fit_posterior, nb.fit_map, nb.fit_mle):
        assert_allclose(fit(both, X, y).log_joint(X), fit(alone, X["some"], y).log_joint(X["some"]), rtol=1e-12)
    post = nb.fit_posterior(both, X, y)
    assert_allclose(post.log_evidence, nb.fit_posterior(alone, X["some"], y).log_evidence, rtol=1e-12)
    assert post.sample(key, 3)["none_cuts"].shape == (3, 0, 31)


@pytest.mark.slow
@pytest.mark.parametrize("num_rows", [1000, 8000])
def test_columns_without_a_say_are_found(num_rows):
    """The probability of no cut is above .9 in 95 % of columns that do not depend on the class."""
    rng = np.random.default_rng(num_rows)
    X, y = rng.normal(size=(num_rows, 200)), np.arange(num_rows) % 2
    own = nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), X, y).model.families["x"]
    assert (own.no_cut_probability() > 0.9).mean() >= 0.95


@pytest.mark.slow
def test_more_rows_say_more_clearly_that_a_column_says_nothing():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(16_000, 100)), np.arange(16_000) % 2
    found = [
        nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), X[:n], y[:n]).model.families["x"].no_cut_probability().mean()
        for n in (250, 1000, 4000, 16_000)
    ]
    assert (np.diff(found) > 0).all()


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
