# %% [markdown]
"""Full Bayes against the plug-in: what integrating the parameters out is worth when training rows are few.

    plug-in   p(y = k | x, theta_hat),                  theta_hat the MLE or the MAP
    exact     p(y = k | x, X, y) ~ p(k) prod_d integral N(x_d | theta_kd) p(theta_kd | X, y) dtheta_kd

The integral of a Normal feature is a Student t, and costs what the plug-in costs. Where parameters come from the prior
and rows from the model, no prediction has a smaller expected log loss than the exact one: it is the true probability
given the training rows, and the log score is proper. So it must win on rows that the program itself generates, at
every number of rows; the margin goes to zero as they grow. On real rows nothing is promised: the features of
breast_cancer repeat each other, which no integral over parameters cures.

A training set has as many rows of each class, and its rows are the first ones of every larger set; the test rows stay.
The source prints no such curves. Of Bernoulli and Categorical features the exact predictive is itself a plug-in, that
of Laplace, and there is nothing to gain.

Source: Aitchison, Goodness of prediction fit (1975); Geisser, Predictive inference (1993), chapter 2.
"""

# %%
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import jax
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from numpyro import handlers
from sklearn.datasets import load_breast_cancer, load_wine

import bayesnb as nb

Array = np.ndarray[Any, Any]

FITS = {"MLE": nb.fit_mle, "MAP": nb.fit_map, "exact": nb.fit_posterior}
STYLES = {
    "MLE": {"color": "C1", "marker": "^", "linestyle": "--"},
    "MAP": {"color": "C7", "marker": "s", "linestyle": ":"},
    "exact": {"color": "C0", "marker": "o", "linestyle": "-"},
}

# %% [markdown]
# **The data**: rows of the program, for which the prior is true, and two of scikit-learn's sets.


# %%
class Task(NamedTuple):
    """Data sets [R, N, D] with the same labels [N], the classes in turn; the first K n rows train, the last test."""

    model: nb.NaiveBayes
    X: Array
    y: Array
    sizes: tuple[int, ...]


def simulated(repeats: int) -> Task:
    """Data sets of the program: each with parameters of its own from the prior, 3 classes and 10 features."""
    model = nb.NaiveBayes(nb.Normal(loc=0.0, strength=4.0, shape=3.0, rate=3.0), class_probs=np.full(3, 1 / 3))
    model = model.resolve(np.zeros((0, 10)), np.zeros(0, int))
    y = np.arange(3 * (200 + 100)) % 3
    X = jax.lax.map(lambda key: handlers.seed(model, key)(y=y)[0], jax.random.split(jax.random.key(0), repeats))
    return Task(model, np.asarray(X), y, (5, 10, 20, 50, 100, 200))


def real(data: Any, repeats: int, sizes: tuple[int, ...]) -> Task:
    """Random orders of the rows of scikit-learn's set, as many of each class as the smallest has."""
    rng, num_classes = np.random.default_rng(0), len(data.target_names)
    smallest = np.bincount(data.target).min()
    of_class = [np.flatnonzero(data.target == k) for k in range(num_classes)]
    rows = [np.stack([rng.permutation(rows)[:smallest] for rows in of_class], axis=1).ravel() for _ in range(repeats)]
    model = nb.NaiveBayes(nb.Normal(), class_probs=np.full(num_classes, 1 / num_classes))
    return Task(model, data.data[np.array(rows)], np.arange(num_classes * smallest) % num_classes, sizes)


# %% [markdown]
# **The comparison**: every fit sees the same rows, from a few of each class to many.


# %%
def log_losses(task: Task) -> Array:
    """Mean log loss of the test rows, [R, sizes, fits]."""
    num_classes = task.y.max() + 1
    cut = num_classes * task.sizes[-1]
    own = np.arange(len(task.y) - cut), task.y[cut:]

    def loss(fit: Any, X: Array, size: int) -> float:
        train = slice(num_classes * size)
        return -fit(task.model, X[train], task.y[train]).predict_log_proba(X[cut:])[own].mean()

    return np.array([[[loss(fit, X, size) for fit in FITS.values()] for size in task.sizes] for X in task.X])


def margin(losses: Array) -> Array:
    """By how many standard errors the exact prediction's mean loss is below those of the plug-ins, [sizes, 2]."""
    more = losses[..., :2] - losses[..., 2:]
    return more.mean(axis=0) / (more.std(axis=0, ddof=1) / np.sqrt(len(more)))


# %% [markdown]
# **What came of it**: means, their standard errors, and a law that must hold on rows of the program.


# %%
def report(name: str, task: Task, losses: Array) -> None:
    """A line for each size: mean log loss and its standard error, and the share of data sets where exact is best."""
    print(f"{name}\n{'rows a class':>14}" + "".join(f"{fit:>20}" for fit in FITS) + f"{'exact best':>14}")
    means, errors = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(len(losses))
    best = (losses.argmin(axis=-1) == 2).mean(axis=0)
    for size, mean, error, share in zip(task.sizes, means, errors, best, strict=True):
        cells = "".join(f"{f'{m:.4f} +- {e:.4f}':>20}" for m, e in zip(mean, error, strict=True))
        print(f"{size:14}{cells}{share:14.0%}")
    print()


def check(losses: Array) -> None:
    """On rows of the program the exact prediction has the least expected log loss.

    Raises:
        SystemExit: where it is above a plug-in by 3 standard errors at any size, or never below one by 5.
    """
    margins = margin(losses)
    largest, smallest = margins.max(axis=0), margins.min()
    if smallest < -3 or largest.min() < 5:
        raise SystemExit(f"the exact prediction must have the least expected log loss; margins [s.e.]: {margins}")
    print(
        f"known answer: the exact prediction has the least expected log loss on rows of the program, by up to "
        f"{largest[0]:.0f} (MLE) and {largest[1]:.0f} (MAP) standard errors, and nowhere by less than {smallest:.1f}"
    )


# %% [markdown]
# **The picture.**


# %%
def draw(ax: Axes, name: str, task: Task, losses: Array) -> None:
    """Mean log loss against training rows; bars of two standard errors."""
    errors = 2 * losses.std(axis=0, ddof=1) / np.sqrt(len(losses))
    for fit, mean, error in zip(FITS, losses.mean(axis=0).T, errors.T, strict=True):
        ax.errorbar(task.sizes, mean, error, label=fit, capsize=2, markersize=5, **STYLES[fit])
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(task.sizes, labels=map(str, task.sizes))
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set(title=name, xlabel="training rows a class", ylabel="log loss of test rows [nats]")


# %% [markdown]
# **All of it**, of 40 data sets; options of the program ask for more.


# %%
def main(repeats: int = 40, out: Path = Path()) -> None:
    """The tables, the known answer and the picture."""
    tasks = {
        "rows of the program": simulated(repeats),
        "wine": real(load_wine(), repeats, (5, 10, 20, 30)),
        "breast_cancer": real(load_breast_cancer(), repeats, (5, 10, 20, 50, 100, 150)),
    }
    picture = plt.figure(figsize=(12, 4), layout="constrained")
    axes = picture.subplots(1, len(tasks))
    losses = {name: log_losses(task) for name, task in tasks.items()}
    for ax, (name, task) in zip(axes, tasks.items(), strict=True):
        report(name, task, losses[name])
        draw(ax, name, task, losses[name])
    axes[0].legend(frameon=False)
    check(losses["rows of the program"])
    picture.savefig(out / "full_bayes.png")


# %%
if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=40, help="data sets, and random splits (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_known_args()[0]))  # of a notebook the arguments are not ours
