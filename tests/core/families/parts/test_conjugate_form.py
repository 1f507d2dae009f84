"""What a cell adds to a conjugate prior, read from densities, against what stands on paper."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from bayesnb.compute.arrays._compute import interpret
from bayesnb.core.families.parts._conjugate_form import common_count, power_of, split
from bayesnb.core.families.parts._densities import Density

COUNTS = np.array([[0.0, 1.0, 5.0, 1e3, np.nan]])
WAITS = np.array([[1e-20, 1e-3, 1.0, 1e8, np.nan]])


@pytest.mark.parametrize(
    ("density", "x", "c", "t", "log_h"),
    [
        (Density("Exponential", ()), WAITS, 1.0, WAITS, 0.0),
        (Density("Gamma", (("concentration", 2.5),)), WAITS, 2.5, WAITS, 1.5 * np.log(WAITS) - gammaln(2.5)),
        (Density("Weibull", (("concentration", 3.0),)), WAITS, 1.0, WAITS**3, np.log(3 * WAITS**2)),
        (Density("Poisson", ()), COUNTS, COUNTS, 1.0, -gammaln(COUNTS + 1)),
        (Density("Geometric", ()), COUNTS, 1.0, COUNTS, 0.0),
    ],
    ids=lambda value: value.distribution if isinstance(value, Density) else None,
)
def test_cells_are_split(density, x, c, t, log_h):
    found = interpret(split, x, density=density, power=power_of(density))
    for own, expected in zip(found, (c, t, log_h), strict=True):
        expected = np.where(np.isnan(x), 0.0, expected)
        assert_allclose(own, expected, rtol=1e-9, atol=1e-9 if expected is not found[1] else 0)
    middle = np.float32(x[:, 1:3])
    on_device = jax.jit(lambda x: split(x, density, power_of(density)))(middle)
    assert_allclose(on_device[0], np.broadcast_to(c, x.shape)[:, 1:3], rtol=1e-5)


def test_some_have_one_count_for_all_cells():
    densities = Density("Exponential", ()), Density("Gamma", (("concentration", 2.5),)), Density("Poisson", ())
    assert [common_count(density, 1.0) for density in densities] == [1.0, 2.5, None]


def test_forty_values_decide():
    """log p of a Gamma's concentration is no such sum, and that of a HalfCauchy's scale is none at any power."""
    for density in (Density("Gamma", (("rate", 1.0),)), Density("HalfCauchy", ())):
        with pytest.raises(ValueError, match=r"nb\.Likelihood"):
            power_of(density)
    for power in (0.05, 0.5, 7.0):
        assert power_of(Density("Weibull", (("concentration", power),))) == -power
    assert power_of(Density("NegativeBinomial", (("total_count", 3.0),))) is None
