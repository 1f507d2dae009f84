"""The pictures and files of a comparison."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from bayesnb import plots
from bayesnb.compute.arrays import _limits as limits
from bayesnb.inspection._dependence import Dependence
from bayesnb.studies.comparison._first_split import Evidence, Inclusion
from bayesnb.studies.comparison._metrics import ReliabilityBins
from bayesnb.studies.plots._style import method_lines
from bayesnb.studies.report import _page as page
from bayesnb.studies.report._summary import summarise
from tests.comparisons import CHECK, PAIRS, MadeUp, by_hand, findings_of, record, synthetic, widest


def test_the_learning_curve_has_a_line_and_a_band_for_each_method():
    ax = Figure().subplots()
    curves = {m: (np.array([5.0, 1.0]) * (i + 1), np.array([0.5, np.nan])) for i, m in enumerate(plots.STYLES)}
    assert plots.learning_curve(ax, (20, 100), curves, "log loss", log_scale=True) is ax
    assert sorted(ax.get_legend_handles_labels()[1]) == sorted(plots.STYLES)
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    for method in plots.STYLES:
        assert_allclose(drawn[method], curves[method][0])
    (low, high), means = _ends(ax.collections[0]), next(curves[method][0] for method in plots.STYLES)
    assert_allclose(low * high, means[0] ** 2)  # alike in logarithms, and never at or below 0
    assert ax.get_ylim()[0] < low
    assert (ax.get_yscale(), ax.get_ylabel(), ax.get_xlabel()) == ("log", "log loss", "training rows")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["20", "100"]
    for part in ("color", "marker", "linestyle"):  # each alone tells them apart
        assert len({line[part] for line in plots.STYLES.values()}) == len(plots.STYLES)
    assert len(set(plots.HATCHES.values())) == len(plots.STYLES) == len(plots.HATCHES)


def _ends(band):
    """Where a band begins and ends at the first size."""
    x, y = band.get_paths()[0].vertices.T
    return y[x == x.min()].min(), y[x == x.min()].max()


def test_a_band_reaches_the_errors():
    ax = Figure().subplots()
    plots.learning_curve(ax, (20, 100), {"MAP": (np.array([0.9, 0.8]), np.array([0.2, 0.1]))}, "accuracy")
    assert_allclose(_ends(ax.collections[0]), [0.7, 1.1])


def test_the_pictures_show_the_methods_that_are_told_apart(mixed):
    result = widest(mixed[0])
    bins = ReliabilityBins(np.full(10, 4), np.arange(10) * 0.4, np.arange(10) * 0.3)
    result = replace(result, records=tuple(replace(record, bins=bins) for record in result.records))
    findings = findings_of(mixed[0], result)
    figures_of = page.draw_figures(findings, summarise(findings, ""))
    assert figures_of.keys() == {"learning_curve.png", "differences.png", "reliability.png"}  # without pairs of columns
    for name, methods in (
        ("learning_curve.png", {*plots.STYLES}),
        ("reliability.png", {*plots.STYLES} - {"MAP"}),
    ):
        names = [text.get_text() for text in figures_of[name].legends[0].get_texts()]
        assert names == [method for method in result.priors if method in methods]


def test_sizes_that_stand_close_share_a_label():
    ax = Figure().subplots()
    sizes = (20, 200, 1000, 1258)
    plots.learning_curve(ax, sizes, {"MAP": (np.full(4, 1.0), np.zeros(4))}, "loss")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["20", "200", "", "1258"]
    plots.learning_curve(ax, (20, 1000, 22793), {"MAP": (np.full(3, 1.0), np.zeros(3))}, "loss")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["20", "1k", "22.8k"]


def test_a_loss_of_zero_keeps_the_scale_linear():
    ax = plots.learning_curve(Figure().subplots(), (20,), {"MLE": (np.zeros(1), np.zeros(1))}, "loss", log_scale=True)
    assert ax.get_yscale() == "linear"


def test_reliability_points_and_whiskers_by_hand():
    splits = [
        ReliabilityBins(np.array([0] * 9 + [10]), np.array([0] * 9 + [9.5]), np.array([0] * 9 + [8.0])),
        ReliabilityBins(np.array([0] * 8 + [1, 30]), np.array([0] * 8 + [0.85, 29.0]), np.array([0] * 8 + [1.0, 27.0])),
    ]
    ax = plots.reliability(Figure().subplots(), {"MLE": splits})
    (container,) = ax.containers
    # bins of no row, and the bin of one row in two splits, are gaps that no line crosses
    gap = [np.nan, np.nan]
    assert_allclose(container.lines[0].get_xydata(), [*[gap] * 9, [38.5 / 40, 35 / 40]])
    error = np.sqrt(2 * ((8 - 8.75) ** 2 + (27 - 26.25) ** 2)) / 40
    whisker = container.lines[2][0].get_segments()[-1]
    assert_allclose(whisker[:, 1], [35 / 40 - 2 * error, 35 / 40 + 2 * error])


def test_whiskers_of_chosen_methods():
    split = ReliabilityBins(np.full(10, 4), np.arange(10) * 0.4, np.arange(10) * 0.3)
    for chosen, drawn in ((None, {"MLE", "MAP"}), (["MAP"], {"MAP"})):
        ax = plots.reliability(Figure().subplots(), {"MLE": [split], "MAP": [split]}, whiskers=chosen)
        assert {one.get_label() for one in ax.containers if one.has_yerr} == drawn
        assert {*ax.get_legend_handles_labels()[1]} == {"MLE", "MAP"}


LOSSES = {  # at 20 rows MAP is best and MLE is far off; at 40 averaged is best, which has no line of its own
    20: {"MLE": [40, 60, 80], "MAP": [0.9, 1.0, 1.1], "full Bayes": [1.2, 1.35, 1.35], "averaged": [1.3, 1.3, 1.3]},
    40: {"MLE": [1.0, 1.1, 1.2], "MAP": [0.5, 0.6, 0.7], "full Bayes": [0.8, 0.9, 0.7], "averaged": [0.5, 0.5, 0.6]},
}


def made_of_losses(losses_of=LOSSES):
    records = tuple(
        record(i, method, loss, size=size)
        for size, by_method in losses_of.items()
        for method, losses in by_method.items()
        for i, loss in enumerate(losses)
    )
    findings = findings_of(synthetic("b"), MadeUp(dict.fromkeys(losses_of[20], "none"), records))
    return findings, summarise(findings, "")


def test_differences_are_drawn_from_full_bayes_and_from_the_best_of_each_size():
    findings, summary = made_of_losses()
    result, figure = findings.result, page.differences_figure(summary, findings.result)
    order = ["averaged", "MAP", "full Bayes", "MLE"]
    places = [(20, "full Bayes"), (40, "full Bayes"), (20, "MAP"), (40, "averaged")]
    for ax, (size, reference) in zip(figure.axes, places, strict=True):
        assert ax.get_title(loc="left") == f"{size} training rows: log loss minus that of {reference}"
        assert [label.get_text() for label in ax.get_yticklabels()] == (order if size == 20 else [])
        low, high = ax.get_xlim()
        drawn = [line for line in ax.lines if line.get_marker() in tuple("D<>")]
        points = {line.get_ydata()[0]: line for line in drawn if line.get_marker() == "D"}
        whiskers = [path.vertices for lines in ax.collections for path in lines.get_paths()]
        for y, method in enumerate(order):
            mean, half = result.difference(size, method, "log_loss", reference)
            ends = np.clip([mean - half, mean + half], low / 1.05, high / 1.05)
            assert_allclose(whiskers[y], [[ends[0], y], [ends[1], y]], atol=1e-9)
            assert (y in points) == (low < mean < high)
            if y in points:
                assert_allclose(points[y].get_xdata(), mean, atol=1e-12)
                assert (points[y].get_markerfacecolor() != "white") == (abs(mean) > half)
        arrows = [(line.get_ydata()[0], line.get_marker()) for line in drawn if line.get_marker() != "D"]
        assert arrows == ([(3, ">")] if size == 20 else [])  # MLE goes on to the right
        texts = [text.get_text() for text in ax.texts]
        assert texts[order.index(reference)] == "reference"
        assert texts[3].startswith("+")


def test_the_learning_curves_have_the_best_method_and_bands_of_it_and_of_full_bayes():
    findings, summary = made_of_losses()
    figure = page.learning_figure(summary, findings.result)
    assert "bands: 95 % interval of full Bayes and averaged" in figure.get_suptitle()
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["MLE", "MAP", "full Bayes", "averaged"]
    colours = method_lines(["full Bayes", "averaged", "MLE", "MAP"])
    for ax in figure.axes:
        bands = [band.get_facecolor()[0, :3] for band in ax.collections if band.get_paths()]
        assert_allclose(bands, [to_rgb(colours[method]["color"]) for method in ("full Bayes", "averaged")])
        assert len(ax.lines) == 4


def test_a_log_loss_that_is_far_off_does_not_flatten_the_other_curves():
    findings, summary = made_of_losses()
    figure = page.learning_figure(summary, findings.result)
    low, high = figure.axes[0].get_ylim()
    assert low < 0.5  # of averaged
    assert 1.3 < high < 5 < 60  # of full Bayes; of the MLE
    assert "log loss beyond the picture: MLE" in figure.get_suptitle()
    findings, summary = made_of_losses({20: LOSSES[20] | {"MLE": [2.0, 2.1, 2.2]}, 40: LOSSES[40]})
    figure = page.learning_figure(summary, findings.result)
    assert figure.axes[0].get_ylim()[1] > 2.1
    assert "beyond" not in figure.get_suptitle()


def test_confidence_shares_add_up_to_one():
    bins = ReliabilityBins(np.arange(10), np.arange(10) * 0.5, np.arange(10) * 0.4)
    ax = plots.confidence_shares(Figure().subplots(), {"MLE": [bins, bins], "MAP": [bins]})
    assert_allclose(sum(patch.get_height() for patch in ax.patches), 2.0)


def test_the_dependence_is_a_triangle_with_dots_where_it_is_sure():
    pairs = replace(
        PAIRS,
        names=("a[1]", "$b$", "c"),
        evidence_per_row=np.maximum(PAIRS.log_bayes_factor, 0.0) / 50.0,
        nearly_unique=(1,),
    )
    ax = plots.dependence(Figure().subplots(), pairs)
    shades, dots = ax.collections
    drawn = shades.get_array().reshape(3, 3)
    assert_allclose(drawn[np.tri(3, k=-1, dtype=bool)].filled(), [0.0, 2.0, 0.14])  # log Bayes factors of -2, 100 and 7
    assert drawn.mask[np.triu_indices(3)].all()
    assert_allclose(dots.get_offsets(), [[0.5, 2.5], [1.5, 2.5]])  # (c, a) and (c, b), whose log factor is above 5
    assert_allclose(dots.get_facecolors()[:, 0], [1.0, 0.0])  # white on the dark one
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a[1]", r"\$b\$ *"]
    assert [t.get_text() for t in ax.get_yticklabels()] == [r"\$b\$ *", "c"]
    assert ax.figure.axes[1].get_ylabel() == "log Bayes factor per row (nats)"
    assert ax.get_title() == "dot: log Bayes factor above 5; *: nearly unique"


def test_of_many_columns_the_most_dependent_are_drawn(mixed):
    evidence = -np.ones((70, 70))
    evidence[3, 68] = evidence[68, 3] = 9.0
    pairs = Dependence(
        tuple(f"a column of a long name, number {d}" for d in range(70)),
        *[np.ones((70, 70)), evidence, np.ones((70, 70))],
    )
    figure = page.dependence_figure(summarise(findings_of(*mixed), ""), pairs)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(names) == limits.MOST_DRAWN - 1
    assert {len(name) for name in names} == {limits.COLUMN_LENGTH}
    assert len(figure.axes[0].collections[1].get_offsets()) == 1
    assert "the 40 most dependent of 70 columns given 'label'" in figure.get_suptitle()


@pytest.mark.slow
def test_the_files_hold_what_was_measured(tmp_path, mixed):
    table, result = mixed
    columns = [Inclusion(column.name, 1.0 - i / 50, 100.0 * i) for i, column in enumerate(table.columns)]
    findings = findings_of(table, result, Evidence(84, -1234.56, -1200.0, tuple(columns)), PAIRS, CHECK)
    names = page.write_report(tmp_path, findings, summarise(findings, "bayesnb compare synthetic"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    frame = pd.read_csv(tmp_path / "results.csv")
    assert len(frame) == 2 * 3 * 4
    means = frame.groupby(["size", "method"])["log_loss"].mean()
    assert_allclose(means.loc[10, "MAP"], result.mean(10, "MAP", "log_loss")[0])
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["splits"] == {
        "sizes": [10, 84],
        "repeats": 4,
        "test_rows": 36,
        "held_out_rows": 36,
        "seed": 1,
        "stopped": None,
    }
    assert sum(summary["data"]["classes"].values()) == summary["data"]["rows"] == 120
    assert_allclose(summary["table"][1]["log_loss"]["mean"], means.loc[10, "MAP"])
    assert summary["strongest_pairs"][0] == {
        "first": "a[1]", "second": "c", "mutual_information": 1.234, "log_bayes_factor": 100.0, "per_row": 1.234
    }  # fmt: skip
    assert summary["evidence"]["full_bayes"] == -1234.56
    assert summary["evidence"]["columns"][1] == {"column": "code", "probability": 0.98, "log_bayes_factor": 100.0}
    assert summary["nuts"]["max_difference"] == 0.0123
    assert summary["command"] == "bayesnb compare synthetic"
    for name in ("learning_curve.png", "reliability.png", "dependence.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_one_split_has_no_error_and_the_summary_is_still_json():
    both = by_hand()
    one = MadeUp(both.priors, tuple(r for r in both.records if r.repeat == 0))
    text = json.dumps(summarise(findings_of(synthetic("b"), one), ""), allow_nan=False)
    row = json.loads(text)["table"][0]
    assert row["log_loss"] == {
        "mean": pytest.approx(1.1), "half_interval": None,
        "minus_full_bayes": pytest.approx(0.1), "minus_full_bayes_half_interval": None, "than_full_bayes": None,
        "minus_best": pytest.approx(0.1), "minus_best_half_interval": None, "than_best": None, "best": "full Bayes",
    }  # fmt: skip
