"""Programs composed at random are recognised as the model that they spell, and broken ones are refused.

The default lane tries three and the slow one eighteen, the same ones at every run; ``python -m pytest -m fuzz`` tries a
thousand others, with the seed of ``test_fuzz``.
"""

from __future__ import annotations

import gc

import jax
import numpy as np
import pytest
from hypothesis import given, seed, settings
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases
from tests.fuzz.programs import KINDS, recipes
from tests.fuzz.test_fuzz import LONG, SEED, SHORT
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
    assert "\n" not in str(caught.value)


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


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(-(-NUMBER // (PART * len(KINDS)))))
def test_many_others(kind, part):
    try:
        seed(SEED * 1000 + part)(settings(LONG, max_examples=PART)(given(recipes(kind))(is_answered)))()
    finally:
        jax.clear_caches()
        gc.collect()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_composed_spells_the_expected_model(kind):
    settings(SHORT, max_examples=6)(given(recipes(kind, broken=False))(is_composed_well))()
