"""Sums of powered logarithms and of mixtures by the vectorised loop, against numpy's log1p and logaddexp."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesnb.primitives.products.student import LARGE_SQUARE, ROWS, log_powers

SIZES = [(1, 1), (7, 30), (ROWS + 1, 3)]


def case(rng, size, unit=1.0):
    x, (loc, precision, power, shift) = rng.normal(size=size), rng.normal(size=(4, 3, size[1]))
    x[rng.random(size) < 0.1] = np.nan
    return x, rng.normal(size=size[1]), loc, np.abs(precision) * unit, np.abs(power), 9.0 * shift


def plain(x, centre, loc, precision, power):
    z = ((x.astype(float) - centre)[:, None] - loc) * precision
    return power * np.log1p(np.where(np.isnan(z), 0.0, z * z))


@pytest.mark.parametrize("unit", [1e-160, 1e-9, 1e-4, 1.0, 1e6, 1e140])
@pytest.mark.parametrize("size", SIZES)
def test_powers_of_every_size(size, unit, rng):
    *table, _ = case(rng, size, unit)
    assert_allclose(log_powers(*table), plain(*table).sum(axis=2), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e30])
@pytest.mark.parametrize("size", SIZES)
def test_mixtures_of_every_size(size, unit, rng):
    x, *table, shift = case(rng, size, unit)
    base = np.where(np.isnan(x), np.inf, 30.0 * rng.normal(size=size))
    terms = np.logaddexp(0.0, shift - base[:, None] - plain(x, *table))
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
