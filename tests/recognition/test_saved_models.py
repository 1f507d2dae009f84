"""Recognised models in files: the same names, axes, priors and predictions; what is in no list is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpyro.distributions import transforms
from numpyro.infer.util import log_density

import bayesnb as nb
from tests.recognition.case import CODES, COUNTS, FLAGS, PI, REALS, C, D, K, Y
from tests.recognition.programs.parts import rows, table


def logits(X, y):
    with numpyro.plate("words", D, dim=-2), numpyro.plate("classes", K, dim=-1):
        eta = numpyro.sample("eta", dist.Normal(np.array([[0.5], [-0.5], [1.0]]), 1.5))
    rows(X, y, lambda y: dist.Bernoulli(logits=eta.T[y]))


def scales(X, y):
    mu = table("mu", dist.Normal(0.0, 2.0))
    tau = table("tau", dist.LogNormal(0.0, 0.5))
    rows(X, y, lambda y: dist.Normal(mu[y], 1.0 / tau[y]))


def odds(X, y):
    ratio = table("ratio", dist.TransformedDistribution(dist.Normal(0.0, 1.0), transforms.ExpTransform()))
    rows(X, y, lambda y: dist.Binomial(15, ratio[y] / (1.0 + ratio[y])))


def hierarchical(X, y):
    a = numpyro.sample("a", dist.Gamma(2.0, 1.0).expand([C]))
    p = table("p", dist.Dirichlet(a))
    rows(X, y, lambda y: dist.Categorical(p[y]))


CASES = {"logits": (logits, FLAGS), "scales": (scales, REALS), "odds": (odds, COUNTS), "hyper": (hierarchical, CODES)}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_priors_of_their_own_are_kept(name, tmp_path):
    program, X = CASES[name]
    model = nb.from_numpyro(program, (X, Y), label="y")
    nb.save(model, tmp_path / "model.nb")
    again = nb.load(tmp_path / "model.nb")
    assert again.spelling == model.spelling
    params = nb.fit_mle(model, X, Y).params if name != "hyper" else {"a": np.ones(C), "pi": PI / PI.sum()}
    if name == "hyper":
        params["p"] = np.full((K, D, C), 1.0 / C)
    densities = [log_density(m, (X, Y), {}, jax.tree.map(jnp.asarray, params))[0] for m in (model, again)]
    assert_array_equal(densities[0], densities[1])
    assert np.isfinite(densities[0])


def test_predictions_are_kept(tmp_path):
    model = nb.from_numpyro(logits, (FLAGS, Y), label="y")
    fit = nb.fit_mle(model, FLAGS, Y)
    nb.save(fit, tmp_path / "fit.nb")
    again = nb.load(tmp_path / "fit.nb")
    assert {site: np.shape(v) for site, v in again.params.items()} == {"pi": (K,), "eta": (D, K)}
    assert_allclose(again.predict_proba(FLAGS), fit.predict_proba(FLAGS), rtol=1e-12)


def test_a_change_of_variables_in_no_list_is_refused(tmp_path):
    def program(X, y):
        law = dist.TransformedDistribution(dist.Normal(0.0, 1.0), transforms.SoftplusTransform())
        rate = numpyro.sample("rate", law, sample_shape=(K, D))
        rows(X, y, lambda y: dist.Poisson(rate[y]))

    model = nb.from_numpyro(program, (COUNTS, Y), label="y")
    with pytest.raises(ValueError, match="a distribution changed by SoftplusTransform cannot be saved"):
        nb.save(model, tmp_path / "model.nb")
