"""Draws from lattices, against the density that they hold."""

import jax.numpy as jnp
import numpy as np
from scipy import stats

from bayesnb.core.families.parts._lattice import LATTICES, draw, lattice


def test_draws_from_a_skewed_density_have_its_quantiles():
    z = lattice(1, 0)[0][:, 0]
    logs = stats.gumbel_r.logpdf(z)[None]  # over z itself
    uniform = np.random.default_rng(2).uniform(size=(4000, 2))
    found = np.asarray(draw(jnp.broadcast_to(logs, (4000, len(z))), 1, jnp.asarray(uniform)))[:, 0]
    assert stats.kstest(found, stats.gumbel_r.cdf).pvalue > 1e-3
    assert len(z) == 2 * LATTICES[1][0][1] + 1
