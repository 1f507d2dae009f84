"""Is a customer a big consumer of energy? Normal features and known parameters.

    p(big | x) = p(big) p(x | big) / (p(big) p(x | big) + p(small) p(x | small)),
    p(x | k) = prod_d N(x_d; mu_kd, sigma2_kd)

One customer in five is big. With one feature, the energy of the first ten days, big consumers are N(2000, 800^2) and
small ones N(200, 100^2), and x = 250 kWh. With two features the means are (20, 7) and (2, 2), the variances (8, 5) and
(1, 5), and x = (2, 2). Printed: the likelihoods 3.3158e-12 and 0.071176, and p(big | x) = 1.165e-11.

The variances of the first feature differ, so the two classes are equally probable on a parabola and not on a line: to
the left of all small consumers the wider class wins again.

Source: an exercise of lecture notes on Bayes classifiers, with these numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import bayesnb as nb

CLASSES = ("big", "small")
PRIOR = [0.2, 0.8]


def known(loc: list, variance: list) -> nb.PointEstimate:
    """The model at these parameters, each [2, D]."""
    params = {"class_probs": PRIOR, "x_loc": loc, "x_variance": variance}
    return nb.PointEstimate(nb.NaiveBayes(nb.Normal()), params)


ONE = known([[2000.0], [200.0]], [[800.0**2], [100.0**2]])
TWO = known([[20.0, 7.0], [2.0, 2.0]], [[8.0, 5.0], [1.0, 5.0]])


def likelihoods(fit: nb.PointEstimate, x: np.ndarray) -> np.ndarray:
    """p(x | k), [N, K]: the joint density over the prior."""
    return np.exp(fit.log_joint(x)) / PRIOR


def report(name: str, fit: nb.PointEstimate, x: np.ndarray) -> None:
    """A line for each class."""
    print(f"\n{name}\n{'class':8}{'p(k)':>8}{'p(x | k)':>14}{'p(k | x)':>14}")
    for row in zip(CLASSES, PRIOR, likelihoods(fit, x)[0], fit.predict_proba(x)[0], strict=True):
        print("{:8}{:8.2f}{:14.5g}{:14.4g}".format(*row))


def draw_one(ax: Axes, x: float) -> None:
    """Prior times density of each class; where they cross, the decision changes."""
    grid = np.linspace(-1000, 4000, 2001)[:, None]
    joint = np.exp(ONE.log_joint(grid))
    styles = [{"color": "C1"}, {"color": "C0", "linestyle": "--"}]
    for k, style in enumerate(styles):
        ax.semilogy(grid[:, 0], joint[:, k], label=f"{CLASSES[k]} consumer", **style)
    for boundary in grid[1:][np.diff(ONE.predict(grid)) != 0, 0]:
        ax.axvline(boundary, color="black", linewidth=0.8)
        ax.annotate(f" {boundary:.0f} kWh ", (boundary, 2e-2), ha="left" if boundary > x else "right", fontsize=9)
    ax.plot([x, x], np.exp(ONE.log_joint(np.array([[x]])))[0], "ko", markersize=5, label="x = 250 kWh")
    ax.set_ylim(1e-9, 5e-2)
    ax.legend(frameon=False, loc="upper right")
    ax.set(
        title="Prior times density, one feature",
        xlabel="energy of ten days [kWh]",
        ylabel="p(k) p(x | k) [1 / kWh], log scale",
    )


def draw_two(ax: Axes) -> None:
    """The density of all customers in grey, and the parabola on which both classes are equally probable."""
    first, second = np.meshgrid(np.linspace(-10, 32, 421), np.linspace(-6, 15, 211))
    grid = np.column_stack([first.ravel(), second.ravel()])
    density = TWO.log_density(grid).reshape(first.shape)
    levels = np.arange(-20.0, 1.0, 2.0)
    shades = ax.contourf(first, second, density, levels=levels, cmap="Greys", extend="min", alpha=0.8)
    joint = TWO.log_joint(grid)
    odds = (joint[:, 0] - joint[:, 1]).reshape(first.shape)
    ax.contour(first, second, odds, levels=[0.0], colors="black", linewidths=2)
    ax.plot(*TWO.params["x_loc"][0], "^", color="C1", markersize=9, markeredgecolor="black", label="mean, big")
    ax.plot(*TWO.params["x_loc"][1], "s", color="C0", markersize=9, markeredgecolor="white", label="mean, small = x")
    ax.plot([], [], color="black", linewidth=2, label="p(big | x) = 1/2")
    ax.legend(loc="lower right", fontsize=9)
    ax.figure.colorbar(shades, ax=ax, label="log p(x) [nats]")
    ax.set(
        title="Density and boundary, two features",
        xlabel="first feature [no unit given]",
        ylabel="second feature [no unit given]",
    )


def main(out: Path = Path()) -> None:
    """The two tables and the picture."""
    x_one, x_two = np.array([[250.0]]), np.array([[2.0, 2.0]])
    report("One feature, x = 250 kWh", ONE, x_one)
    report("Two features, x = (2, 2)", TWO, x_two)
    picture = plt.figure(figsize=(11, 4.2), layout="constrained")
    left, right = picture.subplots(1, 2)
    draw_one(left, x_one.item())
    draw_two(right)
    picture.savefig(out / "energy.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_args()))
