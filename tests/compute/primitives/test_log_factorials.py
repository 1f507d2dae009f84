"""Log factorials and multinomial coefficients of rows against scipy's log-gamma."""

import jax
import numpy as np
import pytest
import scipy.sparse
import scipy.special
from numpy.testing import assert_allclose

from bayesnb.compute.primitives import _log_factorials as log_factorials


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_log_factorials_of_rows(rng, dtype, make):
    plain = rng.poisson(0.8, (90, 40)).astype(dtype)
    for unusual in (3, 200, *([0.5, 1e4] if plain.dtype.kind == "f" else [])):  # a table holds neither of the last two
        counts = plain.copy()
        counts[40, 3] = unusual
        expected = scipy.special.gammaln(counts.astype(float) + 1.0).sum(axis=1)
        assert_allclose(log_factorials.row_log_factorials(make(counts)), expected, rtol=1e-12)
        whole = scipy.special.gammaln(counts.sum(axis=1, dtype=float) + 1.0)
        assert_allclose(log_factorials.row_log_coefficients(make(counts)), whole - expected, rtol=1e-12)
    on_device = log_factorials.row_log_coefficients(jax.numpy.asarray(plain))
    assert_allclose(on_device, log_factorials.row_log_coefficients(plain), rtol=1e-4)
