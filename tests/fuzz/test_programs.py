"""Programs composed at random are recognised as the model that they spell, and broken ones are refused.

The default lane tries three and the slow one eighteen, the same ones at every run; ``python -m pytest -m fuzz`` tries a
thousand others, with the seed of ``test_fuzz``.
"""

import gc
import warnings

import jax
import numpy as np
import pytest
from hypothesis import given, seed, settings
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases
from tests.fuzz.programs import KINDS, observing_recipes, recipes
from tests.fuzz.settings import LONG, SEED, SHORT
from tests.recognition import oracle
from tests.recognition.agreement import assert_same_model

NUMBER = 1000
PART = 40
"""Programs of one part."""


def is_answered(recipe):
    """No crash and no wrong model."""
    case = recipe.case()
    with jax.numpy_rank_promotion("allow"):
        if case.accepted:
            assert_same_model(case.recognise(), case)
            return
        with pytest.raises(nb.NotNaiveBayes) as caught:
            case.recognise()
    assert not any("\n" in text for text in caught.value.obstacles)


def takes_what_it_observes(recipe):
    """``model.rows`` are the observed cells; fits of them are the expected model's, and the argument is refused."""
    case = recipe.case()
    with jax.numpy_rank_promotion("allow"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "each row that 'Recipe' observes depends on the others")
        model = case.recognise()
        new = case.X[np.random.default_rng(len(str(case))).permutation(len(case.X))[:7]]
        with jax.enable_x64(True):
            observed, observed_new = recipe.observed(case.X), recipe.observed(new)
        X, X_new = model.rows(case.X, case.y), model.rows(new)
        assert_allclose(X.cells["x"], observed, rtol=1e-12, atol=1e-12)
        assert_allclose(X_new.cells["x"], observed_new, rtol=1e-12, atol=1e-12)
        fits = nb.fit_posterior(model, X, case.y), nb.fit_posterior(case.expected, observed, case.y)
        assert_allclose(*(fit.log_evidence for fit in fits), rtol=1e-6)
        assert_allclose(fits[0].predict_proba(X_new), fits[1].predict_proba(observed_new), rtol=1e-5)
        for call in (lambda: nb.fit_posterior(model, case.X, case.y), lambda: fits[0].predict(new)):
            with pytest.raises(ValueError, match=r"from model\.rows"):
                call()


def is_composed_well(recipe):
    """The program has the density of the expected model; a broken one has another."""
    case, difference = recipe.case(), []
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        values = oracle.draw(case.call(case.X, case.y), "y", seed=1)
        for labels in (case.y, np.roll(case.y, 1)):
            program = oracle.log_density(case.call(case.X, labels), values)
            difference.append(program - oracle.expected_log_density(case, case.X, labels, values))
    assert_allclose(difference, 0.0, atol=1e-6)


@pytest.mark.parametrize("kind", cases.by_default(KINDS, "bernoulli"))
def test_the_same_few(kind):
    settings(SHORT, max_examples=3)(given(recipes(kind))(is_answered))()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_few_that_observe_something_else(kind):
    settings(SHORT, max_examples=3)(given(observing_recipes(kind))(takes_what_it_observes))()


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
def test_many_others_that_observe_something_else(kind):
    seed(SEED)(settings(LONG, max_examples=PART)(given(observing_recipes(kind))(takes_what_it_observes)))()


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(-(-NUMBER // (PART * len(KINDS)))))
def test_many_others(kind, part):
    try:
        seed(SEED * 1000 + part)(settings(LONG, max_examples=PART)(given(recipes(kind))(is_answered)))()
    finally:
        jax.clear_caches()
        gc.collect()


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.fuzz if n % 4 else pytest.mark.slow) for n, k in enumerate(KINDS)]
)
def test_what_is_composed_spells_the_expected_model(kind):
    settings(SHORT, max_examples=6)(given(recipes(kind, broken=False))(is_composed_well))()
