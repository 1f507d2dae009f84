"""Leave-one-out and folds against refitting, and feature inclusion against the evidence of whole models."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import expit
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import MultinomialNB

import bayesnb as nb
from tests import cases

Y = np.arange(24) % 3


@pytest.mark.parametrize(
    "name",
    [
        "bernoulli",
        "trials",
        "ragged",
        "multinomial",
        "poisson",
        "normal",
        "shared",
        "covariance",
        "discriminant",
        "mixed",
    ],
)
@pytest.mark.parametrize(
    "fit",
    [
        nb.fit_posterior,
        pytest.param(nb.fit_map, marks=pytest.mark.slow),
        pytest.param(nb.fit_mle, marks=pytest.mark.slow),
    ],
)
def test_folds_equal_refitting_without_them(name, fit):
    case = cases.make(name)
    fold = np.random.default_rng(1).integers(0, 4, len(case.y))
    table = nb.cross_validate(case.model, case.X, case.y, folds=fold, fit=fit)
    prior = case.model.resolve(case.X, case.y)
    for f in range(4):
        rest, out = fold != f, fold == f
        refit = fit(prior, case.rows(rest), case.y[rest])
        assert_allclose(table[out], refit.predict_log_proba(case.rows(out)), rtol=1e-8, atol=1e-10)


def test_folds_are_balanced_within_classes():
    from bayesnb.learned.validation._cross_validate import _folds

    y = np.repeat([0, 1], [30, 12])
    fold = _folds(3, y, 42)
    assert [np.bincount(fold[y == k]).tolist() for k in (0, 1)] == [[10, 10, 10], [4, 4, 4]]


GRIDS = {
    "categorical": [nb.Categorical(3, concentration=c) for c in (0.1, 1.0, 10.0)],
    "shared": [nb.Normal(variance="shared", shape=shape) for shape in (1.0, 20.0)],
    "covariance": [nb.MultivariateNormal(strength=s) for s in (0.5, 1.0, 2.0)],
}


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("categorical", nb.fit_posterior),
        ("shared", nb.fit_map),
        ("shared", nb.fit_mle),
        ("covariance", nb.fit_posterior),
        ("covariance", nb.fit_map),
    ],
)
def test_a_grid_of_models_is_one_table_each(name, fit):
    case, grid = cases.make(name), [nb.NaiveBayes(family, num_classes=3) for family in GRIDS[name]]
    tables = nb.cross_validate(grid, case.X, case.y, folds=4, fit=fit)
    assert tables.shape == (len(grid), 24, 3)
    for model, table in zip(grid, tables, strict=True):
        alone = nb.cross_validate(model, case.X, case.y, folds=4, fit=fit)
        assert_allclose(alone, table, rtol=1e-10, atol=1e-12)


def test_a_grid_of_smoothings_is_scored_as_a_search_would(rng):
    X, y, smoothings = rng.poisson(1.5, (90, 7)), rng.integers(0, 3, 90), [0.01, 1.0, 30.0]
    splits = list(StratifiedKFold(5).split(X, y))
    fold = np.empty(90, int)
    for number, (_, rows) in enumerate(splits):
        fold[rows] = number
    search = GridSearchCV(MultinomialNB(), {"alpha": smoothings}, scoring="neg_log_loss", cv=splits).fit(X, y)
    models = [nb.NaiveBayes(nb.Multinomial.laplace(smoothing)) for smoothing in smoothings]
    table = nb.cross_validate(models, X, y, folds=fold, fit=nb.fit_map)[:, np.arange(90), y]
    for number in range(5):
        scores = search.cv_results_[f"split{number}_test_score"]
        assert_allclose(table[:, fold == number].mean(axis=1), scores, rtol=1e-9)


def test_folds_whose_likelihood_has_no_maximum(rng):
    X, y = rng.normal(size=(12, 4)), np.arange(12) % 3
    for covariance, whose in (("full", "the covariance of class 0"), ("shared", "the covariance")):
        models = [nb.NaiveBayes(nb.MultivariateNormal(covariance=covariance, smoothing=s)) for s in (0.1, 0.0)]
        X[:, 3] = X[:, 2] if covariance == "shared" else X[:, 3]
        with pytest.raises(ValueError, match=f"{whose} .* is singular"):
            nb.cross_validate(models, X, y, folds=3, fit=nb.fit_mle)
        assert np.isfinite(nb.cross_validate(models[0], X, y, folds=3, fit=nb.fit_mle)).all()


@pytest.mark.parametrize("fit", [nb.fit_em, "map", ["map"]])
def test_another_fit_is_refused(fit):
    case = cases.make("normal")
    with pytest.raises(ValueError, match=r"fit must be fit_mle or fit_map or fit_posterior, got"):
        nb.cross_validate(case.model, case.X, case.y, fit=fit)


@pytest.mark.parametrize("folds", [1, 25, 0, 2.5, np.zeros(24, int), np.zeros(3, int), np.full(24, 0.5)])
def test_folds_that_are_none(folds):
    case = cases.make("normal")
    with pytest.raises(ValueError, match="fold"):
        nb.cross_validate(case.model, case.X, case.y, folds=folds)


def test_models_of_one_run_have_one_structure():
    case = cases.make("normal")
    models = [nb.NaiveBayes(nb.Normal(variance=v), num_classes=3) for v in ("own", "shared")]
    with pytest.raises(ValueError, match="only hyperparameters may differ"):
        nb.cross_validate(models, case.X, case.y)


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Poisson(), nb.Normal(), nb.Normal(variance="shared")])
def test_inclusion_compares_the_evidence_of_two_models(family):
    """One set of parameters for all classes is the evidence of the rows as one class."""
    rng = np.random.default_rng(3)
    X = (rng.random((24, 3)) < 0.2 + 0.3 * Y[:, None] * [1, 0, 0.5]).astype(float)
    fixed = [0.2, 0.3, 0.5]
    found = nb.feature_inclusion(nb.NaiveBayes(family, num_classes=3), X, Y, prior=0.3)
    for d in range(3):
        column = X[:, [d]]
        resolved = nb.NaiveBayes(family, class_probs=fixed).resolve(column, Y)
        own = nb.fit_posterior(resolved, column, Y).log_evidence - np.log(fixed)[Y].sum()
        alone = jax.tree.map(lambda leaf: leaf[:1], resolved.families["x"])
        one = nb.fit_posterior(nb.NaiveBayes(alone, class_probs=[1.0]), column, 0 * Y).log_evidence
        assert_allclose(found.log_bayes_factor[d], own - one, rtol=1e-9, atol=1e-9)
        assert_allclose(found.probability[d], expit(own - one + np.log(0.3 / 0.7)), rtol=1e-9)


def test_inclusion_of_a_beta_binomial_by_hand():
    x, y = np.array([[1], [1], [1], [0], [0], [0]]), np.array([0, 0, 0, 1, 1, 1])
    found = nb.feature_inclusion(nb.NaiveBayes(nb.Bernoulli()), x, y)
    sequences = stats.betabinom.pmf(3, 3, 1, 1), stats.betabinom.pmf(0, 3, 1, 1), stats.betabinom.pmf(3, 6, 1, 1) / 20
    assert_allclose(found.log_bayes_factor, np.log(sequences[0] * sequences[1] / sequences[2]))


@pytest.mark.slow
def test_a_block_that_is_one_feature_has_one_probability():
    case = cases.make("mixed")
    plain = {
        "words": nb.Multinomial(),
        "plane": nb.MultivariateNormal(),
        "codes": nb.Categorical((2, 5, 3)),
        "flags": nb.Bernoulli(),
    }
    X = dict(zip(plain, (case.X[b] for b in ("multinomial", "covariance", "ragged", "bernoulli")), strict=True))
    found = nb.feature_inclusion(nb.NaiveBayes(plain, num_classes=3), X, case.y)
    assert list(found.probability) == list(plain)
    assert {name: p.shape for name, p in found.probability.items()} == {
        "words": (1,),
        "plane": (1,),
        "codes": (3,),
        "flags": (4,),
    }


def test_inclusion_needs_one_prior_for_all_classes():
    case = cases.make("bernoulli")
    with pytest.raises(ValueError, match="differ between classes"):
        nb.feature_inclusion(case.model, case.X, case.y)
    with pytest.raises(ValueError, match="prior must be a probability above 0 and below 1"):
        nb.feature_inclusion(nb.NaiveBayes(nb.Bernoulli()), case.X, case.y, prior=1.0)
