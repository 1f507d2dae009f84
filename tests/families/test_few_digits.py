"""Numbers that floating point holds with few digits: refused, or a warning, where an answer would be rough."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesnb as nb

Y = np.arange(12) % 2


@pytest.mark.parametrize("family", [nb.Histogram(), nb.Views(nb.Histogram(), nb.Normal())])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_that_floats_would_round_are_refused(family, kind):
    x = (2**53 + np.arange(12)).astype(kind)[:, None]
    with pytest.raises(
        ValueError, match="holds 9007199254740993, which floating point would round to 9007199254740992"
    ):
        nb.fit_posterior(nb.NaiveBayes(family), x, Y)
    even = 2 * x // 2 * 2 - 2**52  # floats hold these
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), even, Y)
    with pytest.raises(ValueError, match="subtract a constant from the column"):
        fit.predict(x)


@pytest.mark.parametrize(
    ("base", "step", "array"),
    [
        (1e16, 2.0, np.asarray),
        (-(2.0**60), 256.0, np.asarray),
        pytest.param(1e8, 8.0, jnp.asarray, marks=pytest.mark.skipif(jax.config.jax_enable_x64, reason="exact then")),
    ],
)
def test_a_column_of_a_few_units_in_the_last_place_is_warned_of(base, step, array):
    x = array((base + step * (np.arange(12) % 5))[:, None])
    with pytest.warns(UserWarning, match="column 0: the cells of a class differ by a few units .*subtract a constant"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), x, Y)


@pytest.mark.parametrize("spread", [64, 1000])
def test_beyond_a_merge_is_right_to_a_thousandth(spread, rng):
    """Without a warning, against exact arithmetic: what the statistics of two parts say of the variance."""
    unit = 2.0  # in the last place of 1e16
    x = 1e16 + unit * rng.integers(0, spread, 40)
    parts = [
        nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), p[:, None], np.zeros(len(p), int)) for p in (x[:7], x[7:])
    ]
    found = nb.fit_mle(nb.NaiveBayes(nb.Normal()), statistics=nb.merge(*parts)).params["x_variance"][0, 0]
    exact = [Fraction(float(cell)) for cell in x]
    mean = sum(exact) / len(exact)
    assert found == pytest.approx(float(sum((cell - mean) ** 2 for cell in exact) / len(exact)), rel=4e-3)


def test_constant_columns_and_rounded_ones_are_told_apart():
    """A constant is exact, however large: no warning."""
    for cell in (0.1, 1e16, 1e300 / 1e170):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), np.full((12, 1), cell), Y)
