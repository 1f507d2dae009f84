"""Numbers by their logarithms and logits: what users did by hand, but of x."""

import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.cases import by_default
from tests.core.families.mapped_rows import INCOMES, SHARES, SIZES, N, fit, y

INNER = {
    "own": lambda: nb.Normal(),
    "shared": lambda: nb.Normal(variance="shared"),
    "known": lambda: nb.NormalKnownVariance(0.5),
    "histogram": lambda: nb.Histogram(edges=[-1.0, 0.0, 1.0]),
    "student": lambda: nb.Likelihood(dist.StudentT, df=4.0, frame=[[0.0, 1.0, -3.0, 0.1]] * 2),
}


@pytest.mark.parametrize("inner", by_default(INNER, "own", "shared", "known", "histogram"))
@pytest.mark.parametrize(("transform", "X", "slope"), [
    ("log", SIZES, lambda x: -np.log(x)),
    ("logit", SHARES, lambda x: -np.log(x) - np.log1p(-x)),
])  # fmt: skip
def test_it_is_the_family_of_mapped_cells_times_the_slopes(inner, transform, X, slope):
    family, z = INNER[inner](), {"log": np.log, "logit": scipy.special.logit}[transform](X)
    ours, theirs = fit(nb.Transformed(family, transform), X), fit(family, z)
    slopes = np.nansum(slope(X), axis=1)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(z), rtol=1e-9)
    assert_allclose(ours.log_joint(X), theirs.log_joint(z) + slopes[:, None], rtol=1e-9)
    assert_allclose(ours.log_evidence, theirs.log_evidence + slopes.sum(), rtol=1e-9)
    of_x, of_z = (nb.leave_one_out(one.prior, x, y) for one, x in ((ours, X), (theirs, z)))
    assert_allclose(of_x, of_z, rtol=1e-9)
    tempered, plain = (nb.temper(one, x, y, per_feature=True) for one, x in ((ours, X), (theirs, z)))
    assert_allclose(tempered.powers["x"], plain.powers["x"], rtol=1e-6)


def test_log_normal_and_logit_normal_are_spellings():
    for family, transform, X in ((nb.LogNormal, "log", SIZES), (nb.LogitNormal, "logit", SHARES)):
        ours = fit(family(variance="shared", strength=2.0), X)
        theirs = fit(nb.Transformed(nb.Normal(variance="shared", strength=2.0), transform), X)
        assert ours.log_evidence == theirs.log_evidence
        assert repr(ours.prior.families["x"]).startswith(f"{family.__name__}(")
        assert_allclose(ours.model.families["x"].loc, theirs.model.families["x"].loc)  # hyperparameters by their names


def test_densities_are_of_x():
    post = nb.fit_posterior(nb.NaiveBayes(nb.LogNormal(), class_probs=[1.0]), SIZES[:, :1], np.zeros(N, int))
    family = post.model.families["x"]
    df, scale = 2 * family.shape, np.sqrt(family.rate * (1 + 1 / family.strength) / family.shape)
    x = np.array([[0.2], [1.0], [7.0]])
    student = scipy.stats.t.logpdf(np.log(x), df, family.loc, scale) - np.log(x)
    assert_allclose(post.log_density(x), student[:, 0], rtol=1e-9)
    point = nb.fit_mle(post.prior, SIZES[:, :1], np.zeros(N, int))
    loc, variance = (float(point.params[f"x_{site}"][0, 0]) for site in ("loc", "variance"))
    expected = scipy.stats.lognorm.logpdf(x[:, 0], s=np.sqrt(variance), scale=np.exp(loc))
    assert_allclose(point.log_density(x), expected, rtol=1e-9)
    total, _ = scipy.integrate.quad(lambda z: np.exp(post.log_density([[np.exp(z)]])[0] + z), -30, 30, limit=200)
    assert_allclose(total, 1.0, rtol=1e-7)
    shares = nb.fit_posterior(nb.NaiveBayes(nb.LogitNormal(), class_probs=[1.0]), SHARES[:, :1], np.zeros(N, int))
    total, _ = scipy.integrate.quad(lambda x: np.exp(shares.log_density([[x]])[0]), 0, 1, limit=200)
    assert_allclose(total, 1.0, rtol=1e-6)


REFUSED = [
    (lambda: nb.Transformed(nb.Poisson(), "log"), "Transformed takes a family of real numbers.*got Poisson"),
    (lambda: nb.Transformed(nb.Categorical(3), "log"), "of real numbers.*got Categorical"),
    (lambda: nb.Transformed(nb.Likelihood(dist.Gamma), "log"), "of real numbers.*got Likelihood"),
    (lambda: nb.Transformed(nb.LogNormal(), "log"), "of real numbers.*got LogNormal"),
    (lambda: nb.Transformed(nb.Hurdle(nb.Normal(), 0), "log"), "of real numbers.*got Hurdle"),
    (lambda: nb.Transformed(nb.MultivariateNormal(), "log"), "a family of single numbers"),
    (lambda: nb.Transformed(nb.Normal(), "sqrt"), "transform must be 'log' or 'logit', got 'sqrt'"),
    (lambda: nb.Transformed(nb.Normal, "log"), r"takes a family such as Normal\(...\)"),
    (lambda: fit(nb.LogNormal(), INCOMES), r"column 0: a LogNormal cell is a number above 0.*got 0.0; .*nb.Hurdle"),
    (lambda: fit(nb.LogNormal()).predict(-SIZES), "column 0: a LogNormal cell is a number above 0"),
    (lambda: fit(nb.LogitNormal(), SIZES), r"a LogitNormal cell is a number above 0 and below 1.*at=\(0.0, 1.0\)"),
    (lambda: fit(nb.LogNormal(), np.where(SIZES > 3, np.inf, SIZES)), "a LogNormal cell is a number above 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_does_not_fit_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
