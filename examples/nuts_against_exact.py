"""NUTS against the exact posterior: one Gaussian Naive Bayes of wines, sampled and in closed form, seen by ArviZ.

    pi | y           ~ Dirichlet(a'),            one p(y = k): Beta(a'_k, sum_j a'_j - a'_k)
    sigma2_kd | X, y ~ InverseGamma(shape', rate')
    mu_kd | X, y     ~ Student's t, 2 shape' degrees of freedom about loc', scale sqrt(rate' / (shape' strength'))

`nb.fit_nuts` samples the NumPyro program through its sufficient statistics; `nb.fit_posterior` has the primed numbers
in closed form. `nb.to_arviz` gives both to ArviZ, 0.23 or 1.x: draws by NUTS, and exact ones, which are independent,
shaped as chains. No number is printed in the source. What must hold: every mean, of NUTS and of the exact draws, lies
within 5 of its Monte Carlo standard errors of the exact one.

Source: marginals as in Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 3; NUTS is
Hoffman and Gelman, The No-U-Turn Sampler (2014); the data are the wines that scikit-learn carries.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy import stats
from sklearn.datasets import load_wine

import bayesnb as nb
from bayesnb.inspection._arviz import library  # ArviZ without the warning of its last release

Array = np.ndarray[Any, Any]

SHOWN = "flavanoids"
MOST_ERRORS = 5
COLOURS = ("C0", "C1", "C7")
PANELS = {
    "class_probs": ("Beta", "probability of the class"),
    "x_loc": ("Student's t", f"mean of {SHOWN} in the class"),
    "x_variance": ("inverse gamma", f"variance of {SHOWN} in the class"),
}


def marginals(counts: Array, normal: nb.Normal) -> dict[str, Any]:
    """The exact posterior of each parameter as a scipy distribution, by site, from its updated hyperparameters."""
    scale = np.sqrt(normal.rate / (normal.shape * normal.strength))
    return {
        "class_probs": stats.beta(counts, counts.sum() - counts),
        "x_loc": stats.t(2 * normal.shape, normal.loc, scale),
        "x_variance": stats.invgamma(normal.shape, scale=normal.rate),
    }


def errors(data: Any, exact: dict[str, Any]) -> Array:
    """How far the mean of each parameter's draws lies from the exact one, in ArviZ's Monte Carlo standard errors."""
    draws, spread = data["posterior"], library("this example").mcse(data, method="mean")
    far = [(draws[s].mean(("chain", "draw")).values - d.mean()) / spread[s].values for s, d in exact.items()]
    return np.concatenate([values.ravel() for values in far])


def summarise(data: Any, title: str) -> None:
    """What ArviZ says of the parameters that are drawn."""
    summary = library("this example").summary
    print(f"\n{title}")
    print(summary(data, var_names=["class_probs"]).to_string())
    print(summary(data, var_names=["x_loc", "x_variance"], coords={"x_features": [SHOWN]}).to_string())


def check_means(distances: dict[str, Array]) -> None:
    """No mean may lie further from the exact one than its Monte Carlo error allows."""
    print()
    for name, values in distances.items():
        far = np.abs(values).max()
        if not far <= MOST_ERRORS:
            raise SystemExit(f"{name}: a mean lies {far:.1f} Monte Carlo standard errors from the exact one")
        print(f"{name}: {values.size} means within {MOST_ERRORS} Monte Carlo standard errors, at most {far:.2f}")


def draw_marginals(ax: Axes, draws: Array, exact: Any, names: Sequence[str]) -> None:
    """A histogram of a parameter's draws [S, K], and its exact density, for each class."""
    at = np.linspace(draws.min(), draws.max(), 500)
    density = exact.pdf(at[:, None])
    for k, (name, colour) in enumerate(zip(names, COLOURS, strict=True)):
        bars = {"bins": 30, "density": True, "color": colour, "alpha": 0.35}
        heights, _, _ = ax.hist(draws[:, k], label="NUTS" if k == 0 else None, **bars)
        ax.plot(at, density[:, k], color=colour, linewidth=1.8, label="exact" if k == 0 else None)
        place = at[density[:, k].argmax()], max(heights.max(), density[:, k].max())
        backed = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1}
        ax.annotate(name, place, (0, 4), textcoords="offset points", ha="center", color=colour, bbox=backed)
    ax.margins(y=0.12)


def draw_distances(ax: Axes, distances: dict[str, Array]) -> None:
    """Every mean's distance from the exact one."""
    for (name, values), colour, marker in zip(distances.items(), COLOURS, "o^", strict=False):
        ax.plot(values, linestyle="none", color=colour, marker=marker, markersize=4, label=name)
    for height in (-MOST_ERRORS, 0, MOST_ERRORS):
        ax.axhline(height, color="C7", linewidth=1, linestyle="-" if height == 0 else "--")
    ax.set_ylim(-1.4 * MOST_ERRORS, 1.4 * MOST_ERRORS)
    ax.legend(frameon=False, ncols=2, loc="upper left")
    ax.set(title="posterior means less the exact ones", xlabel="parameter", ylabel="Monte Carlo standard errors")


def main(samples: int = 1000, out: Path = Path()) -> None:
    """The diagnosis, the summaries, the check and the picture."""
    wine = load_wine()
    model, names = nb.NaiveBayes(nb.Normal()), [str(name) for name in wine.target_names]
    posterior = nb.fit_posterior(model, wine.data, wine.target)
    keys, size = jax.random.split(jax.random.key(0)), samples
    started = time.perf_counter()
    draws = nb.fit_nuts(model, wine.data, wine.target, key=keys[0], num_samples=size, num_warmup=size)
    print(f"NUTS in {time.perf_counter() - started:.1f} s, compilation included")
    named = {"class_names": names, "feature_names": wine.feature_names}
    data = {
        "NUTS": nb.to_arviz(draws, **named),
        "exact draws": nb.to_arviz(posterior, key=keys[1], num_samples=size, **named),
    }
    for title, one in data.items():
        summarise(one, title)
    normal = posterior.model.families["x"]
    exact = marginals(posterior.model.class_concentration, normal)
    distances = {title: errors(one, exact) for title, one in data.items()}
    check_means(distances)

    column = wine.feature_names.index(SHOWN)
    shown = marginals(posterior.model.class_concentration, jax.tree.map(lambda table: table[:, column], normal))
    picture = plt.figure(figsize=(11, 7.5), layout="constrained")
    axes = picture.subplots(2, 2).ravel()
    for ax, (site, (law, label)) in zip(axes, PANELS.items(), strict=False):
        values = np.asarray(draws.params[site], float)
        draw_marginals(ax, values if values.ndim == 2 else values[:, :, column], shown[site], names)
        ax.set(title=law, xlabel=label, ylabel="density")
    axes[0].legend(frameon=False)
    draw_distances(axes[3], distances)
    picture.savefig(out / "nuts_against_exact.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--samples", type=int, default=1000, help="draws of each of 4 chains (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_args()))
