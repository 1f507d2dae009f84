"""The average over all cuts against an enumeration: evidence, predictions, cuts, modes and draws."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import comb, gammaln, logsumexp, softmax

import bayesnb as nb
from bayesnb.compute.arrays._compute import interpret

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
    found = (bits == best["x_cuts"][0]).all(axis=1) & (np.arange(len(bits)) >> (size - 1) == best["x_total"][0])
    assert_allclose(logs[found], [logs.max()], rtol=1e-13)  # without cuts all totals are as good


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
