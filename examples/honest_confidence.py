# %% [markdown]
"""Honest confidence: Naive Bayes, what tempers it, and what else a user would pick, on small training sets.

    p(k | x)  is proportional to  p(k) prod_d p(x_d | k, D)^w_d

w = 1 is the exact posterior predictive. Features that depend on each other within a class count the same evidence
twice, which makes it too sure of itself. `nb.temper` learns one w, or with `per_feature=True` one a feature, on the
exact leave-one-out table of the training rows. Beside them: the plug-in, GaussianNB on numbers with CategoricalNB
(alpha=1) on everything counted; the same under CalibratedClassifierCV; logistic regression, plain (C = 1) and with C
chosen by cross-validated log loss; a random forest of 300 trees. All see the same rows.

The data sets are those that scikit-learn carries and those found in --data: penguins, adult, mushroom, sms_spam (which
of the 1,000 commonest words a message holds) and MNIST (a pixel being on above half its range), at most 5,000 random
rows of each, 30 % of them held out. A cell is a data set at a training size; its values are means over splits, and the
tables show medians over cells. A row whose class got probability zero counts as 87.3 nats.

No number is printed in a source. All fits are written to honest_confidence.csv; the nine sets take ten minutes or more
a repeat, and `--sets wine penguins` less than one. What must hold: with all w = 1 the tempered posterior predicts as
the exact one. Weights of features: Zaidi et al., Alleviating naive Bayes attribute independence assumption by attribute
weighting (2013). Calibration error: Guo, Pleiss, Sun and Weinberger, On calibration of modern neural networks (2017).
"""

# %%
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from idx import read_mnist
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from naive_rivals import rivals
from rich.console import Console
from rich.progress import track
from spam import read_messages

import bayesnb as nb

# the inner parts of `bayesnb compare`, which have no public names: its tables, splits and scores
from bayesnb.studies.comparison._data_sets import bayes_model
from bayesnb.studies.comparison._designs import RESPLIT, Split, make_design
from bayesnb.studies.comparison._metrics import accuracy, calibration_error, log_loss, reliability_bins
from bayesnb.tables.files._description import Table, make_table
from bayesnb.tables.files.sources._paths import BUILT_IN, of_frame, open_data

Array = np.ndarray[Any, Any]

FILES = {
    "penguins": "penguins.csv",
    "adult": "adult/adult.data",
    "mushroom": "mushroom/agaricus-lepiota.data",
    "sms_spam": "sms_spam.tsv",
    "mnist": "mnist",
}
MOST_ROWS = 5000
METRICS = ["log_loss", "calibration_error", "accuracy"]
EXACT, TEMPERED, WEIGHTED = "exact posterior", "one temperature", "feature weights"
STYLES = {
    "smoothed plug-in": {"color": "C7", "marker": "x", "linestyle": ":"},
    "calibrated plug-in": {"color": "C7", "marker": "+", "linestyle": "--"},
    EXACT: {"color": "black", "marker": "o", "linestyle": "-"},
    TEMPERED: {"color": "C0", "marker": "s", "linestyle": "-"},
    WEIGHTED: {"color": "C0", "marker": "D", "linestyle": "--", "markerfacecolor": "none"},
    "logistic regression": {"color": "C1", "marker": "v", "linestyle": "-"},
    "cross-validated logistic": {"color": "C1", "marker": "^", "linestyle": "--"},
    "random forest": {"color": "C1", "marker": "*", "linestyle": ":"},
}

# %% [markdown]
# **Three posteriors**: exact, with one temperature, and with a weight for each feature. Nothing is held out: the powers
# are learned on the exact leave-one-out table.


# %%
def bayes(table: Table, X: dict[str, Array], y: Array) -> dict[str, nb.Posterior]:
    """The exact posterior, and both ways to temper it."""
    exact = nb.fit_posterior(bayes_model(table), X, y)
    return {EXACT: exact, TEMPERED: nb.temper(exact, X, y), WEIGHTED: nb.temper(exact, X, y, per_feature=True)}


# %% [markdown]
# **The data**, and the splits that all methods share.


# %%
def read_table(name: str, folder: Path | None) -> Table:
    """A data set as `bayesnb compare` would read it, at most 5,000 of its rows."""
    if name in BUILT_IN:
        return make_table(open_data(name))
    path = (folder or Path()) / FILES[name]
    if folder is None or not path.exists():
        raise ValueError(f"--sets names {name}, and there is no {path}: let --data name the folder that holds it")
    target = {"penguins": "species", "adult": "column 14", "mushroom": "column 0"}.get(name, "class")
    if name == "penguins":
        frame = pd.read_csv(path)
    elif name in ("adult", "mushroom"):
        frame = pd.read_csv(path, header=None, na_values="?", skipinitialspace=True).add_prefix("column ")
    else:
        cells, labels = read_messages(path) if name == "sms_spam" else read_mnist(path)
        threshold = 0 if name == "sms_spam" else 127
        frame = pd.DataFrame(cells > threshold).add_prefix("column ").assign(**{"class": labels})
    frame = frame.sample(n=min(len(frame), MOST_ROWS), random_state=0)
    return make_table(of_frame(name, frame), target)


# %% [markdown]
# **What is measured**: log loss, calibration error and accuracy of the held-out rows.


# %%
def score(log_proba: Array, y: Array) -> list[float]:
    """The metrics of one fit, in their order."""
    return [log_loss(log_proba, y), calibration_error(reliability_bins(log_proba, y)), accuracy(log_proba, y)]


def plan(tables: Sequence[Table], sizes: Sequence[int], repeats: int) -> list[tuple[Table, int, Split, int]]:
    """What is to be fitted: data set, number of the split, split, training rows."""
    splits = [
        (table, repeat, split)
        for table in tables
        for repeat, split in enumerate(make_design(table.name, RESPLIT, table.y, repeats, seed=0).nested)
    ]
    jobs = [(*split, size) for split in splits for size in sizes if size <= len(split[2].train)]
    if not jobs:
        raise ValueError(f"--sizes must name at most 70 % of the rows of a data set, got {min(sizes):,} and above")
    return jobs


def measure(jobs: Sequence[tuple[Table, int, Split, int]]) -> tuple[pd.DataFrame, float]:
    """Every metric of every fit, and how far weights of one move the exact predictions at most, in nats."""
    records, moved = [], [0.0]
    shown = Console(stderr=True)
    for table, repeat, split, size in track(jobs, "fitting", console=shown, disable=not shown.is_terminal):
        (X, y), (test_X, test_y) = table.rows(split.train[:size]), table.rows(split.test)
        fits = bayes(table, X, y) | rivals(table, X, y, repeat)
        predicted = {method: fits[method].predict_log_proba(test_X) for method in STYLES}
        records += [(table.name, size, repeat, name, *score(values, test_y)) for name, values in predicted.items()]
        ones = {block: np.ones_like(weights) for block, weights in fits[WEIGHTED].powers.items()}
        again = replace(fits[WEIGHTED], powers=ones).predict_log_proba(test_X)
        moved.append(np.abs(again - predicted[EXACT]).max())
    return pd.DataFrame(records, columns=["data", "rows", "split", "method", *METRICS]), float(max(moved))


# %% [markdown]
# **What came of it**, as medians over cells; and an identity that must hold whatever the data.


# %%
def report(cells: pd.DataFrame, title: str) -> None:
    """Medians over cells, a line for each method."""
    losses = cells["log_loss"].unstack("method")
    print(f"\n{title}: {len(losses)} cells, medians")
    print(f"{'method':26}{'log loss':>10}{'calibration error':>20}{'accuracy':>10}{'better than exact in':>23}")
    for method, values in cells.groupby("method", sort=False).median().iterrows():
        better = "" if method == EXACT else f"{(losses[method] < losses[EXACT]).mean():.0%}"
        print(f"{method:26}{values.iloc[0]:10.3f}{values.iloc[1]:20.3f}{values.iloc[2]:10.3f}{better:>23}")


def report_tempering(cells: pd.DataFrame) -> None:
    """How often both help, and the cell where each is worst, against the exact posterior."""
    losses = cells["log_loss"].unstack("method")
    for method in (TEMPERED, WEIGHTED):
        change = losses[method] - losses[EXACT]
        name, size = change.idxmax()
        worst = f"{losses[EXACT][name, size]:.3f} to {losses[method][name, size]:.3f} nats ({change.max():+.3f})"
        print(f"{method} helps in {(change < 0).mean():.0%} of cells; its worst is {name} at {size} rows, {worst}")
    print(f"{WEIGHTED} beat {TEMPERED} in {(losses[WEIGHTED] < losses[TEMPERED]).mean():.0%} of cells")


def check_identity(moved: float) -> None:
    """With weights of one the tempered posterior is the exact one."""
    if not moved <= 1e-8:
        raise SystemExit(f"weights of one must not move the exact predictions, they moved one by {moved:.1e} nats")
    print(f"with all weights 1 the tempered posterior predicts as the exact one: at most {moved:.0e} nats apart")


# %% [markdown]
# **The picture**: points below the line are data sets whose log loss tempering lowered.


# %%
def draw(cells: pd.DataFrame) -> Figure:
    """Log loss of each cell, tempered against exact, and medians by training rows over the sets with most sizes."""
    losses = cells["log_loss"].unstack("method")
    picture = plt.figure(figsize=(13, 5), layout="constrained")
    left, right = picture.subplots(1, 2)
    for method, size in ((TEMPERED, 4), (WEIGHTED, 8)):
        left.plot(
            losses[EXACT], losses[method], label=method, **{**STYLES[method], "linestyle": "none"}, markersize=size
        )
    ends = [losses[[EXACT, TEMPERED, WEIGHTED]].min().min() / 1.2, losses[EXACT].max() * 1.2]
    left.plot(ends, ends, color="C7", linewidth=1, label="no change")
    left.loglog()
    left.legend(frameon=False)
    left.set(
        title="each data set and size",
        xlabel="log loss of the exact posterior [nats a row]",
        ylabel="tempered [nats a row]",
    )
    num_sizes = losses.groupby("data").size()
    largest = num_sizes.index[num_sizes == num_sizes.max()]
    medians = losses.loc[largest].groupby("rows").median()
    for method, style in STYLES.items():
        right.plot(medians.index, medians[method], label=method, **style)
    right.loglog()
    right.set_xticks(medians.index, labels=[f"{rows:,}" for rows in medians.index])
    right.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    title = "median" if len(largest) > 1 else "log loss"
    right.set(title=f"{title} of {', '.join(largest)}", xlabel="training rows", ylabel="log loss [nats a row]")
    for axis in (left.xaxis, left.yaxis, right.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
    for ax in (left, right):
        ax.minorticks_off()
    return picture


# %% [markdown]
# **All of it**, of two sets and a single split; options of the program ask for more.


# %%
def main(
    data: Path | None = None,
    sets: Sequence[str] = ("wine", "breast_cancer"),
    sizes: Sequence[int] = (20, 100),
    repeats: int = 1,
    out: Path = Path(),
) -> None:
    """The tables, the picture and the numbers behind them."""
    results, moved = measure(plan([read_table(name, data) for name in sets], sorted(set(sizes)), repeats))
    results.to_csv(out / "honest_confidence.csv", index=False)
    cells = results.groupby(["data", "rows", "method"], sort=False)[METRICS].mean()
    smallest = results["rows"].min()
    report(cells, "all training sizes")
    report(cells.xs(smallest, level="rows", drop_level=False), f"{smallest} training rows")
    print()
    report_tempering(cells)
    check_identity(moved)
    draw(cells).savefig(out / "honest_confidence.png")


# %%
if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, metavar="DIR", help="folder of the sets that scikit-learn has not")
    options.add_argument("--sets", nargs="+", choices=[*BUILT_IN, *FILES], default=["wine", "breast_cancer"])
    options.add_argument("--sizes", nargs="+", type=int, default=[20, 100], help="training rows")
    options.add_argument("--repeats", type=int, default=1, help="random splits (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_known_args()[0]))  # of a notebook the arguments are not ours
