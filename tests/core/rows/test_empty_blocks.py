"""A block of no columns says nothing: each door, and what is made of a fit, answers as without it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases
from tests.empty_blocks import FAMILIES, FLAGS, KEY, Y, beside, rows
from tests.replicates import replicates
from tests.served import served

DOORS = {
    "fit_mle": lambda m, x: nb.fit_mle(m, x, Y).predict_log_proba(x),
    "fit_map": lambda m, x: nb.fit_map(m, x, Y).predict_log_proba(x),
    "fit_posterior": lambda m, x: nb.fit_posterior(m, x, Y).log_joint(x),
    "jax": lambda m, x: nb.fit_posterior(m, jax.tree.map(jnp.asarray, x), Y).log_density(jax.tree.map(jnp.asarray, x)),
    "evidence": lambda m, x: nb.fit_posterior(m, x, Y).log_evidence,
    "leave_one_out": lambda m, x: nb.leave_one_out(m, x, Y),
    "cross_validate": lambda m, x: nb.cross_validate(m, x, Y, folds=3),
    "cross_validate_map": lambda m, x: nb.cross_validate(m, x, Y, folds=3, fit=nb.fit_map),
    "temper": lambda m, x: nb.temper(nb.fit_posterior(m, x, Y), x, Y).predict_log_proba(x),
    "temper_per_feature": lambda m, x: nb.temper(nb.fit_posterior(m, x, Y), x, Y, per_feature=True).predict_log_proba(
        x
    ),
    "fit_em": lambda m, x: nb.fit_em(m, x, np.array([0, 0, -1, 1, 1, -1])).predict_log_proba(x),
}


def pairs():
    for name in FAMILIES:
        for door in DOORS:
            if (name, door) == ("histogram", "fit_em"):
                continue  # its MAP is the best of discrete cases
            quick = door == "fit_posterior" or name == "covariance"
            yield pytest.param(name, door, marks=[] if quick else pytest.mark.slow)


@pytest.mark.parametrize(("name", "door"), list(pairs()))
def test_a_block_of_no_columns_says_nothing(name, door):
    model, X = beside(name)
    expected = DOORS[door](nb.NaiveBayes({"f": nb.Bernoulli()}, num_classes=2), {"f": FLAGS})
    assert_allclose(DOORS[door](model, X), expected, rtol=1e-4, atol=1e-5)
    alone = np.asarray(DOORS[door](nb.NaiveBayes(FAMILIES[name], num_classes=2), rows(name)))
    assert np.isfinite(alone).all()
    if alone.shape == (6, 2) and door != "leave_one_out":
        assert_allclose(np.exp(alone), 0.5, rtol=1e-5)


@pytest.mark.parametrize("name", cases.by_default(FAMILIES))
def test_what_is_drawn_of_it_is_empty(name):
    model, X = beside(name)
    totals = {"e": 2} if name in ("multinomial", "trials") else None
    fit = nb.fit_posterior(model, X, Y)
    assert fit.sample(KEY, 3)["f_probs"].shape == (3, 2, 1)
    generated, labels = fit.generate(key=KEY, num_rows=4, total_count=totals)
    assert labels.shape == (4,)
    assert all(part.shape == (4, 0) for part in jax.tree.leaves(generated["e"]))
    low, high = fit.predict_interval(X, key=KEY, num_draws=8)
    assert (low <= high).all()
    assert fit.contribution_interval(X, key=KEY, num_draws=8)["f"].low.shape == (6, 2, 1)
    none = {"e": rows(name, 0), "f": FLAGS[:0]}
    assert fit.predict_proba(none).shape == (0, 2)


# what is made of a fit, where a block has no columns: learned priors, files, tables and draws say nothing of it


ALONE = nb.NaiveBayes({"f": nb.Bernoulli()}, num_classes=2)


@pytest.mark.slow
@pytest.mark.parametrize("by", [pytest.param("block", marks=pytest.mark.slow), "feature"])
@pytest.mark.parametrize("name", cases.by_default(FAMILIES, "bernoulli", "multinomial", "covariance"))
def test_its_prior_is_not_learned(name, by):
    found = nb.fit_empirical(nb.NaiveBayes(FAMILIES[name], num_classes=2), rows(name), Y, by=by, learn_class=False)
    assert_allclose(found.log_evidence, found.start_log_evidence)
    assert found.converged
    assert all(side == 0 for side in found.at_bound["x"].values())
    model, X = beside(name)
    found = nb.fit_empirical(model, X, Y, by=by, learn_class=False)
    expected = nb.fit_empirical(ALONE, {"f": FLAGS}, Y, by=by, learn_class=False)
    assert_allclose([found.log_evidence, found.log_hyperprior], [expected.log_evidence, expected.log_hyperprior])


@pytest.mark.parametrize("fit", [nb.fit_posterior, nb.fit_map])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_file_holds_it(name, fit, tmp_path):
    model, X = beside(name)
    expected = fit(ALONE, {"f": FLAGS}, Y).predict_log_proba({"f": FLAGS})
    nb.save(fit(model, X, Y), tmp_path / "fit")
    assert_allclose(nb.load(tmp_path / "fit").predict_log_proba(X), expected)
    nb.save(model, tmp_path / "model")
    assert nb.load(tmp_path / "model").columns == {"e": None, "f": None}


@pytest.mark.parametrize("name", cases.by_default(["bernoulli", "trials", "categorical", "covariance"], "bernoulli"))
def test_an_export_takes_it_and_no_other_width(name):
    model, X = beside(name)
    fit = nb.fit_posterior(model, X, Y)
    rows = jax.tree.map(lambda x: np.asarray(x, float), X)
    assert_allclose(served(fit.predict_log_proba, rows)(rows), fit.predict_log_proba(X), rtol=1e-5)
    wide = {"e": jax.tree.map(lambda part: np.ones((len(part), 2)), X["e"]), "f": FLAGS}
    for answer in (fit.predict_log_proba, lambda X: served(fit.predict_log_proba, X)):
        with pytest.raises(ValueError, match="block 'e' has 2 columns, the model has 0"):
            answer(wide)


@pytest.mark.parametrize("name", cases.by_default(FAMILIES, "trials", "categorical", "discriminant"))
def test_tables_leave_it_out(name):
    model, X = beside(name)
    fit, expected = nb.fit_posterior(model, X, Y), nb.fit_posterior(ALONE, {"f": FLAGS}, Y)
    assert fit.evidence_table().features["e"].sum() == 0
    assert_allclose(fit.evidence_table().features["f"], expected.evidence_table().features["f"])
    assert dict(nb.top_features(fit)) == dict(nb.top_features(expected))
    with pytest.raises(ValueError, match="the model has no columns"):
        nb.top_features(nb.fit_posterior(nb.NaiveBayes(FAMILIES[name], num_classes=2), rows(name), Y))
    explained = nb.explain(fit, X)
    assert "f[0] = 1" in repr(explained)
    assert_allclose(explained.contributions.sum(axis=2), nb.explain(expected, {"f": FLAGS}).contributions.sum(axis=2))
    inclusion = nb.feature_inclusion(model, X, Y)
    assert_allclose(inclusion.probability["e"], 0.5)  # of a block that is one feature; else there is none
    averaged = nb.fit_averaged(model, X, Y).predict_log_proba(X)
    assert_allclose(averaged, nb.fit_averaged(ALONE, {"f": FLAGS}, Y).predict_log_proba({"f": FLAGS}))


@pytest.mark.parametrize("name", cases.by_default(["bernoulli", "shared", "covariance"], "shared"))
def test_replicates_hold_it(name):
    model, X = beside(name)
    found = replicates(model, X, Y, key=KEY, fit=nb.fit_map)
    expected = replicates(ALONE, {"f": FLAGS}, Y, key=KEY, fit=nb.fit_map)
    assert_allclose(found["f_probs"], expected["f_probs"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust")
def test_a_sampler_goes_past_it():
    model, X = beside("bernoulli")
    draws = nb.fit_nuts(model, X, Y, key=KEY, num_warmup=20, num_samples=20, num_chains=1)
    assert draws.params["e_probs"].shape[-2:] == (2, 0)
    assert_allclose(draws.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("num_columns", [0, 1])
def test_dependence_needs_two_columns(num_columns):
    with pytest.raises(ValueError, match=f"between two columns, X has {num_columns}"):
        nb.dependence(np.zeros((6, num_columns)), Y)


@pytest.mark.parametrize(
    "classifier",
    [nb.NaiveBayesClassifier(), nb.sklearn.GaussianNB(), nb.sklearn.BernoulliNB(), nb.sklearn.MultinomialNB()],
    ids=lambda one: type(one).__name__,
)
def test_estimators_refuse_rows_of_no_columns(classifier):
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        classifier.fit(np.zeros((6, 0)), Y)
