"""How the console prints a summary."""

from dataclasses import replace

import numpy as np
import pandas as pd

from bayesnb.studies.comparison._methods import COMPARED
from bayesnb.studies.report._console import print_results
from bayesnb.studies.report._summary import summarise
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame
from tests.comparisons import by_hand, compared, findings_of, widest
from tests.studies.report.printed import printed, printed_data, printed_results, words


def test_the_report_fits_80_columns_and_names_every_prior(mixed):
    table, result = mixed[0], widest(mixed[0])
    text = printed_data(table) + printed_results(table, result)
    assert max(map(len, text.splitlines())) <= 80
    lines = text.splitlines()
    start = lines.index(next(line for line in lines if line.startswith("n = 10,000")))
    metrics = [line.split() for line in lines[start + 1 : start + 1 + len(COMPARED)]]
    for row, method in zip(metrics, COMPARED, strict=True):
        named = method.split() + result.priors[method].split()
        assert row[: len(named)] == named
        assert row[len(named) :] == [".444", "±.996", ".444", "±.996", ".444", "±.996", ".500", "±.994"]
    assert "the same predictions" not in text


def test_impossible_rows_are_counted_in_words(counted, mixed):
    _, result = counted
    share = 100 * result.values(10, "MLE", "impossible").mean()
    text = words(printed_results(*counted))
    assert share > 0
    assert f"(zero included; each counts as 87.3 nats in the log loss): MLE {share:.2g} % at n = 10" in text
    assert "log loss: nats per test row, at most 87.3 for a row" in text
    text = words(printed_results(mixed[0], by_hand()))
    assert "No method gave the true class of a test row a probability below e^-87.3" in text


def test_a_stopped_comparison_says_so_and_so_does_one_that_scores_some_rows(mixed):
    table, _ = mixed
    result = compared(table, (10,), 4, methods=("full Bayes",), most_test=10)
    findings = findings_of(table, replace(result, stopped="interrupted"))._replace(no_check="There is no check.")
    summary = summarise(findings, "")
    sentence = "The comparison was stopped after 4 splits (interrupted); others are missing: the same command goes on."
    assert summary["sentences"]["stopped"] == summary["data"]["warnings"][0] == sentence
    text = words(printed(print_results, summary))
    assert "Of 36 held-out rows, 10 are scored in each split (--test-rows)." in text
    assert "There is no check." in text


def test_many_columns_are_printed_by_kind():
    frame = pd.DataFrame({f"x[{i}]": np.arange(30.0) * i + 0.5 for i in range(1, 41)})
    frame["label"] = pd.Series(["a", "b"] * 15, dtype=object)
    text = printed_data(make_table(of_frame("wide", frame), "label"))
    assert "x[1], x[2], ..." in text  # names that look like markup survive
    assert len(text.splitlines()) < 12
