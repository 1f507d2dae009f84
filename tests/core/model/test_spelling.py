"""A recognised model shows names, shapes and parameterisations of the program at every door, in files too."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpyro import handlers
from numpyro.distributions import transforms
from numpyro.infer import Predictive
from numpyro.infer.util import log_density

import bayesnb as nb
from tests.recognition.case import CODES, COUNTS, FLAGS, PI, REALS, C, D, K, Y
from tests.recognition.programs.parts import rows, table

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")

RANDOM = np.random.default_rng(0)
ROWS = 40
LABELS = RANDOM.integers(0, 2, ROWS)
WORDS = (RANDOM.random((ROWS, 4)) < 0.3 + 0.3 * LABELS[:, None]).astype(int)
MEASURES = RANDOM.normal(size=(ROWS, 3)) + LABELS[:, None]
VISITS = RANDOM.poisson(3.0, ROWS)
LOGIT_OF_BETA = dist.TransformedDistribution(dist.Beta(2.0, 2.0), dist.transforms.SigmoidTransform().inv)
SHAPES = {"p": (), "l": (4, 2), "tau": (2, 3), "mu": (2, 3), "rate": (2,)}
X = {"words": WORDS, "reals": MEASURES, "counts": VISITS}


def mixed(words, reals, counts, label=None):
    """Every site is spelled in another way than the model's own: a scalar for two classes, logits, precisions."""
    p = numpyro.sample("p", dist.Beta(2.0, 3.0))
    with numpyro.plate("word", 4, dim=-2), numpyro.plate("class", 2, dim=-1):
        logits = numpyro.sample("l", LOGIT_OF_BETA)
    with numpyro.plate("class", 2, dim=-2), numpyro.plate("column", 3, dim=-1):
        tau = numpyro.sample("tau", dist.Gamma(2.0, 3.0))
        mu = numpyro.sample("mu", dist.Normal(1.0, 1 / jnp.sqrt(0.5 * tau)))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([2]))
    with numpyro.plate("rows", words.shape[0]):
        y = numpyro.sample("y", dist.Bernoulli(p), obs=label).astype(int)
        numpyro.sample("words", dist.Bernoulli(logits=logits.T[y]).to_event(1), obs=words)
        numpyro.sample("reals", dist.Normal(mu[y], tau[y] ** -0.5).to_event(1), obs=reals)
        numpyro.sample("counts", dist.Poisson(rate[y]), obs=counts)


ARGS = (WORDS, MEASURES, VISITS, LABELS)


@pytest.fixture(scope="module")
def model():
    return nb.from_numpyro(mixed, ARGS, label="y")


def shapes(params):
    return {site: np.shape(value) for site, value in params.items()}


def test_hyperparameters(model):
    words, reals, counts = model.families.values()
    assert_allclose([words.a, words.b], 2.0, rtol=1e-9)
    assert_allclose(reals.loc, 1.0, rtol=1e-9)
    assert_allclose(reals.strength, 0.5, rtol=1e-9)
    assert_allclose([reals.shape, reals.rate], np.broadcast_to(np.reshape([2.0, 3.0], (2, 1, 1)), (2, 2, 3)), rtol=1e-9)
    assert_allclose([counts.shape, counts.rate], [[[2.0]] * 2, [[1.0]] * 2], rtol=1e-9)
    assert_allclose(model.class_concentration, [3.0, 2.0], rtol=1e-9)
    assert "expit of site 'l'" in repr(model.certificate)


@pytest.mark.slow
def test_the_map_maximises_the_density_of_the_programs_own_parameters(model):
    """A mode depends on the parameterisation: that of a precision is not one over that of the variance."""
    params = nb.fit_map(model, X, LABELS).params
    assert shapes(params) == SHAPES
    with jax.enable_x64(True):
        slopes = jax.jit(jax.grad(lambda q: log_density(mixed, ARGS, {}, q)[0]))(jax.tree.map(jnp.asarray, params))
    assert max(np.abs(slope).max() for slope in jax.tree.map(np.asarray, slopes).values()) < 1e-8
    assert_allclose(log_density(model, (X, LABELS), {}, params)[0], log_density(mixed, ARGS, {}, params)[0], rtol=1e-5)


def test_draws_run_through_the_program(model, key):
    posterior = nb.fit_posterior(model, X, LABELS)
    draws = posterior.sample(key, 16)
    assert shapes(draws) == {site: (16, *shape) for site, shape in SHAPES.items()}
    again = Predictive(mixed, draws)(key, WORDS, MEASURES, VISITS)
    assert again["y"].shape == (16, ROWS)
    rows, y = posterior.generate(key=key, num_rows=5)
    assert shapes(rows) == {"words": (5, 4), "reals": (5, 3), "counts": (5,)}
    assert y.shape == (5,)


def test_files_keep_the_spelling(model, tmp_path):
    for fit in (model, nb.fit_map(model, X, LABELS), nb.fit_posterior(model, X, LABELS)):
        nb.save(fit, tmp_path / "fit.nb")
        again = nb.load(tmp_path / "fit.nb")
        found = again if isinstance(again, nb.NaiveBayes) else again.model
        assert found.spelling == model.spelling
    assert_allclose(again.predict_proba(X), fit.predict_proba(X), rtol=1e-12)


def test_known_class_probabilities_leave_their_site_out(model):
    fit = nb.fit_map(model, X, LABELS).with_class_probs([0.5, 0.5])
    assert shapes(fit.params) == {**{s: v for s, v in SHAPES.items() if s != "p"}, "class_probs": (2,)}
    assert fit.predict_proba(X).shape == (ROWS, 2)


def test_parameters_of_the_program_make_a_classifier(model):
    fit = nb.fit_map(model, X, LABELS)
    assert_allclose(nb.PointEstimate(model, fit.params).predict_proba(X), fit.predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"params\['l'\] must have the shape \(4, 2\)"):
        nb.PointEstimate(model, {**fit.params, "l": fit.params["l"].T})


BLOCKS = {**X, "counts": VISITS[:, None]}
ARRAY = np.hstack(list(BLOCKS.values()))
NAMES = [f"c{d}" for d in range(ARRAY.shape[1])]


FORMS = {"blocks": BLOCKS, "array": ARRAY, "frame": pd.DataFrame(ARRAY, columns=NAMES), "lists": ARRAY.tolist()}


@pytest.mark.parametrize("form", FORMS)
def test_the_estimator_takes_several_blocks_by_name_or_side_by_side(model, form):
    rows = FORMS[form]
    fit = nb.NaiveBayesClassifier(likelihoods=model).fit(rows, LABELS)
    assert_allclose(fit.predict_proba(rows), nb.fit_posterior(model, X, LABELS).predict_proba(X), rtol=1e-6)
    assert fit.classes_.tolist() == [0, 1]
    assert fit.n_features_in_ == 8


def test_the_estimator_refuses_other_columns(model):
    fit = nb.NaiveBayesClassifier(likelihoods=model)
    with pytest.raises(ValueError, match=r"X has the shape \(40, 7\), .* have 4, 3, 1 columns: .* 8 columns"):
        fit.fit(ARRAY[:, 1:], LABELS)
    with pytest.raises(ValueError, match=r"'?reals'?"):
        fit.fit({"words": WORDS, "counts": VISITS[:, None]}, LABELS)


HALF = dist.TransformedDistribution(
    dist.Beta(2.0, 3.0), transforms.AffineTransform(0.0, 0.5, dist.constraints.unit_interval)
)
UNIFORM = dist.Uniform(np.array([0.1, 0.2, 0.3]), 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "scale", "ends"),
    [
        pytest.param(HALF, 2.0, (0.0, 0.5), marks=pytest.mark.slow),
        (UNIFORM, 1.0, ([0.1, 0.2, 0.3], 0.5)),
    ],
)
def test_sites_keep_the_supports_of_the_program(law, scale, ends, tmp_path):
    """A sampler would else leave them, to where the density is 0."""

    def program(X, y):
        theta = table("theta", law)
        rows(X, y, lambda y: dist.Bernoulli(scale * theta[y]))

    nb.save(nb.from_numpyro(program, (FLAGS, Y), label="y"), tmp_path / "model.nb")
    sites = handlers.trace(handlers.seed(nb.load(tmp_path / "model.nb"), 0)).get_trace(FLAGS, Y)
    reach = dist.biject_to(sites["theta"]["fn"].support)
    for far, end in zip((-30.0, 30.0), ends, strict=True):
        assert_allclose(reach(jnp.full((K, D), far)), np.broadcast_to(end, (K, D)), atol=1e-6)


# recognised models in files: the same names, axes, priors and predictions; what is in no list is refused


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


def test_a_change_of_variables_in_no_list_is_refused(tmp_path):
    def program(X, y):
        law = dist.TransformedDistribution(dist.Normal(0.0, 1.0), transforms.SoftplusTransform())
        rate = numpyro.sample("rate", law, sample_shape=(K, D))
        rows(X, y, lambda y: dist.Poisson(rate[y]))

    model = nb.from_numpyro(program, (COUNTS, Y), label="y")
    with pytest.raises(ValueError, match="a distribution is transformed by SoftplusTransform; allowed: "):
        nb.save(model, tmp_path / "model.nb")


@pytest.mark.parametrize("names", [("x_y", "x"), ("x", "x_y")])
def test_a_block_whose_name_begins_with_that_of_another_has_sites_of_its_own(names):
    reals, flags = names

    def program(a, b, y):
        with numpyro.plate("class", 2, dim=-2), numpyro.plate("column", 3, dim=-1):
            v = numpyro.sample("v", dist.InverseGamma(2.0, 1.0))
            m = numpyro.sample("m", dist.Normal(0.0, jnp.sqrt(v)))
        with numpyro.plate("class", 2, dim=-2), numpyro.plate("flag", 4, dim=-1):
            t = numpyro.sample("t", dist.Beta(1.0, 2.0))
        with numpyro.plate("row", len(a)):
            numpyro.sample(reals, dist.Normal(m[y], jnp.sqrt(v)[y]).to_event(1), obs=a)
            numpyro.sample(flags, dist.Bernoulli(t[y]).to_event(1), obs=b)

    arguments = MEASURES, WORDS, LABELS
    model = nb.from_numpyro(program, arguments, label="y")
    with handlers.seed(rng_seed=0):
        params = model.params()
    assert {site: np.shape(params[site]) for site in "vmt"} == {"v": (2, 3), "m": (2, 3), "t": (2, 4)}
    exact, _ = log_density(program, arguments, {}, params)
    ours, _ = log_density(model, ({reals: MEASURES, flags: WORDS}, LABELS), {}, params)
    class_prior = np.log(np.asarray(params["class_probs"]))[LABELS].sum()
    assert_allclose(ours - class_prior, exact, rtol=1e-5)
