"""Model averaging with noise features added: which columns depend on the class, and what the others cost.

    p(y = k, x | D)  =  sum_S p(S | D) p(y = k, x | S, D)
                     =  p(k | D) prod_d [ p_d p(x_d | k, D) + (1 - p_d) p(x_d | D) ]

S runs over all 2^D subsets of features that may depend on the class; p_d is the posterior probability that feature d
does, whose log odds are those of the prior plus log BF_d, the log evidence of parameters by class over one set for all.
`nb.fit_averaged` has the product, `nb.feature_inclusion` p_d and log BF_d. `nb.fit_posterior` believes that every
feature depends on the class, and pays for each that does not. A prior probability of 1/2 a feature expects half of the
noise to matter; one that expects 6.5 features, however many there are, is safer where most are noise.

The data are the wines that scikit-learn carries, 13 columns, beside columns of noise, standard Normal and blind to the
class. No number is printed in the source. What must hold: with 4 columns of wine and 2 of noise the product equals the
sum over all 2^6 subsets, each fitted by itself, the columns outside of the subset under one set of parameters.

Source: Dash and Cooper, Exact model averaging with naive Bayesian classifiers (2002).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from scipy.special import logsumexp
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import bayesnb as nb
from bayesnb.studies.comparison._metrics import log_loss  # that of `bayesnb compare`: at most 87.3 nats a row

Array = np.ndarray[Any, Any]

NOISE = (0, 10, 30, 100, 300, 1000)
SHOWN = 100
NUM_TRAIN = 40
EXPECTED = 6.5
MODEL = nb.NaiveBayes(nb.Normal())
STYLES = {
    "all features": {"color": "C1", "marker": "^", "linestyle": "--"},
    "averaged, prior 1/2": {"color": "C0", "marker": "o", "linestyle": "-"},
    "averaged, prior 6.5 / D": {"color": "C0", "marker": "s", "linestyle": ":", "markerfacecolor": "white"},
}


def noisy(X: Array, num_noise: int, seed: int) -> Array:
    """The columns of X and so many of noise; more noise keeps the columns of less."""
    return np.hstack([X, np.random.default_rng(seed).normal(size=(num_noise, len(X))).T])


def held_out(X: Array, y: Array, num_noise: int, repeats: int) -> Array:
    """Log loss on the rows not trained on, [repeats, methods]."""
    losses = np.empty((repeats, len(STYLES)))
    for repeat in range(repeats):
        train_X, test_X, train_y, test_y = split(noisy(X, num_noise, repeat), y, repeat)
        few = EXPECTED / train_X.shape[1]
        fits = (
            nb.fit_posterior(MODEL, train_X, train_y),
            nb.fit_averaged(MODEL, train_X, train_y),
            nb.fit_averaged(MODEL, train_X, train_y, prior=few),
        )
        losses[repeat] = [log_loss(fit.predict_log_proba(test_X), test_y) for fit in fits]
    return losses


def split(X: Array, y: Array, seed: int) -> list[Array]:
    """Training and test rows, then their labels."""
    return train_test_split(X, y, train_size=NUM_TRAIN, stratify=y, random_state=seed)


def brute_force(X: Array, y: Array, new: Array) -> Array:
    """log p(y = k, x | D) of new rows [N, K] by enumerating all subsets: the mean of their joints, by evidence."""
    common = nb.NaiveBayes(nb.Normal(), class_probs=[1.0])
    evidences, joints = [], []
    for chosen in product([True, False], repeat=X.shape[1]):
        # a missing cell drops its factor, so a column that is missing throughout is not there
        inside, outside = (np.where(mask, X, np.nan) for mask in (chosen, np.logical_not(chosen)))
        fits = nb.fit_posterior(MODEL, inside, y), nb.fit_posterior(common, outside, np.zeros_like(y))
        evidences.append(sum(float(fit.log_evidence) for fit in fits))
        joints.append(
            fits[0].log_joint(np.where(chosen, new, np.nan)) + fits[1].log_joint(np.where(chosen, np.nan, new))
        )
    weights = np.array(evidences) - logsumexp(evidences)
    return logsumexp(weights[:, None, None] + np.array(joints), axis=0)


def check_average(X: Array, y: Array) -> None:
    """The product over features is the sum over subsets."""
    columns = noisy(X[:, :4], 2, seed=0)
    rows, new = slice(None, None, 4), slice(1, None, 4)
    averaged = nb.fit_averaged(MODEL, columns[rows], y[rows]).log_joint(columns[new])
    far = np.abs(averaged - brute_force(columns[rows], y[rows], columns[new])).max()
    if not far <= 1e-9:
        raise SystemExit(f"the average and the sum over all 64 subsets must be equal, they are {far:.1e} nats apart")
    print(f"\nthe average equals the sum over all 64 subsets of 6 columns: at most {far:.0e} nats apart")


def report(losses: Array, noise: Sequence[int]) -> None:
    """A line for each number of noise columns."""
    print(f"{NUM_TRAIN} training rows, the others held out, {losses.shape[1]} random splits: log loss [nats a row]")
    print(f"{'noise columns':>15}", *(f"{name:>25}" for name in STYLES))
    for num_noise, means in zip(noise, losses.mean(axis=1), strict=True):
        print(f"{num_noise:15,}", *(f"{mean:25.3f}" for mean in means))


def report_inclusion(found: nb.results.FeatureInclusion, names: Sequence[str]) -> None:
    """A line for each column of wine, the clearest first, and the largest of the noise."""
    print(f"\n{'column':30}{'p(depends on the class)':>25}{'log Bayes factor':>20}")
    order = [*np.argsort(-found.log_bayes_factor[: len(names)])]
    order.append(len(names) + int(found.log_bayes_factor[len(names) :].argmax()))
    for d in order:
        name = names[d] if d < len(names) else f"the largest of {SHOWN} of noise"
        print(f"{name:30}{found.probability[d]:25.3f}{found.log_bayes_factor[d]:20.2f}")
    share = (found.probability[len(names) :] > 0.5).mean()
    print(f"noise columns that are more probably in than out: {share:.0%}")


def draw_losses(ax: Axes, losses: Array, noise: Sequence[int]) -> None:
    """Log loss against the number of noise columns; bars of two standard errors."""
    for method, (name, style) in enumerate(STYLES.items()):
        values = losses[:, :, method]
        bars = 2 * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        places = np.arange(len(noise)) + 0.08 * (method - 1)
        ax.errorbar(places, values.mean(axis=1), bars, label=name, capsize=3, **style)
    ax.set_xticks(range(len(noise)), labels=[f"{num_noise:,}" for num_noise in noise])
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.legend(frameon=False)
    ax.set(
        title=f"wine, {NUM_TRAIN} training rows",
        xlabel="noise columns beside the 13",
        ylabel="held-out log loss [nats a row]",
    )


def draw_inclusion(ax: Axes, factors: Array, names: Sequence[str]) -> None:
    """The log Bayes factor of each column of wine, and those of the noise in one line."""
    order = np.argsort(factors[: len(names)])
    ax.plot(factors[order], range(1, len(names) + 1), linestyle="none", marker="o", color="C0")
    ax.plot(factors[len(names) :], np.zeros(len(factors) - len(names)), linestyle="none", marker="|", color="C1")
    ax.axvline(0, color="C7", linewidth=1)
    ax.set_yticks(range(len(names) + 1), labels=[f"{SHOWN} of noise", *(names[d] for d in order)], fontsize=8)
    ax.set(title="does the column depend on the class?", xlabel="log Bayes factor for it [nats]")


def main(repeats: int = 20, noise: Sequence[int] = NOISE, out: Path = Path()) -> None:
    """The tables, the check and the picture."""
    wine = load_wine()
    X, y = wine.data, wine.target
    losses = np.array([held_out(X, y, num_noise, repeats) for num_noise in noise])
    report(losses, noise)
    train_X, _, train_y, _ = split(noisy(X, SHOWN, seed=0), y, seed=0)
    found = nb.feature_inclusion(MODEL, train_X, train_y)
    report_inclusion(found, wine.feature_names)
    check_average(X, y)
    picture = plt.figure(figsize=(12, 4.5), layout="constrained")
    left, right = picture.subplots(1, 2)
    draw_losses(left, losses, noise)
    draw_inclusion(right, found.log_bayes_factor, wine.feature_names)
    picture.savefig(out / "noise_features.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=20, help="random splits (%(default)s)")
    options.add_argument("--noise", nargs="+", type=int, default=NOISE, help="numbers of noise columns")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_args()))
