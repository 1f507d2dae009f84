"""Histograms in forests of dependence: their segments are categories, as of a Categorical."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.primitives._codes import find_bins
from tests import cases, laws
from tests.learned.forests.histograms import MODEL, N, X, Y, part
from tests.learned.forests.rows import copies, log_loss


@pytest.mark.slow
def test_the_forest_is_that_of_the_segments_as_categories(fit):
    own = fit.posterior.prior.families["cells"]
    sizes = [len(column) for column in fit.segments[:3]]
    assert 1 < max(sizes) <= 8
    starts = [np.cumsum((0, *column[:-1])) for column in fit.segments[:3]]
    codes = find_bins(X["cells"], np.asarray(own.edges[0]))
    joined = [np.searchsorted(start, code, side="right") - 1 for start, code in zip(starts, codes.T, strict=True)]
    joined = np.where(codes < 0, -1, np.stack(joined, axis=1))
    mass = np.concatenate([np.add.reduceat(q, s) for q, s in zip(np.asarray(own.mass[0]), starts, strict=True)])
    categories = nb.NaiveBayes({**MODEL.families, "cells": nb.Categorical(tuple(sizes), 2.5 * mass)})
    same = nb.fit_forests(categories, X | {"cells": joined}, Y)
    assert_allclose(fit.edge_probs, same.edge_probs, atol=1e-10)
    assert fit.edge_probs.max() > 0.5
    gain, expected = (f.log_evidence - f.posterior.log_evidence for f in (fit, same))
    assert_allclose(gain, expected, rtol=1e-10)
    assert gain > 10.0
    ratio = fit.log_joint(X) - fit.posterior.log_joint(X)
    expected = same.log_joint(X | {"cells": joined}) - same.posterior.log_joint(X | {"cells": joined})
    assert_allclose(ratio, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("heaviest", cases.by_default([1, 3], 3))
def test_a_row_leaves_with_edges_and_segments_kept(heaviest):
    weight = np.random.default_rng(5).integers(1, heaviest + 1, N).astype(float)
    fit = nb.fit_forests(MODEL, X, Y, sample_weight=weight)
    prior = MODEL.resolve(X, Y, sample_weight=weight)
    joint = nb.leave_one_out(fit, X, Y, sample_weight=weight, joint=True)
    for n in range(0, N, 40):
        others = np.arange(N) != n
        refit = nb.fit_forests(prior, part(others), Y[others], sample_weight=weight[others])
        refit = replace(refit, segments=fit.segments)
        assert_allclose(joint[n], refit.log_joint(part([n]))[0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("structure", cases.by_default(["average", "best", "aode"]))
def test_a_column_without_cuts_changes_no_forest(structure):
    """Nor does a category that is the only one of its column: their edges would be other words for no edge."""
    more = X | {"none": np.full((N, 2), 3.0), "one": np.zeros((N, 1), int)}
    families = {**MODEL.families, "none": nb.Histogram(cells=5), "one": nb.Categorical(1)}
    fit, wider = (
        nb.fit_forests(nb.NaiveBayes(f), x, Y, structure=structure) for f, x in ((MODEL.families, X), (families, more))
    )
    assert_allclose(wider.predict_log_proba(more), fit.predict_log_proba(X), rtol=1e-12)
    left = [nb.leave_one_out(f, x, Y) for f, x in ((fit, X), (wider, more))]
    assert_allclose(left[1], left[0], rtol=1e-12)
    if structure != "aode":
        assert_allclose(wider.log_evidence, fit.log_evidence, rtol=1e-12)
        assert wider.root_probs[-3:].tolist() == [1.0, 1.0, 1.0]


def test_forests_of_histograms_are_saved(fit, tmp_path):
    nb.save(fit, tmp_path / "forest")
    again = nb.load(tmp_path / "forest")
    assert again.segments == fit.segments
    laws.equal(again, fit, rtol=0)
    with pytest.raises(ValueError, match="some part of it would change when loaded"):
        nb.save(replace(fit, segments=((5, 8), *fit.segments[1:])), tmp_path / "odd")


def test_forests_of_views_are_saved(tmp_path):
    """Their posterior has powers from the start, and their forests have none."""
    fit = nb.fit_forests(nb.NaiveBayes(nb.Views(nb.NormalScores(), nb.Histogram(cells=6))), X["cells"], Y)
    nb.save(fit, tmp_path / "forest")
    laws.equal(nb.load(tmp_path / "forest"), fit, rtol=0)


@pytest.mark.slow
def test_skewed_copies_are_seen_as_one(rng):
    """Exponentials of noisy copies of one column: Normal pairs do not fit them, cells do not mind."""
    (x, y), (new, truth) = ((np.exp(x), y) for x, y in (copies(rng, 300), copies(rng, 1000)))
    histogram, normal = (nb.fit_forests(nb.NaiveBayes(family), x, y) for family in (nb.Histogram(), nb.Normal()))
    assert log_loss(histogram, new, truth) < log_loss(histogram.posterior, new, truth) - 0.1
    assert log_loss(histogram, new, truth) < log_loss(normal, new, truth) - 0.5
    tempered = nb.temper(histogram, x, y, per_feature=True)
    assert log_loss(tempered, new, truth) < log_loss(histogram, new, truth)


def test_predictions_of_jax_rows_are_those_of_numpy_rows(fit):
    rows = {name: jnp.asarray(x, jnp.float32) for name, x in part(slice(20)).items()}
    expected = fit.predict_proba({name: np.asarray(x) for name, x in rows.items()})
    assert_allclose(jax.jit(lambda rows: fit.predict_proba(rows))(rows), expected, rtol=2e-3, atol=1e-5)
