"""Families found from a density against textbook posteriors, scipy's integrals, and families that are written out."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

import bayesnb as nb

K, N = 2, 40
Y = np.arange(N) % K
RANDOM = np.random.default_rng(5)
COUNTS = np.where(RANDOM.random((N, 2)) < 0.1, np.nan, RANDOM.poisson([2.0, 9.0] * (1 + Y[:, None]), (N, 2)))
WAITS = RANDOM.exponential([1.0, 300.0] * (1 + Y[:, None]), (N, 2))

# the family with a = 1.5 and b = .7, the power of theta with a Gamma prior (None: Beta), rows, and scipy's density
ALL = {
    "Exponential": (dist.Exponential, {}, 1, stats.expon(scale=2), lambda x, t: stats.expon.logpdf(x, scale=1 / t)),
    "Gamma": (
        dist.Gamma, {"concentration": 2.3}, 1, stats.gamma(2), lambda x, t: stats.gamma.logpdf(x, 2.3, scale=1 / t)
    ),
    "Poisson": (dist.Poisson, {}, 1, stats.poisson(3), stats.poisson.logpmf),
    "Pareto": (
        dist.Pareto, {"scale": 1.5}, 1, stats.pareto(2, scale=1.5), lambda x, t: stats.pareto.logpdf(x, t, 0, 1.5)
    ),
    "InverseGamma": (
        dist.InverseGamma, {"concentration": 3.0}, 1, stats.invgamma(3), lambda x, t: stats.invgamma.logpdf(x, 3, 0, t)
    ),
    "Beta": (dist.Beta, {"concentration0": 1.0}, 1, stats.beta(2, 1), lambda x, t: stats.beta.logpdf(x, t, 1)),
    "Weibull": (
        dist.Weibull, {"concentration": 2.5}, -2.5, stats.weibull_min(2.5),
        lambda x, t: stats.weibull_min.logpdf(x, 2.5, scale=t),
    ),
    "Laplace": (dist.Laplace, {"loc": 0.3}, -1, stats.laplace(0.3), lambda x, t: stats.laplace.logpdf(x, 0.3, t)),
    "HalfNormal": (dist.HalfNormal, {}, -2, stats.halfnorm(), lambda x, t: stats.halfnorm.logpdf(x, scale=t)),
    "Normal": (dist.Normal, {"loc": 1.0}, -2, stats.norm(1, 2), lambda x, t: stats.norm.logpdf(x, 1, t)),
    "LogNormal": (
        dist.LogNormal, {"loc": 0.2}, -2, stats.lognorm(0.7), lambda x, t: stats.lognorm.logpdf(x, t, 0, np.exp(0.2))
    ),
    "Geometric": (dist.Geometric, {}, None, stats.geom(0.3, -1), lambda x, t: stats.geom.logpmf(x, t, -1)),
    "Bernoulli": (dist.Bernoulli, {}, None, stats.bernoulli(0.3), stats.bernoulli.logpmf),
}  # fmt: skip


def one_rate(*args, **kwargs):
    return nb.NaiveBayes(nb.OneRate(*args, **kwargs), class_probs=[0.5, 0.5])


@pytest.mark.parametrize("name", ALL)
def test_the_evidence_is_scipys_integral(name):
    distribution, known, power, draws, log_prob = ALL[name]
    x, y = draws.rvs((12, 1), random_state=3).astype(float), np.arange(12) % K
    prior = stats.beta(1.5, 0.7) if power is None else stats.gamma(1.5, scale=1 / 0.7)

    def integral(rows):
        def density(g):
            theta = g if power is None else g ** (1 / power)
            return prior.pdf(g) * np.exp(log_prob(rows, theta).sum())

        ends = [(0.0, 1.0)] if power is None else [(0.0, 0.3), (0.3, 1.0), (1.0, 3.0), (3.0, 60.0)]
        return np.log(sum(integrate.quad(density, *end, epsabs=0, epsrel=1e-10, limit=400)[0] for end in ends))

    fit = nb.fit_posterior(one_rate(distribution, a=1.5, b=0.7, **known), x, y)
    assert fit.prior.families["x"].power == power
    expected = sum(integral(x[y == k, 0]) for k in range(K)) + 12 * np.log(0.5)
    assert_allclose(fit.log_evidence, expected, rtol=1e-8)
    theirs, own = nb.fit_mle(fit.prior, x, y), nb.fit_map(fit.prior, x, y)
    for result in (theirs, own, fit):
        assert np.isfinite(result.log_joint(x)).all()
    site = fit.prior.families["x"].sites[0]
    best, k = theirs.params[f"x_{site}"][:, 0], np.arange(K)
    for other in (0.99 * best, np.minimum(1.01 * best, 1.0) if power is None else 1.01 * best):
        assert all(log_prob(x[y == one, 0], best[one]).sum() >= log_prob(x[y == one, 0], other[one]).sum() for one in k)


@pytest.mark.parametrize(
    ("written", "found", "x"),
    [
        (nb.Poisson(2.0, 0.5), nb.OneRate(dist.Poisson, a=2.0, b=0.5), COUNTS),
        (nb.Poisson(2.0, None), nb.OneRate(dist.Poisson, a=2.0), COUNTS),
        (nb.Bernoulli(2.0, 0.5), nb.OneRate(dist.Bernoulli, a=2.0, b=0.5), np.minimum(COUNTS, 1.0)),
    ],
    ids=["Poisson", "Poisson, b from rows", "Bernoulli"],
)
def test_a_family_that_is_written_out_is_found(written, found, x):
    ours, theirs = (nb.fit_posterior(nb.NaiveBayes(family), x, Y) for family in (found, written))
    assert_allclose(ours.log_evidence, theirs.log_evidence, rtol=1e-9)
    assert_allclose(ours.predict_log_proba(x), theirs.predict_log_proba(x), rtol=1e-9, atol=1e-9)
    assert_allclose(nb.leave_one_out(ours.prior, x, Y), nb.leave_one_out(theirs.prior, x, Y), rtol=1e-9, atol=1e-9)
    for fit in (nb.fit_mle, nb.fit_map):
        ours_, theirs_ = (fit(nb.NaiveBayes(family), x, Y) for family in (found, written))
        for name, value in theirs_.params.items():
            assert_allclose(ours_.params[name], value, rtol=1e-9)


def test_a_likelihood_with_that_prior_is_its_integral():
    prior = {"Exponential": {"rate": dist.Gamma(2.0, 3.0)}, "Geometric": {"probs": dist.Beta(2.0, 3.0)}}
    for name, x in (("Exponential", WAITS[:, :1]), ("Geometric", COUNTS)):
        models = one_rate(name, a=2.0, b=3.0), nb.NaiveBayes(nb.Likelihood(name, **prior[name]), class_probs=[0.5, 0.5])
        ours, theirs = (nb.fit_posterior(model, x, Y) for model in models)
        assert_allclose(ours.log_evidence, theirs.log_evidence, rtol=1e-6)
        assert_allclose(ours.log_joint(x), theirs.log_joint(x), rtol=1e-6)
        assert_allclose(nb.leave_one_out(ours.prior, x, Y), nb.leave_one_out(theirs.prior, x, Y), atol=1e-6)


@pytest.mark.parametrize("unit", [1e-30, 1e-9, 1e9, 1e20])
@pytest.mark.parametrize("name", ["Exponential", "Weibull", "HalfNormal"])
def test_units_do_not_matter(name, unit):
    distribution, known, *_ = ALL[name]
    fits = [nb.fit_posterior(one_rate(distribution, **known), x, Y) for x in (WAITS, WAITS * unit)]
    assert_allclose(fits[1].predict_log_proba(WAITS * unit), fits[0].predict_log_proba(WAITS), rtol=1e-9, atol=1e-9)
    assert_allclose(fits[1].log_evidence + WAITS.size * np.log(unit), fits[0].log_evidence, rtol=1e-9)


@pytest.mark.parametrize("lane", [np.asarray, jax.numpy.asarray])
def test_it_is_saved_and_compiled(lane, tmp_path):
    fit = nb.fit_posterior(one_rate(dist.Weibull, concentration=2.0), lane(WAITS), lane(Y))
    nb.save(fit, tmp_path / "fit")
    again = nb.load(tmp_path / "fit")
    assert_allclose(again.predict_proba(WAITS), fit.predict_proba(WAITS), rtol=1e-12)
    assert again.model.families["x"].power == -2.0
    compiled = jax.jit(fit.predict_proba)(jax.numpy.asarray(WAITS))
    assert_allclose(compiled, fit.predict_proba(WAITS), rtol=1e-4, atol=1e-5)
    within = jax.jit(lambda x: nb.fit_posterior(fit.prior, x, Y).log_evidence)(jax.numpy.asarray(WAITS))
    assert_allclose(within, fit.log_evidence, rtol=1e-5)


@pytest.mark.parametrize(
    ("distribution", "known", "words"),
    [
        (dist.Gamma, {}, "Gamma with unknown concentration, rate has no conjugate.*nb.Likelihood"),
        (dist.Gamma, {"rate": 1.0}, "Gamma with unknown concentration has no conjugate.*nb.Likelihood"),
        (dist.StudentT, {"df": 4.0, "loc": 0.0}, r"StudentT with unknown scale.*nb.Likelihood\(dist.StudentT\)"),
        (dist.Logistic, {"loc": 0.0}, "Logistic with unknown scale.*nb.Likelihood"),
        (dist.Normal, {"scale": 1.0}, "Normal with unknown loc.*nb.Likelihood"),
        (dist.VonMises, {"loc": 0.0}, "VonMises with unknown concentration.*nb.Likelihood"),
        (dist.Exponential, {"rate": dist.Gamma(2.0, 1.0)}, "OneRate: a and b are the prior of rate"),
        (dist.Pareto, {}, "the support of Pareto moves"),
        (dist.Exponential, {"rate": 2.0}, "OneRate integrates over 1 to 3 unknown arguments, and Exponential has 0"),
        (dist.Exponential(1.0), {}, "OneRate takes a distribution of NumPyro itself"),
        (dist.Exponential, {"b": -1.0}, "b must be positive"),
    ],
)
def test_what_has_no_conjugate_prior_is_refused(distribution, known, words):
    with pytest.raises(ValueError, match=words):
        nb.OneRate(distribution, **known)


def test_cells_outside_the_support_or_far_beyond_are_refused():
    with pytest.raises(ValueError, match="an Exponential cell is a number above 0"):
        nb.fit_posterior(one_rate(dist.Exponential), -WAITS, Y)
    with pytest.raises(ValueError, match=r"column 1 holds .*e.*, which is too far from 1 .* give it in another unit"):
        nb.fit_posterior(one_rate(dist.HalfNormal), WAITS * [1.0, 1e100], Y)


def test_without_rows_or_scale_there_is_still_a_prior():
    zeros = nb.fit_posterior(one_rate(dist.Poisson), np.zeros((4, 1)), [0, 1, 0, 1])
    assert_allclose(zeros.prior.families["x"].b, 1.0)
    one = nb.fit_mle(one_rate(dist.Exponential), [[2.0], [4.0]], [0, 0])
    assert_allclose(one.params["x_rate"], [[1 / 3], [1 / 3]], rtol=1e-9)


def test_statistics_of_two_distributions_are_not_mixed(tmp_path):
    models = [one_rate(distribution) for distribution in (dist.Exponential, dist.HalfNormal)]
    first, second = (nb.sufficient_statistics(model, WAITS, Y) for model in models)
    with pytest.raises(ValueError, match="statistics of different models cannot be merged"):
        nb.merge(first, second)
    with pytest.raises(ValueError, match="statistics"):
        nb.fit_posterior(models[0], statistics=second)
    found = nb.compare_evidence(dict(zip("ab", models, strict=True)), WAITS, Y).log_evidence
    assert_allclose(found["a"], nb.fit_posterior(models[0], statistics=first).log_evidence)
    nb.save(first, tmp_path / "counted")
    again = nb.merge(nb.load(tmp_path / "counted"), first)
    assert_allclose(again.blocks["x"].b, 2 * first.blocks["x"].b)
