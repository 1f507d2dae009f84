"""The tables of the benchmark of probabilities, as Markdown, from a frame of runs.

A cell is a set and a number of training rows; its score is the mean over its splits. Only the splits that every method
of a table has count.
"""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from tests.benchmarks.probability_methods import OURS, PLAIN

FULL = "full"
FOREST, LINEAR = "random forest", "logistic regression"
EQUAL = 1e-6
"""Cells whose log losses differ by less count as equal: two methods that are one on tables without numbers."""

SMALL = ("20", "50", "100", "200")
MOST_ERROR, MOST_LOSS, SHARE = 0.045, 0.05, 0.65
"""The goals: the mean calibration error, the nats lost to the plain posterior in any cell, the share of cells won."""

PAIRS = (
    ("posterior, powers", "posterior"),
    ("Histogram", "posterior"),
    ("Histogram, powers", "posterior, powers"),
    ("forests", "posterior"),
    ("forests, powers", "posterior, powers"),
    ("forests, powers", "Histogram, powers"),
    ("Views, powers", "posterior, powers"),
    ("Views, powers", "Histogram, powers"),
    ("forests of Histogram, powers", "Histogram, powers"),
    ("forests of Histogram, powers", "forests, powers"),
    ("forests of Histogram, powers", "Views, powers"),
    ("default", "posterior, powers"),
    ("default", "forests, powers"),
    ("default", "default without dependence"),
    ("default without dependence", "posterior, powers"),
    ("default without dependence", "Views, powers"),
    ("forests of Views, powers", "Views, powers"),
    ("forests of Views, powers", "forests, powers"),
)
"""What each step adds: a method and the one that lacks it."""


def cells_of(runs: pd.DataFrame, methods: Sequence[str], metric: str = "log_loss") -> pd.DataFrame:
    """The mean score of each cell, [set and size, method]; sizes in the order of the runs."""
    runs = runs[runs["method"].isin(methods)]
    table = runs.pivot_table(metric, ["set", "size", "split"], "method", sort=False)
    return table.reindex(columns=list(methods)).dropna().groupby(level=["set", "size"], sort=False).mean()


def by_size(runs: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Median / mean log loss at each size; of all cells also the other scores and the median processor time."""
    loss = cells_of(runs, methods)
    groups = {size: loss.xs(size, level="size") for size in _sizes(runs) if size in loss.index.get_level_values("size")}
    others = {metric: cells_of(runs, methods, metric) for metric in ("brier", "ece", "accuracy")}
    columns = {f"{size} ({len(group)})": _median_and_mean(group) for size, group in groups.items()}
    if len(groups) > 1:
        columns[f"all ({len(loss)})"] = _median_and_mean(loss)
    columns["Brier"] = others["brier"].mean().map(_number)
    columns["ECE"] = others["ece"].mean().map(_number)
    columns["accuracy"] = _median_and_mean(others["accuracy"])
    columns["seconds"] = cells_of(runs, methods, "seconds").median().map(_number)
    return pd.DataFrame(columns)


def by_set(runs: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Mean log loss of each set over its sizes."""
    return cells_of(runs, methods).groupby(level="set", sort=False).mean().map(_number)


def beside(runs: pd.DataFrame, pairs: Sequence[tuple[str, str]], sets: Collection[str] | None = None) -> pd.DataFrame:
    """Log loss of the first method of each pair less that of the second, over the cells of some sets.

    The standard error is that of the mean over sets of each set's mean difference.
    """
    rows = []
    for method, other in pairs:
        loss = cells_of(runs, (method, other))
        more = loss[method] - loss[other]
        more = more if sets is None else more[more.index.get_level_values("set").isin(sets)]
        if more.empty:
            continue
        of_sets = more.groupby(level="set").mean()
        mean, error = of_sets.mean(), of_sets.sem()
        rows.append(
            {
                "method": method,
                "beside": other,
                "cells": len(more),
                "won": f"{(more < -EQUAL).mean():.0%}",
                "lost": f"{(more > EQUAL).mean():.0%}",
                "median": _signed(more.median()),
                "mean": _signed(more.mean()),
                "mean of sets": f"{_signed(mean)} ({_number(error)})",
                "sets better": f"{(of_sets < -EQUAL).sum()} of {len(of_sets)}",
                "best": _place(more, int(more.argmin())),
                "worst": _place(more, int(more.argmax())),
            }
        )
    return pd.DataFrame(rows)


def goals(runs: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """What each method of ours reaches of the goals; a figure that misses its goal is in bold."""
    rows = []
    for method in (method for method in methods if method in OURS):
        row = {"method": method}
        for rival in (FOREST, LINEAR):
            loss = cells_of(runs, (method, rival))
            medians = {size: loss.xs(size, level="size").median() for size in SMALL if size in loss.index.levels[1]}
            for size, median in medians.items():
                text = f"{_number(median[method])} : {_number(median[rival])}"
                row[f"{rival}, {size}"] = _missed(text, median[method] >= median[rival])
            share = (loss[method] < loss[rival]).mean()
            row[f"won of {rival}"] = _missed(f"{share:.0%}", share < SHARE)
        error = cells_of(runs, (method,), "ece")[method].mean()
        loss = cells_of(runs, tuple(dict.fromkeys((method, PLAIN))))
        more = loss[method] - loss[PLAIN]
        row["ECE"] = _missed(_number(error), error > MOST_ERROR)
        row["worst beside plain"] = _missed(_place(more, int(more.argmax())), more.max() > MOST_LOSS)
        rows.append(row)
    return pd.DataFrame(rows)


def report(runs: pd.DataFrame, methods: Sequence[str], numeric: Collection[str]) -> str:
    """All tables; ``numeric`` are the sets that have numbers."""
    growing, full = runs[runs["size"] != FULL], runs[runs["size"] == FULL]
    ours = [method for method in methods if method in OURS]
    rivals = [method for method in methods if method not in OURS]
    pairs = [pair for pair in PAIRS if set(pair) <= set(methods)]
    discrete = set(runs["set"]) - set(numeric)
    parts = []
    for title, some in (("20 to 500 rows", growing), ("Full size", full)):
        if some.empty:
            continue
        parts += [f"## {title}", _splits(some), _markdown(by_size(some, methods).reset_index())]
        for rival in (rival for rival in (FOREST, LINEAR) if rival in rivals):
            against = [(method, rival) for method in methods if method != rival]
            parts += [f"### Beside {rival}", _markdown(beside(some, against))]
        for name, sets in (("all sets", None), ("sets with numbers", numeric), ("sets without numbers", discrete)):
            table = beside(some, pairs, sets)
            if len(table):
                parts += [f"### What each step adds: {name}", _markdown(table)]
        parts += ["### By set", _markdown(by_set(some, methods).reset_index())]
        if some is growing and {PLAIN, FOREST, LINEAR} <= set(methods) and ours:
            parts += ["### Goals", _markdown(goals(some, methods).set_index("method").T.reset_index(names="goal"))]
    return "\n\n".join(parts)


def _sizes(runs: pd.DataFrame) -> list[str]:
    return sorted(runs["size"].unique(), key=lambda size: (size == FULL, int(size) if size != FULL else 0))


def _splits(runs: pd.DataFrame) -> str:
    found = runs.groupby(["set", "size"])["split"].nunique()
    most, least = found.max(), found.min()
    return f"{runs['set'].nunique()} sets; splits of each cell: {least if most == least else f'{least} to {most}'}."


def _median_and_mean(cells: pd.DataFrame) -> pd.Series:
    return cells.median().map(_number) + " / " + cells.mean().map(_number)


def _number(value: float) -> str:
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_number(abs(value))}"


def _place(more: pd.Series, at: int) -> str:
    name, size = more.index[at]
    return f"{_signed(more.iloc[at])} {name}/{size}"


def _missed(text: str, missed: bool | np.bool_) -> str:
    return f"**{text}**" if missed else text


def _markdown(frame: pd.DataFrame) -> str:
    """A table whose first column is text, the others to the right."""
    lines = [list(map(str, frame.columns)), ["---", *["---:"] * (len(frame.columns) - 1)], *frame.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
