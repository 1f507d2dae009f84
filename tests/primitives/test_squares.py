"""Student's t of numpy rows: sums of log(1 + z^2) by the compiled loop against the formula and scipy's densities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from bayesnb.primitives.products.student import ROWS, TOGETHER, log_squares

SIZES = [(1, 1), (3, TOGETHER), (ROWS + 1, TOGETHER + 1)]


def plain(x, centre, loc, precision):
    z = ((x.astype(float) - centre)[:, None] - loc) * precision
    return np.where(np.isnan(z), 0.0, np.log1p(z * z)).sum(axis=2)


def tables(rng, num_columns, dtype=np.float64):
    shape = (3, num_columns)
    return [a.astype(dtype) for a in (rng.normal(size=num_columns), rng.normal(size=shape), rng.gamma(1.0, size=shape))]


@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 1e-13), (np.float32, 2e-6)])
@pytest.mark.parametrize("size", SIZES)
def test_the_loop_is_the_formula(size, dtype, digits, rng):
    x, table = rng.normal(size=size).astype(dtype), tables(rng, size[1], dtype)
    x[rng.random(size) < 0.1] = np.nan
    assert_allclose(log_squares(x, *table), plain(x, *(a.astype(float) for a in table)), rtol=digits, atol=digits)


@pytest.mark.parametrize("unit", [1e-15, 1e-9, 1e-4, 1e4, 1e6])
def test_small_and_large_squares_keep_their_digits(unit, rng):
    x, (centre, loc, precision) = rng.normal(size=(5, 40)), tables(rng, 40)
    table = centre, loc, precision * unit
    assert_allclose(log_squares(x, *table), plain(x, *table), rtol=1e-12)
    single = [a.astype(np.float32) for a in (x, *table)]
    found, expected = log_squares(*single), plain(*(a.astype(float) for a in single))
    kept = np.isfinite(found)  # sixteen large squares overflow in single precision, and are done again in double
    assert_allclose(found[kept], expected[kept], rtol=3e-6)
    assert kept.all() or unit > 1


def test_whole_numbers_in_any_layout_that_nobody_may_write_to(rng):
    x, table = rng.integers(-9, 9, (7, 20)), tables(rng, 20)
    expected = plain(x, *table)
    for given in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x.astype(np.int8)):
        given.setflags(write=False)
        assert_allclose(log_squares(given, *table), expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [False, True])
def test_the_exact_predictive_of_numpy_rows_is_scipys_student(dtype, missing, rng):
    X, y = rng.normal(size=(40, 20)).astype(dtype), np.arange(40) % 2
    X[:, 3] = 7.0  # a constant carries no information
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    new = (2 * rng.normal(size=(300, 20))).astype(dtype)
    if missing:
        new[rng.random(new.shape) < 0.2] = np.nan
    family = post.model.families["x"]
    fields = (family.loc, family.strength, family.shape, family.rate)
    loc, strength, shape, rate = (np.delete(field, 3, axis=1) for field in fields)
    scale = np.sqrt(rate * (strength + 1) / (shape * strength))
    cells = stats.t.logpdf(np.delete(new, 3, axis=1).astype(float)[:, None], 2 * shape, loc, scale)
    expected = np.where(np.isnan(cells), 0.0, cells).sum(axis=2) + np.log(0.5)
    assert_allclose(post.log_joint(new), expected, rtol=1e-9 if dtype is np.float64 else 1e-5)


@pytest.mark.slow
def test_columns_of_different_weight_have_each_its_own_tail(rng):
    X, y = rng.normal(size=(40, 5)), np.arange(40) % 2
    X[:9, 2] = np.nan
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    new = 3 * rng.normal(size=(20, 5))
    terms = np.asarray(post.model.families["x"].log_predictive_terms(new.astype(np.float32)))
    assert_allclose(post.log_joint(new), terms.sum(axis=2) + np.log(0.5), rtol=1e-4)


def test_far_rows_stay_apart_and_spoil_no_other(rng):
    X, y = rng.normal(size=(40, 20)).astype(np.float32), np.arange(40) % 2
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    new = np.zeros((6, 20), np.float32)
    new[1:] = np.array([1e1, 1e3, 1e6, 1e12, 1e18])[:, None]
    together = post.log_joint(new)
    assert np.isfinite(together).all()
    assert (np.diff(together, axis=0) < 0).all()
    assert_allclose(together, np.concatenate([post.log_joint(row[None]) for row in new]), rtol=1e-5)
