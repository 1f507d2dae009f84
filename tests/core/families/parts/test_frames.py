"""Sums of smooth functions from weights on nodes, against sums over the numbers themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpyro.distributions import constraints

from bayesnb.core.families.parts._frames import Frame, find_frame, scale_of

RNG = np.random.default_rng(0)
COLUMNS = {
    "line": (RNG.standard_t(3, (500, 2)) * [1.0, 1e4] + [0.0, 1e6], lambda x: np.log1p(((x - 1.0) / 3e3) ** 2)),
    "positive": (RNG.gamma(2.0, size=(500, 2)) * [1e-6, 1e6], lambda x: 2.0 * np.log(x) - x / 1e6),
    "unit": (RNG.beta(2.0, 3.0, (500, 2)), lambda x: np.log(x) + 3.0 * np.log1p(-x)),
    "circle": (RNG.vonmises(3.0, 1.0, (500, 2)), lambda x: 2.0 * np.cos(x - 1.0)),
    "count": (RNG.negative_binomial(2, 0.03, (500, 2)).astype(float), lambda x: np.log(x + 0.3) - x / 50),
}


@pytest.mark.parametrize("scale", COLUMNS)
def test_weights_of_nodes_sum_smooth_functions(scale):
    x, of = COLUMNS[scale]
    frame = Frame(scale, find_frame(scale, x))
    first, weights, inside = frame.spread(x)
    assert inside.all()
    places = np.minimum(first[..., None] + np.arange(8), frame.size - 1)
    found = (of(frame.nodes)[np.arange(2)[:, None], places] * weights).sum(axis=-1)
    assert_allclose(found, of(x), rtol=1e-9, atol=1e-9)
    assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-12)


def test_numbers_beyond_the_bins_and_missing_ones_have_no_weight():
    frame = Frame("positive", find_frame("positive", COLUMNS["positive"][0]))
    _, weights, inside = frame.spread(np.array([[1e9, np.nan]]))
    assert not inside.any()
    assert not weights.any()


def test_bins_know_no_weights_and_follow_units():
    x = COLUMNS["line"][0]
    assert np.array_equal(find_frame("line", x), find_frame("line", np.repeat(x, 3, axis=0)))
    plain, scaled = find_frame("line", x), find_frame("line", 8.0 * x)
    assert_allclose(scaled, plain * [8.0, 8.0, 1.0, 1.0], rtol=1e-12)


def test_supports_without_a_map_have_none():
    assert scale_of(constraints.interval(0.0, 3.0)) is None
    assert scale_of(constraints.greater_than(-1.0)) is None
    assert scale_of(constraints.greater_than(2.0)) == "positive"
