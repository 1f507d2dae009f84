"""Sums of log(1 + z^2), of powers and of mixtures by compiled loops, against the formula, numpy and scipy."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from bayesnb.compute.primitives.products._student import LARGE_SQUARE, ROWS, TOGETHER, log_powers, log_squares

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


# sums of powered logarithms and of mixtures by the vectorised loop, against numpy's log1p and logaddexp


MIXED_SIZES = [(1, 1), (7, 30), (ROWS + 1, 3)]


def case(rng, size, unit=1.0):
    x, (loc, precision, power, shift) = rng.normal(size=size), rng.normal(size=(4, 3, size[1]))
    x[rng.random(size) < 0.1] = np.nan
    return x, rng.normal(size=size[1]), loc, np.abs(precision) * unit, np.abs(power), 9.0 * shift


def plain_sum(x, centre, loc, precision, power):
    z = ((x.astype(float) - centre)[:, None] - loc) * precision
    return power * np.log1p(np.where(np.isnan(z), 0.0, z * z))


@pytest.mark.parametrize("unit", [1e-160, 1e-9, 1e-4, 1.0, 1e6, 1e140])
@pytest.mark.parametrize("size", MIXED_SIZES)
def test_powers_of_every_size(size, unit, rng):
    *table, _ = case(rng, size, unit)
    assert_allclose(log_powers(*table), plain_sum(*table).sum(axis=2), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e30])
@pytest.mark.parametrize("size", MIXED_SIZES)
def test_mixtures_of_every_size(size, unit, rng):
    x, *table, shift = case(rng, size, unit)
    base = np.where(np.isnan(x), np.inf, 30.0 * rng.normal(size=size))
    terms = np.logaddexp(0.0, shift - base[:, None] - plain_sum(x, *table))
    assert_allclose(log_powers(x, *table, shift, base), terms.sum(axis=2), rtol=1e-13, atol=1e-300)
    assert size == (1, 1) or unit > 1.0 or ((terms < 1e-9).any() and (terms > 9.0).any())


def test_what_overflows_is_not_finite(rng):
    x, *table, _ = case(rng, (2, 4))
    x[:] = [[1e200], [1.0]]
    assert (np.isfinite(log_powers(x, *table)) == [[False], [True]]).all()
    square = np.array([[1.0], [0.999 * LARGE_SQUARE]])
    one = np.ones((1, 1))
    expected = np.log1p(square)
    assert_allclose(log_powers(np.sqrt(square), np.zeros(1), 0.0 * one, one, one), expected, rtol=1e-14)


def test_python_and_the_compiled_loop_agree(rng):
    import numba  # noqa: F401 so that the loop is compiled

    x, *table, shift = case(rng, (3, 5))
    for more in ((None, None), (shift, rng.normal(size=x.shape))):
        with np.errstate(all="ignore"):
            python = log_powers.__wrapped__(*copy.deepcopy((x, *table, *more)))
        assert_allclose(python, log_powers(x, *table, *more), rtol=1e-14)
