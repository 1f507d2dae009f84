"""Other coordinates of a block: its mode moves along, and a tilted prior is the prior times powers of its parameter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers

import bayesnb as nb
from bayesnb.core.model._coordinates import centre, restore, tilt
from tests import cases

REALS = {
    "normal": nb.Normal(1.0, 0.5, 2.0, 3.0),
    "shared": nb.Normal(variance="shared"),
    "known variance": nb.NormalKnownVariance(2.0, 0.5, 3.0),
    "covariance": nb.MultivariateNormal(),
    "discriminant": nb.MultivariateNormal("shared"),
    "poisson": nb.Poisson(),  # stays where it is
}

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")


@pytest.fixture(autouse=True)
def _in_float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", cases.by_default(REALS, "normal"))
def test_the_modes_of_a_centred_problem_come_back(name, rng):
    y = np.arange(30) % 2
    X = rng.poisson(3.0, (30, 2)) if name == "poisson" else rng.normal(y[:, None], [1.0, 40.0], (30, 2))
    model = nb.NaiveBayes(REALS[name]).resolve(X, y)
    statistics = nb.sufficient_statistics(model, X, y).blocks["x"]
    family = model.families["x"]
    moved, their_statistics = centre(family, statistics)
    for ours, theirs in ((family, moved), (family.update(statistics), moved.update(their_statistics))):
        found = restore(family, statistics, theirs.mode())
        for site, value in ours.mode().items():
            assert_allclose(found[site], value, rtol=1e-8, atol=1e-12, err_msg=site)


P, RATES = np.array([[0.2, 0.7], [0.9, 0.4]]), np.array([[0.2, 3.0], [1.5, 0.7]])
MATRICES = np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 3.0]]])
LOGS = (np.log(P), np.log1p(-P))
TILTED = {
    "bernoulli": (nb.Bernoulli(2.0, 1.5), "probs", P, LOGS),
    "binomial": (nb.Binomial(9, 2.0, 1.5), "probs", P, LOGS),
    "poisson": (nb.Poisson(2.0, 1.5), "rate", RATES, (np.log(RATES),)),
    "normal": (nb.Normal(1.0, 0.5, 2.0, 3.0), "variance", RATES, (np.log(RATES),)),
    "covariance": (nb.MultivariateNormal(), "covariance", MATRICES, (np.linalg.slogdet(MATRICES)[1],)),
}


@pytest.mark.parametrize("name", TILTED)
def test_a_tilted_prior_is_the_prior_times_powers(name):
    family, site, value, logs = TILTED[name]
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [4.0, 0.0]])
    X = X.clip(0, 1) if name == "bernoulli" else X
    family = nb.NaiveBayes(family).resolve(X, np.arange(4) % 2).families["x"]
    powers = (0.5, 1.25)[: len(logs)]

    @jax.jit
    def density(family):
        trace = handlers.trace(handlers.seed(handlers.substitute(family.params, {f"x_{site}": jnp.asarray(value)}), 0))
        return trace.get_trace("x")[f"x_{site}"]["fn"].log_prob(jnp.asarray(value))

    change = (
        density(tilt(family, site, powers))
        - density(family)
        - sum(p * log for p, log in zip(powers, logs, strict=True))
    )
    assert_allclose(
        change, np.broadcast_to(change[:1, :1] if change.ndim == 2 else change[:1], change.shape), rtol=1e-9
    )
