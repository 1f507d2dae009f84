"""The bootstrap against refitting with the same weights, and against distributions that are known exactly."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.sparse import csr_array

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.primitives import _log_factorials as log_factorials
from bayesnb.compute.primitives.sums import HostSums, Labels
from bayesnb.core.fits._bootstrap import bootstrap, bootstrap_weights
from tests import cases

R = 4
MLE_BLOCKS = [name for name in cases.NAMES if name not in ("covariance", "discriminant", "mixed")]


def assert_replicates(boot, fit, model, X, y, weights, rtol=1e-9):
    assert all(value.shape[0] == len(weights) for value in boot.params.values())
    for r, weight in enumerate(weights):
        expected = fit(model, X, y, sample_weight=weight)
        for site, value in expected.params.items():
            assert_allclose(boot.params[site][r], value, rtol=rtol, atol=1e-12, err_msg=site)


@pytest.mark.parametrize("scheme", ["poisson", "multinomial"])
@pytest.mark.parametrize(
    ("fit", "names"),
    [pytest.param(nb.fit_mle, MLE_BLOCKS, marks=pytest.mark.slow), (nb.fit_map, cases.NAMES[:-1])],
)
def test_a_replicate_is_the_fit_with_its_weights(key, fit, names, scheme):
    model, X, y = cases.mix(names)
    boot = bootstrap(model, X, y, key=key, replicates=R, fit=fit, scheme=scheme)
    assert_replicates(boot, fit, model, X, y, bootstrap_weights(key, len(y), R, scheme))
    for site, value in fit(model, X, y).params.items():
        assert_array_equal(boot.estimate.params[site], value)


def test_weighted_rows_and_soft_labels(key, rng):
    model, X, y = cases.mix(MLE_BLOCKS)
    sample_weight = rng.uniform(0.5, 2.0, len(y)) * (np.arange(len(y)) % 5 > 0)
    there = sample_weight > 0
    weights = np.zeros((R, len(y)))
    weights[:, there] = bootstrap_weights(key, there.sum(), R) * sample_weight[there]
    for labels in (y, rng.dirichlet(np.ones(3), len(y))):
        boot = bootstrap(model, X, labels, key=key, replicates=R, sample_weight=sample_weight)
        assert_replicates(boot, nb.fit_mle, model, X, labels, weights)


@pytest.mark.parametrize("labels", ["hard", "soft"])
def test_blocks_of_rows_do_not_matter(key, monkeypatch, labels):
    model, X, y = cases.mix(MLE_BLOCKS)
    y = np.eye(3)[y] if labels == "soft" else y
    whole = bootstrap(model, X, y, key=key, replicates=R)
    monkeypatch.setattr(limits, "BLOCK_BYTES", 5 * 8 * 8)
    parts = bootstrap(model, X, y, key=key, replicates=R)
    for site, value in whole.params.items():
        assert_allclose(parts.params[site], value, rtol=1e-9, atol=1e-12, err_msg=site)


def test_multinomial_weights_are_draws_with_replacement(key):
    weights = bootstrap_weights(key, 30, 4000, "multinomial").astype(float)
    assert_array_equal(weights.sum(axis=1), 30)
    # the variance of every weight is 1 - 1/N, its covariance with another -1/N
    variance = weights.var(axis=0).mean()
    assert abs(variance - 29 / 30) < 5 * np.sqrt(2 / (30 * 4000))
    assert abs(weights.mean(axis=0) - 1).max() < 5 / np.sqrt(4000)


def test_poisson_weights(key):
    """Independent, so that their sum is Poisson too; the variance of a variance is 2 v^2 / R."""
    weights = bootstrap_weights(key, 100, 1000)
    counts = np.bincount(weights.ravel(), minlength=8)[:8]
    expected = 100_000 * stats.poisson.pmf(np.arange(8), 1)
    assert (abs(counts - expected) < 5 * np.sqrt(expected)).all()
    assert abs(weights.sum(axis=1).var() - 100) < 5 * 100 * np.sqrt(2 / 1000)


def test_weights_of_fewer_replicates_are_the_first_of_more(key):
    assert_array_equal(bootstrap_weights(key, 20, 3), bootstrap_weights(key, 20, 7)[:3])
    assert (bootstrap_weights(jax.random.key(1), 20, 3) != bootstrap_weights(key, 20, 3)).any()


@pytest.mark.parametrize("scheme", ["poisson", "multinomial"])
def test_the_standard_error_of_a_mean(key, rng, scheme):
    """s / sqrt(n), to the error of a standard deviation from so many replicates, sd / sqrt(2 R)."""
    X, num_replicates = rng.normal(5.0, 2.0, (900, 2)), 2000
    model = nb.NaiveBayes(nb.Normal(), num_classes=1)
    boot = bootstrap(model, X, np.zeros(900, int), key=key, replicates=num_replicates, scheme=scheme)
    expected = X.std(axis=0) / np.sqrt(900)
    assert_allclose(boot.standard_errors["x_loc"][0], expected, rtol=5 / np.sqrt(2 * num_replicates))


def test_the_percentile_interval_of_a_proportion(key):
    """Successes among rows drawn with replacement are binomial: the ends are its quantiles."""
    n, num_replicates = 400, 4000
    X = (np.arange(n) < 100).astype(float)[:, None]
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=1)
    boot = bootstrap(model, X, np.zeros(n, int), key=key, replicates=num_replicates, scheme="multinomial")
    low, high = boot.interval(0.8)["x_probs"]
    law = stats.binom(n, 0.25)
    slack = 5 * np.sqrt(0.1 * 0.9 / num_replicates)
    for end, tail in [(low, 0.1), (high, 0.9)]:
        # the end is a whole count: a share `tail` of the law lies around it
        assert law.cdf(end * n - 1).item() - slack <= tail <= law.cdf(end * n).item() + slack


@pytest.mark.slow
def test_the_interval_of_a_prediction_is_that_of_its_replicates(key):
    case = cases.make("bernoulli")
    boot = bootstrap(case.model, case.X, case.y, key=key, replicates=40, fit=nb.fit_map)
    low, high = boot.predict_interval(case.X[:6], 0.8)
    each = [
        nb.PointEstimate(boot.estimate.model, {site: value[r] for site, value in boot.params.items()})
        for r in range(40)
    ]
    proba = np.sort([fit.predict_proba(case.X[:6]) for fit in each], axis=0)
    assert low.shape == high.shape == (6, 3)
    assert_allclose([low, high], [proba[4], proba[35]], rtol=1e-9)
    device = boot.predict_interval(jnp.asarray(case.X[:6], jnp.float32), 0.8)
    assert isinstance(device.low, jax.Array)
    assert_allclose(device, [low, high], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scheme", ["poisson", "multinomial"])
def test_a_class_may_be_absent_from_a_replicate(key, scheme):
    """Its probability is 0 there and its parameters are the pooled ones, as in the MLE: nothing is NaN."""
    X, y = np.array([[0.0, 2.0], [1.0, 2.0], [3.0, 2.0], [4.0, 2.0]]), np.array([0, 0, 0, 1])
    boot = bootstrap(nb.NaiveBayes(nb.Normal()), X, y, key=key, replicates=50, scheme=scheme)
    absent = boot.params["class_probs"][:, 1] == 0
    assert 0 < absent.sum() < 50
    assert all(np.isfinite(value).all() for value in boot.params.values())
    assert_array_equal(boot.params["x_variance"][:, :, 1], 0.0)
    assert_array_equal(boot.params["x_loc"][:, :, 1], 2.0)
    for end in boot.predict_interval(X):
        assert ((end >= 0) & (end <= 1)).all()


def test_no_replicate_is_without_rows(key):
    assert bootstrap_weights(key, 1, 100).min() > 0
    boot = bootstrap(nb.NaiveBayes(nb.Bernoulli()), np.ones((2, 1)), np.array([0, 1]), key=key, replicates=50)
    assert_allclose(boot.params["class_probs"].sum(axis=1), 1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_outlier_and_an_offset_cost_no_digits(key, rng, dtype):
    """An outlier shifts no origin, and squares are never those of the offset."""
    X = rng.normal([0.0, 1e6, 0.0], size=(60, 3))
    X[0, 0], X[1, 2] = 1e8, np.nan
    X, y = X.astype(dtype), np.arange(60) % 2
    model = nb.NaiveBayes(nb.Normal())
    boot = bootstrap(model, X, y, key=key, replicates=R)
    assert_replicates(boot, nb.fit_mle, model, X.astype(float), y, bootstrap_weights(key, 60, R))


def test_squares_of_few_rows_far_from_the_others_are_done_again():
    x = np.array([0.0, 0.0, 0.0, 0.0, 1e6 / 3, 1e6 / 3 + 1, 1e6 / 3 + 1.7])[:, None]
    weights = np.array([[1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 3, 1], [0] * 7])
    count, mean, squares = HostSums(Labels(weights.T.astype(float), None), len(weights)).moments(x)
    assert_array_equal(count[:, 0], [7, 5, 0])
    few = np.repeat(x, weights[1])
    assert_allclose(mean[:2, 0], [x.mean(), few.mean()], rtol=1e-14)
    assert_allclose(squares[:, 0], [7 * x.var(), 5 * few.var(), 0.0], rtol=1e-9)


@pytest.mark.parametrize("labels", ["hard", "soft"])
def test_sparse_rows(key, rng, labels):
    X, y = rng.poisson(0.3, (24, 5)), np.arange(24) % 3
    y, model = np.eye(3)[y] if labels == "soft" else y, nb.NaiveBayes(nb.Multinomial())
    dense, sparse = (bootstrap(model, rows, y, key=key, replicates=R) for rows in (X, csr_array(X)))
    assert_allclose(sparse.params["x_probs"], dense.params["x_probs"], rtol=1e-12)


def test_replicates_compute_no_base_measure(key, monkeypatch):
    """log x! does not depend on the parameters."""
    monkeypatch.delattr(log_factorials, "log_factorial")
    bootstrap(nb.NaiveBayes(nb.Poisson()), [[1], [2], [0], [3]], [0, 0, 1, 1], key=key, replicates=R)


def test_what_is_refused(key):
    case = cases.make("bernoulli")

    def call(model=case.model, X=case.X, y=case.y, key=key, **options):
        return bootstrap(model, X, y, key=key, **{"replicates": R, **options})

    with pytest.raises(ValueError, match="replicates must be a positive int, got 0"):
        call(replicates=0)
    with pytest.raises(ValueError, match=r"replicates must be a positive int, got 2\.5"):
        call(replicates=2.5)
    with pytest.raises(ValueError, match="key must be a single JAX random key"):
        call(key=3)
    with pytest.raises(TypeError, match="key"):
        bootstrap(case.model, case.X, case.y)
    with pytest.raises(ValueError, match="scheme must be 'poisson' or 'multinomial', got 'jackknife'"):
        call(scheme="jackknife")
    with pytest.raises(ValueError, match="fit must be fit_mle or fit_map, got 'fit_posterior'"):
        call(fit=nb.fit_posterior)
    with pytest.raises(ValueError, match="2 columns"):
        call().predict_interval(case.X[:, :2])
    with pytest.raises(ValueError, match="at least one row"):
        call(sample_weight=np.zeros(len(case.y)))
    with pytest.raises(ValueError, match="resamples rows: give at least one row"):
        call(sample_weight=np.zeros(len(case.y)), fit=nb.fit_map)
    with pytest.raises(ValueError, match="needs two replicates"):
        _ = call(replicates=1).standard_errors
    with pytest.raises(ValueError, match="non-conjugate priors"):
        call(nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": dist.Uniform(0.2, 0.8)}), fit=nb.fit_map)
    with pytest.raises(ValueError, match="hyperpriors"):
        call(nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0)), num_classes=3))
    with pytest.raises(ValueError, match="bootstrap cannot run inside a JAX transformation"):
        jax.jit(lambda X: call(X=X).params)(jnp.asarray(case.X))
    boot = call()
    for level in (0.0, 1, 90, "0.9"):
        with pytest.raises(ValueError, match="level must be a probability above 0 and below 1"):
            boot.interval(level)
        with pytest.raises(ValueError, match="level must be a probability above 0 and below 1"):
            boot.predict_interval(case.X, level)


def test_a_replicate_without_a_maximum_is_named(key):
    case = cases.make("covariance")
    with pytest.raises(ValueError, match=r"bootstrap replicate \d+: .* is singular"):
        bootstrap(case.model, case.X, case.y, key=key, replicates=200)
