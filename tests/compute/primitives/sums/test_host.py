"""Class sums: the host's body and the device's against brute force in exact arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.primitives import _log_factorials as log_factorials
from bayesnb.compute.primitives.sums import HostSums, Labels, class_sums


def moments(x, y, weight, k):
    """Mean and squared deviations of class k by float128."""
    x, w = x[y == k].astype(np.longdouble), weight[y == k].astype(np.longdouble)
    mean = (w[:, None] * x).sum(0) / w.sum()
    return mean, (w[:, None] * (x - mean) ** 2).sum(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_moments_do_not_cancel(rng, dtype, weighted, device, offset):
    y = rng.integers(0, 3, 3000)
    x = (offset + rng.normal(size=(3000, 4))).astype(dtype)
    weight = rng.integers(1, 4, 3000).astype(float) if weighted else np.ones(3000)
    labels = Labels(y, weight if weighted else None)
    if device:
        x, labels = jnp.asarray(x), jax.tree.map(jnp.asarray, labels)
    _, mean, squares = class_sums(labels, 3).moments(x)
    x = np.asarray(x)  # as the device holds it
    for k in range(3):
        exact_mean, exact_squares = moments(x, y, weight, k)
        # the result is stored in the input's precision on the device, in float64 on the host
        rounding = np.finfo(np.asarray(mean).dtype).eps
        assert_allclose(np.asarray(mean, np.float64)[k], exact_mean, rtol=4 * rounding, atol=3e-6)
        assert_allclose(np.asarray(squares, np.float64)[k], exact_squares, rtol=1e-5)


@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("value", [0.1, -1e6 / 3, 1e-30])
@pytest.mark.parametrize("soft", [False, True])
def test_constant_columns_have_no_variance(rng, device, value, soft):
    y = rng.integers(0, 3, 5000)
    x = np.full((5000, 2), value, np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    labels = rng.dirichlet(np.ones(3), 5000) if soft else y
    model = nb.NaiveBayes(nb.Normal(), num_classes=3)
    if device:
        x, labels = jnp.asarray(x), jnp.asarray(labels)
    fit = nb.fit_mle(model, x, labels)
    assert_array_equal(fit.params["x_variance"], 0.0)
    assert_array_equal(np.float32(fit.params["x_loc"]), np.float32(value))
    assert_allclose(fit.predict_proba(x), np.broadcast_to(fit.params["class_probs"], (5000, 3)), rtol=1e-5)


def test_an_outlier_spoils_only_its_own_class():
    x = np.array([[1e8], [1.0], [1.5], [2.0], [5.0], [6.0], [7.0]], np.float32)
    y = np.array([0, 1, 1, 1, 2, 2, 2])
    model = nb.NaiveBayes(nb.Normal(rate=1.0, loc=0.0))
    for convert in (np.asarray, jnp.asarray):
        variance = nb.fit_mle(model, convert(x), convert(y)).params["x_variance"]
        floor = 1e-9 * np.var(x.astype(float))
        assert_allclose(np.asarray(variance)[1:, 0], np.maximum([1 / 6, 2 / 3], floor), rtol=1e-5)


@pytest.mark.parametrize("block_bytes", [1, 7 * 64, 1000 * 64, 1 << 30])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_do_not_matter(rng, monkeypatch, block_bytes, masked, weighted):
    y = rng.integers(0, 3, 300)
    X = {
        "binary": (rng.random((300, 8)) < 0.4).astype(np.float32),
        "codes": rng.integers(0, 3, (300, 2)),
        "words": rng.poisson(1.0, (300, 8)),
        "real": (1e4 + rng.normal(size=(300, 8))).astype(np.float32),
    }
    if masked:
        X["binary"][::3, 1] = X["real"][::5, 2] = np.nan
        X["codes"][::7, 0] = -1
    weight = rng.uniform(0.5, 2, 300) if weighted else None
    families = {
        "binary": nb.Bernoulli(),
        "codes": nb.Categorical(3),
        "words": nb.Multinomial(),
        "real": nb.Normal(),
    }
    model = nb.NaiveBayes(families)
    whole = nb.fit_posterior(model, X, y, sample_weight=weight)
    expected = whole.log_joint(X)
    monkeypatch.setattr(limits, "BLOCK_BYTES", block_bytes)
    parts = nb.fit_posterior(model, X, y, sample_weight=weight)
    for a, b in zip(jax.tree.leaves(parts), jax.tree.leaves(whole), strict=True):
        assert_allclose(a, b, rtol=1e-6)
    assert_allclose(parts.log_joint(X), expected, rtol=1e-6)


@pytest.mark.parametrize("family", [nb.Multinomial(), nb.Poisson(), nb.Binomial(total_count=9)])
@pytest.mark.parametrize("fit", [nb.fit_map, nb.fit_mle])
def test_parameters_ask_for_no_base_measure(rng, monkeypatch, family, fit):
    """log x! costs as much as the sums: it is not formed, and statistics that have it give the same parameters."""
    X, y, model = rng.integers(1, 9, (40, 3)), np.arange(40) % 3, nb.NaiveBayes(family)
    expected = fit(model, statistics=nb.sufficient_statistics(model, X, y))

    def refuse(*_):
        raise AssertionError("nobody asked for the evidence")

    for name in ("log_factorial", "row_log_coefficients", "row_log_factorials"):
        monkeypatch.setattr(log_factorials, name, refuse)
    given = fit(model, X, y)
    for site, value in expected.params.items():
        assert_array_equal(given.params[site], value)
    with pytest.raises(AssertionError, match="nobody asked"):
        nb.fit_posterior(model, X, y)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16, jnp.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("device", [False, True])
def test_every_dtype_counts_alike(rng, dtype, device):
    x, y = (rng.random((50, 3)) < 0.3).astype(dtype), rng.integers(0, 2, 50)
    if device and dtype in (np.int64, np.float64) and not jax.config.jax_enable_x64:
        pytest.skip("JAX has no 64-bit types in this lane")
    statistics = nb.sufficient_statistics(nb.NaiveBayes(nb.Bernoulli()), jnp.asarray(x) if device else x, y)
    for k in range(2):
        assert_array_equal(statistics.blocks["x"].successes[k], (x[y == k] == 1).sum(0))


@pytest.mark.parametrize("soft", [False, True])
def test_no_rows_on_a_device(soft):
    """A class without rows is one of all: sums of nothing, and no error inside JAX."""
    x, y = jnp.zeros((0, 2)), jnp.zeros((0, 3)) if soft else jnp.zeros(0, int)
    z = class_sums(Labels(y, None), 3)
    for sums in (z.moments(x), z.scatter(x)):
        for part in sums:
            assert part.shape[0] == 3
            assert_array_equal(part, 0)


def test_weighted_sums_inside_jit_are_pairwise():
    """100,000 weights of 0.1: adding them one by one in float32 is off by 1.4e-4 relative."""
    rows = 100_000
    model = nb.NaiveBayes(nb.Multinomial(), num_classes=1)
    x, weight = jnp.ones((rows, 1), jnp.float32), jnp.full(rows, 0.1, jnp.float32)
    count = jax.jit(lambda X, y, w: nb.sufficient_statistics(model, X, y, sample_weight=w))
    statistics = count(x, jnp.zeros(rows, jnp.int32), weight)
    assert_allclose(statistics.blocks["x"].counts[0, 0], rows * np.float64(np.float32(0.1)), rtol=2e-6)


def test_squares_of_few_rows_far_from_the_others_are_done_again():
    x = np.array([0.0, 0.0, 0.0, 0.0, 1e6 / 3, 1e6 / 3 + 1, 1e6 / 3 + 1.7])[:, None]
    weights = np.array([[1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 3, 1], [0] * 7])
    count, mean, squares = HostSums(Labels(weights.T.astype(float), None), len(weights)).moments(x)
    assert_array_equal(count[:, 0], [7, 5, 0])
    few = np.repeat(x, weights[1])
    assert_allclose(mean[:2, 0], [x.mean(), few.mean()], rtol=1e-14)
    assert_allclose(squares[:, 0], [7 * x.var(), 5 * few.var(), 0.0], rtol=1e-9)
