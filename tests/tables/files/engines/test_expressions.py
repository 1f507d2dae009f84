import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from scipy.special import gammaln

from bayesnb.tables.files.engines._expressions import log1p, log_rising, look_up


def values(expression, **columns):
    return nw.from_native(pl.LazyFrame(columns)).select(found=expression).collect()["found"].to_numpy()


@pytest.mark.parametrize("a", [0.01, 1.0, 3.5, 1e3, 1e7])
def test_log_rising_is_a_difference_of_log_gammas(a):
    x = np.array([0.0, 1.0, 2.0, 7.0, 50.0, 1e4])
    steps = np.array([np.log(a + np.arange(n)).sum() for n in (0, 1, 2, 7, 50)])
    found = values(log_rising(nw.col("x"), a), x=x)
    np.testing.assert_allclose(found[:5], steps, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[5], gammaln(a + 1e4) - gammaln(a), rtol=1e-10)


@pytest.mark.parametrize("num_edges", [0, 1, 2, 31])
def test_look_up_finds_the_bin(num_edges):
    edges = [float(edge) for edge in range(num_edges)]
    x = np.array([-1.0, 0.0, 0.5, 1.0, 17.3, 1e9])
    found = values(look_up(nw.col("x"), edges, [float(2 * g) for g in range(num_edges + 1)]) + 0.0 * nw.col("x"), x=x)
    np.testing.assert_array_equal(found, 2.0 * np.searchsorted(edges, x, side="right"))


def test_log1p():
    x = np.array([0.0, 1e-300, 1e-12, 1e-5, 0.00999, 0.01, 3.0, 1e200])
    np.testing.assert_allclose(values(log1p(nw.col("x")), x=x), np.log1p(x), rtol=1e-14)
