"""Fits of recognised models answer as those of the plain ones: pictures, forms, the estimator, NUTS, and refusals."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS

import bayesnb as nb
from tests.recognition.doors import KEY, REFUSED
from tests.recognition.pairs import BLOCKS, FLAGS, LOGS, WEIGHTS, Y

OF_FITS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda fit, X: fit.predict(X),
    "predict_proba": lambda fit, X: fit.predict_proba(X),
    "predict_log_proba": lambda fit, X: fit.predict_log_proba(X),
    "log_joint": lambda fit, X: fit.log_joint(X),
    "log_density": lambda fit, X: fit.log_density(X),
    "predict_interval": lambda fit, X: fit.predict_interval(X, key=KEY, num_draws=4),
    "contribution_interval": lambda fit, X: fit.contribution_interval(X, key=KEY, num_draws=4),
    "explain": lambda fit, X: nb.explain(fit, X),
    "temper": lambda fit, X: nb.temper(fit, X, Y),
    "leave_one_out": lambda fit, X: nb.leave_one_out(fit.prior, X, Y),
    "to_arviz": lambda fit, X: nb.to_arviz(fit, key=KEY, num_samples=4, num_chains=1, X=X, y=Y),
    "the program of the model": lambda fit, X: fit.prior(X, Y),
    "sufficient_statistics": lambda fit, X: nb.sufficient_statistics(fit.prior, X, Y),
    "dependence": lambda fit, X: nb.dependence(X, Y, model=fit.model),
    "fit_nuts": lambda fit, X: nb.fit_nuts(fit.prior, X, Y, key=KEY),
    "fit_forests": lambda fit, X: nb.fit_forests(fit.prior, X, Y),
    "num_parameters": lambda fit, X: nb.num_parameters(fit.model, X, Y),
}


@pytest.mark.parametrize("name", OF_FITS)
@pytest.mark.parametrize("rows", ["numpy", "JAX"])
def test_fits_refuse_them_too(name, rows, pairs):
    fit = nb.fit_posterior(pairs["logs"].ours, pairs["logs"].X, Y)
    with pytest.raises(ValueError, match=REFUSED):
        OF_FITS[name](fit, LOGS if rows == "numpy" else jax.tree.map(jnp.asarray, LOGS))


def test_pairs_of_columns(pairs):
    for model in ("words", "scales"):
        pair = pairs[model]
        ours, plain = (nb.dependence(pair.X, Y, model=m).mutual_information for m in (pair.ours, pair.plain))
        assert_allclose(ours, plain, rtol=1e-6)
    with pytest.raises(ValueError, match="block 'counts' is Poisson: pairs have a closed form"):
        nb.dependence(BLOCKS, Y, model=pairs["visits"].ours)


def means(model, X, site):
    ax = Figure().add_subplot()
    nb.plots.forest(ax, nb.fit_map(model, X, Y), site)
    return [tick.get_text() for tick in ax.get_yticklabels()], [line.get_xdata() for line in ax.lines]


def test_forests_have_a_line_for_each_column_or_class(pairs):
    ours, X, plain, X_plain, _ = pairs["visits"]
    sites = {"pi": "class_probs", "present": "flags_probs", "mean": "reals_loc", "rate": "counts_rate"}
    for site, own in sites.items():
        (names, found), (plain_names, expected) = means(ours, X, site), means(plain, X_plain, own)
        assert names == plain_names
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=1e-6)
    with pytest.raises(ValueError, match="site is one of mean, pi, present, rate, variance, got 'reals_loc'"):
        means(ours, X, "reals_loc")


@pytest.mark.slow
def test_a_forest_of_a_site_that_holds_a_part_of_a_parameter():
    def program(flags, label=None):
        first = numpyro.sample("first", dist.Beta(2.0, 2.0).expand([4]).to_event(1))
        second = numpyro.sample("second", dist.Beta(2.0, 2.0).expand([4]).to_event(1))
        p = numpyro.sample("p", dist.Beta(2.0, 2.0))
        with numpyro.plate("rows", len(flags)):
            y = numpyro.sample("y", dist.Bernoulli(p), obs=label)
            numpyro.sample("flags", dist.Bernoulli(jnp.stack([first, second])[y]).to_event(1), obs=flags)

    model = nb.from_numpyro(program, (FLAGS, Y), label="y")
    names, lines = means(model, FLAGS, "second")
    assert names == ["x[0]", "x[1]", "x[2]", "x[3]"]
    assert_allclose(lines[0], nb.fit_map(model, FLAGS, Y).params["second"])
    names, lines = means(model, FLAGS, "p")
    assert names == ["1"]
    assert_allclose(lines[0], nb.fit_map(model, FLAGS, Y).params["p"])


@pytest.mark.parametrize("method", ["posterior", *(pytest.param(m, marks=pytest.mark.slow) for m in ("map", "mle"))])
@pytest.mark.parametrize("model", ["words", "visits", "scales"])
def test_the_estimator(model, method, pairs):
    pair, fits = pairs[model], {"posterior": nb.fit_posterior, "map": nb.fit_map, "mle": nb.fit_mle}
    estimator = nb.NaiveBayesClassifier(likelihoods=pair.ours, method=method)
    names = np.array(["no", "yes"])[Y]
    if model == "scales" and method != "mle":
        with pytest.raises(ValueError, match="non-conjugate priors for scale, mean"):
            estimator.fit(pair.side_by_side, names)
        return
    proba = estimator.fit(pair.side_by_side, names, sample_weight=WEIGHTS).predict_proba(pair.side_by_side)
    plain = fits[method](pair.plain, pair.X_plain, Y, sample_weight=WEIGHTS)
    assert_allclose(proba, plain.predict_proba(pair.X_plain), rtol=1e-5)
    assert set(estimator.predict(pair.side_by_side)) <= {"no", "yes"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws yet")
@pytest.mark.parametrize("model", ["words", "visits", "scales"])
def test_nuts(model, pairs):
    pair, size = pairs[model], {"num_samples": 500, "num_warmup": 500, "num_chains": 2, "progress_bar": False}
    draws = [nb.fit_nuts(m, X, Y, key=KEY, **size) for m, X in ((pair.ours, pair.X), (pair.plain, pair.X_plain))]
    assert set(draws[0].params) == set(pair.ours.sites())
    own = pair.ours.own_params(draws[0].params)
    for site, plain in draws[1].params.items():
        # about a quarter of the draws are independent
        error = np.sqrt((own[site].var(axis=0) + plain.var(axis=0)) / 250)
        assert (np.abs(own[site].mean(axis=0) - plain.mean(axis=0)) < 5.0 * error).all(), site
    assert_allclose(draws[0].predict_proba(pair.X), draws[1].predict_proba(pair.X_plain), atol=0.05)


def deviations(X, label=None):
    """A known likelihood whose priors are not conjugate: means, and scales by their logs, features first."""
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.array([2.0, 3.0])))
    with numpyro.plate("column", X.shape[1], dim=-2), numpyro.plate("class", 2, dim=-1):
        log_scale = numpyro.sample("log_scale", dist.StudentT(4.0, 0.0, 0.5))
        mean = numpyro.sample("mean", dist.Normal(jnp.array([[0.0], [1.0]]), 3.0))
    with numpyro.plate("rows", X.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=label)
        numpyro.sample("x", dist.Normal(mean.T[y], jnp.exp(log_scale).T[y]).to_event(1), obs=X)


def waits(X, flags, label=None):
    """An unknown likelihood beside a conjugate block."""
    with numpyro.plate("class", 2, dim=-2), numpyro.plate("column", X.shape[1], dim=-1):
        shape = numpyro.sample("shape", dist.LogNormal(0.0, 1.0))
        scale = numpyro.sample("scale", dist.HalfCauchy(2.0))
    theta = numpyro.sample("theta", dist.Beta(2.0, 2.0).expand([2]).to_event(1))
    with numpyro.plate("rows", X.shape[0]):
        y = numpyro.sample("y", dist.Categorical(jnp.array([0.4, 0.6])), obs=label)
        numpyro.sample("wait", dist.Weibull(scale[y], shape[y]).to_event(1), obs=X)
        numpyro.sample("flag", dist.Bernoulli(theta[y]), obs=flags)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "args", "lines"),
    [
        (deviations, (LOGS["logs"][:, :2].clip(-3, 3), Y), ["by quadrature", "log_scale"]),
        (
            waits,
            (np.exp(np.nan_to_num(LOGS["logs"][:, :2])), FLAGS[:, 0], Y),
            ["Weibull", "Bernoulli, 1 columns, conj"],
        ),
    ],
    ids=["deviations", "waits"],
)
def test_posteriors_by_quadrature_are_those_of_nuts_on_the_users_own_program(program, args, lines, tmp_path):
    args = (np.nan_to_num(args[0]), *args[1:])
    with jax.numpy_rank_promotion("allow"):
        model = nb.from_numpyro(program, args, label="y")
        mcmc = MCMC(NUTS(program), num_warmup=500, num_samples=4000, progress_bar=False)
        mcmc.run(KEY, *args)
    assert all(line in repr(model.certificate) for line in lines)
    assert not model.priors
    fit = nb.fit_posterior(model, model.rows(*args), Y)
    assert sum(part.max() for errors in fit.errors.values() for part in errors.values()) < 1e-6
    exact = fit.sample(KEY, 20000)
    nuts = mcmc.get_samples()
    assert exact.keys() - {"class_probs"} == nuts.keys()
    for site, draws in nuts.items():
        size = np.asarray(effective_sample_size(np.asarray(draws)[None]))
        middle = exact[site].mean(axis=0)
        for power in (1, 2):
            found, expected = ((np.asarray(x) - middle) ** power for x in (draws, exact[site]))
            error = np.sqrt(found.var(axis=0) / np.minimum(size, 2000) + expected.var(axis=0) / 20000)
            assert (np.abs(found.mean(axis=0) - expected.mean(axis=0)) < 5.0 * error).all(), site
    nb.save(fit, tmp_path / "fit.nb")
    assert nb.load(tmp_path / "fit.nb").log_evidence == fit.log_evidence
    assert np.isfinite(nb.leave_one_out(model, model.rows(*args), Y)).all()
