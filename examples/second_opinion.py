# %% [markdown]
"""Whom to ask for a second opinion: the rows that few more rows would change, or those with a small probability?

    s*(x)  =  the least s for which s more rows, whatever they contain, change the decision for x

A probability of .93 may come from four rows or from four thousand. `nb.robustness` tells the two apart: for tables of
categories it has s*, with the rows that bring it about; `nb.decide_set` the classes that s rows leave open, and
`nb.explain` the sentence for one row. Decisions with a small s* are the first to give to a person, it seems. So it is
measured here, on three tables of scikit-learn's, cut into quarters: of the least robust fifth and of the least probable
fifth, which is the better one to leave out? The least probable: of tumours and wine more of the others are then right,
and of digits as many. s* says something else, that a decision does not rest on a handful of rows, or on the prior.

No number is printed in a source; the program prints its own. What must hold: with the rows that s* names the two
classes are equally probable; and if the rows and the prior count twice, s* is twice as large.

Sources: Zaffalon, The naive credal classifier (2002); Corani and Zaffalon, Learning reliable classifiers from small or
incomplete data sets: the naive credal classifier 2 (2008).
"""

# %%
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

import bayesnb as nb

Array = np.ndarray[Any, Any]

SETS = {"tumours": load_breast_cancer, "wine": load_wine, "digits": load_digits}
QUARTERS = [0.25, 0.5, 0.75]
MODEL = nb.NaiveBayes(nb.Categorical(4))

# %% [markdown]
# **The data** are columns in quarters of the training rows, so that every answer is exact.


# %%
def split_rows(name: str, num_train: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Training and test rows of a table, as numbers of quarters, and their labels."""
    X, y = SETS[name](return_X_y=True)
    train_X, test_X, train_y, test_y = train_test_split(X, y, train_size=num_train, stratify=y, random_state=seed)
    cuts = np.quantile(train_X, QUARTERS, axis=0)
    coded = [(rows[:, None] > cuts[None]).sum(axis=1) for rows in (train_X, test_X)]
    return coded[0], coded[1], train_y, test_y


# %% [markdown]
# **What must hold.** The rows that `nb.robustness` names are added to the fit, with their weights.


# %%
def check(X: Array, y: Array, rows: Array) -> None:
    """The rows that s* names make two classes equally probable; copies multiply it.

    Raises:
        SystemExit: where they do not.
    """
    post = nb.fit_posterior(MODEL, X, y)
    found, largest = nb.robustness(post, rows), 0.0
    for n, row in enumerate(rows):
        more, labels = [row, (row + 1) % 4], [found.rivals[n], found.labels[n]]
        weights = [found.s_star[n] * found.support[n], found.s_star[n] * (1 - found.support[n])]
        refit = nb.fit_posterior(MODEL, [*X, *more], [*y, *labels], sample_weight=[*np.ones(len(y)), *weights])
        one, other = refit.predict_log_proba(row[None])[0, labels]
        largest = max(largest, abs(one - other))
    if largest > 1e-4:
        raise SystemExit(f"with the rows that s* names two classes must be equally probable, their log odds: {largest}")
    print(f"known answer: with the rows that s* names, two classes are equally probable, to {largest:.0e} nats")
    prior = nb.NaiveBayes(nb.Categorical(4, 2.0), class_concentration=np.full(len(np.unique(y)), 2.0))
    twice = nb.fit_posterior(prior, np.tile(X, (2, 1)), np.tile(y, 2))
    ratio = nb.robustness(twice, rows).s_star / found.s_star
    if not np.allclose(ratio, 2.0, rtol=1e-4):
        raise SystemExit(f"twice the rows and the prior must double s*, got the factors {ratio}")
    print("known answer: if the rows and the prior count twice, s* is twice as large, and no decision is another")


# %% [markdown]
# **The measurement.** A fifth of the test rows is left to a person, chosen by the smallest s* or by the smallest
# probability, and the decisions on the others are scored: the same rows, the same fit, two orders.


# %%
def left_right(post: nb.Posterior, rows: Array, y: Array, share: float) -> Array:
    """The accuracy on all rows, and without the least probable and the least robust ones, [3]."""
    proba, found = post.predict_proba(rows), nb.robustness(post, rows)
    right, keep = proba.argmax(axis=1) == y, len(y) - round(share * len(y))
    orders = proba.max(axis=1), np.asarray(found.s_star)
    return np.array([right.mean(), *(right[np.argsort(-order, kind="stable")[:keep]].mean() for order in orders)])


def measure(sizes: list[int], repeats: int, share: float) -> None:
    """A table: by set and size the accuracies, and the difference of the two orders with its standard error."""
    print(f"\nright, in percent, where {share:.0%} of the test rows are left to a person; means of {repeats} splits")
    print(f"{'':8}  {'rows':>5}  {'all':>6}  {'by probability':>14}  {'by s*':>6}  difference")
    for name in SETS:
        for size in sizes:
            rows = []
            for seed in range(repeats):
                train_X, test_X, train_y, test_y = split_rows(name, size, seed)
                rows.append(left_right(nb.fit_posterior(MODEL, train_X, train_y), test_X, test_y, share))
            every, probable, robust = 100 * np.mean(rows, axis=0)
            apart = 100 * (np.array(rows)[:, 2] - np.array(rows)[:, 1])
            error = apart.std(ddof=1) / np.sqrt(repeats)
            line = (
                f"{name:8}  {size:5}  {every:6.2f}  {probable:14.2f}  {robust:6.2f}  {apart.mean():+.2f} +- {error:.2f}"
            )
            print(line)


# %% All together


def main(train: int = 150, repeats: int = 20, share: float = 0.2, out: Path = Path()) -> None:
    """One split in words and in a picture, the known answers, and the measurement."""
    X, rows, y, labels = split_rows("tumours", train, 0)
    post, data = nb.fit_posterior(MODEL, X, y), load_breast_cancer()
    found = nb.robustness(post, rows)
    print(f"{found.sentence()}\n{(nb.decide_set(post, rows, s=4.0).sizes == 1).mean():.1%} stay up to 4\n")
    proba = post.predict_proba(rows).max(axis=1)
    alike = np.argsort(abs(proba - 0.93))[:20]  # of the rows with about this probability, the least and the most robust
    for n in (alike[found.s_star[alike].argmin()], alike[found.s_star[alike].argmax()]):
        print(f"row {n}: {proba[n]:.2f} for {data.target_names[found.labels[n]]}, s* = {found.s_star[n]:.1f}")
    hardest = int(found.s_star.argmin())
    quarters = ["lowest quarter", "second quarter", "third quarter", "highest quarter"]
    named: dict[str, Any] = {"class_names": data.target_names, "feature_names": data.feature_names}
    named["value_names"] = dict.fromkeys(data.feature_names, quarters)
    change = nb.explain(post, rows[[hardest]], **named).change()
    print(f"\nthe least robust row: {change}\n")
    check(X, y, rows[:10])
    measure([max(train // 4, 20), train], repeats, share)
    picture, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    nb.plots.robustness_curve(ax, found, labels)
    ax.legend(frameon=False)
    picture.savefig(out / "second_opinion.png", dpi=120)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--train", type=int, default=150, help="training rows (%(default)s)")
    options.add_argument("--repeats", type=int, default=20, help="random splits (%(default)s)")
    options.add_argument("--share", type=float, default=0.2, help="the share that is left to a person (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_known_args()[0]))  # of a notebook the arguments are not ours
