"""When does full Bayes beat MAP, and does the evidence choose well? The study of ``docs/full_bayes_or_map.md``.

    BAYESNB_DATA=DATA python -m tests.benchmarks.full_bayes_or_map [--splits N] [--out FOLDER]

It writes the figures and prints the numbers of the page. Run again with the same folder, it only draws.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import bayesnb as nb
from bayesnb.studies.comparison._over_sets import signed_rank
from bayesnb.studies.comparison._paired import crossed
from bayesnb.tables.files.sources._places import BUILT_IN
from tests.benchmarks.learned_priors import SETS, read_file, read_penguins

NAMES = (
    *("penguins", "adult", "mushroom", "balance-scale", "tic-tac-toe", "ionosphere", "haberman", "cleveland"),
    *("glass", "vehicle", "monks-1", "monks-2", "monks-3"),
)
MOST_ROWS = 1500
SMOOTHINGS = (0.1, 0.3, 3, 10)
SIZES = (16, 32, 64, 128, 256)
ROPE = 0.01


def tables() -> dict[str, Any]:
    """The 17 tables, as ``nb.experiment`` takes them."""
    found: dict[str, Any] = {name: name for name in BUILT_IN}
    for name in NAMES:
        if name == "penguins":
            frame, target = read_penguins(), "species"
        else:
            arguments = SETS[name]
            frame, target = read_file(*arguments.args, **arguments.keywords)  # type: ignore[attr-defined]
        keep = np.random.default_rng(1).permutation(len(frame))[:MOST_ROWS]
        found[name] = frame.iloc[keep].reset_index(drop=True), target
    return found


def choices(study: nb.Experiment) -> pd.DataFrame:
    """What evidence and leave-one-out choose among the smoothings of full Bayes, less smoothing 1, by set and size.

    The losses of a choice are those of the smoothing that each training set chooses, on its test rows; the interval is
    that of the design, as in ``study.differences``.
    """
    frame = study.frame().query("metric == 'log_loss'")
    frame = frame[frame["method"].str.startswith("full Bayes")]
    by = {name: frame.pivot(index=["data_set", "size", "split"], columns="method", values=name) for name in COLUMNS}
    methods, rows = [*by["value"].columns], []
    for data_set in study.sets:
        for size in study.sizes(data_set):
            losses = np.stack([study.losses(data_set, size, method) for method in methods])
            fixed = losses[methods.index("full Bayes")]
            found = {
                "evidence": by["log_evidence"].loc[data_set, size].to_numpy().argmax(axis=1),
                "leave-one-out": by["loo_log_loss"].loc[data_set, size].to_numpy().argmin(axis=1),
                "the test rows": losses.mean(axis=2).argmin(axis=0),
            }
            for how, chosen in found.items():
                apart = losses[chosen, np.arange(len(chosen))] - fixed
                difference = crossed(apart, size, study.pool(data_set), skewed=True)
                rows.append((data_set, size, how, difference.mean, *difference.regions(ROPE)))
    return pd.DataFrame(rows, columns=["data_set", "size", "chosen by", "mean", "better", "equal", "worse"])


def draw(found: pd.DataFrame, path: Path) -> None:
    """By size, the mean over the sets that have it of what a choice changes, and each set as a point."""
    figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    ax.axhline(0, color="0.6", linewidth=1)
    for how, colour, marker, shift in zip(
        ("evidence", "leave-one-out", "the test rows"),
        ("#D55E00", "#0072B2", "#999999"),
        "s^o",
        (0.97, 1, 1.03),
        strict=True,
    ):
        some = found[found["chosen by"] == how]
        ax.scatter(some["size"] * shift, some["mean"], s=9, color=colour, marker=marker, alpha=0.35, linewidth=0)
        means = some.groupby("size")["mean"].mean()
        ax.plot(means.index * shift, means, color=colour, marker=marker, label=f"chosen by {how}")
    ax.set_xscale("log")
    sizes = sorted(found["size"].unique())
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set_xticks([], minor=True)
    ax.set_ylim(-0.22, 0.3)
    ax.set_xlabel("training rows")
    ax.set_ylabel("log loss less that of smoothing 1")
    ax.legend(frameon=False)
    figure.savefig(path)


COLUMNS = ("value", "log_evidence", "loo_log_loss")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.full_bayes_or_map", description=__doc__)
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path("full_bayes_or_map"), help="the folder of cells and figures")
    options = parser.parse_args()
    sets, how = tables(), {"splits": options.splits, "metrics": ["log_loss", "accuracy"], "out": options.out}
    smoothed = nb.experiment(sets, ["full Bayes", *nb.methods("full Bayes", smoothing=[*SMOOTHINGS])], **how)
    study = nb.experiment(sets, ["MAP", "full Bayes"], **how)
    print(smoothed, study, sep="\n")
    for metric in how["metrics"]:
        for size in SIZES:
            found = study.differences("full Bayes", ROPE, metric, size)
            print(found.drop(columns=["method", "reference", "splits", "missing"]).round(3).to_string(index=False))
    study.plot(options.out / "full_bayes_or_map.png", reference="full Bayes", size=32)
    chosen = choices(smoothed)
    print(chosen.groupby(["chosen by", "size"])["mean"].agg(["mean", "median", "count"]).round(4).to_string())
    for name, some in chosen.groupby("chosen by"):
        by_set = some.groupby("data_set")["mean"].mean()
        print(name, signed_rank(by_set, ROPE, seed=0), by_set.round(3).to_dict())
        print(name, (some[["better", "equal", "worse"]] > 0.95).groupby(some["size"]).sum().to_string())
    draw(chosen, options.out / "evidence_choice.png")


if __name__ == "__main__":
    main()
