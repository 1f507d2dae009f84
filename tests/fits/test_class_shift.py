import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.fits import _mixture_proportions as mixture_proportions

CENTRES = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 2.0]])
SHIFTED = np.array([0.1, 0.7, 0.2])
KNOWN = nb.PointEstimate(
    nb.NaiveBayes(nb.Normal()), {"class_probs": [0.4, 0.3, 0.3], "x_loc": CENTRES, "x_variance": np.ones((3, 2))}
)
TABLE = KNOWN.with_class_probs([1 / 3] * 3)


def rows(probs, num_rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(CENTRES[rng.choice(3, size=num_rows, p=probs)], 1.0)


def by_em(X, pseudo=0.0, steps=20_000):
    """The class probabilities of Saerens, Latinne and Decaestecker's iteration, with pseudo-counts for the MAP."""
    likelihood, probs = TABLE.predict_proba(X), np.full(3, 1 / 3)
    for _ in range(steps):
        share = probs * likelihood
        counts = (share / share.sum(axis=1, keepdims=True)).sum(axis=0) + pseudo
        probs = counts / counts.sum()
    return probs


@pytest.mark.parametrize("num_rows", [7, 200, 30_000])
def test_the_estimate_is_the_fixed_point_of_em(num_rows):
    X = rows(SHIFTED, num_rows)
    expected = by_em(X, steps=20_000 if num_rows < 1000 else 500)
    for method in ("mle", "map"):  # the same under Dirichlet(1)
        found = nb.estimate_class_probs(KNOWN, X, method=method).class_probs
        assert_allclose(found, expected, atol=2e-4)
        assert_allclose(found.sum(), 1.0, rtol=1e-12)


def test_each_step_looks_at_the_rows_once(monkeypatch):
    """One pass gives the slopes at a point and says whether it is better than the last; few points are looked at."""
    table, passes, once = TABLE.predict_proba(rows(SHIFTED, 2_000)), [], mixture_proportions.slopes
    monkeypatch.setattr(mixture_proportions, "slopes", lambda *args: passes.append(1) or once(*args))
    found = mixture_proportions.find_proportions(table, np.zeros(3))
    share = table * found.probs / (table @ found.probs)[:, None]
    assert_allclose(share.mean(axis=0), found.probs, atol=1e-6)  # a fixed point of EM
    assert len(passes) <= 5


def test_the_map_has_the_prior_of_the_model():
    model = nb.NaiveBayes(nb.Normal(), class_concentration=[3.0, 1.5, 8.0])
    X = rows(SHIFTED, 40)
    found = nb.estimate_class_probs(nb.PointEstimate(model, KNOWN.params), X)
    assert_allclose(found.class_probs, by_em(X, np.array([2.0, 0.5, 7.0])), atol=1e-5)
    # of a posterior it is the prior before the labelled rows, which are of another population
    labels = np.random.default_rng(1).integers(0, 3, 60)
    post = nb.fit_posterior(model, rows([0.4, 0.3, 0.3], 60), labels)
    same = nb.PointEstimate(post.prior, post.model.reference())
    few = rows(SHIFTED, 1)
    assert_allclose(nb.estimate_class_probs(post, few).class_probs.sum(), 1.0)
    assert_allclose(
        nb.estimate_class_probs(post, few).class_probs, nb.estimate_class_probs(same, few).class_probs, atol=0.05
    )


SAME = pytest.param(np.array([0.4, 0.3, 0.3]), marks=pytest.mark.slow, id="without a shift")


@pytest.mark.parametrize("probs", [pytest.param(SHIFTED, id="shifted"), SAME])
def test_the_interval_covers_as_often_as_it_says(probs):
    inside = np.zeros(3)
    for seed in range(200):
        low, high = nb.estimate_class_probs(KNOWN, rows(probs, 150, seed), level=0.8).interval
        inside += (low <= probs) & (probs <= high)
    assert (abs(inside / 200 - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 200)).all(), inside


def certain_rows(counts):
    """Rows without doubt, and a fit that knows it: their posterior is a Dirichlet."""
    codes = np.repeat(np.arange(len(counts)), counts)
    flags = np.eye(len(counts))[codes]
    params = {"class_probs": np.full(len(counts), 1 / len(counts)), "x_probs": np.eye(len(counts))}
    return nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), params), flags


@pytest.mark.parametrize("counts", [(0, 3, 9), (0, 4_000, 8_000)], ids=["by points", "by Laplace"])
def test_rows_without_doubt_have_a_dirichlet_posterior(counts):
    fit, flags = certain_rows(counts)
    found = nb.estimate_class_probs(fit, flags, level=0.9)
    assert_allclose(found.class_probs, np.array(counts) / sum(counts), atol=1e-12)
    after = np.array(counts) + 1.0
    below = scipy.stats.beta(after, after.sum() - after).cdf(np.stack(found.interval))
    assert_allclose(below, np.broadcast_to([[0.05], [0.95]], below.shape), atol=0.01 if sum(counts) < 100 else 1e-3)


def test_draws_have_the_moments_of_the_posterior():
    """Against a grid over the one free number of two classes."""
    fit = nb.PointEstimate(
        nb.NaiveBayes(nb.Normal(), class_concentration=[2.0, 0.7]),
        {"class_probs": [0.5, 0.5], "x_loc": [[0.0], [1.0]], "x_variance": [[1.0], [1.0]]},
    )
    X = np.random.default_rng(3).normal(0.2, 1.0, (30, 1))
    draws = nb.estimate_class_probs(fit, X, key=jax.random.key(0), num_draws=4000).draws
    assert draws.shape == (4000, 2)
    grid = (np.arange(2000) + 0.5) / 2000
    likelihood = np.exp(fit.log_joint(X))
    log = np.log(np.outer(likelihood[:, 0], grid) + np.outer(likelihood[:, 1], 1 - grid)).sum(axis=0)
    weight = np.exp(log - log.max()) * grid * (1 - grid) ** -0.3
    mean = (weight * grid).sum() / weight.sum()
    deviation = np.sqrt((weight * (grid - mean) ** 2).sum() / weight.sum())
    assert_allclose(draws[:, 0].mean(), mean, atol=5 * deviation / np.sqrt(1000))
    assert_allclose(draws[:, 0].std(), deviation, rtol=0.15)
    low, high = nb.estimate_class_probs(fit, X).interval
    mass = np.cumsum(weight) / weight.sum()
    assert_allclose([low[0], high[0]], grid[np.searchsorted(mass, [0.05, 0.95])], atol=0.02)


def test_a_class_that_is_not_there_and_the_only_class():
    X = rows([0.0, 0.0, 1.0], 500) + np.array([-2.0, 6.0])
    found = nb.estimate_class_probs(KNOWN, X)
    assert_array_equal(found.class_probs[:2], 0.0)
    assert (found.interval.low >= 0).all()
    assert np.isfinite(found.interval).all()
    alone = nb.fit_posterior(nb.NaiveBayes(nb.Normal(), num_classes=1), X, np.zeros(500, int))
    one = nb.estimate_class_probs(alone, X, key=jax.random.key(1), num_draws=10)
    assert_array_equal(one.class_probs, [1.0])
    assert_array_equal(one.draws, np.ones((10, 1)))
    assert_array_equal(nb.estimate_class_probs(alone, X).interval, np.ones((2, 1)))


def test_the_fit_is_for_the_new_population():
    X = rows(SHIFTED, 50)
    found = nb.estimate_class_probs(KNOWN, X)
    expected = KNOWN.with_class_probs(found.class_probs).predict_proba(X)
    assert_array_equal(found.fit.predict_proba(X), expected)
    on_device = nb.estimate_class_probs(KNOWN, jnp.asarray(X))
    assert isinstance(on_device.class_probs, jax.Array)
    assert_allclose(on_device.class_probs, found.class_probs, atol=1e-4)


def test_an_estimator_has_another_population_too():
    labels = np.array(["a", "b", "c"])
    train = rows([0.4, 0.3, 0.3], 300)
    y = labels[KNOWN.predict(train)]
    clf, X = nb.NaiveBayesClassifier(temper=False).fit(train, y), rows(SHIFTED, 100)
    found = nb.estimate_class_probs(clf, X)
    assert_array_equal(found.class_probs, nb.estimate_class_probs(clf.fit_, X).class_probs)
    moved = found.fit.predict_proba(X)
    assert_array_equal(moved, clf.predict_proba(X, class_prior=found.class_probs))
    by_label = dict(zip(labels, found.class_probs, strict=True))
    assert_array_equal(moved, clf.predict_proba(X, class_prior=by_label))
    uniform = clf.fit_.with_class_probs([1 / 3] * 3).predict_proba(X)
    assert_array_equal(clf.predict_proba(X, class_prior="uniform"), uniform)
    assert clf.class_prior is None  # the estimator itself has not changed
    again = found.fit.partial_fit(train, y)
    assert_allclose(again.fit_.model.class_mean(), found.class_probs)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: nb.estimate_class_probs(KNOWN, rows(SHIFTED, 5), method="em"), "method must be 'map' or 'mle'"),
        (lambda: nb.estimate_class_probs(KNOWN, rows(SHIFTED, 5), level=1.0), "level must be a probability"),
        (lambda: nb.estimate_class_probs(KNOWN, rows(SHIFTED, 5), key=3), "key must be a single JAX random key"),
        (lambda: nb.estimate_class_probs(KNOWN, np.zeros((0, 2))), "at least one row"),
        (lambda: nb.estimate_class_probs(KNOWN.model, np.zeros((3, 2))), "takes a fit"),
        (lambda: jax.jit(lambda X: nb.estimate_class_probs(KNOWN, X).class_probs)(jnp.zeros((3, 2))), "transformation"),
        (lambda: nb.NaiveBayesClassifier().fit([[0.0], [1.0]], [0, 1]).with_class_prior(None), "got None"),
        (
            lambda: nb.NaiveBayesClassifier().fit([[0.0], [1.0]], [0, 1]).predict_proba([[0.0]], class_prior={0: 1.0}),
            "a probability for each of the labels",
        ),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
