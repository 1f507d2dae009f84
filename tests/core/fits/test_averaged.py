"""The average over subsets of features, against the sum over all of them."""

from itertools import product

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import bayesnb as nb
from tests import cases

Y = cases.make("mixed").y
K = 3
BLOCKS = {
    "bernoulli": nb.Bernoulli(2.0, 0.5),
    "ragged": nb.Categorical((2, 5, 3), 0.7),
    "normal": nb.Normal(),
    "shared": nb.Normal(variance="shared"),
    "multinomial": nb.Multinomial(0.5),
    "covariance": nb.MultivariateNormal(),
}
X = {name: cases.make(name).X for name in BLOCKS}
X["normal"], X["shared"] = X["normal"][:, :1], X["shared"][:, 1:2]
X["bernoulli"] = X["bernoulli"][:, :2]
PRIOR = 0.3


def features():
    """Every feature as a model of its own and its rows, by block."""
    for name, family in BLOCKS.items():
        x = X[name]
        if name in ("multinomial", "covariance"):
            yield name, family, x
            continue
        for d in range(x.shape[1]):
            yield name, nb.Categorical(family.num_categories[d], 0.7) if name == "ragged" else family, x[:, [d]]


def one_feature(family, x):
    """log evidence and log predictive [N, K] of a feature, with parameters by class and with one set for all."""
    model = nb.NaiveBayes(family, class_probs=np.full(K, 1 / K))
    own = nb.fit_posterior(model, x, Y)
    # the same prior, resolved from all rows without their labels
    common = jax.tree.map(lambda leaf: leaf[:1] if np.ndim(leaf) else leaf, own.prior.families["x"])
    pooled = nb.fit_posterior(nb.NaiveBayes(common, class_probs=[1.0]), x, 0 * Y)
    evidence = own.log_evidence + len(Y) * np.log(K), pooled.log_evidence
    return evidence, (own.log_joint(x) + np.log(K), np.repeat(pooled.log_joint(x), K, axis=1))


@pytest.fixture(scope="module")
def fit():
    return nb.fit_averaged(nb.NaiveBayes(BLOCKS, class_concentration=2.0), X, Y, prior=PRIOR)


def test_the_sum_over_all_subsets(fit):
    parts = [one_feature(family, x) for _, family, x in features()]
    class_part = np.log((np.bincount(Y) + 2.0) / (len(Y) + 6.0))
    weights, tables, included = [], [], []
    for subset in product([0, 1], repeat=len(parts)):
        weights.append(
            sum(e[1 - s] + np.log(PRIOR if s else 1 - PRIOR) for s, (e, _) in zip(subset, parts, strict=True))
        )
        tables.append(class_part + sum(t[1 - s] for s, (_, t) in zip(subset, parts, strict=True)))
        included.append(subset)
    weights = np.array(weights) - logsumexp(weights)
    expected = logsumexp(weights[:, None, None] + np.array(tables), axis=0)
    assert_allclose(fit.log_joint(X), expected, rtol=1e-9)
    probability = np.exp(weights) @ np.array(included)
    assert_allclose(np.concatenate(list(fit.probability.values())), probability, rtol=1e-8)
    assert_allclose(
        fit.predict_log_proba(X), expected - logsumexp(expected, axis=1, keepdims=True), rtol=1e-7, atol=1e-9
    )


def test_probabilities_are_those_of_feature_inclusion(fit):
    found = nb.feature_inclusion(nb.NaiveBayes(BLOCKS, class_concentration=2.0), X, Y, prior=PRIOR)
    for name, p in found.probability.items():
        assert_allclose(fit.probability[name], p, rtol=1e-9)


@pytest.mark.parametrize("names", [["bernoulli"], pytest.param([*BLOCKS], marks=pytest.mark.slow)], ids=len)
def test_draws_are_of_subsets(names, key):
    model = nb.NaiveBayes({name: BLOCKS[name] for name in names}, num_classes=K)
    fit = nb.fit_averaged(model, {name: X[name] for name in names}, Y)
    sites, _ = fit.draws(key, 400)
    probability = {f"{name}_probs": p for name, p in fit.probability.items()}
    if len(names) > 1:
        probability |= {f"ragged_probs_{d}": fit.probability["ragged"][[d]] for d in range(3)}
        probability |= {"normal_loc": fit.probability["normal"], "shared_loc": fit.probability["shared"]}
        probability |= {"covariance_covariance": fit.probability["covariance"]}
    for site in sites.keys() & probability.keys():
        draws = np.asarray(sites[site])
        differ = (draws != draws[:, :1]).reshape(400, K, len(probability[site]), -1).any(axis=(1, 3))
        # five standard errors of a share of 400 draws
        assert_allclose(differ.mean(axis=0), probability[site], atol=5 * np.sqrt(0.25 / 400), err_msg=site)


@pytest.mark.slow
def test_generated_rows_have_the_shares_of_the_fit(key):
    fit = nb.fit_averaged(nb.NaiveBayes(BLOCKS["bernoulli"], num_classes=K), X["bernoulli"], Y)
    rows, y = fit.generate(key=key, num_rows=2000)
    assert rows.shape == (2000, 2)
    p = fit.predict_proba(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    for d in range(2):
        shares = np.bincount(y[rows[:, d] == 1], minlength=K) / (rows[:, d] == 1).sum()
        assert_allclose(shares, p[d], atol=5 * np.sqrt(0.25 / (rows[:, d] == 1).sum()))


def test_noise_is_left_out_and_signal_stays(rng):
    y = np.arange(300) % 2
    x = rng.normal(size=(300, 6)) + [[3, 0, 0, 0, 0, 0]] * y[:, None]
    fit = nb.fit_averaged(nb.NaiveBayes(nb.Normal()), x, y)
    assert fit.probability[0] > 0.999
    assert (fit.probability[1:] < 0.2).all()


def test_another_population(fit):
    moved = fit.with_class_probs([0.2, 0.3, 0.5]).log_joint(X) - fit.log_joint(X)
    assert_allclose(moved, np.tile(np.log([0.2, 0.3, 0.5] / fit.model.class_mean()), (len(Y), 1)), rtol=1e-6)


@pytest.mark.parametrize("prior", [0.0, 1.0, -1, np.nan, "half", None])
def test_a_prior_is_a_probability(prior):
    with pytest.raises(ValueError, match="prior must be a probability above 0 and below 1, got"):
        nb.fit_averaged(nb.NaiveBayes(nb.Bernoulli()), [[1], [0]], [0, 1], prior=prior)
