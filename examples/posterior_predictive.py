"""Does the model fit? A posterior predictive check of Gaussian Naive Bayes on Fisher's irises.

    theta ~ p(theta | X, y),   X_rep, y_rep ~ p(X, y | theta),   p = P(T(X_rep, y_rep) >= T(X, y) | X, y)

Each replicated data set comes from its own draw of the parameters and has as many rows as the observed one. A statistic
T that the model can reproduce lies among the replicated ones; a p near 0 or 1 says that it cannot.

    the spread of sepal width                 right: each class has a variance of its own
    the correlation of sepal length and width wrong: features are independent given the class, and so near 0
    the spread of petal length                wrong for setosa: the default prior counts as two rows with the variance
                                              of all irises, 100 times that of setosa

No number is printed in the source; the p-values are printed by the program.
Source: Gelman et al., Bayesian Data Analysis, 3rd edition, section 6.3; the data are Fisher (1936).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import bayesnb as nb

Array = np.ndarray[Any, Any]

SEPAL_LENGTH, SEPAL_WIDTH, PETAL_LENGTH = 0, 1, 2
STATISTICS = {
    "spread of sepal width [cm]": lambda X: X[:, SEPAL_WIDTH].std(ddof=1),
    "correlation of sepal length, width": lambda X: np.corrcoef(X[:, SEPAL_LENGTH], X[:, SEPAL_WIDTH])[0, 1],
    "spread of petal length [cm]": lambda X: X[:, PETAL_LENGTH].std(ddof=1),
}


def by_class(X: Array, y: Array) -> Array:
    """Every statistic of every class, [statistics, K]."""
    return np.array([[statistic(X[y == k]) for k in range(3)] for statistic in STATISTICS.values()])


def draw(observed: Array, replicated: Array, p_values: Array, names: Sequence[str]) -> Figure:
    """A histogram of the replicated statistics and a line at the observed one, for each statistic and class."""
    picture = plt.figure(figsize=(10, 7), layout="constrained")
    axes = picture.subplots(len(STATISTICS), 3, sharex="row", sharey="row")
    for row, label in enumerate(STATISTICS):
        for k, name in enumerate(names):
            ax = axes[row, k]
            ax.hist(replicated[:, row, k], bins=30, color="0.75", edgecolor="C7", linewidth=0.4, label="replicated")
            ax.axvline(observed[row, k], color="black", linewidth=2, label="observed")
            ax.set(title=f"{name}, p = {p_values[row, k]:.3f}", xlabel=label, ylabel="data sets" if k == 0 else "")
    axes[0, 0].legend(frameon=False, fontsize=9)
    return picture


def main(datasets: int = 1000, out: Path = Path()) -> None:
    """The table and the picture."""
    iris = load_iris()
    X, y = iris.data, iris.target
    posterior = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    many_X, many_y = posterior.generate(key=jax.random.key(0), num_rows=len(y), num_datasets=datasets)
    observed = by_class(X, y)
    replicated = np.array([by_class(*data) for data in zip(np.asarray(many_X), np.asarray(many_y), strict=True)])
    p_values = (replicated >= observed).mean(axis=0)
    print(f"{datasets} replicated data sets of {len(y)} rows")
    for row, label in enumerate(STATISTICS):
        print(f"\n{label}\n{'class':14}{'observed':>10}{'replicated: median, 95 %':>30}{'p':>8}")
        for k, name in enumerate(iris.target_names):
            low, middle, high = np.quantile(replicated[:, row, k], [0.025, 0.5, 0.975])
            interval = f"{middle:.2f}  [{low:.2f}, {high:.2f}]"
            print(f"{name:14}{observed[row, k]:10.2f}{interval:>30}{p_values[row, k]:8.3f}")
    draw(observed, replicated, p_values, iris.target_names).savefig(out / "posterior_predictive.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--datasets", type=int, default=1000, help="replicated data sets (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_args()))
