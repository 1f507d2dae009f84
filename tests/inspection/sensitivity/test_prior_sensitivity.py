"""The table of sensitivities, and what carries a prediction: refits with scaled priors, and ArviZ on draws."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays._compute import interpret
from bayesnb.inspection.sensitivity._power_scaling import scale_prior
from tests.inspection.sensitivity.mixed import PRIORS, fitted, rows

POST = fitted()
X = {block: x[:5] for block, x in rows(1)[0].items()}


def test_every_parameter_of_every_site_has_a_row():
    found = nb.prior_sensitivity(POST)
    frame = found.frame()
    assert len(frame) == 3 + 2 * 6 + 3 * 5 + 6 + 12 + 3 + 3
    assert frame.isna().sum().sum() == 0
    assert [*dict.fromkeys(frame["site"])][:3] == ["class_probs", "n_loc", "n_variance"]
    assert "c[0]=2" in {*frame["entry"]}
    assert str(found).count("\n") == len(frame)


def test_a_uniform_prior_has_none():
    flat = nb.NaiveBayes({"f": nb.Bernoulli(), "w": nb.Multinomial(), "c": nb.Categorical(2)})
    post = nb.fit_posterior(flat, {b: rows()[0][b] for b in ("f", "w", "c")}, rows()[1])
    found = nb.prior_sensitivity(post)
    assert all((np.asarray(table) == 0).all() for table in found.prior.values())
    assert all((np.asarray(table) > 0).all() for table in found.likelihood.values())


def test_diagnoses():
    y = [0] * 10 + [1] * 10
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=20.0, b=2.0)), [[1]] * 3 + [[0]] * 7 + [[1]] * 10, y)
    weak = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=40.0, b=40.0)), [[1], [0]], [0, 1])
    assert nb.prior_sensitivity(post).frame()["diagnosis"].tolist()[2] == "prior-data conflict"
    assert "strong prior" in nb.prior_sensitivity(weak).frame()["diagnosis"].tolist()


def test_a_normal_whose_prior_is_far_away():
    x = np.random.default_rng(0).normal(size=(50, 1))
    far = [
        nb.prior_sensitivity(nb.fit_posterior(nb.NaiveBayes(nb.Normal(loc=loc, rate=1.0)), x, [0] * 50))
        for loc in (0.0, 5.0, 10.0)
    ]
    near, middle, distant = (float(found.prior["x_loc"][0, 0]) for found in far)
    assert near < 0.05 < middle < distant


def test_only_the_scaled_column_carries_a_prediction_as_a_refit_says():
    found, step = nb.prior_sensitivity(POST, X), 1e-5
    for block, family in POST.prior.families.items():
        moved = []
        for sign in (1, -1):
            scaled = interpret(scale_prior, family, np.array(2.0 ** (sign * step)))
            other = nb.fit_posterior(replace_family(POST.prior, block, scaled), statistics=POST.statistics)
            moved.append(other.predict_log_proba(X))
        assert_allclose(found[block].sum(axis=2), (moved[0] - moved[1]) / (2 * step), atol=2e-6)


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_the_prior_of_a_covariance_carries_a_prediction_as_a_refit_says(covariance):
    x, y = X["n"], rows()[1]
    post = nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal(covariance)), rows()[0]["n"], y)
    family, step = post.prior.families["x"], 1e-5
    up, down = (
        nb.fit_posterior(
            replace_family(post.prior, "x", interpret(scale_prior, family, np.array(2.0 ** (sign * step)))),
            statistics=post.statistics,
        ).predict_log_proba(x)
        for sign in (1, -1)
    )
    found = nb.prior_sensitivity(post, x)
    assert found["x"].shape == (5, 3, 1)
    assert_allclose(found["x"][:, :, 0], (up - down) / (2 * step), rtol=1e-5, atol=2e-6)


def replace_family(model, block, family):
    return model.with_hyperparameters({**model.families, block: family}, model.class_concentration)


def test_powers_multiply_what_a_column_carries():
    halved = nb.prior_sensitivity(POST.with_powers(0.5), X)
    shares = POST.with_powers(0.5).predict_proba(X)[:, :, None]
    plain = nb.prior_sensitivity(POST, X)
    for block in PRIORS:
        centred = plain[block] - (shares * plain[block]).sum(axis=1, keepdims=True)
        assert_allclose(halved[block], 0.5 * centred, rtol=1e-6, atol=1e-12)


def test_the_means_move_by_their_covariance_with_the_log_prior():
    """d E[theta] / d log2 alpha = log(2) Cov(theta, log p(theta)): of a Beta, by integration."""
    from scipy import stats

    a, b, s, f = 2.0, 3.0, 4.0, 7.0
    t = np.linspace(0, 1, 200_001)[1:-1]
    p = stats.beta(a + s, b + f).pdf(t)
    prior, p = stats.beta(a, b).logpdf(t), p / p.sum()
    expected = np.log(2) * ((p * t * prior).sum() - (p * t).sum() * (p * prior).sum())
    means = [
        (interpret(scale_prior, nb.Bernoulli(a=np.array([[a]]), b=np.array([[b]])), np.array(alpha)))
        for alpha in (2**1e-5, 2**-1e-5)
    ]
    up, down = ((m.a + s) / (m.a + m.b + s + f) for m in means)
    assert_allclose((up - down) / 2e-5, expected, rtol=1e-6)


def test_arviz_agrees_on_draws():
    arviz_stats = pytest.importorskip("arviz_stats", reason="ArviZ 1 has psense")
    arviz_base = pytest.importorskip("arviz_base", reason="ArviZ 1 has psense")
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=20.0, b=2.0)), [[1]] * 3 + [[0]] * 7, [0] * 10)
    theta = np.asarray(post.sample(jax.random.key(0), 100_000)["x_probs"])[:, 0, 0].reshape(4, -1)
    tree = arviz_base.from_dict(
        {
            "posterior": {"theta": theta},
            "log_prior": {"theta": 19 * np.log(theta) + np.log1p(-theta)},
            "log_likelihood": {"x": 3 * np.log(theta) + 7 * np.log1p(-theta)},
        }
    )
    summary = arviz_stats.psense_summary(tree)
    found = nb.prior_sensitivity(post, num_draws=100_000)
    assert_allclose(summary["prior"].to_numpy(float)[0], found.prior["x_probs"][0, 0], rtol=0.05)
    assert_allclose(summary["likelihood"].to_numpy(float)[0], found.likelihood["x_probs"][0, 0], rtol=0.05)


def test_known_class_probabilities_and_a_single_class_have_no_row():
    assert "class_probs" not in nb.prior_sensitivity(POST.with_class_probs([0.2, 0.3, 0.5])).prior
    assert "class_probs" not in nb.prior_sensitivity(POST.with_class_probs([0.2, 0.3, 0.5]), X)


@pytest.mark.slow
def test_inside_jit():
    found = jax.jit(nb.prior_sensitivity)(POST)
    expected = nb.prior_sensitivity(POST)
    for site, table in expected.prior.items():
        assert_allclose(found.prior[site], table, rtol=2e-2, atol=2e-4)


def test_priors_that_were_learned_are_refused():
    learned = nb.fit_empirical(nb.NaiveBayes(nb.Bernoulli()), rows()[0]["f"], rows()[1])
    with pytest.raises(ValueError, match="learned from the rows"):
        nb.prior_sensitivity(learned)
    with pytest.raises(ValueError, match="PointEstimate"):
        nb.prior_sensitivity(nb.fit_mle(nb.NaiveBayes(nb.Bernoulli()), rows()[0]["f"], rows()[1]))
    with pytest.raises(ValueError, match="num_draws"):
        nb.prior_sensitivity(POST, num_draws=0)


def test_mapped_cells_are_as_sensitive_as_the_parts_by_hand():
    rng = np.random.default_rng(0)
    y, z = np.arange(30) % 2, rng.normal(size=(30, 1))
    flags = rng.random((30, 1)) < 0.3
    hurdle = nb.fit_posterior(nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=0.0)), np.where(flags, 0.0, np.exp(z)), y)
    hand = nb.NaiveBayes({"which": nb.Categorical(2), "rest": nb.Normal()})
    parts = nb.fit_posterior(hand, {"which": ~flags * 1, "rest": np.where(flags, np.nan, z)}, y)
    ours, theirs = nb.prior_sensitivity(hurdle), nb.prior_sensitivity(parts)
    for name, other in (("x_loc", "rest_loc"), ("x_variance", "rest_variance"), ("x_atoms", "which_probs")):
        assert_allclose(ours.prior[name], theirs.prior[other], rtol=1e-6, atol=1e-9)
        assert_allclose(ours.likelihood[name], theirs.likelihood[other], rtol=1e-6, atol=1e-9)
    assert {"x[0]=0", "x[0]=other"} <= {*ours.frame()["entry"]}
    gradient = nb.prior_gradient(hurdle, [[2.0]])["x"]
    by_hand = nb.prior_gradient(parts, {"which": [[1]], "rest": [[np.log(2.0)]]})
    assert_allclose(gradient["strength"], by_hand["rest"]["strength"], rtol=1e-6, atol=1e-12)
    assert_allclose(gradient["concentration"], by_hand["which"]["concentration"], rtol=1e-6, atol=1e-12)
