"""Families of mapped cells at every door: rows, files, JAX, samplers, averages, parts."""

import io

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.families._mapped import whole
from tests.core.families.mapped_rows import INCOMES, SIZES, N, fit, y


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
    assert {feature.name for feature in top["0"]} == {"x[0]", "x[1]"}
    heavy = fit(nb.LogNormal(), np.exp(np.linspace(0.0, 1.0, N))[:, None])
    mle = nb.fit_mle(heavy.prior, np.exp(np.linspace(0.0, 1.0, N))[:, None], y)
    for k in range(3):  # the mean of a log-normal
        loc, variance = (float(mle.params[f"x_{site}"][k, 0]) for site in ("loc", "variance"))
        assert_allclose(nb.top_features(mle)[str(k)][0].here, np.exp(loc + variance / 2), rtol=1e-6)
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
