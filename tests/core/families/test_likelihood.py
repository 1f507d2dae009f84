"""Any distribution of NumPyro by quadrature, against quadrature of the rows themselves by scipy's densities."""

import warnings

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import gammaln, logsumexp

import bayesnb as nb
from bayesnb.compute.arrays._compute import interpret
from tests.cases import by_default

DENSITIES = {  # log p(x | phi), phi in the coordinates of NumPyro
    "Gamma": (dist.Gamma, {}, lambda x, a, b: stats.gamma.logpdf(x, np.exp(a), scale=np.exp(-b))),
    "Weibull": (dist.Weibull, {}, lambda x, a, b: stats.weibull_min.logpdf(x, np.exp(b), scale=np.exp(a))),
    "Beta": (dist.Beta, {}, lambda x, a, b: stats.beta.logpdf(x, np.exp(a), np.exp(b))),
    "StudentT": (dist.StudentT, {"df": 4.0}, lambda x, a, b: stats.t.logpdf(x, 4.0, a, np.exp(b))),
    "NegativeBinomial2": (
        dist.NegativeBinomial2,
        {"mean": dist.LogNormal(2.0, 1.0), "concentration": dist.LogNormal(0.0, 1.0)},
        lambda x, a, b: stats.nbinom.logpmf(x, np.exp(b), 1.0 / (1.0 + np.exp(a - b))),
    ),
    "InverseGamma": (dist.InverseGamma, {}, lambda x, a, b: stats.invgamma.logpdf(x, np.exp(a), scale=np.exp(b))),
    "VonMises": (dist.VonMises, {}, lambda x, a, b: stats.vonmises.logpdf(x, np.exp(b), a)),
}
ROWS = {
    "Gamma": lambda rng, n: rng.gamma(2.0, 3.0, n),
    "Weibull": lambda rng, n: rng.weibull(2.0, n),
    "Beta": lambda rng, n: rng.beta(2.0, 3.0, n),
    "StudentT": lambda rng, n: 3.0 + rng.standard_t(4.0, n),
    "NegativeBinomial2": lambda rng, n: rng.negative_binomial(2, 0.1, n).astype(float),
    "InverseGamma": lambda rng, n: 1.0 / rng.gamma(3.0, size=n),
    "VonMises": lambda rng, n: rng.vonmises(2.5, 2.0, n),
}


SIZES = [pytest.param(5, 2e-6, marks=pytest.mark.slow), (40, 2e-6), pytest.param(2000, 1e-6, marks=pytest.mark.slow)]


def make(name, n):
    kind, known, _ = DENSITIES[name]
    X = ROWS[name](np.random.default_rng(5), n)[:, None]
    return nb.NaiveBayes(nb.Likelihood(kind, **known)), X, np.zeros(n, int)


def of_rows(name, fit, x):
    """log of the integral over the rows, by Gauss-Legendre in 5 x 14 panels about the posterior's mean, and shares."""
    family, prior = fit.model.families["x"], fit.prior.families["x"]
    place = family.integral().place
    c, factor = np.asarray(place.mean)[0, 0], np.asarray(place.factor)[0, 0]
    points, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(-12.0, 12.0, 9)
    z = (edges[:-1, None] + 1.5 * (points + 1.0)).ravel()
    phi = c + np.stack(np.meshgrid(z, z, indexing="ij"), -1).reshape(-1, 2) @ factor.T
    w = np.outer(*[np.tile(1.5 * weights, 8)] * 2).ravel() * np.linalg.det(factor)
    if name == "NegativeBinomial2":
        logs = stats.norm.logpdf(phi, [2.0, 0.0], 1.0).sum(axis=1)  # of log mean and log concentration
    else:
        logs = stats.norm.logpdf(phi, np.asarray(prior.centre)[0, 0], np.asarray(prior.spread)[0, 0]).sum(axis=1)
    values, counts = np.unique(x, return_counts=True)
    with np.errstate(all="ignore"):
        for some in np.array_split(np.arange(len(values)), max(len(values) // 50, 1)):
            logs += DENSITIES[name][2](values[some, None], *phi.T[:, None]).T @ counts[some]
    logs = np.where(np.isfinite(logs), logs, -np.inf)
    return logsumexp(logs, b=w), lambda new: logsumexp(logs + DENSITIES[name][2](new, *phi.T), b=w)


@pytest.mark.parametrize("name", by_default(DENSITIES, "Gamma"))
@pytest.mark.parametrize(("n", "tolerance"), SIZES)
def test_evidence_and_predictive_are_integrals_over_the_rows(name, n, tolerance):
    model, X, y = make(name, n)
    fit = nb.fit_posterior(model, X, y)
    evidence, joint = of_rows(name, fit, X[:, 0])
    tolerance = max(tolerance, 1e-6 * n) if name == "NegativeBinomial2" else tolerance  # JAX's betaln is off by 6e-7
    assert_allclose(fit.evidence_table().features["x"][0, 0], evidence, atol=tolerance, rtol=0)
    new = ROWS[name](np.random.default_rng(6), 3)
    assert_allclose(fit.log_joint(new[:, None])[:, 0], [joint(x) - evidence for x in new], atol=tolerance, rtol=0)
    assert sum(errors.max() for errors in fit.errors["x"].values()) < 1e-4


def test_cells_beyond_the_bins_are_predicted():
    model, X, y = make("StudentT", 40)
    fit = nb.fit_posterior(model, X, y)
    evidence, joint = of_rows("StudentT", fit, X[:, 0])
    assert_allclose(fit.log_joint([[1e7]])[0, 0], joint(1e7) - evidence, rtol=1e-6)


def test_the_unit_of_a_column_changes_no_prediction():
    _, X, y = make("Gamma", 60)
    y = np.arange(60) % 2
    model = nb.NaiveBayes(nb.Likelihood(dist.Gamma))
    plain, scaled = (nb.fit_posterior(model, c * X, y).predict_proba(c * X) for c in (1.0, 1000.0))
    assert_allclose(scaled, plain, atol=1e-6)


def test_the_circle_has_no_end():
    _, X, y = make("VonMises", 60)
    turned = np.remainder(X + 1.0 + np.pi, 2 * np.pi) - np.pi
    plain, other = (nb.fit_mle(nb.NaiveBayes(nb.Likelihood(dist.VonMises)), x, y).params for x in (X, turned))
    assert_allclose(other["x_concentration"], plain["x_concentration"], rtol=1e-6)
    assert_allclose(np.cos(other["x_loc"] - plain["x_loc"]), np.cos(1.0), atol=1e-6)


def test_maximum_likelihood_is_scipys():
    _, X, y = make("Gamma", 300)
    a, _, scale = stats.gamma.fit(X[:, 0], floc=0)
    params = nb.fit_mle(nb.NaiveBayes(nb.Likelihood(dist.Gamma)), X, y).params
    assert_allclose(params["x_concentration"], a, rtol=1e-5)
    assert_allclose(params["x_rate"], 1.0 / scale, rtol=1e-5)


def test_one_known_argument_of_a_gamma_is_conjugate():
    _, X, y = make("Gamma", 50)
    model = nb.NaiveBayes(nb.Likelihood(dist.Gamma, concentration=2.0, rate=dist.Gamma(3.0, 1.5)))
    exact = stats.gamma(3.0 + 2.0 * 50, scale=1.0 / (1.5 + X.sum()))
    fit = nb.fit_posterior(model, X, y)
    draws = fit.sample(jax.random.key(0), 4000)["x_rate"][:, 0, 0]
    assert_allclose(np.quantile(draws, [0.1, 0.5, 0.9]), exact.ppf([0.1, 0.5, 0.9]), rtol=0.01)
    assert_allclose(
        fit.log_joint([[4.0]])[0, 0], stats.betaprime.logpdf(4.0, 2.0, 103.0, scale=1.5 + X.sum()), atol=1e-8
    )


def test_a_row_leaves_as_in_a_refit():
    _, X, _ = make("Gamma", 60)
    y = np.arange(60) % 2
    model = nb.NaiveBayes(nb.Likelihood(dist.Gamma)).resolve(X, y)
    left = nb.leave_one_out(model, X, y, joint=True)
    for n in (0, 7):
        others = np.arange(60) != n
        refit = nb.fit_posterior(model, X[others], y[others])
        assert_allclose(left[n], refit.log_joint(X[n : n + 1])[0], atol=1e-6)


def test_a_saved_posterior_is_itself(tmp_path):
    model, X, y = make("Gamma", 40)
    fit = nb.fit_posterior(model, X, y)
    nb.save(fit, tmp_path / "fit.safetensors")
    again = nb.load(tmp_path / "fit.safetensors")
    assert again.log_evidence == fit.log_evidence
    assert np.array_equal(again.log_joint(X), fit.log_joint(X))


REFUSED = [
    (lambda: nb.Likelihood(dist.Uniform), "support of Uniform moves"),
    (lambda: nb.Likelihood(dist.Pareto), "support of Pareto moves"),
    (lambda: nb.Likelihood(dist.TruncatedNormal, low=0.0), "TruncatedNormal moves"),
    (lambda: nb.Likelihood(dist.Gamma, shape=1.0), "no argument 'shape'"),
    (lambda: nb.Likelihood(dist.Gamma(1.0, 1.0)), "a distribution of NumPyro itself"),
    (lambda: nb.Likelihood(nb.Normal), "a distribution of NumPyro itself"),
    (lambda: nb.Likelihood("gamma"), "itself, with .* got 'gamma'"),
    (lambda: nb.Likelihood("Uniform"), "the support of Uniform moves"),
    (lambda: nb.Likelihood("Gamma", shape=1.0), "Gamma of NumPyro has no argument 'shape'"),
    (lambda: nb.Likelihood(dist.Normal, loc=0.0, scale=1.0), "1 to 3 unknown arguments"),
    (lambda: nb.Likelihood(dist.Binomial, total_count=3), "the support of Binomial is"),
    (lambda: nb.Likelihood(dist.Dirichlet), "no distribution of one number"),
    (lambda: nb.Likelihood(dist.Gamma, rate=dist.Poisson(1.0)), "a continuous distribution"),
    (lambda: nb.Likelihood(dist.Gamma, rate=[1.0, 2.0]), "must be a number"),
]


@pytest.mark.parametrize(("act", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_what_is_no_likelihood_is_refused(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


def test_what_the_bins_do_not_resolve_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"binning error of Likelihood.Laplace.* not smooth in x"):
        nb.fit_posterior(nb.NaiveBayes(nb.Likelihood(dist.Laplace)), rng.laplace(size=(4000, 1)), np.zeros(4000, int))
    spike = np.where(rng.random((300, 1)) < 0.9, 1.0, rng.normal(size=(300, 1)))
    with pytest.raises(ValueError, match=r"one value repeats.*nb.Histogram"):
        nb.fit_posterior(nb.NaiveBayes(nb.Likelihood(dist.StudentT, df=4.0)), spike, np.zeros(300, int))
    with pytest.raises(ValueError, match="has no maximum"):
        nb.fit_mle(nb.NaiveBayes(nb.Likelihood(dist.Gamma)), [[1.0], [2.0], [3.0]], [0, 1, 1])


@pytest.mark.parametrize(("kind", "given"), [(dist.StudentT, {"df": 4.0}), (dist.Normal, {}), (dist.Weibull, {})])
def test_a_class_of_equal_cells_is_refused(kind, given):
    """Their likelihood has no maximum, and the posterior's scale is too small for the bins."""
    model, y = nb.NaiveBayes(nb.Likelihood(kind, **given)), np.repeat([0, 1], 60)
    X = np.where(y == 1, 2.0, np.random.default_rng(0).gamma(3.0, size=120))[:, None]
    for fit in (nb.fit_posterior, nb.fit_map, nb.fit_mle):
        with pytest.raises(ValueError, match=r"block 'x', class 1, column 0: .*nb\.Hurdle.*nb\.Histogram"):
            fit(model, X, y)


@pytest.mark.parametrize("rows", [1, 3])
def test_of_a_few_equal_cells_the_error_is_said(rows):
    """log Z against a quadrature over log scale and (loc - x) / scale = sinh w; at most ten times what is said."""
    cells, y = np.random.default_rng(0).normal(1.0, 1.0, 40), np.repeat([0, 1], [40, rows])
    model = nb.NaiveBayes(nb.Likelihood(dist.StudentT, df=4.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post = nb.fit_posterior(model, np.append(cells, np.full(rows, 2.0))[:, None], y)
    family = post.model.families["x"]
    (centre, size), (spread, width) = (np.asarray(part)[0, 0] for part in (family.centre, family.spread))
    a, w = np.linspace(size - 14 * width - rows * width**2, size + 9 * width, 3001)[:, None], np.linspace(-60, 60, 3001)
    logs = stats.norm.logpdf(a, size, width) + stats.norm.logpdf(2.0 + np.exp(a) * np.sinh(w), centre, spread)
    logs = logs + rows * (stats.t.logpdf(np.sinh(w), 4.0) - a) + a + np.log(np.cosh(w))
    log_sum = logsumexp(logs) + np.log((a[1, 0] - a[0, 0]) * (w[1] - w[0]))
    said = sum(np.asarray(part)[1, 0] for part in post.errors["x"].values())
    found = interpret(nb.Likelihood.log_partition, family)[1, 0]
    assert abs(found - log_sum) < 10 * said + 2e-3  # the last is of classes of one row


def test_rows_beyond_the_bins_do_not_count():
    model, X, y = make("Gamma", 40)
    resolved = model.resolve(X, y)
    with pytest.raises(ValueError, match="beyond the bins"):
        nb.sufficient_statistics(resolved, 1e9 * X, y)
    with pytest.raises(ValueError, match="only if their bins are the same"):
        nb.merge(nb.sufficient_statistics(model, X, y), nb.sufficient_statistics(model, 2 * X, y))
    with pytest.raises(ValueError, match="finds its bins from known rows"):
        jax.jit(lambda X: nb.fit_posterior(model, X, y).log_evidence)(X)


def test_no_columns_and_classes_without_rows_are_predicted():
    empty = {"a": np.zeros((4, 0)), "b": [[1], [0], [1], [1]]}
    both = nb.NaiveBayes({"a": nb.Likelihood(dist.Exponential), "b": nb.Bernoulli()})
    alone = nb.NaiveBayes({"b": nb.Bernoulli()})
    found = nb.fit_posterior(both, empty, [0, 1, 0, 1]).predict_proba(empty)
    assert_allclose(found, nb.fit_posterior(alone, {"b": empty["b"]}, [0, 1, 0, 1]).predict_proba({"b": empty["b"]}))
    three = nb.NaiveBayes(nb.Likelihood(dist.Exponential, rate=dist.Gamma(2.0, 3.0)), num_classes=3)
    fit = nb.fit_posterior(three, [[1.0], [2.0]], [0, 1])
    assert_allclose(fit.log_joint([[4.0]])[0, 2] - np.log(1 / 5), stats.lomax.logpdf(4.0, 2.0, scale=3.0), atol=1e-6)


def test_priors_of_each_column_and_class_are_those_of_the_column_alone(rng):
    X, y = rng.gamma(2.0, 1.0, (20, 2)) * [1.0, 9.0], np.arange(20) % 2
    shapes, scales = dist.LogNormal(np.array([0.0, 0.7]), 1.0), dist.Gamma(np.array([[2.0], [3.0]]), 1.5)
    both = nb.fit_posterior(nb.NaiveBayes(nb.Likelihood(dist.Gamma, concentration=shapes, rate=scales)), X, y)
    for d, loc in enumerate([0.0, 0.7]):
        for k, shape in enumerate([2.0, 3.0]):
            own = nb.Likelihood(dist.Gamma, concentration=dist.LogNormal(loc, 1.0), rate=dist.Gamma(shape, 1.5))
            alone = nb.fit_posterior(nb.NaiveBayes(own, num_classes=1), X[y == k][:, [d]], np.zeros(10, int))
            found = both.evidence_table().features["x"][k, d]
            assert_allclose(found, alone.evidence_table().features["x"][0, 0], rtol=1e-8)


def test_a_prior_of_the_square_of_an_argument_is_changed_to_one_of_its_own(rng, tmp_path):
    X = rng.normal(1.0, 2.0, (20, 1))
    root = dist.TransformedDistribution(dist.InverseGamma(2.5, 3.0), dist.transforms.PowerTransform(0.5))
    model = nb.NaiveBayes(nb.Likelihood(dist.Normal, loc=1.0, scale=root), num_classes=1)
    fit = nb.fit_posterior(model, X, np.zeros(20, int))
    a, b = 2.5 + 10.0, 3.0 + 0.5 * np.square(X - 1.0).sum()
    exact = gammaln(a) - gammaln(2.5) + 2.5 * np.log(3.0) - a * np.log(b) - 10.0 * np.log(2.0 * np.pi)
    assert_allclose(fit.evidence_table().features["x"][0, 0], exact, rtol=1e-9)
    nb.save(fit, tmp_path / "fit.nb")
    assert nb.load(tmp_path / "fit.nb").log_evidence == fit.log_evidence
