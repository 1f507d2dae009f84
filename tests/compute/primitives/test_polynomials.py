import numpy as np
from numpy.testing import assert_allclose
from scipy.interpolate import BarycentricInterpolator

from bayesnb.compute.primitives._polynomials import add_polynomials, look_up_polynomials, scale_at

NODES = np.cos((np.arange(8) + 0.5) * np.pi / 8)


def test_cells_are_spread_and_looked_up_by_scipys_interpolation():
    rng = np.random.default_rng(0)
    t, first, y = rng.uniform(-1, 1, (20, 3)), 8 * rng.integers(0, 4, (20, 3)), rng.integers(-1, 3, 20)
    t[0, 0], t[1, 1], y[:2], weight = np.nan, NODES[3], 1, rng.uniform(size=20)
    table, out = rng.normal(size=(3 * 32, 2)), np.zeros((20, 2))
    look_up_polynomials(first, t, 32, NODES, scale_at(NODES), table, out)
    expected = np.zeros((20, 2))
    for n, d in np.argwhere(~np.isnan(t)):
        start = 32 * d + first[n, d]
        expected[n] += BarycentricInterpolator(NODES, table[start : start + 8])(t[n, d])
    assert_allclose(out, expected, atol=1e-12)
    sums = np.zeros((3, 3 * 32))  # the transpose
    add_polynomials(first, t, 32, NODES, scale_at(NODES), y, weight, sums)
    by_class = [(weight * (y == k)) @ expected for k in range(3)]
    assert_allclose(sums @ table, by_class, atol=1e-12)
