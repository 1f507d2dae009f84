"""Generated rows against the distributions that they are drawn from: moments, frequencies, scipy's tests."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

import bayesnb as nb
from tests.core.results.generated import (
    FAMILIES,
    MANY,
    TOTALS,
    K,
    N,
    X,
    Y,
    fitted,
    frequencies_agree,
    near,
    students_agree,
)


@pytest.fixture(scope="module")
def known():
    """A point estimate of all blocks."""
    return nb.fit_map(nb.NaiveBayes(FAMILIES), X, Y)


@pytest.fixture(scope="module")
def rows(known):
    """Many rows of it."""
    return known.generate(key=jax.random.key(7), num_rows=MANY, total_count=TOTALS)


@pytest.fixture(scope="module")
def post():
    """The posterior of two Normal columns."""
    return fitted("own", nb.fit_posterior)


@pytest.fixture(scope="module")
def post_rows(post):
    return post.generate(key=jax.random.key(8), num_rows=MANY)


# a point estimate generates from its parameters


@pytest.mark.slow
def test_classes_come_as_often_as_they_are_probable(rows, post_rows):
    frequencies_agree(np.bincount(rows[1], minlength=K), np.bincount(Y) / N)
    frequencies_agree(np.bincount(post_rows[1], minlength=K), (np.bincount(Y) + 1) / (N + K))


@pytest.mark.slow
@pytest.mark.parametrize("k", range(K))
def test_cells_of_a_point_estimate(known, rows, k):
    params, (X, y) = known.params, rows
    p, rate, share = (params[site][k] for site in ("flags_probs", "events_rate", "words_probs"))
    near(X["flags"][y == k], p, p * (1 - p))
    near(X["events"][y == k], rate, rate)
    near(X["words"][y == k], 6 * share, 6 * share * (1 - share))
    for d in range(2):
        wins, codes, events = (X[name][y == k, d].astype(int) for name in ("wins", "codes", "events"))
        frequencies_agree(
            np.bincount(wins, minlength=10), stats.binom.pmf(np.arange(10), (3, 9)[d], params["wins_probs"][k, d])
        )
        frequencies_agree(np.bincount(codes, minlength=(2, 4)[d]), params[f"codes_probs_{d}"][k])
        frequencies_agree(np.bincount(events, minlength=200), stats.poisson.pmf(np.arange(200), rate[d]))
        for name, variance in (("own", params["own_variance"][k, d]), ("tied", params["tied_variance"][d])):
            law = stats.norm(params[f"{name}_loc"][k, d], np.sqrt(variance))
            assert stats.kstest(X[name][y == k, d], law.cdf).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bent", "plane"])
def test_gaussian_rows_have_their_covariance(known, rows, name):
    params, (X, y) = known.params, rows
    for k in range(K):
        covariance = params[f"{name}_covariance"]
        covariance = covariance[k] if name == "bent" else covariance
        whitened = np.linalg.solve(np.linalg.cholesky(covariance), (X[name][y == k] - params[f"{name}_loc"][k]).T)
        near(whitened.T, 0, 1)
        near(np.prod(whitened, axis=0)[:, None], 0, 1)
        assert stats.kstest(np.square(whitened).sum(axis=0), stats.chi2(2).cdf).pvalue > 1e-4


@pytest.mark.slow
def test_a_pair_holds_its_totals(known, rows):
    X, y = rows
    successes, totals = X["trials"]
    assert_array_equal(totals, np.full((MANY, 2), 11))
    assert ((successes >= 0) & (successes <= totals)).all()
    assert_array_equal(X["words"].sum(axis=1), 6)
    counts = np.bincount(successes[y == 0, 0].astype(int), minlength=12)
    frequencies_agree(counts, stats.binom.pmf(np.arange(12), 11, known.params["trials_probs"][0, 0]))


@pytest.mark.slow
def test_columns_are_independent_given_the_class(rows):
    """Beside those of one covariance."""
    X, y = rows
    for k in range(K):
        table = np.c_[X["flags"], X["events"], X["wins"], X["own"], X["tied"]][y == k]
        correlation = np.corrcoef(table, rowvar=False)
        assert np.abs(correlation - np.eye(len(correlation))).max() < 5 / np.sqrt(len(table))


# data sets


def test_shapes_of_data_sets(known, key):
    X, y = known.generate(key=key, num_rows=8, num_datasets=5, total_count=TOTALS)
    assert y.shape == (5, 8)
    sizes = {name: np.shape(part[0] if isinstance(part, tuple) else part) for name, part in X.items()}
    assert sizes == {name: (5, 8, 3 if name == "words" else 2) for name in FAMILIES}
    assert [part.shape for part in X["trials"]] == [(5, 8, 2)] * 2


@pytest.mark.slow
def test_rows_of_a_data_set_have_their_parameters_in_common(post, post_rows, key):
    """The mean of m rows of one class is then Student's t with squared scale rate / shape (1 / strength + 1 / m); that
    of rows which have their own parameters varies less."""
    sets, labels = post.generate(key=key, num_rows=80, num_datasets=1024)
    family, m = post.model.families["x"], 20
    shape, rate, strength = family.shape[0, 0], family.rate[0, 0], family.strength[0, 0]
    law = stats.t(2 * shape, family.loc[0, 0], np.sqrt(rate / shape * (1 / strength + 1 / m)))
    together = [x[y == 0, 0][:m].mean() for x, y in zip(sets, labels, strict=True) if (y == 0).sum() >= m]
    x, y = post_rows
    apart = x[y == 0, 0][: m * 400].reshape(-1, m).mean(axis=1)
    assert stats.kstest(together, law.cdf).pvalue > 1e-4
    assert stats.levene(together, apart).pvalue < 1e-4
    assert np.std(apart) < np.std(together)


def test_more_data_sets_than_draws_fit_in_memory_at_once(post, key):
    """Pieces, of which the last is shorter, are joined, and none is drawn twice."""
    x, y = post.generate(key=key, num_rows=2, num_datasets=1500)
    assert x.shape == (1500, 2, 2)
    assert y.shape == (1500, 2)
    assert len(np.unique(x[..., 0])) == 3000


# rows as data


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
