"""Plots of a study: every mean in sight, bands of 95 % intervals, and every number of the table of differences."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D
from numpy.testing import assert_allclose

from bayesnb.studies.comparison._differences import difference_of, differences
from bayesnb.studies.plots._studies import draw_curve, draw_curves, draw_differences, draw_forest, draw_keys, num_pages
from bayesnb.studies.plots._style import method_lines
from tests.studies.comparison.studies import METHODS, random_study


def test_log_losses_have_a_logarithmic_scale_that_shows_every_mean():
    study = random_study(b=40.0)
    assert [ax.get_yscale() for ax in draw_curves(study).axes] == ["log"] * 3
    assert [ax.get_yscale() for ax in draw_curves(study, "brier").axes] == ["linear"] * 3
    for ax, name in zip(draw_curves(study).axes, study.sets, strict=True):
        means = [study.losses(name, 64, method, "log_loss").mean() for method in study.methods]
        low, high = ax.get_ylim()
        assert low < min(means) < max(means) < high
        assert_allclose(sorted(line.get_ydata()[1] for line in ax.lines), sorted(means))


def test_bands_span_the_interval_and_far_wider_ones_do_not_flatten_the_curves():
    study = random_study()
    ax = draw_curve(study, "a", "log_loss").axes[0]
    found, _ = difference_of(study, "a", 64, "MLE", None, "log_loss")
    ends = found.mean * np.exp(np.array([-1, 1]) * found.half / found.mean)
    bands = [band.get_paths()[0].vertices for band in ax.collections]
    at_64 = [band[band[:, 0] == 64, 1] for band in bands]
    assert any(np.allclose([y.min(), y.max()], ends) for y in at_64)
    study.losses("a", 64, "MLE", "log_loss")[:] *= np.geomspace(1e-9, 20, 6)[:, None]
    (ax,) = draw_curve(study, "a", "log_loss").axes
    means = np.log([line.get_ydata() for line in ax.lines])
    wide, (low, high) = difference_of(study, "a", 64, "MLE", None, "log_loss")[0], np.log(ax.get_ylim())
    assert wide.half > 2 * wide.mean
    assert_allclose([means.min() - low, high - means.max()], np.ptp(means) / 2)


def test_the_legend_has_a_line_for_each_method():
    keys = draw_keys(["MLE", "mine", "yours"])
    lines = method_lines(["MLE", "mine", "yours"])
    assert [*keys] == [*lines]
    for name, figure in keys.items():
        (line,) = figure.findobj(Line2D)
        assert (line.get_color(), line.get_marker()) == (lines[name]["color"], lines[name]["marker"])


@pytest.mark.parametrize(("sets", "others", "rows"), [(1, "", 2), (1, "abc", 4), (3, "", 1), (3, "abc", 2)])
def test_the_legend_of_a_picture_is_whole(sets, others, rows):
    """It has all methods in their order, within the picture, in no more rows than that takes."""
    study = wide_study(sets)
    losses, study.methods = study.losses, [*study.methods, "default", *map("a model of my own, {}".format, others)]
    study.losses = lambda *place: losses(*place[:2], place[2] if place[2] in METHODS else "MLE", place[3])
    figure = draw_curves(study)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == study.methods
    box, corners = legend.get_window_extent(), [text.get_window_extent() for text in legend.get_texts()]
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert len({round(corner.y0 / 5) for corner in corners}) == rows


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


def test_many_methods_fill_rows_of_four_panels_and_each_has_a_picture_of_its_own():
    table = differences(random_study(), "full Bayes", size=64, rope=0.1)
    parts = [part.assign(method=f"{name} {copy}") for copy in range(3) for name, part in table.groupby("method")]
    figure = draw_differences(pd.concat(parts), 0.1)
    assert [ax.get_title(loc="left").split("\n")[0] for ax in figure.axes] == [part["method"].iloc[0] for part in parts]
    figure.canvas.draw()
    assert figure.get_figwidth() < 15
    assert len({round(ax.get_position().y0, 3) for ax in figure.axes}) == 2
    (ax,) = draw_forest(table, "MAP", 0.1).axes
    assert_allclose(ax.collections[-1].get_offsets()[:, 0], table.loc[table["method"] == "MAP", "mean"])
