"""What a comparison prints."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from bayesnb.comparison.compare import Comparison, compare
from bayesnb.comparison.diagnostics import Evidence, Inclusion, NutsCheck
from bayesnb.comparison.methods import METHODS, RIVALS, priors
from bayesnb.comparison.metrics import ReliabilityBins
from bayesnb.files.tables.reading import NamedFrame
from bayesnb.files.tables.table import make_table
from bayesnb.inspection.dependence import Dependence
from bayesnb.report import console, tables
from tests.comparison.test_compare import QUICK, by_hand, record, synthetic


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
    assert tables.number(value) == text


def test_a_mean_and_its_error_share_the_decimals():
    assert tables.with_error(0.3123, 0.0456) == ".312 ±.046"
    assert tables.with_error(12.34, 0.0456, sign="+") == "+12.3 ±.0"
    assert tables.with_error(0.3123, float("nan")) == ".312"


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
    text = printed(console.print_data, table) + printed(console.print_results, table, result)
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
    text = words_of(console.print_results, mixed[0], widest(mixed[0]))
    for words in ("learned: the prior", "averaged: the exact average", "tempered: one power", "L2, C = 1: scikit"):
        assert words in text
    text = words_of(console.print_results, *mixed)
    assert "NIG: normal-inverse-gamma" in text
    assert not any(words in text for words in ("learned", "averaged", "power", "scikit"))


def test_times_are_those_of_the_smallest_and_the_largest_size(mixed):
    _, result = mixed
    lines = printed(lambda console, grid: console.print(grid), tables.times(result)).splitlines()
    assert lines[0].split() == ["n", "=", "10", "n", "=", "84"]
    expected = [result.median(size, "MAP", field) for size in (10, 84) for field in ("fit_ms", "predict_ms")]
    assert lines[4].split() == ["MAP", *(f"{ms:.1f}" for ms in expected)]


def evidence_of(num_columns):
    columns = tuple(Inclusion(f"x[{i}]", 1.0 - i / 50, 1000.25 - 100 * i) for i in range(num_columns))
    return Evidence(84, -1234.56, -1200.0, columns)


@pytest.mark.parametrize(("num_columns", "shown"), [(3, [0, 1, 2]), (13, range(13)), (16, [*range(10), 13, 14, 15])])
def test_columns_are_ranked_by_the_evidence(mixed, num_columns, shown):
    lines = printed(console.print_evidence, mixed[0], evidence_of(num_columns)).splitlines()
    text = " ".join(" ".join(lines).split())
    assert "of the first split's 84 training rows: full Bayes -1,234.6, learned prior -1,200.0 (+34.6)" in text
    rows = [line.split() for line in lines if line.startswith("x[")]
    assert rows == [[f"x[{i}]", f"{1 - i / 50:.3f}", f"{1000.25 - 100 * i:,.1f}"] for i in shown]
    assert ("... 3 more ..." in text) == (num_columns > 13)


def test_the_report_says_when_map_and_full_bayes_coincide(counted):
    assert "MAP with Laplace 1 and full Bayes coincide" in words_of(console.print_results, *counted)


def test_impossible_rows_are_counted_in_words(counted, mixed):
    _, result = counted
    share = 100 * result.mean(10, "MLE", "impossible")[0]
    text = words_of(console.print_results, *counted)
    assert share > 0
    assert f"(each counts 87.3 in the log loss): MLE {share:.2g} % at n = 10" in text
    assert "No test row's own class got probability zero" in words_of(console.print_results, mixed[0], by_hand())


def test_many_columns_are_printed_by_kind():
    frame = pd.DataFrame({f"x[{i}]": np.arange(30.0) * i + 0.5 for i in range(1, 41)})
    frame["label"] = pd.Series(["a", "b"] * 15, dtype=object)
    text = printed(console.print_data, make_table(NamedFrame("wide", frame, "label")))
    assert "x[1], x[2], ..." in text  # names that look like markup survive
    assert len(text.splitlines()) < 12


CHECK = NutsCheck(20, 40, 0.0123, 0.00045, 1.002, 1234.5, 3, 4000, 4, 9.87, ("3 divergences", "3 [more] words"))


def test_the_check_is_printed_with_its_warnings():
    text = words_of(console.print_check, CHECK)
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
    assert tables.whole(value) == text
    assert tables.whole(2**20_000) == "4.0e+6020"


def test_parameters_are_counted_beside_the_full_joint_table(counted, mixed):
    # 3 classes; a flag and a code of 5 values: 2 + 3 + 12 free parameters, and 3 * 2 * 5 - 1 cells
    words = "Naive Bayes has 17 free parameters; a table of the full joint distribution would need 29"
    assert words in words_of(console.print_data, counted[0])
    text = words_of(console.print_data, mixed[0])
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
    assert words_of(console.print_dependence, cured(tempered, weights), PAIRS).endswith(f"{end}.")


def test_dependence_is_a_warning_where_it_makes_full_bayes_over_confident():
    text = words_of(console.print_dependence, surely([39.0, 38.0, 39.5], [36.0, 36.0, 35.0]), PAIRS)
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
    text = printed(console.print_dependence, surely(confidence, correct), pairs)
    assert "depend on each other" in text
    assert "warning" not in text


@pytest.mark.parametrize(("log_value", "text"), [(np.log(150), "150"), (np.log(9.7e5), "1e+6"), (1e3, "2e+434")])
def test_bayes_factors_of_any_size(log_value, text):
    assert tables.bayes_factor(log_value) == text
