"""Rising factorials of counts against scipy's log-gammas."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy.special import gammaln

from bayesnb.compute.primitives import products


def _some_counts(kind: str) -> np.ndarray:
    x = np.random.default_rng(3).poisson(0.7, size=(60, 5)).astype(float)
    if kind == "a long count":
        x[7, 2] = 5_000.0
    if kind == "parts of counts":
        x[3] += 0.25
    if kind == "rare counts":
        x = np.diag(np.arange(1.0, 6.0))
    if kind == "many of each":
        x = np.tile(np.arange(12.0)[:, None], (5, 5)) * [1, 0, 1, 1, 1]
        x[0, 2] = 40.0
    return x


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["whole", "a long count", "parts of counts", "rare counts", "many of each"])
def test_rising_factorials_of_counts(kind, sparse):
    """Tables of whole counts, and cell by cell where a table would not pay, equal scipy's log-gammas."""
    x, a = _some_counts(kind), np.random.default_rng(4).gamma(1.0, size=(3, 5))
    expected = (gammaln(a[None] + x[:, None]) - gammaln(a[None])).sum(axis=-1)
    got = products.log_rising(a, scipy.sparse.csr_array(x) if sparse else x)
    assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
