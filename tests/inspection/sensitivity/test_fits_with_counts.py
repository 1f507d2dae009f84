"""Fits whose counts pseudo-rows change, families whose priors have powers, and those that are refused by name."""

import jax
import numpy as np
import pytest

import bayesnb as nb
from tests import cases
from tests.inspection.sensitivity.credal_sets import fitted, tables

X, Y = tables()
MODEL = nb.NaiveBayes(nb.Categorical(3), num_classes=3)
NUMBERS = np.random.default_rng(0).normal(size=(30, 4)) + Y[:, None]


@pytest.mark.parametrize(
    "fit",
    [
        lambda: nb.fit_mle(MODEL, X, Y),
        lambda: nb.fit_forests(MODEL, X, Y),
        pytest.param(
            lambda: nb.fit_nuts(MODEL, X, Y, key=jax.random.key(0), num_warmup=2, num_samples=4, num_chains=1),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["mle", "forests", "draws"],
)
@pytest.mark.filterwarnings("ignore")
def test_other_fits_are_refused_by_name(fit):
    given = fit()
    with pytest.raises(ValueError, match=type(given).__name__):
        nb.robustness(given, X)


COUNTS = np.random.default_rng(1).poisson(2.0 + Y[:, None], (30, 4))
VIEWS = nb.Views(nb.Normal(), nb.Histogram(cells=4))
OTHERS = {
    nb.Normal(): NUMBERS,
    nb.NormalKnownVariance(): NUMBERS,
    nb.MultivariateNormal(): NUMBERS,
    nb.Poisson(): COUNTS,
    nb.Multinomial(): COUNTS,
    nb.Binomial(20): COUNTS,
    VIEWS: NUMBERS,
}


@pytest.mark.parametrize("family", OTHERS, ids=lambda family: type(family).__name__)
@pytest.mark.parametrize("prior", cases.by_default([None, "vacuous"], None))
def test_columns_that_are_no_categories_are_refused_by_name(family, prior):
    model = nb.NaiveBayes({"cells": nb.Categorical(3), "others": family})
    post = nb.fit_posterior(model, {"cells": X, "others": OTHERS[family]}, Y)
    rows = {"cells": X[:2], "others": OTHERS[family][:2]}
    for ask in (nb.robustness, nb.decide_set, nb.Posterior.predict_bounds):
        with pytest.raises(ValueError, match=rf"block 'others': .* got {type(family).__name__}: nb\.prior_sensitivity"):
            ask(post, rows, prior=prior)
    if family is not VIEWS:
        assert nb.prior_sensitivity(post) is not None
        assert nb.prior_sensitivity(post, rows) is not None


@pytest.mark.parametrize(
    "options", cases.by_default([{}, {"dependence": False}, {"method": "posterior"}], {"dependence": False}), ids=str
)
def test_an_estimator_of_numbers_is_refused(options):
    clf = nb.NaiveBayesClassifier(**options).fit(NUMBERS, Y)
    for ask in (nb.robustness, nb.decide_set, type(clf).robustness, type(clf).predict_set):
        with pytest.raises(ValueError, match=r"known for tables of categories, .*: nb\.prior_sensitivity"):
            ask(clf, NUMBERS[:2])


def test_bins_have_pseudo_rows_and_no_powers():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Histogram(cells=4)), NUMBERS, Y)
    assert (post.predict_bounds(NUMBERS[:2]).low <= post.predict_proba(NUMBERS[:2])).all()
    found = nb.robustness(post, NUMBERS[:5])
    for n, s in enumerate(found.s_star):
        sizes = [nb.decide_set(post, NUMBERS[n : n + 1], s * f).sizes[0] for f in (1 - 1e-6, 1 + 1e-6)]
        assert sizes == [1, 2]
    for x in (None, NUMBERS[:2]):
        with pytest.raises(ValueError, match=r"Histogram has no prior whose power .* nb\.robustness takes Histogram"):
            nb.prior_sensitivity(post, x)


@pytest.mark.slow
def test_many_rows_in_blocks_are_the_same_as_few():
    post, rows = fitted(X, Y), np.tile(X, (700, 1))
    whole, few = nb.decide_set(post, rows), nb.decide_set(post, X)
    np.testing.assert_array_equal(whole.sets, np.tile(few.sets, (700, 1)))


def test_no_rows():
    assert nb.robustness(fitted(X, Y), X[:0]).s_star.shape == (0,)
