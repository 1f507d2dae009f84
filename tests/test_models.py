"""Each program in models/ has, site by site, the density of the NaiveBayes that we compose, at random parameters."""

import jax
import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose
from numpyro.infer.util import compute_log_probs

from tests.written_programs import OTHERS, PARAMS, POINTS, PROGRAMS, ROWS_OF, SAME, K, Y, simplices

QUICK = ("multinomial",)
PROBLEMS = [pytest.param(*one, marks=() if one[0] in QUICK else pytest.mark.slow) for one in SAME + OTHERS]


@pytest.mark.parametrize(
    ("name", "hyperparameters", "composed"), PROBLEMS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_the_plain_program_and_the_composed_model_have_one_density(name, hyperparameters, composed):
    program, args = PROGRAMS[name]
    X = ROWS_OF[name]
    composed = composed.resolve(X, Y)

    @jax.jit
    @jax.numpy_rank_promotion("allow")  # NumPyro's Dirichlet promotes ranks
    def log_densities(params):
        plain, _ = compute_log_probs(program, args, hyperparameters, params)
        ours, _ = compute_log_probs(composed, (X, Y), {}, params)
        return plain, ours

    for n in range(POINTS):
        params = {"class_probs": simplices(K)[n], **{site: values[n] for site, values in PARAMS[name].items()}}
        plain, ours = log_densities(jax.tree.map(jnp.asarray, params))
        assert ours.keys() == plain.keys() >= {"class_probs", "label"}
        for site, log_density in ours.items():
            assert_allclose(log_density, plain[site], rtol=2e-5, err_msg=site)
