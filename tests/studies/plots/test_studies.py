"""Plots of a study: broken axes only where a method is far off, and every number of the table of differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesnb.studies.comparison._differences import differences
from bayesnb.studies.plots._studies import draw_curves, draw_differences, num_pages
from tests.studies.comparison.studies import random_study


def scales(figure):
    return [ax.get_yscale() for ax in figure.axes]


def test_an_axis_is_broken_where_a_method_is_far_off_and_only_there():
    figure = draw_curves(random_study(b=40.0))
    figure.canvas.draw()
    assert scales(figure) == ["linear", "function", "linear"]
    ax = figure.axes[1]
    transform, back = ax.yaxis.get_transform(), ax.yaxis.get_transform().inverted()
    values = np.array([0.5, 1.0, 2.0, 3.0, 30.0, 41.0])
    assert_allclose(back.transform(transform.transform(values)), values)
    assert (np.diff(transform.transform(values)) > 0).all()
    share = np.diff(ax.transAxes.inverted().transform(ax.transData.transform([[20, 3.2], [20, 41]]))[:, 1])
    assert 0.1 < share.item() < 0.35  # of the height is above the break
    assert_allclose([float(label.get_text()) for label in ax.get_yticklabels()], ax.get_yticks())


def test_the_lines_are_the_means_of_the_study():
    study = random_study()
    ax = draw_curves(study, "accuracy").axes[2]
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    expected = [1 - study.losses("c", size, "MAP", "accuracy").mean() for size in (16, 64)]
    assert_allclose(drawn["MAP"], expected)


def test_metrics_that_are_no_means_over_rows_are_drawn_without_errors():
    figure = draw_curves(random_study(), "ece")
    assert len(figure.axes) == 3
    assert figure.axes[0].get_ylabel() == "ECE"


def test_the_forest_has_each_difference_with_its_interval():
    table = differences(random_study(), "full Bayes", size=64, rope=0.1)
    figure = draw_differences(table, 0.1)
    figure.canvas.draw()
    left = figure.axes[0]
    rows = table[table["method"] == "MLE"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", "b", "c", "all sets"]
    assert_allclose(left.collections[-1].get_offsets()[:, 0], rows["mean"])
    (bars,) = [c for c in left.collections if hasattr(c, "get_segments")]
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    assert_allclose(ends, rows[["low", "high"]].to_numpy())
    assert "left is better" in left.get_xlabel()


def wide_study(sets):
    """The study of three sets, each of them several times."""
    study = random_study()
    losses, study.sets = study.losses, [f"{'abc'[number % 3]}{number}" for number in range(sets)]
    study.losses = lambda data_set, *place: losses(data_set[0], *place)
    return study


@pytest.mark.parametrize("sets", [1, 2, 3, 4, 5, 6, 7, 9, 10, pytest.param(30, marks=pytest.mark.slow)])
def test_every_panel_has_a_set_and_every_set_a_panel(sets):
    study = wide_study(sets)
    figure = draw_curves(study)
    assert [ax.get_title(loc="left") for ax in figure.axes] == study.sets
    assert all(ax.has_data() for ax in figure.axes)
    figure.canvas.draw()
    inches = [ax.get_window_extent().size / figure.dpi for ax in figure.axes]
    assert (np.min(inches, axis=0) > [2.3, 2.0]).all()
    assert figure.get_figwidth() < 15


def test_sets_beyond_thirty_are_on_the_next_page():
    study = wide_study(31)
    assert (num_pages(study), num_pages(wide_study(30))) == (2, 1)
    figure = draw_curves(study, page=2)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a30"]
    assert figure.get_suptitle() == "Page 2 of 2, 31 sets"


def test_an_interval_over_sets_that_lies_beside_their_mean_is_drawn_where_it_is():
    """Of sets that agree: the posterior has half an observation at 0."""
    table = differences(random_study(), "full Bayes", size=64, rope=0.1)
    table.loc[table["data_set"] == "all sets", ["mean", "low", "high"]] = 1.0, 0.5, 0.9
    (bars,) = [c for c in draw_differences(table, 0.1).axes[0].collections if hasattr(c, "get_segments")]
    assert_allclose(bars.get_segments()[-1][:, 0], [0.5, 0.9])
