# %% [markdown]
"""How much smoothing? Learnt from the evidence, or by ten-fold cross-validation.

    theta_kd ~ Dirichlet(l, ..., l),   p(X, y | l) = p(y) prod_kd B(l + n_kd) / B(l)

The evidence p(X, y | l) scores every cell as a prediction from the cells before it, cross-validation the label alone
given its row. `nb.fit_empirical` without a hyperprior climbs to the largest evidence, `nb.cross_validate` scores a list
of smoothings in one mapped run. Where features are independent given the class and l is the prior's own, both find it,
and no other l predicts better on average. The pixels of the digits depend on each other: the evidence still finds the l
that describes the pixels best, whose predictions are too confident, and cross-validation smooths more than that,
against the overconfidence. Held-out rows tell the two apart.

The sources print no such numbers; the program prints its own.
Source: MacKay, Bayesian interpolation (1992); Minka, Estimating a Dirichlet distribution (2000).
"""

# %%
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import bayesnb as nb

Array = np.ndarray[Any, Any]

GRID = np.logspace(-2, 2, 25)
TRUE = 3.0
NUM_CLASSES, NUM_TRAIN, NUM_TEST = 10, 200, 500
DEFAULT = int(np.abs(np.log(GRID)).argmin())  # l = 1

# %% [markdown]
# **The model** has one smoothing l for every feature and class, and the data are of two kinds: rows of the program,
# whose l is known, and digits, whose pixels depend on each other.


# %%
class Curves(NamedTuple):
    """Of each data set [R]: three curves over the grid [R, G], what was learnt, and the held-out loss there."""

    log_evidence: Array
    cross_validated: Array
    held_out: Array
    learnt: Array
    held_out_of_learnt: Array


def model(smoothing: float) -> nb.NaiveBayes:
    """Binary features, the same smoothing for every feature and class."""
    return nb.NaiveBayes(nb.Categorical(2, smoothing), class_probs=np.full(NUM_CLASSES, 1 / NUM_CLASSES))


def generated(repeats: int) -> list[tuple[Array, ...]]:
    """Training and test rows of the program under l = 3, each data set with parameters of its own."""
    rng, cut = np.random.default_rng(0), NUM_TRAIN

    def rows() -> tuple[Array, ...]:
        probs, y = rng.beta(TRUE, TRUE, (NUM_CLASSES, 64)), rng.integers(NUM_CLASSES, size=NUM_TRAIN + NUM_TEST)
        X = (rng.random((len(y), 64)) < probs[y]).astype(int)
        return X[:cut], X[cut:], y[:cut], y[cut:]

    return [rows() for _ in range(repeats)]


def digits(repeats: int) -> list[tuple[Array, ...]]:
    """Training and test rows of scikit-learn's digits, a pixel being on above half its range."""
    X, y = load_digits(return_X_y=True)
    sizes = {"train_size": NUM_TRAIN, "test_size": NUM_TEST}
    return [train_test_split((X > 8).astype(int), y, stratify=y, random_state=r, **sizes) for r in range(repeats)]


# %% [markdown]
# **Three scores of a smoothing**: the evidence and the cross-validated log loss of the training rows, and the log loss
# of rows that were held out. `nb.fit_empirical` climbs the first without a grid.


# %%
def log_loss(log_proba: Array, y: Array) -> Array:
    """The mean of -log p(y | x) over the rows of the last but one axis."""
    return -log_proba[..., np.arange(len(y)), y].mean(axis=-1)


def learn(data: list[tuple[Array, ...]]) -> Curves:
    """Evidence, cross-validated and held-out log loss of every data set."""
    models = [model(float(smoothing)) for smoothing in GRID]
    found = []
    for train_X, test_X, train_y, test_y in data:
        statistics = nb.sufficient_statistics(models[0], train_X, train_y)
        fits = [nb.fit_posterior(some, statistics=statistics) for some in models]
        best = nb.fit_empirical(model(1.0), statistics=statistics, by="block", hyperprior_scale=np.inf)
        scores = nb.cross_validate(models, train_X, train_y, folds=10)
        found.append(
            (
                [fit.log_evidence for fit in fits],
                log_loss(scores, train_y),
                [log_loss(fit.predict_log_proba(test_X), test_y) for fit in fits],
                best.prior.families["x"].concentration.flat[0],
                log_loss(best.predict_log_proba(test_X), test_y),
            )
        )
    return Curves(*map(np.array, zip(*found, strict=True)))


# %% [markdown]
# **Choices**, and what each costs on the held-out rows.


# %%
def losses(curves: Curves) -> dict[str, Array]:
    """Held-out log loss [R] of the ways to choose."""
    return {
        "l = 1": curves.held_out[:, DEFAULT],
        "evidence": curves.held_out_of_learnt,
        "cross-validation": np.take_along_axis(
            curves.held_out, curves.cross_validated.argmin(axis=1, keepdims=True), axis=1
        )[:, 0],
        "best on the held-out rows": curves.held_out.min(axis=1),
    }


def report(name: str, curves: Curves) -> None:
    """What was chosen, as a geometric mean, and the held-out log loss with its standard error."""
    chosen = [np.ones(1), curves.learnt, *(GRID[c.argmin(axis=1)] for c in (curves.cross_validated, curves.held_out))]
    print(f"{name}\n{'choice':28}{'l':>8}{'held-out log loss [nats]':>30}")
    for (choice, loss), smoothing in zip(losses(curves).items(), chosen, strict=True):
        error = loss.std(ddof=1) / np.sqrt(len(loss))
        print(f"{choice:28}{np.exp(np.log(smoothing).mean()):8.3g}{f'{loss.mean():.4f} +- {error:.4f}':>30}")
    print()


# %% [markdown]
# **What must hold**: scipy finds the same maximum, and rows of the program give its smoothing back.


# %%
def check(data: list[tuple[Array, ...]], program: Curves, real: Curves) -> None:
    """The learnt smoothing is scipy's maximum of the evidence, and on rows of the program that of the program.

    Raises:
        SystemExit: where it is not, costs more than 0.02 nats there, or cross-validation loses to l = 1 on the digits.
    """
    train_X, _, train_y, _ = data[0]
    statistics = nb.sufficient_statistics(model(1.0), train_X, train_y)

    def loss(log_smoothing: float) -> float:
        return -float(nb.fit_posterior(model(float(np.exp(log_smoothing))), statistics=statistics).log_evidence)

    scipy = np.exp(minimize_scalar(loss, bracket=(-1.0, 1.0), options={"xtol": 1e-6}).x)
    if not np.isclose(scipy, real.learnt[0], rtol=1e-4) or -loss(np.log(real.learnt[0])) < real.log_evidence[0].max():
        raise SystemExit(f"fit_empirical must find the largest evidence: {real.learnt[0]}, scipy finds {scipy}")
    print(f"known answer: fit_empirical learns l = {real.learnt[0]:.5f} from the first digits, scipy {scipy:.5f}")
    off = np.abs(np.log(program.learnt / TRUE)).max()
    cost = (losses(program)["evidence"] - losses(program)["best on the held-out rows"]).mean()
    if off > np.log(1.5) or cost > 0.02:
        raise SystemExit(f"on rows of the program l = {TRUE:g} must be learnt, got {program.learnt}, and cost {cost}")
    print(f"known answer: of rows of the program it learns l = {TRUE:g} to a factor of {np.exp(off):.2f}")
    if losses(real)["cross-validation"].mean() > losses(real)["l = 1"].mean():
        raise SystemExit("on the digits cross-validation must not be worse than l = 1")


# %% [markdown]
# **The picture.**


# %%
def draw(top: Axes, bottom: Axes, name: str, curves: Curves) -> None:
    """Means over data sets against the smoothing; a mark at each optimum."""
    evidence = (curves.log_evidence - curves.log_evidence.max(axis=1, keepdims=True)).mean(axis=0) / NUM_TRAIN
    top.plot(GRID, evidence, color="C0")
    top.set(title=name, ylabel="log evidence less its maximum\n[nats a row]")
    bottom.plot(GRID, curves.cross_validated.mean(axis=0), color="C1", label="ten-fold cross-validation")
    bottom.plot(GRID, curves.held_out.mean(axis=0), color="C7", linestyle=":", label="held-out rows")
    bottom.set(xlabel="smoothing l [pseudo-counts a category]", ylabel="log loss [nats]")
    for ax in (top, bottom):
        ax.set_xscale("log")
        ax.set_xticks([0.01, 0.1, 1, 10, 100], labels=["0.01", "0.1", "1", "10", "100"])
        ax.minorticks_off()
        learnt, cross_validated = (
            np.exp(np.log(curves.learnt).mean()),
            GRID[curves.cross_validated.mean(axis=0).argmin()],
        )
        ax.axvline(learnt, color="C0", linewidth=1, label="largest evidence")
        ax.axvline(cross_validated, color="C1", linestyle="--", linewidth=1, label="least cross-validated loss")


# %% [markdown]
# **All of it**, of three data sets; options of the program ask for more.


# %%
def main(repeats: int = 3, out: Path = Path()) -> None:
    """The tables, the known answers and the picture."""
    real = digits(repeats)
    curves = {f"rows of the program, l = {TRUE:g}": learn(generated(repeats)), "digits": learn(real)}
    picture = plt.figure(figsize=(10, 6), layout="constrained")
    axes = picture.subplots(2, 2, sharex=True)
    for (top, bottom), (name, some) in zip(axes.T, curves.items(), strict=True):
        report(f"{NUM_TRAIN} training rows, {name}", some)
        draw(top, bottom, name, some)
    axes[0, 0].legend(loc="lower right", framealpha=1.0, edgecolor="white")
    axes[1, 0].legend(*(entries[:2] for entries in axes[1, 0].get_legend_handles_labels()), frameon=False)
    check(real, *curves.values())
    picture.savefig(out / "smoothing.png")


# %%
if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=3, help="data sets, and random splits (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_known_args()[0]))  # of a notebook the arguments are not ours
