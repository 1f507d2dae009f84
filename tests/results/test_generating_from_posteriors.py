"""Rows of a posterior come from its exact predictive, those of draws from a mixture; they check a model."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

import bayesnb as nb
from tests.results.generated import FAMILIES, MANY, TOTALS, K, X, Y, frequencies_agree, students_agree


def planes_agree(family, x, y, name):
    """The squared distance of a multivariate t is an F."""
    for k in range(K):
        row = 0 if name == "plane" else k
        free = family.df[row] - 1
        scale = family.scale[row] * (family.strength[k] + 1) / (family.strength[k] * free)
        z = np.linalg.solve(np.linalg.cholesky(scale), (x[y == k] - family.loc[k]).T)
        assert stats.kstest(np.square(z).sum(axis=0) / 2, stats.f(2, free).cdf).pvalue > 1e-4
        assert stats.kstest(z[0], stats.t(free).cdf).pvalue > 1e-4


@pytest.mark.slow
def test_every_block_of_the_posterior_predictive(key):
    post = nb.fit_posterior(nb.NaiveBayes(FAMILIES), X, Y)
    families, (rows, y) = post.model.families, post.generate(key=key, num_rows=MANY, total_count=TOTALS)
    for k in range(K):
        words = families["words"].concentration[k]
        counts = np.bincount(rows["words"][y == k, 0].astype(int), minlength=7)
        frequencies_agree(counts, stats.betabinom.pmf(np.arange(7), 6, words[0], words.sum() - words[0]))
        for d in range(2):
            for name, n, x in (
                ("wins", (3, 9)[d], rows["wins"]),
                ("trials", 11, rows["trials"][0]),
                ("flags", 1, rows["flags"]),
            ):
                counts = np.bincount(x[y == k, d].astype(int), minlength=n + 1)
                law = stats.betabinom(n, families[name].a[k, d], families[name].b[k, d])
                frequencies_agree(counts, law.pmf(np.arange(n + 1)))
            events = rows["events"][y == k, d].astype(int)
            shape, rate = families["events"].shape[k, d], families["events"].rate[k, d]
            law = stats.nbinom(shape, rate / (rate + 1))
            frequencies_agree(np.bincount(events, minlength=400), law.pmf(np.arange(max(400, events.max() + 1))))
    for name in ("own", "tied"):
        students_agree(families[name], rows[name], y, name)
    for name in ("bent", "plane"):
        planes_agree(families[name], rows[name], y, name)
    sets, labels = post.generate(key=key, num_rows=3, num_datasets=1024, total_count=TOTALS)
    assert labels.shape == (1024, 3)
    assert {name: np.shape(jax.tree.leaves(x)[0])[:2] for name, x in sets.items()} == dict.fromkeys(FAMILIES, (1024, 3))


def test_draws_generate_from_a_mixture_over_draws(key):
    """Two draws, in one of which all is 100 higher."""
    loc = np.array([[[0.0], [10.0]], [[100.0], [110.0]]])
    params = {"class_probs": np.full((2, 2), 0.5), "x_loc": loc, "x_variance": np.full((2, 2, 1), 1e-4)}
    model = nb.NaiveBayes(nb.Normal(), num_classes=2).resolve([[0.0], [1.0]], [0, 1])
    draws = nb.Draws(model, params, {}, 1)
    x, y = draws.generate(key=key, num_rows=400)
    assert_array_equal(np.round(x[:, 0], -1) % 100, 10 * y)
    assert 140 < (x > 50).sum() < 260
    sets, _ = draws.generate(key=key, num_rows=20, num_datasets=50)
    high = (sets[..., 0] > 50).mean(axis=1)
    assert set(high) == {0.0, 1.0}


# what it is for


def correlation_within_classes(x, y):
    """The largest correlation of two columns within a class, an aspect that Normal columns deny."""
    return max(abs(np.corrcoef(x[y == k], rowvar=False)[0, 1]) for k in range(K))


@pytest.mark.parametrize(("slope", "inside"), [(0.0, True), (0.9, False)])
def test_a_posterior_predictive_check_finds_what_the_model_denies(rng, key, slope, inside):
    """Independent columns lie amid the replications; correlated ones lie outside all of them."""
    y = np.arange(120) % K
    x = rng.normal(size=(120, 2)) + y[:, None]
    x[:, 1] += slope * (x[:, 0] - y)
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), x, y)
    sets = post.generate(key=key, num_rows=120, num_datasets=1024)
    replicated = [correlation_within_classes(*one) for one in zip(*sets, strict=True)]
    share = np.mean(np.array(replicated) >= correlation_within_classes(x, y))
    assert 0.02 < share < 0.98 if inside else share == 0
