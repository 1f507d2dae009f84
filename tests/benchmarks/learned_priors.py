"""Held-out log loss of the learned prior less that of the default prior, on real data and on made connections.

    BAYESNB_DATA=DATA python -m tests.benchmarks.learned_priors [--seeds N] [--sets NAME ...]

A cell is a set and a number of training rows; its figure is the median over the splits. Columns are typed as by
``bayesnb compare``; images, texts and digits are also taken as other families.
"""

import argparse
import gzip
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer

import bayesnb as nb
from bayesnb.studies.comparison._data_sets import bayes_model
from bayesnb.studies.comparison._designs import stratified_split
from bayesnb.studies.comparison._metrics import accuracy, log_loss
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame, open_data
from bayesnb.tables.files.sources._places import BUILT_IN
from bayesnb.tables.files.sources._source import Source

SIZES = (20, 50, 100, 200, 500, 1000, 2000)
MOST_ROWS, MOST_TESTED = 8000, 600
NUM_CLASSES, NUM_COLUMNS = 23, 34

Data = tuple[nb.NaiveBayes, dict[str, Any], Any]


def _typed(source: Source, target: str | None = None) -> Data:
    table = make_table(source, target)
    return bayes_model(table), dict(table.X), table.y


def read_file(target: int, *files: str, drop: tuple[int, ...] = (), **how: Any) -> tuple[pd.DataFrame, str]:
    """A table without a header, and the name of its class; ``target`` is the place of the class."""
    folder = Path(os.environ["BAYESNB_DATA"])
    frame = pd.concat([pd.read_csv(folder / file, header=None, na_values="?", **how) for file in files])
    label = frame.columns[target]
    frame[label] = frame[label].astype(str)
    frame = frame.drop(columns=list(drop)).reset_index(drop=True)
    frame = frame.astype(dict.fromkeys(frame.select_dtypes("number"), float)).rename(columns=str)
    texts = frame.select_dtypes(exclude="number")
    return frame.assign(**texts.astype(object)), str(label)


def _file(target: int, *files: str, **how: Any) -> Data:
    frame, label = read_file(target, *files, **how)
    return _typed(of_frame(files[0], frame), label)


def read_penguins() -> pd.DataFrame:
    """The table of penguins."""
    frame = pd.read_csv(Path(os.environ["BAYESNB_DATA"]) / "penguins.csv")
    texts = frame.select_dtypes(exclude="number").astype(object)
    return frame.astype(dict.fromkeys(frame.select_dtypes("number"), float)).assign(**texts)


def _penguins() -> Data:
    return _typed(of_frame("penguins", read_penguins()), "species")


def _digits(family: nb.Family) -> Data:
    X, y = load_digits(return_X_y=True)
    return nb.NaiveBayes({"x": family}, num_classes=10), {"x": X}, y


def _mnist(family: nb.Family, *, binary: bool) -> Data:
    folder = Path(os.environ["BAYESNB_DATA"]) / "mnist"
    pixels = np.frombuffer(gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    y = np.frombuffer(gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    X = pixels.reshape(-1, 784).astype(float)
    return nb.NaiveBayes({"x": family}, num_classes=10), {"x": (X > 127) * 1.0 if binary else X}, y.astype(int)


def _texts(family: nb.Family, *, binary: bool) -> Data:
    frame = pd.read_csv(Path(os.environ["BAYESNB_DATA"]) / "sms_spam.tsv", sep="\t", header=None, quoting=3)
    counts = CountVectorizer(min_df=15, binary=binary).fit_transform(frame[1]).toarray().astype(float)
    return nb.NaiveBayes({"x": family}, num_classes=2), {"x": counts}, (frame[0] == "spam").to_numpy().astype(int)


def connections() -> Data:
    """Like network connections: counts mostly zero, rates constant within most of 23 uneven classes."""
    rng = np.random.default_rng(0)
    shares = np.r_[0.57, 0.217, 0.197, np.geomspace(0.006, 0.00005, 20)]
    y = rng.choice(NUM_CLASSES, 6000, p=shares / shares.sum())
    return nb.NaiveBayes({"x": nb.Normal()}, num_classes=NUM_CLASSES), {"x": _connections(rng, y)}, y


def _connections(rng: np.random.Generator, y: Any) -> Any:
    columns = []
    for d in range(NUM_COLUMNS):
        zero, centre, spread = rng.beta(0.4, 0.4, NUM_CLASSES), rng.normal(4, 2, NUM_CLASSES), rng.gamma(2.0, 0.4)
        level, exact = rng.random(NUM_CLASSES) < 0.25, rng.random(NUM_CLASSES) < 0.7
        if d % 17 < 4:  # bytes: zero, or heavy-tailed
            columns.append(np.where(rng.random(len(y)) < zero[y], 0, np.exp(rng.normal(centre[y], spread)).round()))
        elif d % 17 < 9:  # rare events
            often = rng.random(len(y)) < rng.beta(0.1, 20.0, NUM_CLASSES)[y]
            columns.append(np.where(often, rng.geometric(0.3, len(y)), 0))
        elif d % 17 < 15:  # rates
            noisy = np.clip(level[y] + rng.normal(0, 0.15, len(y)), 0, 1).round(2)
            columns.append(np.where(exact[y], level[y], noisy))
        else:  # counts that reach their largest
            most = rng.integers(5, 511, NUM_CLASSES)
            columns.append(np.where(rng.random(len(y)) < 0.7, most[y], rng.integers(0, 511, len(y))))
    return np.stack(columns, axis=1).astype(float)


MONKS = {
    f"monks-{i}": partial(_file, 0, f"small/monks-{i}.train", f"small/monks-{i}.test", drop=(7,), sep=r"\s+")
    for i in (1, 2, 3)
}
SETS: dict[str, Callable[[], Data]] = {
    **{name: partial(lambda name: _typed(open_data(name)), name) for name in BUILT_IN},
    "penguins": _penguins,
    "adult": partial(_file, -1, "adult/adult.data", skipinitialspace=True),
    "mushroom": partial(_file, 0, "mushroom/agaricus-lepiota.data"),
    "balance-scale": partial(_file, 0, "small/balance-scale.data"),
    **{name: partial(_file, -1, f"small/{name}.data") for name in ("tic-tac-toe", "ionosphere", "haberman")},
    "cleveland": partial(_file, -1, "small/processed.cleveland.data"),
    "glass": partial(_file, -1, "small/glass.data", drop=(0,)),
    "vehicle": partial(_file, -1, "small/vehicle.dat", sep=r"\s+"),
    **MONKS,
    "mnist": partial(_mnist, nb.Normal(), binary=False),
    "mnist, Bernoulli": partial(_mnist, nb.Bernoulli(), binary=True),
    "sms, Bernoulli": partial(_texts, nb.Bernoulli(), binary=True),
    "sms, Multinomial": partial(_texts, nb.Multinomial(), binary=False),
    "digits, Normal": partial(_digits, nb.Normal()),
    "digits, Poisson": partial(_digits, nb.Poisson()),
    "digits, Binomial": partial(_digits, nb.Binomial(16)),
    "connections": connections,
}


def measure(name: str, seeds: int) -> Iterator[dict[str, Any]]:
    """A row for each split and number of training rows: what the learned prior adds to log loss and accuracy."""
    model, X, y = SETS[name]()
    keep = np.random.default_rng(1).permutation(len(y))[:MOST_ROWS]
    X, y = {block: rows[keep] for block, rows in X.items()}, y[keep]
    for seed in range(seeds):
        train, test = stratified_split(y, np.random.default_rng([7, seed]))
        test = test[: MOST_TESTED if max(rows.shape[1] for rows in X.values()) < 100 else MOST_TESTED // 2]
        for size in (size for size in SIZES if size <= len(train)):
            statistics = nb.sufficient_statistics(
                model, {block: rows[train[:size]] for block, rows in X.items()}, y[train[:size]]
            )
            default = nb.fit_posterior(model, statistics=statistics)
            learned = nb.fit_empirical(model, statistics=statistics)
            tested = {block: rows[test] for block, rows in X.items()}
            given, found = (np.asarray(fit.predict_log_proba(tested)) for fit in (default, learned))
            yield {
                "set": name,
                "size": size,
                "log loss": log_loss(given, y[test]),
                "more": log_loss(found, y[test]) - log_loss(given, y[test]),
                "accuracy": accuracy(found, y[test]) - accuracy(given, y[test]),
                "at bound": any((side != 0).any() for sides in learned.at_bound.values() for side in sides.values()),
            }


def runs_of(
    module: str, about: str | None, measure: Callable[[str, int], Iterable[Any]], sets: Sequence[str]
) -> pd.DataFrame:
    """The runs that the command line of a benchmark asks for, one a row."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("--seeds", type=int, default=5, help="splits of each set")
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets, metavar="NAME", help="some of the sets")
    parser.add_argument("--out", type=Path, metavar="OUT.csv", help="write every run there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    runs = pd.DataFrame([row for name in options.sets for row in measure(name, options.seeds)])
    if options.out:
        runs.to_csv(options.out, index=False)
    return runs


def main() -> None:
    """The command line."""
    runs = runs_of("tests.benchmarks.learned_priors", __doc__, measure, list(SETS))
    cells = runs.groupby(["set", "size"], sort=False).median().reset_index()
    by_size = cells.groupby("size")
    worst = cells.loc[by_size["more"].idxmax()].set_index("size")
    table = pd.DataFrame(
        {
            "cells": by_size.size(),
            "better": by_size["more"].apply(lambda more: (more < 0).sum()),
            "above .02": by_size["more"].apply(lambda more: (more > 0.02).sum()),
            "median": by_size["more"].median(),
            "worst": by_size["more"].max(),
            "in": worst["set"],
            "accuracy": by_size["accuracy"].mean(),
            "runs at a bound": runs.groupby("size")["at bound"].mean(),
        }
    )
    print(table.round(4).to_string())
    print(cells[cells["more"] > 0.02].round(4).to_string(index=False))


if __name__ == "__main__":
    main()
