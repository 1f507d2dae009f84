"""Binomial and Poisson columns against scipy's densities and conjugacy worked out on paper."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb

K, N = 3, 30
Y = np.repeat(np.arange(K), [14, 10, 6])
RANDOM = np.random.default_rng(11)
TOTALS = {
    "number": 7,
    "columns": (4, 9, 1),
    "pair": None,
}
CELLS = {
    "number": np.full((N, 3), 7),
    "columns": np.tile([4, 9, 1], (N, 1)),
    "pair": RANDOM.integers(0, 12, (N, 3)),
}
SUCCESSES = {name: RANDOM.binomial(totals, 0.2 + 0.25 * Y[:, None]) for name, totals in CELLS.items()}
EVENTS = RANDOM.poisson([1.0, 20.0, 0.1] * (1 + Y[:, None]), (N, 3))
FITS = [nb.fit_mle, nb.fit_map, nb.fit_posterior]


def host(x):
    return jax.tree.map(np.asarray, x)


def device(x):
    return jax.tree.map(jnp.asarray, x)


both = pytest.mark.parametrize("lane", [host, device])
each_kind_of_total = pytest.mark.parametrize("name", TOTALS)
on_a_device_too = pytest.mark.parametrize(
    ("lane", "name"), [(host, "number"), (host, "columns"), (host, "pair"), (device, "pair")]
)


def tolerance(lane):
    return {"rtol": 1e-9, "atol": 1e-9} if lane is host or jax.config.jax_enable_x64 else {"rtol": 2e-5, "atol": 2e-4}


def rows(name, successes=None):
    """X as the model takes it: successes, beside their totals where those are not part of the model."""
    x = SUCCESSES[name] if successes is None else successes
    return (x, CELLS[name]) if name == "pair" else x


def binomial(name, **prior):
    return nb.NaiveBayes(nb.Binomial(TOTALS[name], **prior), num_classes=K)


def sums(x):
    return np.array([x[k == Y].sum(axis=0) for k in range(K)])


def class_counts():
    return np.bincount(Y, minlength=K)


def log_class_mean(counts):
    return np.log((counts + 1) / (counts + 1).sum())


def product_of_predictions(log_predictive):
    """log p(X, y), row after row; ``log_predictive(n, k)`` scores row n from the rows of class k before it."""
    total = 0.0
    for n, k in enumerate(Y):
        total += log_class_mean(np.bincount(Y[:n], minlength=K))[k] + log_predictive(n, k)
    return total


@on_a_device_too
def test_binomial_densities_are_scipys(lane, name):
    fit = nb.fit_mle(binomial(name), lane(rows(name)), lane(Y))
    share = sums(SUCCESSES[name]) / sums(CELLS[name])
    assert_allclose(fit.params["x_probs"], share, rtol=1e-5 if lane is device else 1e-12)
    likelihood = stats.binom.logpmf(SUCCESSES[name][:, None], CELLS[name][:, None], share).sum(axis=2)
    expected = likelihood + np.log(class_counts() / N)
    assert_allclose(fit.log_joint(lane(rows(name))), expected, **tolerance(lane))


@on_a_device_too
def test_binomial_predictive_is_scipys_beta_binomial(lane, name):
    a, b = np.array([0.7, 2.0, 1.0]), np.array([[1.5], [0.5], [3.0]])
    fit = nb.fit_posterior(binomial(name, a=a, b=b), lane(rows(name)), lane(Y))
    wins, losses = a + sums(SUCCESSES[name]), b + sums(CELLS[name] - SUCCESSES[name])
    terms = stats.betabinom.logpmf(SUCCESSES[name][:, None], CELLS[name][:, None], wins, losses)
    expected = terms.sum(axis=2) + log_class_mean(class_counts())
    assert_allclose(fit.log_joint(lane(rows(name))), expected, **tolerance(lane))


@each_kind_of_total
def test_binomial_evidence_is_a_product_of_scipys_predictions(name):
    x, t = SUCCESSES[name], CELLS[name]

    def predictive(n, k):
        before = (np.arange(N) < n) & (k == Y)
        wins, losses = 2.0 + x[before].sum(axis=0), 0.5 + (t - x)[before].sum(axis=0)
        return stats.betabinom.logpmf(x[n], t[n], wins, losses).sum()

    fit = nb.fit_posterior(binomial(name, a=2.0, b=0.5), rows(name), Y)
    assert_allclose(fit.log_evidence, product_of_predictions(predictive), rtol=1e-10)


def test_binomial_map_is_smoothed():
    fit = nb.fit_map(nb.NaiveBayes(nb.Binomial.laplace(7, 2.0)), SUCCESSES["number"], Y)
    expected = (sums(SUCCESSES["number"]) + 2) / (sums(CELLS["number"]) + 4)
    assert_allclose(fit.params["x_probs"], expected, rtol=1e-12)


@pytest.mark.parametrize("fit", FITS)
def test_totals_may_stand_in_the_model_or_beside_the_rows(fit):
    x, t = SUCCESSES["columns"], CELLS["columns"]
    declared = fit(binomial("columns"), x, Y)
    beside = fit(binomial("pair"), (x, t), Y)
    assert_allclose(beside.log_joint((x, t)), declared.log_joint(x), rtol=1e-12)


@pytest.mark.parametrize("fit", FITS)
def test_one_trial_is_a_bernoulli(fit):
    flags = np.where(RANDOM.random((N, 2)) < 0.2, np.nan, RANDOM.integers(0, 2, (N, 2)))
    one, coin = (fit(nb.NaiveBayes(f), flags, Y) for f in (nb.Binomial(1, a=0.5, b=2.0), nb.Bernoulli(a=0.5, b=2.0)))
    assert_allclose(one.log_joint(flags), coin.log_joint(flags), rtol=1e-12)
    if fit is nb.fit_posterior:
        assert_allclose(one.log_evidence, coin.log_evidence, rtol=1e-12)


WAYS = {"successes": (np.nan, 5.0), "totals": (2.0, np.nan), "both": (np.nan, np.nan), "untried": (0.0, 0.0)}


@pytest.mark.parametrize("way", WAYS)
@both
def test_a_cell_is_missing_where_either_part_is_or_nothing_was_tried(lane, way):
    x, t = SUCCESSES["pair"].astype(float), CELLS["pair"].astype(float)
    x[::2, 1], t[::2, 1] = WAYS[way]
    fit = nb.fit_mle(binomial("pair"), lane((x, t)), lane(Y))
    seen = np.ones((N, 3), bool)
    seen[::2, 1] = False
    wins, tried = sums(np.where(seen, SUCCESSES["pair"], 0)), sums(np.where(seen, CELLS["pair"], 0))
    assert_allclose(fit.params["x_probs"], wins / tried, rtol=1e-6)
    terms = stats.binom.logpmf(SUCCESSES["pair"][:, None], CELLS["pair"][:, None], wins / tried)
    expected = np.where(seen[:, None], terms, 0.0).sum(axis=2) + np.log(class_counts() / N)
    assert_allclose(fit.log_joint(lane((x, t))), expected, **tolerance(lane))


@pytest.mark.parametrize("fit", FITS)
def test_an_untried_row_tells_nothing(fit):
    result = fit(binomial("pair"), rows("pair"), Y).with_class_probs([0.2, 0.3, 0.5])
    assert_allclose(result.predict_proba((np.zeros((1, 3)), np.zeros((1, 3)))), [[0.2, 0.3, 0.5]], rtol=1e-12)


@both
def test_a_class_in_which_an_outcome_is_impossible_never_wins(lane):
    """Class 0 has seen no success, class 2 no failure."""
    x, y = np.array([[0], [0], [2], [3], [5], [5]]), np.repeat([0, 1, 2], 2)
    fit = nb.fit_mle(nb.NaiveBayes(nb.Binomial(5), num_classes=3), lane(x), lane(y))
    assert_array_equal(fit.params["x_probs"], [[0.0], [0.5], [1.0]])
    cells = np.arange(6)
    joint = np.stack([cells == 0, stats.binom.pmf(cells, 5, 0.5), cells == 5], axis=1) / 3
    assert_allclose(np.exp(fit.log_joint(lane(cells[:, None]))), joint, rtol=1e-6)
    proba = fit.predict_proba(lane(cells[:, None]))
    assert_allclose(proba, joint / joint.sum(axis=1, keepdims=True), rtol=1e-6)


SMALL = {"x": RANDOM.integers(0, 2, (600, 3)) * 37 + 60, "y": np.arange(600) % 3}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float16, np.float32])
@pytest.mark.parametrize("name", ["poisson", "binomial"])
def test_the_type_of_the_counts_makes_no_difference(name, dtype):
    """Sums of small integers must not wrap around in their own type."""
    x, t, y = SMALL["x"], np.full((600, 3), 120), SMALL["y"]
    plain = x if name == "poisson" else (x, t)
    typed = jax.tree.map(lambda a: a.astype(dtype), plain)
    model = nb.NaiveBayes(nb.Poisson() if name == "poisson" else nb.Binomial(None))
    fit = nb.fit_posterior(model, plain, y)
    expected = fit.log_joint(plain)
    assert_allclose(nb.fit_posterior(model, typed, y).log_joint(typed), expected, rtol=1e-6)
    assert_allclose(nb.fit_posterior(model, typed, y).log_evidence, fit.log_evidence, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
@pytest.mark.parametrize("name", ["poisson", "binomial"])
def test_the_type_of_the_counts_makes_no_difference_on_a_device(name, dtype):
    x, t, y = SMALL["x"], np.full((600, 3), 120), SMALL["y"]
    plain = x if name == "poisson" else (x, t)
    typed = jax.tree.map(lambda a: jnp.asarray(a, dtype), plain)
    model = nb.NaiveBayes(nb.Poisson() if name == "poisson" else nb.Binomial(None))
    expected = nb.fit_mle(model, plain, y).log_joint(plain)
    assert_allclose(nb.fit_mle(model, typed, y).log_joint(typed), expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["poisson", "binomial", "multinomial"])
def test_sums_of_integers_on_a_device_do_not_overflow(name):
    """4,000 cells of 2e6 add up to 8e9, beyond int32."""
    x, y = np.full((4000, 2), [1_500_000, 500_000]), np.arange(4000) % 2
    family, site, expected = {
        "poisson": (nb.Poisson(), "x_rate", [1.5e6, 5e5]),
        "binomial": (nb.Binomial(2_000_000), "x_probs", [0.75, 0.25]),
        "multinomial": (nb.Multinomial(), "x_probs", [0.75, 0.25]),
    }[name]
    fit = nb.fit_mle(nb.NaiveBayes(family), jnp.asarray(x, jnp.int32), jnp.asarray(y))
    assert_allclose(fit.params[site], [expected] * 2, rtol=1e-5)


def test_pairs_and_counts_beside_other_blocks():
    """log p(y, x) is the sum over blocks, less the class prior counted more than once."""
    X = {"tries": rows("pair"), "events": EVENTS, "size": RANDOM.normal(size=(N, 3))}
    families = {"tries": nb.Binomial(None), "events": nb.Poisson(), "size": nb.Normal()}
    whole = nb.fit_posterior(nb.NaiveBayes(families), X, Y)
    parts = [nb.fit_posterior(nb.NaiveBayes(families[name]), X[name], Y) for name in X]
    log_joint = sum(part.log_joint(X[name]) for name, part in zip(X, parts, strict=True))
    assert_allclose(whole.log_joint(X), log_joint - 2 * log_class_mean(class_counts()), rtol=1e-10)


def poisson(**prior):
    return nb.NaiveBayes(nb.Poisson(**prior), num_classes=K)


@both
def test_poisson_densities_are_scipys(lane):
    fit = nb.fit_mle(poisson(), lane(EVENTS), lane(Y))
    rate = sums(EVENTS) / class_counts()[:, None]
    expected = stats.poisson.logpmf(EVENTS[:, None], rate).sum(axis=2) + np.log(class_counts() / N)
    assert_allclose(fit.log_joint(lane(EVENTS)), expected, **tolerance(lane))


@both
def test_poisson_predictive_is_scipys_negative_binomial(lane):
    shape, rate = np.array([0.5, 2.0, 1.0]), np.array([[1.0], [0.3], [4.0]])
    fit = nb.fit_posterior(poisson(shape=shape, rate=rate), lane(EVENTS), lane(Y))
    a, r = shape + sums(EVENTS), rate + class_counts()[:, None]
    expected = stats.nbinom.logpmf(EVENTS[:, None], a, r / (r + 1)).sum(axis=2) + log_class_mean(class_counts())
    assert_allclose(fit.log_joint(lane(EVENTS)), expected, **tolerance(lane))


def test_poisson_evidence_is_a_product_of_scipys_predictions():
    def predictive(n, k):
        before = (np.arange(N) < n) & (k == Y)
        a, r = 1.5 + EVENTS[before].sum(axis=0), 0.4 + before.sum()
        return stats.nbinom.logpmf(EVENTS[n], a, r / (r + 1)).sum()

    fit = nb.fit_posterior(poisson(shape=1.5, rate=0.4), EVENTS, Y)
    assert_allclose(fit.log_evidence, product_of_predictions(predictive), rtol=1e-10)


def test_poisson_map_is_the_mode_of_a_gamma():
    fit = nb.fit_map(poisson(shape=3.0, rate=2.0), EVENTS, Y)
    assert_allclose(fit.params["x_rate"], (sums(EVENTS) + 2) / (class_counts()[:, None] + 2), rtol=1e-12)


def test_a_rate_of_none_is_in_the_unit_of_each_column():
    """The prior mean shape / rate is the column's pooled mean; a column of zeros has rate one."""
    x = np.c_[EVENTS, np.zeros(N, int)]
    prior = nb.fit_posterior(poisson(shape=2.0, rate=None), x, Y).prior.families["x"]
    assert_allclose((prior.shape / prior.rate)[:, :3], np.tile(EVENTS.mean(axis=0), (K, 1)), rtol=1e-6)
    assert_array_equal(prior.rate[:, 3], 1)


@both
def test_a_class_that_never_saw_an_event_wins_only_without_one(lane):
    x, y = np.array([[0, 3], [0, 5], [2, 4], [4, 0]]), np.array([0, 0, 1, 1])
    fit = nb.fit_mle(nb.NaiveBayes(nb.Poisson(), num_classes=2), lane(x), lane(y))
    assert_array_equal(fit.params["x_rate"], [[0, 4], [3, 2]])
    proba = np.asarray(fit.predict_proba(lane(np.array([[1, 4], [0, 4]]))))
    assert_array_equal(proba[0], [0, 1])
    weights = stats.poisson.pmf(4, 4), stats.poisson.pmf(0, 3) * stats.poisson.pmf(4, 2)
    assert_allclose(proba[1], np.array(weights) / sum(weights), rtol=1e-6)
    one_event = np.asarray(fit.log_joint(lane(np.array([[1, 4]]))))
    assert one_event[0, 0] == -np.inf


@both
def test_poisson_class_without_rows(lane):
    """It is impossible for the MLE; the posterior predicts it from the prior."""
    y = np.where(Y == 1, 2, Y)
    assert_array_equal(nb.fit_mle(poisson(), lane(EVENTS), lane(y)).predict_proba(lane(EVENTS))[:, 1], 0)
    fit = nb.fit_posterior(poisson(shape=1.5, rate=0.4), lane(EVENTS), lane(y))
    expected = stats.nbinom.logpmf(EVENTS, 1.5, 0.4 / 1.4).sum(axis=1) + np.log(1 / (N + K))
    assert_allclose(np.asarray(fit.log_joint(lane(EVENTS)))[:, 1], expected, **tolerance(lane))


def test_binomial_class_without_rows():
    y, (x, t) = np.where(Y == 1, 2, Y), rows("pair")
    assert_array_equal(nb.fit_mle(binomial("pair"), (x, t), y).predict_proba((x, t))[:, 1], 0)
    fit = nb.fit_posterior(binomial("pair", a=1.5, b=0.4), (x, t), y)
    expected = stats.betabinom.logpmf(x, t, 1.5, 0.4).sum(axis=1) + np.log(1 / (N + K))
    assert_allclose(fit.log_joint((x, t))[:, 1], expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_a_million_events_a_cell_keep_their_digits(dtype):
    """In numpy arrays of any type, against scipy in float64."""
    x = RANDOM.poisson([[1e6], [1.002e6]], (2, 4))
    x, y = np.concatenate([x, x + 500]), np.array([0, 1, 0, 1])
    rate = np.array([x[y == k].mean(axis=0) for k in (0, 1)])
    known = nb.fit_mle(nb.NaiveBayes(nb.Poisson()), x.astype(dtype), y)
    expected = stats.poisson.logpmf(x[:, None], rate).sum(axis=2) + np.log(0.5)
    assert_allclose(known.log_joint(x.astype(dtype)), expected, rtol=0, atol=1e-3)
    a, r = 1 + 2 * rate, 3.0
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Poisson()), x.astype(dtype), y)
    expected = stats.nbinom.logpmf(x[:, None], a, r / (r + 1)).sum(axis=2) + np.log(0.5)
    assert_allclose(fit.log_joint(x.astype(dtype)), expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize("fit", FITS)
def test_many_trials_keep_their_digits(fit):
    t = np.full((4, 2), 1_000_000)
    x, y = np.array([[300_000, 10], [301_000, 12], [299_000, 8], [303_000, 11]]), np.array([0, 1, 0, 1])
    result = fit(nb.NaiveBayes(nb.Binomial(None)), (x.astype(np.float32), t.astype(np.float32)), y)
    wins = np.array([x[y == k].sum(axis=0) for k in (0, 1)])
    if fit is nb.fit_posterior:
        terms = stats.betabinom.logpmf(x[:, None], t[:, None], 1 + wins, 1 + 2_000_000 - wins)
    else:
        terms = stats.binom.logpmf(x[:, None], t[:, None], wins / 2_000_000)
    expected = terms.sum(axis=2) + np.log(0.5)
    got = result.log_joint((x.astype(np.float32), t.astype(np.float32)))
    assert_allclose(got, expected, rtol=0, atol=1e-3)


def test_poisson_given_its_total_is_multinomial():
    """prod_d Poisson(x_d | l_d) = Poisson(n | sum l) Multinomial(x | n, l / sum l)."""
    rate, class_probs = np.array([[1.0, 2.0, 0.5], [4.0, 0.2, 3.0]]), [0.3, 0.7]
    counts = nb.PointEstimate(nb.NaiveBayes(nb.Poisson()), {"class_probs": class_probs, "x_rate": rate})
    share = rate / rate.sum(axis=1, keepdims=True)
    words = nb.PointEstimate(nb.NaiveBayes(nb.Multinomial()), {"class_probs": class_probs, "x_probs": share})
    total = stats.poisson.logpmf(EVENTS.sum(axis=1)[:, None], rate.sum(axis=1))
    assert_allclose(counts.log_joint(EVENTS), words.log_joint(EVENTS) + total, rtol=1e-10)


def test_missing_counts_are_left_out():
    x = EVENTS.astype(float)
    x[::3, 1] = np.nan
    fit = nb.fit_posterior(poisson(), x, Y)
    terms = []
    for d in range(3):
        seen = ~np.isnan(x[:, d])
        total = np.array([x[seen & (k == Y), d].sum() for k in range(K)])
        cells = np.array([(seen & (k == Y)).sum() for k in range(K)])
        p = (1 + cells) / (2 + cells)
        terms.append(np.where(seen[:, None], stats.nbinom.logpmf(EVENTS[:, d, None], 1 + total, p), 0.0))
    assert_allclose(fit.log_joint(x), sum(terms) + log_class_mean(class_counts()), rtol=1e-10)
