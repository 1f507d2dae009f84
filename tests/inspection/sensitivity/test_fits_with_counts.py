"""Fits whose counts pseudo-rows change, families whose priors have powers, and those that are refused by name."""

import jax
import numpy as np
import pytest

import bayesnb as nb
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


QUESTIONS = {
    "predict_bounds": lambda post, x: post.predict_bounds(x),
    "decide_set": nb.decide_set,
    "robustness": nb.robustness,
    "prior_sensitivity": lambda post, _: nb.prior_sensitivity(post),
    "prior_sensitivity of rows": nb.prior_sensitivity,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("family", "x", "powers"),
    [
        (nb.NormalKnownVariance(), NUMBERS, True),
        (nb.MultivariateNormal(), NUMBERS, True),
    ],
    ids=["known variance", "full covariance"],
)
def test_families_are_answered_or_refused_by_name(family, x, powers, question):
    post, answers = nb.fit_posterior(nb.NaiveBayes(family), x, Y), powers and question.startswith("prior")
    if answers:
        assert QUESTIONS[question](post, x[:2]) is not None
    else:
        with pytest.raises(ValueError, match=f"{type(family).__name__} ha(s|ve) no .*: "):
            QUESTIONS[question](post, x[:2])


@pytest.mark.parametrize("family", [nb.Histogram(cells=4), nb.Views(nb.Normal(), nb.Histogram(cells=4))], ids=str)
def test_bins_have_pseudo_rows_and_no_powers(family):
    post = nb.fit_posterior(nb.NaiveBayes(family), NUMBERS, Y)
    assert (post.predict_bounds(NUMBERS[:2]).low <= post.predict_proba(NUMBERS[:2])).all()
    for x in (None, NUMBERS[:2]):
        with pytest.raises(ValueError, match=f"{type(family).__name__} has no prior whose power"):
            nb.prior_sensitivity(post, x)


@pytest.mark.slow
def test_many_rows_in_blocks_are_the_same_as_few():
    post, rows = fitted(X, Y), np.tile(X, (700, 1))
    whole, few = nb.decide_set(post, rows), nb.decide_set(post, X)
    np.testing.assert_array_equal(whole.sets, np.tile(few.sets, (700, 1)))


def test_no_rows():
    assert nb.robustness(fitted(X, Y), X[:0]).s_star.shape == (0,)
