"""A recognised model answers at every door as the plain model that was composed by hand, or refuses in a sentence."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.recognition.doors import ABOUT, AT_RANDOM, CONJUGATE, REFUSED, WITHOUT_PRIOR, in_arviz
from tests.recognition.pairs import LOGS

LONG = ("export", "class_densities", "to_arviz", "fit_empirical", "fit_em", "stream", "predict_interval", "replicates")
"""Doors that compile for a second or more."""

SHORT = ("fit_posterior", "explain")
"""Doors that two models go through by default."""


def through(*tables, models):
    """A parametrization over doors and models."""
    params = []
    for name, door in (item for table in tables for item in table.items()):
        for model in models:
            quick = (name in SHORT and model in models[:2]) or (model == models[0] and name not in LONG)
            params.append(pytest.param(door, model, id=f"{name}-{model}", marks=() if quick else pytest.mark.slow))
    return pytest.mark.parametrize(("door", "model"), params)


def both(door, pair, folder):
    """The answers of the recognised model and of the plain one, leaf by leaf."""
    found = (door(m, X, folder) for m, X in ((pair.ours, pair.X), (pair.plain, pair.X_plain)))
    leaves = [[np.asarray(leaf, float) for leaf in jax.tree.leaves(one)] for one in found]
    assert leaves[0]
    return zip(*leaves, strict=True)


@through(WITHOUT_PRIOR, models=("words", "visits", "scales", "logs"))
def test_what_uses_no_prior_is_the_same(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


@through(CONJUGATE, models=("words", "visits", "logs"))
def test_what_is_exact_is_the_same(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


@through(AT_RANDOM, models=("words", "visits", "logs"))
def test_draws_have_the_same_mean(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        error = np.sqrt((ours.var(axis=0) + plain.var(axis=0)) / len(ours))
        assert (np.abs(ours.mean(axis=0) - plain.mean(axis=0)) < 5.0 * error).all()


@through(ABOUT, models=("words", "visits"))
def test_what_follows_from_draws_is_about_the_same(door, model, pairs, tmp_path):
    for ours, plain in both(door, pairs[model], tmp_path):
        assert_allclose(ours, plain, rtol=0.1, atol=0.03)


@pytest.mark.slow
@through(CONJUGATE, AT_RANDOM, ABOUT, models=("scales",))
def test_without_conjugacy_every_other_door_refuses_by_the_programs_sites(door, model, pairs, tmp_path):
    with pytest.raises(ValueError, match="non-conjugate priors for scale, mean, so there is no closed form"):
        door(pairs[model].ours, pairs[model].X, tmp_path)


@pytest.mark.slow
@through(WITHOUT_PRIOR, CONJUGATE, {"to_arviz": in_arviz}, ABOUT, models=("logs",))
def test_rows_that_the_program_does_not_observe_are_refused_at_every_door(door, model, pairs, tmp_path):
    with pytest.raises(ValueError, match=REFUSED):
        door(pairs[model].ours, LOGS, tmp_path)
