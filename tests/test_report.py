"""What a comparison prints, draws and writes."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from rich.console import Console

from bayesnb import plots, report, report_tables, writing
from bayesnb.compare import Comparison, compare
from bayesnb.dependence import Dependence
from bayesnb.first_split import Evidence, Inclusion, NutsCheck
from bayesnb.methods import METHODS, RIVALS, priors
from bayesnb.metrics import ReliabilityBins
from bayesnb.reading import DataError, Source
from bayesnb.tables import make_table
from tests.test_compare import QUICK, by_hand, record, synthetic


@pytest.fixture(scope="module")
def counted():
    table = synthetic("bc")
    return table, compare(table, (10,), repeats=2, seed=1, methods=QUICK)


@pytest.fixture(scope="module")
def mixed():
    table = synthetic()
    return table, compare(table, (10, 84), repeats=4, seed=1, methods=QUICK)


# words and numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.3123, ".312"), (-0.3123, "-.312"), (1.0, "1.00"), (0.99996, "1.00"), (9.996, "10.0"), (12.34, "12.3"),
        (178.4, "178"), (16867.0, "17k"), (5.7e7, "57M"), (1.2e9, "1G"), (3e17, "3e+17"), (-0.0001, ".000"),
    ],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert report_tables.number(value) == text


def test_a_mean_and_its_error_share_the_decimals():
    assert report_tables.with_error(0.3123, 0.0456) == ".312 ±.046"
    assert report_tables.with_error(12.34, 0.0456, sign="+") == "+12.3 ±.0"
    assert report_tables.with_error(0.3123, float("nan")) == ".312"


def printed(function, *args, width=80):
    console = Console(width=width, record=True, file=SimpleNamespace(write=lambda _: None, flush=lambda: None))
    function(console, *args)
    return console.export_text()


def words_of(function, *args):
    return " ".join(printed(function, *args).split())


def widest(table):
    """Every method, ten thousand rows, and numbers that take as much room as they can."""
    named = priors(table)
    splits = [(0.1111, 0.1), (0.3333, 0.5), (0.8888, 0.9)]
    records = tuple(
        record(i, method, loss, brier=loss, accuracy=loss, ece=ece, size=size)
        for size in (20, 10_000)
        for method in named
        for i, (loss, ece) in enumerate(splits)
    )
    return Comparison((20, 10_000), 3, 0, 40, named, records, {})


def test_the_report_fits_80_columns_and_names_every_prior(mixed):
    table, result = mixed[0], widest(mixed[0])
    text = printed(report.print_data, table) + printed(report.print_results, table, result)
    assert max(map(len, text.splitlines())) <= 80
    lines = text.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("n = 10,000")))
    scores = [line.split() for line in lines[start + 1 : start + 10]]
    for row, method in zip(scores, METHODS + RIVALS, strict=True):
        named = method.split() + result.priors[method].split()
        assert row[: len(named)] == named
        assert row[len(named) :] == [".444", "±.231", ".444", "±.231", ".444", "±.231", ".500", "±.231"]
    assert "coincide" not in text


def test_the_legend_explains_what_is_there_and_nothing_else(mixed):
    text = words_of(report.print_results, mixed[0], widest(mixed[0]))
    for words in ("learned: the prior", "averaged: the exact average", "tempered: one power", "L2, C = 1: scikit"):
        assert words in text
    text = words_of(report.print_results, *mixed)
    assert "NIG: normal-inverse-gamma" in text
    assert not any(words in text for words in ("learned", "averaged", "power", "scikit"))


def test_times_are_those_of_the_smallest_and_the_largest_size(mixed):
    _, result = mixed
    lines = printed(lambda console, grid: console.print(grid), report_tables.times(result)).splitlines()
    assert lines[0].split() == ["n", "=", "10", "n", "=", "84"]
    expected = [result.median(size, "MAP", field) for size in (10, 84) for field in ("fit_ms", "predict_ms")]
    assert lines[4].split() == ["MAP", *(f"{ms:.1f}" for ms in expected)]


def evidence_of(num_columns):
    columns = tuple(Inclusion(f"x[{i}]", 1.0 - i / 50, 1000.25 - 100 * i) for i in range(num_columns))
    return Evidence(84, -1234.56, -1200.0, columns)


@pytest.mark.parametrize(("num_columns", "shown"), [(3, [0, 1, 2]), (13, range(13)), (16, [*range(10), 13, 14, 15])])
def test_columns_are_ranked_by_the_evidence(mixed, num_columns, shown):
    lines = printed(report.print_evidence, mixed[0], evidence_of(num_columns)).splitlines()
    text = " ".join(" ".join(lines).split())
    assert "of the first split's 84 training rows: full Bayes -1,234.6, learned prior -1,200.0 (+34.6)" in text
    rows = [line.split() for line in lines if line.startswith("x[")]
    assert rows == [[f"x[{i}]", f"{1 - i / 50:.3f}", f"{1000.25 - 100 * i:,.1f}"] for i in shown]
    assert ("... 3 more ..." in text) == (num_columns > 13)


def test_the_report_says_when_map_and_full_bayes_coincide(counted):
    assert "MAP with Laplace 1 and full Bayes coincide" in words_of(report.print_results, *counted)


def test_impossible_rows_are_counted_in_words(counted, mixed):
    _, result = counted
    share = 100 * result.mean(10, "MLE", "impossible")[0]
    text = words_of(report.print_results, *counted)
    assert share > 0
    assert f"(each counts 87.3 in the log loss): MLE {share:.2g} % at n = 10" in text
    assert "No test row's own class got probability zero" in words_of(report.print_results, mixed[0], by_hand())


def test_many_columns_are_printed_by_kind():
    frame = pd.DataFrame({f"x[{i}]": np.arange(30.0) * i + 0.5 for i in range(1, 41)})
    frame["label"] = pd.Series(["a", "b"] * 15, dtype=object)
    text = printed(report.print_data, make_table(Source("wide", frame, "label")))
    assert "x[1], x[2], ..." in text  # names that look like markup survive
    assert len(text.splitlines()) < 12


CHECK = NutsCheck(20, 40, 0.0123, 0.00045, 1.002, 1234.5, 3, 4000, 4, 9.87, ("3 divergences", "3 [more] words"))


def test_the_check_is_printed_with_its_warnings():
    text = words_of(report.print_check, CHECK)
    for words in (
        "R-hat 1.002",
        "sample size 1,234",
        "3 divergences",
        "by 0.00045 on average and at most 0.012 (40 test rows)",
        "9.9 s",
        "warning: 3 [more] words",
    ):
        assert words in text


@pytest.mark.parametrize(("value", "text"), [(121, "121"), (123_456, "123,456"), (2**101 * 8 - 1, "2.0e+31")])
def test_whole_numbers_of_any_size(value, text):
    assert report_tables.whole(value) == text
    assert report_tables.whole(2**20_000) == "4.0e+6020"


def test_parameters_are_counted_beside_the_full_joint_table(counted, mixed):
    # 3 classes; a flag and a code of 5 values: 2 + 3 + 12 free parameters, and 3 * 2 * 5 - 1 cells
    words = "Naive Bayes has 17 free parameters; a table of the full joint distribution would need 29"
    assert words in words_of(report.print_data, counted[0])
    text = words_of(report.print_data, mixed[0])
    assert "Naive Bayes has 23 free parameters; no table can hold the full joint distribution" in text


PAIRS = Dependence(
    ("a[1]", "b", "c"),
    np.array([[0, 0.3, 1.234], [0.3, 0, 0.1], [1.234, 0.1, 0]]),
    np.array([[0, -2.0, 100.0], [-2.0, 0, 7.0], [100.0, 7.0, 0]]),
)


def surely(confidence, correct):
    """A comparison whose largest probabilities and hits add up to these, of 40 rows in each of three splits."""
    splits = np.array([[[40], [c], [r]] for c, r in zip(confidence, correct, strict=True)])
    bins = tuple(ReliabilityBins(*split) for split in splits)
    return replace(by_hand(), bins={(20, "full Bayes"): bins})


def cured(tempered, weights):
    """The same with calibration errors of the two cures, where full Bayes has 0.05."""
    sure = surely([39.0, 38.0, 39.5], [36.0, 36.0, 35.0])
    errors = {"tempered": tempered, "feature weights": weights}
    records = tuple(record(i, method, 1.0, ece=ece) for method, ece in errors.items() for i in range(3))
    return replace(sure, priors=dict(sure.priors) | dict.fromkeys(errors, "none"), records=sure.records + records)


@pytest.mark.parametrize(
    ("tempered", "weights", "end"),
    [
        (0.02, 0.012, "error of .050 falls to .020 in 'tempered' and .012 in 'feature weights'"),
        (0.05, 0.012, "The cure: the calibration error of .050 falls to .012 in 'feature weights'"),
        (0.06, 0.07, "(dependence.png)"),
    ],
)
def test_the_warning_points_at_the_cure_where_it_cures(tempered, weights, end):
    assert words_of(report.print_dependence, cured(tempered, weights), PAIRS).endswith(f"{end}.")


def test_dependence_is_a_warning_where_it_makes_full_bayes_over_confident():
    text = words_of(report.print_dependence, surely([39.0, 38.0, 39.5], [36.0, 36.0, 35.0]), PAIRS)
    assert "at n = 20 full Bayes is on average .079 ±.018 more sure than right (reliability.png)" in text
    assert "within the classes 'a[1]' and 'c', the strongest of 3 pairs, share 1.23 nats" in text
    assert "a Bayes factor of 3e+43 for dependence (dependence.png)" in text


@pytest.mark.parametrize(
    ("confidence", "correct", "pairs"),
    [
        ([39.0, 38.0, 39.5], [36.0, 36.0, 35.0], PAIRS.among([0, 1])),  # independent
        ([36.0, 36.0, 35.0], [39.0, 38.0, 39.5], PAIRS),  # too modest
        ([39.0, 36.0, 39.5], [36.0, 39.5, 38.0], PAIRS),  # within the noise
        ([39.0, 38.0, 39.5], [38.8, 37.8, 39.3], PAIRS),  # by half a percent
        ([39.0], [36.0], PAIRS),  # one split, whose noise is unknown
    ],
)
def test_there_is_no_warning_where_either_is_missing(confidence, correct, pairs):
    text = printed(report.print_dependence, surely(confidence, correct), pairs)
    assert "depend on each other" in text
    assert "warning" not in text


@pytest.mark.parametrize(("log_value", "text"), [(np.log(150), "150"), (np.log(9.7e5), "1e+6"), (1e3, "2e+434")])
def test_bayes_factors_of_any_size(log_value, text):
    assert report_tables.bayes_factor(log_value) == text


# pictures and files


def test_the_learning_curve_has_a_line_and_a_bar_for_each_method():
    ax = Figure().subplots()
    curves = {m: (np.array([5.0, 1.0]) * (i + 1), np.array([0.5, np.nan])) for i, m in enumerate(plots.STYLES)}
    assert plots.learning_curve(ax, (20, 100), curves, "log loss", log_scale=True) is ax
    assert sorted(ax.get_legend_handles_labels()[1]) == sorted(plots.STYLES)
    drawn = {container.get_label(): container.lines[0].get_ydata() for container in ax.containers}
    for method in plots.STYLES:
        assert_allclose(drawn[method], curves[method][0])
    assert (ax.get_yscale(), ax.get_ylabel(), ax.get_xlabel()) == ("log", "log loss", "training rows")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["20", "100"]
    for part in ("color", "marker", "linestyle"):  # each alone tells them apart
        assert len({line[part] for line in plots.STYLES.values()}) == len(plots.STYLES)
    assert len(set(plots.HATCHES.values())) == len(plots.STYLES) == len(plots.HATCHES)


def test_the_pictures_show_the_methods_that_are_told_apart(mixed):
    result = widest(mixed[0])
    bins = ReliabilityBins(np.full(10, 4), np.arange(10) * 0.4, np.arange(10) * 0.3)
    result = replace(result, bins={(size, method): (bins,) * 3 for size in result.sizes for method in result.methods})
    for draw, names in (
        (writing.learning_figure, writing.IN_LEARNING_CURVE),
        (writing.reliability_figure, writing.IN_RELIABILITY),
    ):
        assert [text.get_text() for text in draw(mixed[0], result).legends[0].get_texts()] == list(names)
        assert set(names) <= set(plots.STYLES)


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


def test_confidence_shares_add_up_to_one():
    bins = ReliabilityBins(np.arange(10), np.arange(10) * 0.5, np.arange(10) * 0.4)
    ax = plots.confidence_shares(Figure().subplots(), {"MLE": [bins, bins], "MAP": [bins]})
    assert_allclose(sum(patch.get_height() for patch in ax.patches), 2.0)


def test_the_dependence_is_a_triangle_with_dots_where_it_is_sure():
    ax = plots.dependence(Figure().subplots(), replace(PAIRS, names=("a[1]", "$b$", "c")))
    shades, dots = ax.collections
    drawn = shades.get_array().reshape(3, 3)
    assert_allclose(drawn[np.tri(3, k=-1, dtype=bool)].filled(), [0.3, 1.234, 0.1])
    assert drawn.mask[np.triu_indices(3)].all()
    assert_allclose(dots.get_offsets(), [[0.5, 2.5], [1.5, 2.5]])  # (c, a) and (c, b), whose log factor is above 5
    assert_allclose(dots.get_facecolors()[:, 0], [1.0, 0.0])  # white on the dark one
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a[1]", r"\$b\$"]
    assert [t.get_text() for t in ax.get_yticklabels()] == [r"\$b\$", "c"]
    assert ax.figure.axes[1].get_ylabel() == "nats"


def test_of_many_columns_the_most_dependent_are_drawn(mixed):
    evidence = -np.ones((70, 70))
    evidence[3, 68] = evidence[68, 3] = 9.0
    pairs = Dependence(tuple(f"a column of a long name, number {d}" for d in range(70)), np.zeros((70, 70)), evidence)
    figure = writing.dependence_figure(mixed[0], pairs)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(names) == writing.MOST_COLUMNS_DRAWN - 1
    assert {len(name) for name in names} == {writing.LONGEST_NAME}
    assert len(figure.axes[0].collections[1].get_offsets()) == 1
    assert "the 60 most dependent of 70 columns given 'label'" in figure.get_suptitle()


def test_the_files_hold_what_was_measured(tmp_path, mixed):
    table, result = mixed
    names = writing.write_files(
        tmp_path, table, result, evidence_of(3), PAIRS, CHECK, seed=5, command="bayesnb compare synthetic"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    frame = pd.read_csv(tmp_path / "results.csv")
    assert len(frame) == 2 * 3 * 4
    means = frame.groupby(["size", "method"])["log_loss"].mean()
    assert_allclose(means.loc[10, "MAP"], result.mean(10, "MAP", "log_loss")[0])
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["splits"] == {"sizes": [10, 84], "repeats": 4, "test_rows": 36, "seed": 5}
    assert sum(summary["data"]["classes"].values()) == summary["data"]["rows"] == 120
    assert_allclose(summary["table"][1]["log_loss"]["mean"], means.loc[10, "MAP"])
    assert summary["strongest_pairs"][0] == {
        "first": "a[1]", "second": "c", "mutual_information": 1.234, "log_bayes_factor": 100.0
    }  # fmt: skip
    assert summary["evidence"]["full_bayes"] == -1234.56
    assert summary["evidence"]["columns"][1] == {"column": "x[1]", "probability": 0.98, "log_bayes_factor": 900.25}
    assert summary["nuts"]["max_difference"] == 0.0123
    assert summary["command"] == "bayesnb compare synthetic"
    for name in ("learning_curve.png", "reliability.png", "dependence.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_one_split_has_no_error_and_the_summary_is_still_json():
    one = Comparison((20,), 1, 0, 40, by_hand().priors, tuple(r for r in by_hand().records if r.repeat == 0), {})
    text = json.dumps(writing.summarise(synthetic("b"), one, evidence_of(1), None, None, 0, ""), allow_nan=False)
    row = json.loads(text)["table"][0]
    assert row["log_loss"] == {
        "mean": 1.1, "standard_error": None,
        "minus_full_bayes": pytest.approx(0.1), "minus_full_bayes_standard_error": None,
    }  # fmt: skip


def test_staged_files_appear_together_and_only_at_a_good_end(tmp_path):
    out = tmp_path / "deep" / "er"
    with writing.staged(out) as folder:
        (folder / "a.txt").write_text("new")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["a.txt"]
    (out / "kept.txt").write_text("old")
    with pytest.raises(RuntimeError, match="half way"), writing.staged(out) as folder:  # noqa: PT012
        (folder / "a.txt").write_text("newer")
        raise RuntimeError("half way")
    assert {path.name: path.read_text() for path in out.iterdir()} == {"a.txt": "new", "kept.txt": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DataError, match="is a file"), writing.staged(out):
            pytest.fail("the work began")
