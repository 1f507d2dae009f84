"""Classes that borrow strength: smoothing with a prior of its own, learnt from all classes together.

    a_d, b_d ~ Gamma(1/2, 1/2),   theta_kd ~ Beta(a_d, b_d),   x_nd | y_n = k ~ Bernoulli(theta_kd)

A class of one row knows next to nothing of its own probabilities, but the other classes show how common a feature is
and how much classes differ in it: that is (a_d, b_d), which all classes share. Laplace's a = b = 1 ignores it.
`nb.fit_nuts` samples hyperparameters alone, under the evidence of the rows; the probabilities are integrated out and
drawn exactly afterwards. Rows are those of the program, from 30 classes of 1 to 30 rows. Mostly the rare classes gain:
what they lack is taken from all classes, and rows of theirs are no longer given to the classes that are well known.

With fixed class probabilities the features are independent, so each has a posterior of two dimensions

    p(a_d, b_d | X, y) ~ p(a_d) p(b_d) prod_k B(a_d + n_kd1, b_d + n_kd0) / B(a_d, b_d)

which is known by quadrature, and NUTS must agree within Monte Carlo error. The source has tables of other data.
Source: Azzimonti, Corani and Zaffalon, Hierarchical estimation of parameters in Bayesian networks (2019).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
from matplotlib.axes import Axes
from numpyro.diagnostics import effective_sample_size
from scipy.special import betaln
from scipy.stats import gamma

import bayesnb as nb

Array = np.ndarray[Any, Any]

NUM_CLASSES, NUM_FEATURES, NUM_TEST = 30, 12, 40
SIZES = (1, 2, 5, 10, 30)
NUM_ROWS = np.resize(SIZES, NUM_CLASSES)
SHAPE = RATE = 0.5
STYLES = {
    "a = b = 1 (Laplace)": {"color": "C1", "marker": "^", "linestyle": "--"},
    "learnt from all classes": {"color": "C0", "marker": "o", "linestyle": "-"},
}


def simulate(rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Training rows, as many of each class as NUM_ROWS says, and 40 test rows of each."""
    a, b = rng.gamma(SHAPE, 1 / RATE, (2, NUM_FEATURES))
    probs = rng.beta(a, b, (NUM_CLASSES, NUM_FEATURES))
    train_y, test_y = (np.repeat(np.arange(NUM_CLASSES), size) for size in (NUM_ROWS, NUM_TEST))
    train_X, test_X = ((rng.random((len(y), NUM_FEATURES)) < probs[y]).astype(int) for y in (train_y, test_y))
    return train_X, train_y, test_X, test_y


def model(a: Any, b: Any) -> nb.NaiveBayes:
    """Classes are as likely as each other, so that rare ones are no rarer among the test rows."""
    return nb.NaiveBayes(nb.Bernoulli(a=a, b=b), class_probs=np.full(NUM_CLASSES, 1 / NUM_CLASSES))


def quadrature(X: Array, y: Array) -> tuple[Array, Array]:
    """A grid [G] of a and b, and each feature's posterior there, [D, G, G], from the counts by scipy alone."""
    log_grid = np.linspace(np.log(1e-5), np.log(60.0), 160)
    grid = np.exp(log_grid)
    # the density of log a is that of a, times a
    log_prior = gamma.logpdf(grid, SHAPE, scale=1 / RATE) + log_grid
    a, b = np.meshgrid(grid, grid, indexing="ij")
    log_density = np.tile(log_prior[:, None] + log_prior, (NUM_FEATURES, 1, 1))
    for k in range(NUM_CLASSES):
        ones = X[y == k].sum(axis=0)[:, None, None]
        log_density += betaln(a + ones, b + NUM_ROWS[k] - ones) - betaln(a, b)
    density = np.exp(log_density - log_density.max(axis=(1, 2), keepdims=True))
    return grid, density / density.sum(axis=(1, 2), keepdims=True)


def check(fit: nb.Draws, grid: Array, density: Array) -> None:
    """The means of every a_d and b_d over draws are those of the quadrature.

    Raises:
        SystemExit: where one is off by 5 Monte Carlo standard errors.
    """
    far = []
    for site, marginal in (("x_prior_a", density.sum(axis=2)), ("x_prior_b", density.sum(axis=1))):
        samples = fit.params[site]
        mean = marginal @ grid
        spread = np.sqrt(marginal @ grid**2 - mean**2)
        size = effective_sample_size(samples.reshape(fit.num_chains, -1, NUM_FEATURES))
        far.append(np.abs(samples.mean(axis=0) - mean) / (spread / np.sqrt(size)))
    if not np.max(far) <= 5:
        raise SystemExit(f"NUTS must agree with quadrature; the means are off by these standard errors: {far}")
    print(
        f"known answer: the {2 * NUM_FEATURES} means of a and b by NUTS are those by quadrature, at most "
        f"{np.max(far):.1f} Monte Carlo standard errors apart"
    )


def draw_losses(ax: Axes, losses: dict[str, Array]) -> None:
    """Log loss of test rows [N] against the training rows of their class; bars of two standard errors over classes."""
    for name, loss in losses.items():
        by_class = loss.reshape(NUM_CLASSES, -1).mean(axis=1)
        groups = [by_class[size == NUM_ROWS] for size in SIZES]
        bars = [2 * group.std(ddof=1) / np.sqrt(len(group)) for group in groups]
        means = [group.mean() for group in groups]
        ax.errorbar(SIZES, means, bars, label=name, capsize=2, markersize=5, **STYLES[name])
    ax.set_xscale("log")
    ax.set_xticks(SIZES, labels=map(str, SIZES))
    ax.minorticks_off()
    ax.legend(frameon=False)
    ax.set(
        title=f"{NUM_CLASSES} classes", xlabel="training rows of the class", ylabel="log loss of its test rows [nats]"
    )


def draw_posterior(ax: Axes, samples: Array, grid: Array, density: Array) -> None:
    """A histogram of the draws of log a of one feature, and the density by quadrature."""
    ax.hist(np.log(samples), bins=40, density=True, color="0.75", edgecolor="C7", linewidth=0.4, label="NUTS")
    log_grid = np.log(grid)
    ax.plot(log_grid, density / (log_grid[1] - log_grid[0]), color="black", linewidth=1.5, label="quadrature")
    ax.set_xlim(np.log(samples).min(), np.log(samples).max())
    ax.legend(frameon=False)
    ax.set(title="the first feature", xlabel="log a", ylabel="posterior density")


def main(samples: int = 400, out: Path = Path()) -> None:
    """The table, the known answer and the picture."""
    X, y, test_X, test_y = simulate(np.random.default_rng(0))
    hyperprior = dist.Gamma(SHAPE, RATE).expand((NUM_FEATURES,))
    settings = {"num_warmup": 300, "num_samples": samples, "progress_bar": False}
    laplace = nb.fit_posterior(model(1.0, 1.0), X, y)
    learnt = nb.fit_nuts(model(hyperprior, hyperprior), X, y, key=jax.random.key(0), **settings)
    print(f"log loss of test rows [nats], by the training rows of their class\n{'':24}", end="")
    print("".join(f"{size:8}" for size in SIZES) + f"{'all':>8}")
    losses = {}
    for name, fit in zip(STYLES, (laplace, learnt), strict=True):
        loss = losses[name] = -fit.predict_log_proba(test_X)[np.arange(len(test_y)), test_y]
        cells = [loss[size == NUM_ROWS[test_y]].mean() for size in SIZES]
        print(f"{name:24}" + "".join(f"{cell:8.3f}" for cell in (*cells, loss.mean())))
    grid, density = quadrature(X, y)
    check(learnt, grid, density)
    picture = plt.figure(figsize=(10, 4), layout="constrained")
    left, right = picture.subplots(1, 2)
    draw_losses(left, losses)
    draw_posterior(right, learnt.params["x_prior_a"][:, 0], grid, density[0].sum(axis=1))
    picture.savefig(out / "borrowing.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--samples", type=int, default=400, help="draws of each of 4 chains (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_args()))
