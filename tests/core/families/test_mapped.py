"""Numbers by their logarithms and logits, and values of their own: equal to what users did by hand, but of x."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.families._mapped import whole
from tests.cases import by_default

rng = np.random.default_rng(3)
N = 48
y = np.arange(N) % 3
SIZES = np.exp(rng.normal(0.4 * y[:, None], 0.8, (N, 2)))
SIZES[5, 1] = np.nan
SHARES = scipy.special.expit(np.log(SIZES))
INCOMES = np.where(rng.random((N, 2)) < 0.3, 0.0, SIZES)
INCOMES[::5, 1] = 99.0


def fit(family, X=SIZES, **given):
    return nb.fit_posterior(nb.NaiveBayes(family), X, y, **given)


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


def by_hand(X, at):
    """The place of each cell's value among these, and the cells of other values."""
    code = np.where(np.isnan(X), np.nan, float(len(at)))
    for place, value in enumerate(at):
        code[np.isnan(X) if np.isnan(value) else value == X] = place
    return {"which": code, "rest": np.where(code == len(at), X, np.nan)}


@pytest.mark.parametrize("at", [(0.0,), (0.0, 99.0), (np.nan,), (np.nan, 0.0)])
@pytest.mark.parametrize("variance", ["own", "shared"])
def test_a_hurdle_is_two_blocks(at, variance):
    family, rows = nb.LogNormal(variance=variance), by_hand(INCOMES, at)
    X = np.where(INCOMES == 0.0, 2.5, INCOMES) if 0.0 not in at else INCOMES
    rows = by_hand(X, at)
    ours = fit(nb.Hurdle(family, at=at if len(at) > 1 else at[0], concentration=[0.5] * len(at) + [2.0]), X)
    which = nb.Categorical(len(at) + 1, concentration=[0.5] * len(at) + [2.0])
    theirs = nb.fit_posterior(nb.NaiveBayes({"which": which, "rest": family}), rows, y)
    assert_allclose(ours.log_joint(X), theirs.log_joint(rows), rtol=1e-9)
    assert_allclose(ours.log_evidence, theirs.log_evidence, rtol=1e-9)
    assert_allclose(
        nb.leave_one_out(ours.prior, X, y, joint=True), nb.leave_one_out(theirs.prior, rows, y, joint=True), rtol=1e-9
    )
    for estimate in (nb.fit_mle, nb.fit_map):
        found, wanted = (estimate(one.prior, x, y).log_joint(x) for one, x in ((ours, X), (theirs, rows)))
        assert_allclose(found, wanted, rtol=1e-9)


def test_a_missing_cell_speaks_if_it_is_a_value():
    X = np.where((y == 0)[:, None] & (np.arange(N) % 2 == 0)[:, None], np.nan, SIZES)
    silent, speaks = fit(nb.LogNormal(), X), fit(nb.Hurdle(nb.LogNormal(), at=np.nan), X)
    nothing = np.full((1, 2), np.nan)
    assert_allclose(silent.predict_proba(nothing), 1 / 3, rtol=1e-9)
    assert speaks.predict_proba(nothing)[0, 0] > 0.9


def test_rows_speak_of_x_everywhere():
    post = fit(nb.Hurdle(nb.LogNormal(), at=(0.0, 99.0)), INCOMES)
    X, _ = post.generate(key=jax.random.key(0), num_rows=4000)
    assert (X >= 0).all()
    assert_allclose((X == 0).mean(axis=0), (INCOMES == 0).mean(axis=0), atol=0.06)
    assert_allclose((X == 99).mean(axis=0), (INCOMES == 99).mean(axis=0), atol=0.06)
    draws = post.sample(jax.random.key(1), 5)
    assert {*draws} == {"class_probs", "x_atoms", "x_loc", "x_variance"}
    explanation = nb.explain(post, INCOMES[[5]])
    assert_allclose(explanation.values, INCOMES[[5]])
    top = nb.top_features(post)
    assert {feature.name for feature in top[0]} == {"x[0]", "x[1]"}
    heavy = fit(nb.LogNormal(), np.exp(np.linspace(0.0, 1.0, N))[:, None])
    mle = nb.fit_mle(heavy.prior, np.exp(np.linspace(0.0, 1.0, N))[:, None], y)
    for k in range(3):  # the mean of a log-normal
        loc, variance = (float(mle.params[f"x_{site}"][k, 0]) for site in ("loc", "variance"))
        assert_allclose(nb.top_features(mle)[k][0].here, np.exp(loc + variance / 2), rtol=1e-6)
    constant = fit(nb.LogNormal(), np.full((N, 1), 2.0))
    assert_allclose(constant.generate(key=jax.random.key(0), num_rows=3)[0], 2.0, rtol=1e-6)


def test_files_have_them():
    for family in (
        nb.LogNormal(),
        nb.Hurdle(nb.Transformed(nb.NormalKnownVariance(1.0), "log"), at=(np.nan, 0.0, 99.0)),
    ):
        X = INCOMES if isinstance(family, nb.Hurdle) else SIZES
        post = fit(family, X)
        for one in (post, post.prior, nb.NaiveBayes(family), post.statistics, nb.fit_map(post.prior, X, y)):
            file = io.BytesIO()
            nb.save(one, file)
            file.seek(0)
            again = nb.load(file)
            assert repr(again) == repr(one)
            jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(again), jax.tree.leaves(one))
            if one is post:
                assert_allclose(again.predict_proba(X), post.predict_proba(X), rtol=1e-12)
            if one is post.statistics:
                assert_allclose(nb.merge(again, one).class_counts, 2 * one.class_counts)
    with pytest.raises(ValueError, match="statistics must be those of the model's blocks"):
        nb.fit_posterior(nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=0.0)), statistics=fit(nb.LogNormal()).statistics)


def test_jax_rows_and_weights_of_zero():
    weight = np.where(np.arange(N) < 9, 0.0, 1.0)
    X = np.where(weight[:, None] == 0, 0.0, SIZES)  # cells of 0 that do not count
    plain = fit(nb.LogNormal(), X, sample_weight=weight)
    device = jax.device_put(jnp.asarray(X))
    model = nb.NaiveBayes(nb.LogNormal(), num_classes=3)

    def found(X, weight):
        return nb.fit_posterior(model, X, jnp.asarray(y), sample_weight=weight).log_joint(jnp.asarray(SIZES))

    tolerance = 1e-9 if jax.config.jax_enable_x64 else 2e-4
    expected = plain.log_joint(SIZES)
    assert_allclose(found(device, jnp.asarray(weight)), expected, rtol=tolerance, atol=tolerance)
    assert_allclose(jax.jit(found)(device, jnp.asarray(weight)), expected, rtol=tolerance, atol=tolerance)
    hurdle = fit(nb.Hurdle(nb.LogNormal(), at=(0.0, np.nan)), INCOMES)
    proba = jax.jit(hurdle.predict_proba)(jnp.asarray(INCOMES))
    assert_allclose(proba, hurdle.predict_proba(INCOMES), rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws")
def test_samplers_and_hyperpriors_take_them():
    X = np.where(INCOMES == 99.0, 1.0, INCOMES)
    family = nb.Hurdle(nb.LogNormal(strength=dist.Gamma(2.0, 2.0)), at=0.0, concentration=dist.Gamma(2.0, 2.0))
    draws = nb.fit_nuts(nb.NaiveBayes(family), X, y, key=jax.random.key(0), num_warmup=50, num_samples=20)
    assert {"x_prior_strength", "x_prior_concentration", "x_atoms", "x_loc"} <= {*draws.params}
    assert np.isfinite(draws.log_joint(X)).all()


@pytest.mark.slow
def test_averages_and_prequential_predictions_are_those_of_logarithms():
    logs = np.log(SIZES)
    ours, theirs = nb.NaiveBayes(nb.LogNormal(), num_classes=3), nb.NaiveBayes(nb.Normal(), num_classes=3)
    averages = [nb.fit_averaged(model, x, y) for model, x in ((ours, SIZES), (theirs, logs))]
    assert_allclose(averages[0].predict_proba(SIZES), averages[1].predict_proba(logs), rtol=1e-9)
    rows, _ = nb.fit_averaged(nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=(0.0, 99.0))), INCOMES, y).generate(
        key=jax.random.key(0), num_rows=5
    )
    assert (rows >= 0).all()
    empirical = [nb.fit_empirical(model, x, y) for model, x in ((ours, SIZES), (theirs, logs))]
    assert_allclose(empirical[0].prior.families["x"].strength, empirical[1].prior.families["x"].strength, rtol=1e-6)
    given = [model.resolve(x, y) for model, x in ((ours, SIZES), (theirs, logs))]
    parts = [nb.prequential(model, x, y) for model, x in zip(given, (SIZES, logs), strict=True)]
    assert_allclose(parts[0], parts[1] - np.nansum(logs, axis=1), rtol=1e-5)


def test_parts_merge():
    given = nb.NaiveBayes(nb.LogNormal()).resolve(SIZES, y)
    halves = [nb.sufficient_statistics(given, SIZES[some], y[some]) for some in (slice(0, 20), slice(20, N))]
    merged = nb.fit_posterior(given, statistics=nb.merge(*halves))
    assert_allclose(merged.log_evidence, fit(nb.LogNormal()).log_evidence, rtol=1e-9)
    ((part, counted),) = whole(given.families["x"], merged.statistics.blocks["x"])
    assert isinstance(part, nb.Normal)
    assert_allclose(counted.count, [[16, 16], [16, 16], [16, 15]])  # a cell is missing


REFUSED = [
    (lambda: nb.Transformed(nb.Poisson(), "log"), "Transformed takes a family of real numbers.*got Poisson"),
    (lambda: nb.Transformed(nb.Categorical(3), "log"), "of real numbers.*got Categorical"),
    (lambda: nb.Transformed(nb.Likelihood(dist.Gamma), "log"), "of real numbers.*got Likelihood"),
    (lambda: nb.Transformed(nb.LogNormal(), "log"), "of real numbers.*got LogNormal"),
    (lambda: nb.Transformed(nb.Hurdle(nb.Normal(), 0), "log"), "of real numbers.*got Hurdle"),
    (lambda: nb.Transformed(nb.MultivariateNormal(), "log"), "a family of single numbers"),
    (lambda: nb.Transformed(nb.Normal(), "sqrt"), "transform must be 'log' or 'logit', got 'sqrt'"),
    (lambda: nb.Transformed(nb.Normal, "log"), r"takes a family such as Normal\(...\)"),
    (lambda: nb.Hurdle(nb.Poisson(), at=0), "a family with a density.*got Poisson"),
    (lambda: nb.Hurdle(nb.Categorical(2), at=np.nan), "a family with a density.*one code more"),
    (lambda: nb.Hurdle(nb.Hurdle(nb.Normal(), 0), np.nan), "a family with a density.*got Hurdle"),
    (lambda: nb.Hurdle(nb.Views(nb.Normal(), nb.Histogram()), 1), "a family of single numbers"),
    (lambda: nb.Hurdle(nb.Binomial(3), np.nan), "a family of single numbers"),
    (lambda: nb.Hurdle(nb.Normal(), at=()), "at must be a finite number"),
    (lambda: nb.Hurdle(nb.Normal(), at=(0, 0.0)), r"several that differ, got \(0, 0.0\)"),
    (lambda: nb.Hurdle(nb.Normal(), at=np.inf), "at must be a finite number"),
    (lambda: nb.Hurdle(nb.Normal(), at="zero"), "at must be a finite number.*got 'zero'"),
    (lambda: nb.Hurdle(nb.Normal(), 0, concentration=-1.0), "concentration must be positive"),
    (lambda: fit(nb.LogNormal(), INCOMES), r"column 0: a LogNormal cell is a number above 0.*got 0.0; .*nb.Hurdle"),
    (lambda: fit(nb.LogNormal()).predict(-SIZES), "column 0: a LogNormal cell is a number above 0"),
    (lambda: fit(nb.LogitNormal(), SIZES), r"a LogitNormal cell is a number between 0 and 1.*at=\(0.0, 1.0\)"),
    (lambda: fit(nb.Hurdle(nb.LogNormal(), at=99.0), INCOMES), "a LogNormal cell is a number above 0"),
    (lambda: fit(nb.LogNormal(), np.where(SIZES > 3, np.inf, SIZES)), "a LogNormal cell is a number above 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_does_not_fit_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_counts_have_missing_cells_as_a_value():
    X = np.floor(SIZES)
    ours, rows = fit(nb.Hurdle(nb.Poisson(), at=np.nan), X), by_hand(X, (np.nan,))
    theirs = nb.fit_posterior(nb.NaiveBayes({"which": nb.Categorical(2), "rest": nb.Poisson()}), rows, y)
    assert_allclose(ours.log_joint(X), theirs.log_joint(rows), rtol=1e-9)
    found, _ = ours.generate(key=jax.random.key(0), num_rows=500)
    assert np.isnan(found).any()
