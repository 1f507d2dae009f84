"""What a link reaches of a bounded prior is the support of the parameter's own."""

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.families.parts._links import LINKS, ChangedDistribution
from tests.recognition.case import FLAGS, REALS, Y
from tests.recognition.programs.parts import rows, table

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")


def logits(law):
    def program(X, y):
        eta = table("eta", law)
        rows(X, y, lambda y: dist.Bernoulli(logits=eta[y]))

    return FLAGS, program


def scales(law):
    def program(X, y):
        mu, scale = table("mu", dist.Normal(0.0, 2.0)), table("eta", law)
        rows(X, y, lambda y: dist.Normal(mu[y], scale[y]))

    return REALS, program


@pytest.mark.parametrize(
    ("case", "site", "link", "ends"),
    [
        (logits(dist.Uniform(-1.0, 1.0)), "x_probs", "expit", (-1.0, 1.0)),
        pytest.param(scales(dist.Uniform(0.1, 0.6)), "x_variance", "square", (0.1, 0.6), marks=pytest.mark.slow),
    ],
    ids=["logits", "scales"],
)
def test_a_sampler_stays_inside_the_prior_of_the_programs_site(case, site, link, ends, tmp_path):
    X, program = case
    model = nb.from_numpyro(program, (X, Y), label="y")
    nb.save(model, tmp_path / "model.nb")
    for found in (model, nb.load(tmp_path / "model.nb")):
        far = dist.biject_to(found.priors[site].support)(jnp.array([-8.0, 8.0]))
        assert_allclose(LINKS[link].inverse(far), ends, atol=2e-3)


def test_a_changed_law_has_what_its_link_reaches_as_support():
    for name, link in LINKS.items():
        if not link.matrix:
            support = ChangedDistribution(dist.Uniform(0.2, 0.8), link.transform).support
            ends = link.forward(np.array([0.2, 0.8]))
            assert_allclose([support.lower_bound, support.upper_bound], np.sort(ends), rtol=1e-6, err_msg=name)
    above = dist.TruncatedNormal(0.0, 1.0, low=0.5)
    for law, name, ends in [
        (dist.HalfNormal(1.0), "expit", (0.5, 1.0)),
        (above, "reciprocal", (0.0, 2.0)),
        (above, "exp of minus", (0.0, np.exp(-0.5))),
    ]:
        support = ChangedDistribution(law, LINKS[name].transform).support
        assert_allclose([support.lower_bound, support.upper_bound], ends, rtol=1e-6, atol=1e-300)
    assert_allclose(ChangedDistribution(above, LINKS["square"].transform).support.lower_bound, 0.25, rtol=1e-6)
    assert (
        ChangedDistribution(dist.Normal(0.0, 1.0), LINKS["expit"].transform).support is dist.constraints.unit_interval
    )
