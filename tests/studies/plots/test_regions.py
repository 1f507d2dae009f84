"""Regions of a plane are the predictions of its two columns alone."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb import plots
from bayesnb.studies.plots import _style as style
from tests import cases


def test_regions_are_the_predictions_of_the_two_columns_alone(ax, normal):
    fit, case = normal
    plots.decision_regions(ax, fit, case.X, case.y, columns=(2, 0), resolution=30, feature_names=["a", "b", "c"])
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    grid = np.stack(np.meshgrid(np.linspace(left, right, 30), np.linspace(bottom, top, 30)), axis=-1)
    prior = fit.prior.families["x"]
    parts = {name: getattr(prior, name)[:, [2, 0]] for name in ("loc", "strength", "shape", "rate")}
    model = nb.NaiveBayes(nb.Normal(**parts), class_concentration=fit.prior.class_concentration)
    alone = nb.fit_posterior(model, case.X[:, [2, 0]], case.y)
    probs = alone.predict_proba(grid.reshape(-1, 2)).reshape(30, 30, 3)
    colours = np.array([to_rgb(style.class_colour(k)) for k in range(3)])[probs.argmax(axis=2)]
    sure = (probs.max(axis=2) - 1 / 3) / (2 / 3)
    assert_allclose(
        np.asarray(image.get_array()), 1 - 0.6 * (0.15 + 0.85 * sure)[:, :, None] * (1 - colours), atol=1e-9
    )
    points = [scatter for scatter in ax.collections if scatter.get_label() in "012"]
    for k, scatter in enumerate(points):
        assert_array_equal(scatter.get_offsets(), case.X[case.y == k][:, [2, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")
    plots.decision_regions(Figure().subplots(), fit, case.X, resolution=10)
    with pytest.raises(ValueError, match="columns are two different ones"):
        plots.decision_regions(ax, fit, case.X, columns=(1, 1))


@pytest.mark.slow
def test_regions_of_one_block_among_others(ax):
    case = cases.make("mixed")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    drawn = plots.decision_regions(ax, fit, case.X["normal"], block="normal", resolution=8)
    alone = nb.fit_posterior(
        nb.NaiveBayes(case.model.families["normal"], class_concentration=[0.5, 1.0, 2.0]), case.X["normal"], case.y
    )
    other = plots.decision_regions(Figure().subplots(), alone, case.X["normal"], resolution=8)
    assert_allclose(np.asarray(drawn.images[0].get_array()), np.asarray(other.images[0].get_array()), atol=1e-9)
    assert {text.get_text() for text in drawn.texts} <= {"0", "1", "2"}
