"""The features that speak most for a class: mean contributions, against rows that the fit generates."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import rel_entr

import bayesnb as nb
from bayesnb.compute.arrays._compute import compute
from bayesnb.inspection._explain import explain
from bayesnb.inspection._top_features import divergence, top_features
from tests import cases

NUM_ROWS = 4000


@pytest.mark.parametrize(
    "name",
    cases.by_default(
        [name for name in cases.NAMES if name not in ("trials", "multinomial", "known", "mixed")],
        "ragged",
    ),
)
def test_nats_are_the_mean_contribution_to_rows_of_the_class(name):
    """Within 5 standard errors; the categories of a column add up to the column."""
    case = cases.make(name)
    post = nb.fit_posterior(case.model, case.X, case.y)
    fit = nb.PointEstimate(post.model, post.model.reference()).with_class_probs([0.2, 0.3, 0.5])
    X, y = fit.generate(key=jax.random.key(3), num_rows=NUM_ROWS)
    told = [explain(fit, X, against=j).contributions for j in range(3)]
    found = top_features(fit, 100)
    for k, others in enumerate([(0, 0.375, 0.625), (2 / 7, 0, 5 / 7), (0.4, 0.6, 0)]):
        of_rows = sum(share * told[j][y == k, k] for j, share in enumerate(others))
        mean, error = of_rows.mean(axis=0), of_rows.std(axis=0) / np.sqrt(len(of_rows))
        names = [f"x[{d}]" for d in range(mean.size)] if mean.size > 1 else ["x"]
        nats = [sum(f.nats for f in found[str(k)] if f.name.split(" = ")[0] == feature) for feature in names]
        assert_allclose((nats - mean) / error, 0, atol=5)


def test_the_divergence_of_a_family_without_a_closed_form_is_a_quadrature():
    family = nb.NormalKnownVariance(variance=np.array([[1.0, 4.0], [2.0, 4.0], [0.5, 9.0]]))
    params = {"loc": np.array([[0.0, 5.0], [1.0, 5.0], [-3.0, 2.0]])}
    for k in range(3):
        exact = compute(divergence, family, params, k)
        assert_allclose(compute(divergence.dispatch(object), family, params, k), exact, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("family", "params"), [(nb.Poisson(), {"rate": [[1.0]]}), (nb.Multinomial(), {"probs": [[1.0]]})]
)
def test_a_family_without_quantiles_registers_its_divergence(family, params):
    with pytest.raises(ValueError, match=f"divergence.register\\({type(family).__name__}\\)"):
        divergence.dispatch(object)(family, {site: np.array(value) for site, value in params.items()}, 0)


def test_words_by_hand():
    rows = np.array([[6, 2, 2], [1, 8, 1]])
    fit = nb.fit_mle(nb.NaiveBayes(nb.Multinomial()), rows, [0, 1])
    found = top_features(fit, 2, class_names=["ham", "spam"], feature_names=["a", "b", "c"])
    assert [feature.name for feature in found["ham"]] == ["a", "c"]
    assert_allclose(found["ham"][0][1:], [0.6 * np.log(6), 0.6, 0.1])
    assert_allclose(found["spam"][0][1:], [0.8 * np.log(4), 0.8, 0.2])
    assert repr(found).splitlines()[0].split() == ["ham", "nats", "mean", "here", "elsewhere"]


def test_an_exact_posterior_has_the_means_of_its_parameters_and_its_weights():
    case = cases.make("ragged")
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Categorical((2, 5, 3)), num_classes=3), case.X, case.y)
    weights = np.array([0.5, 1.0, 0.25])
    plain, tempered = (
        {f.name: f for f in top_features(each, 100)["0"]}
        for each in (fit, nb.Posterior(fit.prior, fit.model, fit.statistics, {"x": weights}))
    )
    probs = np.asarray(fit.model.families["x"].concentration)[:, :2]
    probs = probs / probs.sum(axis=1, keepdims=True)
    expected = rel_entr(probs[0], probs[1:]).mean(axis=0)
    for c in range(2):
        assert_allclose(plain[f"x[0] = {c}"].nats, expected[c], rtol=1e-6)
        assert_allclose(plain[f"x[0] = {c}"].here, probs[0, c], rtol=1e-6)
    for name, feature in plain.items():
        assert_allclose(tempered[name].nats, weights[int(name[2])] * feature.nats)


def test_blocks_are_ranked_together_and_what_never_happens_elsewhere_comes_first():
    X = {"flags": np.array([[1, 0], [1, 1], [0, 0], [0, 1]]), "sizes": np.array([[1.0], [2.0], [30.0], [31.0]])}
    fit = nb.fit_mle(nb.NaiveBayes({"flags": nb.Bernoulli(), "sizes": nb.Normal()}), X, [0, 0, 1, 1])
    found = top_features(fit, 3)["0"]
    assert [feature.name for feature in found] == ["flags[0]", "sizes[0]", "flags[1]"]
    assert found[0].nats == np.inf
    assert found[2].nats == 0


def test_what_is_refused():
    flags, y = np.array([[1, 0], [0, 1]]), [0, 1]
    model = nb.NaiveBayes(nb.Bernoulli())
    with pytest.raises(ValueError, match="top_features takes a PointEstimate or a Posterior, got AveragedPosterior"):
        top_features(nb.fit_averaged(model, flags, y))
    with pytest.raises(ValueError, match="the model has a single class"):
        top_features(nb.fit_map(model, flags, [0, 0]))
    with pytest.raises(ValueError, match="count must be a positive int"):
        top_features(nb.fit_map(model, flags, y), 0)
    with pytest.raises(ValueError, match="inside a JAX transformation"):
        jax.jit(lambda rows: top_features(nb.fit_map(model, rows, np.array(y)))["0"][0].nats)(flags)


def test_words_have_the_power_of_a_row_of_mean_length(rng):
    rows, y = rng.poisson(2.0, (12, 4)), np.arange(12) % 2
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), rows, y)
    plain, raised = (top_features(one)["0"] for one in (fit, fit.with_powers(0.9, length_exponents=0.5)))
    power = 0.9 * (1.0 + rows.sum() / 12) ** -0.5
    assert [word.name for word in raised] == [word.name for word in plain]
    assert_allclose([word.nats for word in raised], [power * word.nats for word in plain])


def test_a_hurdle_adds_the_divergence_of_its_values_to_that_of_the_rest():
    """KL divergence of the mixed distribution: by quadrature of its density, and a sum over its values."""
    probs, loc, scale = np.array([[0.5, 0.1, 0.4], [0.2, 0.1, 0.7]]), np.array([0.0, 1.0]), np.array([1.0, 0.5])
    params = {"class_probs": [0.5, 0.5], "x_loc": loc[:, None], "x_variance": scale[:, None] ** 2}
    model = nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=(0.0, 99.0)))
    top = top_features(nb.PointEstimate(model, {**params, "x_atoms": probs[:, None]}))
    z = np.linspace(-12, 12, 200_001)
    logs = stats.norm.logpdf(z[:, None], loc, scale)
    for k, j in ((0, 1), (1, 0)):
        rest = (np.exp(logs[:, k]) * (logs[:, k] - logs[:, j])).sum() * (z[1] - z[0])
        expected = rel_entr(probs[k], probs[j]).sum() + probs[k, 2] * rest
        (feature,) = top[str(k)]
        assert_allclose(feature.nats, expected, rtol=1e-6)
        mean = probs[k] @ [0.0, 99.0, np.exp(loc[k] + scale[k] ** 2 / 2)]
        assert_allclose(feature.here, mean, rtol=1e-6)
