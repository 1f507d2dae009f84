"""A model is a NumPyro program: it generates rows, MCMC conditions it, missing cells drop out, and it draws itself."""

import importlib.util
import itertools

import jax
import numpy as np
import numpyro
import pytest
from numpy.testing import assert_allclose
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, Predictive
from numpyro.infer.util import compute_log_probs
from scipy import stats

import bayesnb as nb

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")

K, TOTAL = 2, 9
CLASS_PROBS = np.array([0.3, 0.7])
Y = np.arange(20) % K
RANDOM = np.random.default_rng(1)
X = {
    "flags": RANDOM.integers(0, 2, (20, 3)),
    "codes": RANDOM.integers(0, 2, (20, 2)),
    "words": RANDOM.poisson(2.0, (20, 4)),
    "reals": RANDOM.normal(Y[:, None], 1.0, (20, 2)),
}
FAMILIES = {"flags": nb.Bernoulli(), "codes": nb.Categorical((3, 2)), "words": nb.Multinomial(), "reals": nb.Normal()}
# one point of the parameters by site, [K, D, ...]
PARAMS = {
    "class_probs": CLASS_PROBS,
    "flags_probs": np.array([[0.1, 0.5, 0.9], [0.4, 0.2, 0.7]]),
    "codes_probs_0": np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]),
    "codes_probs_1": np.array([[0.2, 0.8], [0.5, 0.5]]),
    "words_probs": np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.4, 0.1, 0.1]]),
    "reals_loc": np.array([[0.0, 5.0], [1.0, -5.0]]),
    "reals_variance": np.array([[1.0, 4.0], [0.25, 9.0]]),
}


def within(values, expected, standard_errors=5.0):
    """The mean over axis 0 lies within some of its standard errors of what is expected."""
    error = values.std(axis=0) / np.sqrt(values.shape[0])
    assert_allclose(values.mean(axis=0), expected, rtol=0, atol=standard_errors * error.max())
    assert (np.abs(values.mean(axis=0) - expected) <= standard_errors * error).all()


def posterior_mean_of(sampler, exact):
    """Every posterior mean of the sampler within 5 Monte Carlo standard errors of the exact one."""
    chains = sampler.get_samples(group_by_chain=True)
    for site, mean in exact.items():
        draws = np.asarray(chains[site], np.float64)
        error = draws.std(axis=(0, 1)) / np.sqrt(effective_sample_size(draws))
        assert (np.abs(draws.mean(axis=(0, 1)) - mean) <= 5 * error).all(), site


def run(model, *args, num_samples=1000, **kwargs):
    sampler = MCMC(NUTS(model), num_warmup=500, num_samples=num_samples, progress_bar=False)
    sampler.run(jax.random.key(3), *args, **kwargs)
    return sampler


@pytest.mark.slow
def test_rows_generated_at_known_parameters(key):
    """Shapes, supports, and moments within 5 standard errors, class by class."""
    rows, model = 4000, nb.NaiveBayes(FAMILIES).resolve(X, Y)
    known = {site: value[None] for site, value in PARAMS.items()}
    drawn = Predictive(model, posterior_samples=known)(key, num_rows=rows, total_count=TOTAL)
    drawn = {site: np.asarray(value)[0] for site, value in drawn.items()}
    assert {site: value.shape for site, value in drawn.items()} == {
        "label": (rows,),
        "flags": (rows, 3),
        "codes": (rows, 2),
        "words": (rows, 4),
        "reals": (rows, 2),
    }
    assert set(np.unique(drawn["flags"])) == {0, 1}
    assert [set(np.unique(column)) for column in drawn["codes"].T] == [{0, 1, 2}, {0, 1}]
    assert (drawn["words"].sum(axis=1) == TOTAL).all()
    within((drawn["label"] == 1).astype(float), CLASS_PROBS[1])
    for k in range(K):
        part = {site: value[drawn["label"] == k].astype(float) for site, value in drawn.items()}
        within(part["flags"], PARAMS["flags_probs"][k])
        within(part["codes"][:, :1] == np.arange(3), PARAMS["codes_probs_0"][k])
        within(part["words"], TOTAL * PARAMS["words_probs"][k])
        within(part["reals"], PARAMS["reals_loc"][k])
        within(np.square(part["reals"] - PARAMS["reals_loc"][k]), PARAMS["reals_variance"][k])


@pytest.mark.slow
def test_prior_predictive_of_a_row(key):
    """A fresh parameter for each draw: x is one with probability a / (a + b)."""
    model = nb.NaiveBayes(nb.Bernoulli(a=3.0, b=1.0), class_probs=[0.2, 0.8]).resolve(X["flags"], Y)
    drawn = Predictive(model, num_samples=2000)(key, num_rows=1)
    within(np.asarray(drawn["x"], float)[:, 0], 0.75)
    within(np.asarray(drawn["label"], float)[:, 0], 0.8)


@pytest.mark.slow
def test_posterior_predictive_is_the_exact_predictive(key):
    """The posterior is a model too: rows of its program have the exact predictive's frequencies and moments."""
    fit = nb.fit_posterior(nb.NaiveBayes(FAMILIES), X, Y)
    drawn = Predictive(fit.model, num_samples=4000)(key, num_rows=1, total_count=TOTAL)
    drawn = {site: np.asarray(value, float)[:, 0] for site, value in drawn.items()}
    mean = {site: np.asarray(value) for site, value in fit.model.reference().items()}
    within(drawn["label"][:, None] == np.arange(K), mean["class_probs"])
    for k in range(K):
        part = {site: value[drawn["label"] == k] for site, value in drawn.items()}
        within(part["flags"], mean["flags_probs"][k])
        within(part["codes"][:, :1] == np.arange(3), mean["codes_probs_0"][k])
        within(part["words"], TOTAL * mean["words_probs"][k])
        within(part["reals"], mean["reals_loc"][k])


@pytest.mark.parametrize("block", ["reals", "flags", "codes", "words"])
@pytest.mark.parametrize(
    "kind", [pytest.param(np.asarray, marks=pytest.mark.slow), pytest.param(jax.numpy.asarray, marks=pytest.mark.fuzz)]
)
def test_nuts_on_the_rows_finds_the_exact_posterior(block, kind):
    """``MCMC(NUTS(model)).run(key, X, y)`` on the plain, unresolved model."""
    model = nb.NaiveBayes(FAMILIES[block])
    sampler = run(model, kind(X[block]), kind(Y))
    posterior = nb.fit_posterior(model, X[block], Y).model
    exact = dict(posterior.reference())
    if block == "reals":  # the mean of an inverse gamma; the model's own is one over the mean precision
        family = posterior.families["x"]
        exact["x_variance"] = family.rate / (family.shape - 1.0)
    posterior_mean_of(sampler, exact)


@pytest.mark.slow
@pytest.mark.parametrize("resolved", [False, True])
def test_a_missing_label_is_summed_out(resolved):
    """With y missing NUTS samples the mixture: its posterior is the average over all 2^5 labellings of the exact
    posteriors, each weighed by its evidence."""
    pytest.importorskip("funsor")
    rows = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
    model = nb.NaiveBayes(nb.Bernoulli(a=[[4.0], [1.0]], b=[[1.0], [3.0]]), class_concentration=[1.0, 2.0])
    labellings = [np.array(y) for y in itertools.product(range(K), repeat=5)]
    fits = [nb.fit_posterior(model, rows, y) for y in labellings]
    log_evidence = np.array([fit.log_evidence for fit in fits])
    weight = np.exp(log_evidence - log_evidence.max())
    weight /= weight.sum()
    means = [fit.model.reference() for fit in fits]
    exact = {s: sum(w * np.asarray(mean[s]) for w, mean in zip(weight, means, strict=True)) for s in means[0]}
    posterior_mean_of(run(model.resolve(rows, labellings[0]) if resolved else model, rows), exact)


@pytest.mark.slow
def test_predictive_runs_the_readmes_model(key):
    """The README's first model declares no K: Predictive has it from the rows, or from the posterior's draws."""
    blocks = {"flags": X["flags"], "blood": X["codes"][:, :1], "vitals": X["reals"]}
    likelihoods = {"flags": nb.Bernoulli.laplace(1.0), "blood": nb.Categorical.laplace(4, 1.0), "vitals": nb.Normal()}
    model = nb.NaiveBayes(likelihoods)
    post = nb.fit_posterior(model, blocks, Y)
    prior = Predictive(model, num_samples=5)(key, blocks, Y)
    assert prior["vitals_loc"].shape == (5, K, 2)
    draws = post.sample(key, 500)
    new = Predictive(post.prior, posterior_samples=draws)(key, num_rows=1)
    assert new["blood"].shape == (500, 1, 1)
    within(np.asarray(new["label"] == 1, float)[:, 0], post.model.class_mean()[1])
    if importlib.util.find_spec("funsor"):
        assert Predictive(model, posterior_samples=draws)(key, blocks)["label"].shape == (500, 20)
    with pytest.raises(ValueError, match=r"Predictive\(post.prior, ...\)\(key, num_rows=100\)"):
        Predictive(model, posterior_samples=draws)(key, num_rows=1)
    with pytest.raises(ValueError, match="without y the number of classes must be declared"):
        Predictive(model, num_samples=5)(key, blocks)


@pytest.mark.slow
def test_predictive_draws_the_labels_of_rows(key):
    """Each label given its row and one draw of the parameters, for a model that declares no K."""
    pytest.importorskip("funsor")
    model, rows = nb.NaiveBayes(nb.Normal()), X["reals"]
    draws = nb.fit_posterior(model, rows, Y).sample(key, 100)
    labels = Predictive(model, posterior_samples=draws, infer_discrete=True)(key, rows)["label"]
    fits = [nb.PointEstimate(model, {s: v[i] for s, v in draws.items()}) for i in range(100)]
    of_draws = np.stack([fit.predict_proba(rows)[:, 1] for fit in fits])
    error = np.sqrt((of_draws * (1 - of_draws)).sum(axis=0)) / 100
    share = np.asarray(labels == 1, float).mean(axis=0)
    assert (np.abs(share - of_draws.mean(axis=0)) <= 5 * error).all()
    assert of_draws.mean(axis=0).min() < 0.4 < 0.6 < of_draws.mean(axis=0).max()


def test_without_funsor_the_error_names_the_extra(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "funsor" else find_spec(name))
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    with pytest.raises(ImportError, match=r"pip install 'bayesnb\[funsor\]'"):
        model(X["flags"])


def test_the_model_draws_itself():
    pytest.importorskip("graphviz")
    picture = str(numpyro.render_model(nb.NaiveBayes(FAMILIES), model_args=(X, Y)))
    for site in (*PARAMS, "label", *FAMILIES, "rows"):
        assert site in picture


def test_missing_cells_are_marginalised():
    """A missing cell is a factor of one: the density of a row is that of its other cells."""
    holes = {name: np.array(x[:3], float) for name, x in X.items()}
    holes["flags"][0, 1] = np.nan
    holes["codes"][0, 0], holes["codes"][1, 1], holes["codes"][2, 0] = np.nan, -1, 3
    holes["words"][2] = np.nan
    holes["reals"][1, 0] = np.nan
    y = Y[:3]
    model = nb.NaiveBayes(FAMILIES).resolve(X, Y)

    @jax.jit
    def log_densities(params):
        return compute_log_probs(model, (holes, y), {}, params, sum_log_prob=False)[0]

    logs = log_densities(PARAMS)
    flags = stats.bernoulli.logpmf(X["flags"][:3], PARAMS["flags_probs"][y])
    flags[0, 1] = 0
    codes = [
        np.log(PARAMS["codes_probs_1"][y[0], X["codes"][0, 1]]),
        np.log(PARAMS["codes_probs_0"][y[1], X["codes"][1, 0]]),
        np.log(PARAMS["codes_probs_1"][y[2], X["codes"][2, 1]]),
    ]
    counts = X["words"][:3]
    words = stats.multinomial.logpmf(counts, counts.sum(axis=1), PARAMS["words_probs"][y]) * [1, 1, 0]
    reals = stats.norm.logpdf(X["reals"][:3], PARAMS["reals_loc"][y], np.sqrt(PARAMS["reals_variance"][y]))
    reals[1, 0] = 0
    for block, expected in {"flags": flags.sum(1), "codes": codes, "words": words, "reals": reals.sum(1)}.items():
        assert_allclose(logs[block], expected, rtol=1e-5, err_msg=block)


@pytest.mark.slow
def test_what_is_missing_is_named():
    model = nb.NaiveBayes(nb.Multinomial())
    with pytest.raises(ValueError, match=r"model\.resolve"):
        model(num_rows=3)
    model = model.resolve(X["words"], Y)
    with pytest.raises(ValueError, match="num_rows"):
        model()
    with pytest.raises(ValueError, match="give total_count"), numpyro.handlers.seed(rng_seed=0):
        model(num_rows=3)
    with pytest.raises(ValueError, match="supported by fit_mle"):
        model(X["words"], np.full((20, K), 0.5))
