"""Maps of cells against scipy, and the distributions of mapped cells against scipy's and draws."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

from bayesnb.core.families.parts._mapped_cells import MAPS, HurdleCells, MappedCells, find, place


@pytest.mark.parametrize(("name", "inverse"), [("log", np.exp), ("logit", scipy.special.expit)])
def test_a_map_and_its_slope_and_its_inverse(name, inverse):
    z = np.linspace(-9.0, 9.0, 41)
    change, x = MAPS[name], inverse(z)
    found, slope = change.z(x), change.slope(x)
    assert_allclose(found, z, rtol=1e-12, atol=1e-12)
    assert_allclose(change.back(z), x, rtol=1e-12)
    h = 1e-6 * x * (1 - x if name == "logit" else 1)
    assert_allclose(slope, np.log((change.z(x + h) - change.z(x - h)) / (2 * h)), atol=1e-6)
    outside = np.array([-1.0, 0.0, np.nan, np.inf, *([1.0, 2.0] if name == "logit" else [])])
    assert np.isnan([change.z(outside), change.slope(outside)]).all()
    small = np.array([1e-300, 5e-324])  # float64, as float32 would round these to 0
    assert np.isfinite(change.z(small)).all()


def test_mapped_cells_are_scipys():
    law = MappedCells(dist.Normal(jnp.full((3, 1), 0.5), 0.7), MAPS["log"])
    theirs = scipy.stats.lognorm(s=0.7, scale=np.exp(0.5))
    x = np.array([[0.1], [1.0], [4.0]])
    assert_allclose(law.log_prob(jnp.asarray(x)), theirs.logpdf(x), rtol=1e-5)
    assert_allclose(law.icdf(jnp.array([[0.2], [0.5], [0.9]])), theirs.ppf([[0.2], [0.5], [0.9]]), rtol=1e-5)
    assert_allclose([law.mean[0, 0], law.variance[0, 0]], theirs.stats(), rtol=1e-2)
    with jax.enable_x64(True):
        double = MappedCells(dist.Normal(jnp.full((1, 1), 0.5), 0.7), MAPS["log"])
        assert_allclose([double.mean[0, 0], double.variance[0, 0]], theirs.stats(), rtol=1e-9)
    assert np.isneginf(law.log_prob(jnp.array([[0.0], [-1.0], [-2.0]]))).all()
    slope = jax.grad(lambda m: MappedCells(dist.Normal(m, 1.0), MAPS["log"]).log_prob(jnp.zeros(1)).sum())(0.0)
    assert slope == 0.0  # not NaN
    without = MappedCells(dist.VonMises(jnp.zeros(1), jnp.ones(1)), MAPS["log"])
    assert np.isnan(without.mean).all()  # NumPyro has no icdf for it
    with jax.numpy_rank_promotion("allow"):  # as NumPyro's own distributions need
        draws = law.sample(jax.random.key(0), (20_000,))
    assert scipy.stats.kstest(np.asarray(draws)[:, 0, 0], theirs.cdf).pvalue > 1e-3


def test_values_are_found_and_placed_again():
    x, at = np.array([[0.0, 99.0], [np.nan, 3.0]]), (99.0, None)
    code = find(x, at)
    assert code.tolist() == [[2.0, 0.0], [1.0, 2.0]]
    assert np.isnan(find(x, (99.0,))).tolist() == [[False, False], [True, False]]
    assert_allclose(place(jnp.asarray(x), code.astype(int), at), x)
    assert find(np.array([[0.1]], np.float32), (0.1,)).tolist() == [[0.0]]


def test_hurdle_cells_have_probabilities_beside_a_density():
    law = HurdleCells(dist.Normal(jnp.zeros((3, 1)), 1.0), jnp.array([[[0.2, 0.3, 0.5]]] * 3), (7.0, None))
    expected = [np.log(0.2), np.log(0.3), np.log(0.5) + scipy.stats.norm.logpdf(1.5)]
    assert_allclose(law.log_prob(jnp.array([[7.0], [np.nan], [1.5]]))[:, 0], expected, rtol=1e-6)
    assert_allclose(law.mean[0], [7.0 * 0.2 / 0.7], rtol=1e-6)
    with jax.numpy_rank_promotion("allow"):  # as NumPyro's own distributions need
        draws = np.asarray(law.sample(jax.random.key(0), (20_000,)))[:, 0, 0]
    assert_allclose([(draws == 7).mean(), np.isnan(draws).mean()], [0.2, 0.3], atol=0.02)
