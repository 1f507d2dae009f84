"""Every quick path gives what plain float64 sums over all rows give, whatever the blocks, types and memory layout."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
import threadpoolctl
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.numerics import _log_prob as log_prob
from bayesnb.compute.primitives.products import _linear_scores as linear_scores
from bayesnb.compute.primitives.products import _table_sums as table_sums
from bayesnb.core.rows import _sufficient_statistics as sufficient_statistics
from tests import cases


@pytest.fixture(params=[1, 7, 1000])
def blocks(request, monkeypatch):
    """Fits and predictions in blocks of this many rows; after fifty such blocks, in blocks of 1000."""

    def row_blocks(num_rows, *_, **__):
        first = min(50 * request.param, num_rows)
        starts = [*range(0, first, request.param), *range(first, num_rows, 1000), num_rows]
        return [slice(start, stop) for start, stop in itertools.pairwise(starts)]

    for module in (sufficient_statistics, linear_scores, table_sums, log_prob):
        monkeypatch.setattr(module, "row_blocks", row_blocks)


def labels(num_rows, num_classes=3):
    return np.random.default_rng(0).integers(0, num_classes, num_rows)


def by_class(y, num_classes, function):
    return np.stack([function(y == k) for k in range(num_classes)])


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("num_classes", [2, 40])
def test_more_ones_of_a_class_than_a_byte_counts(layout, num_classes):
    y = labels(5000, num_classes)
    X = np.ones((5000, 8), np.uint8)
    X = {"C": X, "F": np.asfortranarray(X), "strided": np.ones((5000, 16), np.uint8)[:, ::2]}[layout]
    given = nb.sufficient_statistics(nb.NaiveBayes(nb.Bernoulli()), X, y).blocks["x"]
    assert_array_equal(given.successes, np.repeat(np.bincount(y)[:, None], 8, axis=1))


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
@pytest.mark.parametrize("part_bytes", [1, 1000, 1 << 20])
def test_counts_are_looked_up_part_by_part(monkeypatch, form, dtype, part_bytes):
    monkeypatch.setattr(limits, "IN_CACHE", part_bytes)
    y, rng = labels(1500), np.random.default_rng(1)
    X = rng.poisson([0.2, 1.0, 5.0], (1500, 3)).astype(dtype)
    X[1200, 1] = 5000 if X.itemsize > 1 else 250  # beyond the table, in a later part
    posterior = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial(0.7), class_probs=[0.2, 0.5, 0.3]), form(X), y)
    a = 0.7 + by_class(y, 3, lambda own: X[own].sum(axis=0, dtype=float))
    exact = scipy.stats.dirichlet_multinomial.logpmf(X[:, None].astype(int), a[None], X.sum(axis=1, dtype=int)[:, None])
    assert_allclose(posterior.log_joint(form(X)), exact + np.log([0.2, 0.5, 0.3]), rtol=1e-9)


def test_a_class_of_one_row_among_many_has_no_variance():
    X = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    y = np.zeros(2000, int)
    y[1234] = 1
    given = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), X, y).blocks["x"]
    assert_array_equal(given.squares[1], 0)
    assert_allclose(given.mean[1], X[1234], rtol=1e-7)


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_normal_predictives(dtype, offset):
    y, rng = labels(400), np.random.default_rng(1)
    X = (rng.normal(size=(400, 5)) + 0.3 * y[:, None] + offset).astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    m, x = fit.model.families["x"], X[:, None, :].astype(np.float64)
    scale = np.sqrt(m.rate * (m.strength + 1) / (m.shape * m.strength))
    terms = np.where(np.isnan(x), 0.0, scipy.stats.t.logpdf(x, 2 * m.shape, m.loc, scale))
    expected = terms.sum(axis=-1) + np.log(fit.model.class_concentration / fit.model.class_concentration.sum())
    assert_allclose(fit.log_joint(X), expected, atol=2e-4 if dtype == np.float32 else 1e-9)
    plug_in = nb.fit_mle(nb.NaiveBayes(nb.Normal()), X, y)
    loc, variance = plug_in.params["x_loc"], plug_in.params["x_variance"]
    terms = np.where(np.isnan(x), 0.0, scipy.stats.norm.logpdf(x, loc, np.sqrt(variance)))
    expected = terms.sum(axis=-1) + np.log(plug_in.params["class_probs"])
    assert_allclose(plug_in.log_joint(X), expected, atol=2e-4 if dtype == np.float32 else 1e-9)


def test_a_row_beyond_all_measure_keeps_its_order():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), labels(40)
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    far = fit.log_joint(np.array([[1e100, 0.0], [1e120, 0.0]]))
    assert np.isfinite(far).all()
    assert (far[1] < far[0]).all()


def test_a_fit_keeps_its_tables_and_still_pickles():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), labels(40)
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    before = fit.predict_proba(X)
    assert_array_equal(pickle.loads(pickle.dumps(fit)).predict_proba(X), before)
    assert_array_equal(fit.with_class_probs([0.2, 0.3, 0.5]).predict_proba(X).shape, before.shape)
    assert not np.allclose(fit.with_class_probs([0.2, 0.3, 0.5]).predict_proba(X), before)


def test_codes_of_the_other_byte_order():
    codes, y = np.array([[0, 1], [0, 0], [1, 0], [0, 1]]), [0, 1, 0, 1]
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(2)), codes, y)
    for swapped in (codes.astype(">i2"), 256 * codes.astype(">i2")):
        expected = np.where(swapped < 2, swapped, -1).astype(int)
        assert_allclose(fit.predict_proba(swapped), fit.predict_proba(expected))


def test_known_parameters_that_change_change_no_prediction():
    given = {"class_probs": np.array([0.5, 0.5]), "x_probs": np.array([[0.8], [0.4]])}
    known = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), given)
    given["x_probs"][0, 0] = 0.1
    assert_allclose(known.predict_proba(np.array([[1]])), [[2 / 3, 1 / 3]])
    with pytest.raises(ValueError, match="read-only"):
        known.params["x_probs"][0, 0] = 0.1


def test_threads_that_predict_leave_blas_its_threads():
    before = [library["num_threads"] for library in threadpoolctl.threadpool_info()]
    X, y = np.random.default_rng(0).normal(size=(60_000, 20)), labels(60_000)
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: fit.predict_proba(X[:n]), [60_000, 50_000, 40_000] * 3))
    assert [library["num_threads"] for library in threadpoolctl.threadpool_info()] == before


def test_a_long_narrow_table_of_float32_keeps_its_mean():
    """A serial float32 sum of a million values would be off by a tenth of a standard error."""
    x = np.round(np.random.default_rng(0).normal(5.0, 3.0, (1_000_000, 1)), 1).astype(np.float32)
    given = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), x, np.zeros(len(x), int)).blocks["x"]
    exact = x.astype(np.float64)
    assert abs(given.mean[0, 0] - exact.mean()) < 0.01 * exact.std() / 1000
    assert_allclose(given.variance[0, 0], exact.var(), rtol=1e-3)


@pytest.mark.parametrize("dtype", [">f8", ">f4", "<f2", np.longdouble])
@pytest.mark.parametrize("name", ["normal", "poisson", "multinomial", "bernoulli", "covariance"])
def test_numbers_in_other_orders_of_bytes_and_widths(name, dtype):
    """JAX takes any byte order for its own: rows are made native first."""
    model, X, y = cases.make(name)
    X = np.round(X) if name in ("normal", "covariance") else X
    X = np.clip(X, -1000.0, 1000.0)  # exact in every width
    whole, other = X.astype(np.float64), X.astype(dtype)
    fit, again = nb.fit_posterior(model, whole, y), nb.fit_posterior(model, other, y)
    assert_allclose(again.log_joint(other), fit.log_joint(whole), rtol=1e-5, atol=1e-5)
    assert_allclose(nb.leave_one_out(model, other, y), nb.leave_one_out(model, whole, y), rtol=1e-5, atol=1e-5)


def test_locations_beyond_single_precision():
    X, y = np.array([[1.0, 2.0], [1.5, 1.0], [3.0, 4.0], [3.5, 4.5]]), np.array([0, 0, 1, 1])
    model = nb.NaiveBayes(nb.Normal())
    near, far = (nb.fit_posterior(model, X * unit, y).predict_proba(X * unit) for unit in (1.0, 1e39))
    assert_allclose(far, near, rtol=1e-9)
