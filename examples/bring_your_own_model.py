# %% [markdown]
"""Bring your own model: one NumPyro program, sampled row by row as people do today, and recognised as Naive Bayes.

    pi            ~ Dirichlet(1, 1, 1)
    variance_dk   ~ InverseGamma(2, 1)
    mean_dk       ~ Normal(0, 10 variance_dk)
    y_n           ~ Categorical(pi)
    X_nd | y_n=k  ~ Normal(mean_dk, variance_dk)

`numpyro.infer.MCMC` reads every row at every step. `nb.from_numpyro` runs the program a few times, finds that its
priors are conjugate, and certifies that the model which it composes has the program's own density: the posterior is
then exact, and no sampler runs. With a LogNormal prior on the scale of each class and column it would integrate by
quadrature, still without a sampler. Where the classes share that scale there is neither; the recognised model still has
sufficient statistics, so that NUTS no longer reads the rows.

No number is printed in the source. What must hold: the posterior means of the two ways differ by at most 5 of their
Monte Carlo standard errors.

Source: the prior is Murphy, Conjugate Bayesian analysis of the Gaussian distribution (2007), section 3.
"""

# %%
from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import numpyro
import numpyro.distributions as dist
from matplotlib.axes import Axes
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS

import bayesnb as nb

Array = np.ndarray[Any, Any]
Draws = dict[str, Array]
Sampler = Callable[[], Draws]

CLASSES, COLUMNS = 3, 4
MOST_ERRORS = 5
COLOURS = ("C0", "C1", "C7")

# %% [markdown]
# **Two programs**, as one writes them for any sampler. They differ in their priors, and in what classes share.


# %%
def insects(X: Any, y: Any = None) -> None:
    """Measurements X [N, D] of insects of three species y [N]: conjugate priors."""
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(CLASSES)))
    with numpyro.plate("species", CLASSES), numpyro.plate("column", X.shape[1]):
        variance = numpyro.sample("variance", dist.InverseGamma(2.0, 1.0))
        mean = numpyro.sample("mean", dist.Normal(0.0, jnp.sqrt(10.0 * variance)))
    with numpyro.plate("insect", X.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("X", dist.Normal(mean.T[y], jnp.sqrt(variance).T[y]).to_event(1), obs=X)


def own_priors(X: Any, y: Any = None) -> None:
    """The same insects with priors that are not conjugate: a LogNormal scale for all species, and means without it."""
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(CLASSES)))
    with numpyro.plate("column", X.shape[1], dim=-2):
        scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
        with numpyro.plate("species", CLASSES, dim=-1):
            mean = numpyro.sample("mean", dist.Normal(0.0, 3.0))
    with numpyro.plate("insect", X.shape[0]):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("X", dist.Normal(mean.T[y], scale[:, 0]).to_event(1), obs=X)


# %% [markdown]
# **Three ways to draw** from their posteriors: NUTS on every row; exactly, where `nb.from_numpyro` finds conjugate
# priors; and NUTS on the sufficient statistics, where it finds others.


# %%
def make_insects(num_rows: int) -> tuple[Array, Array]:
    """Rows X [N, D] and labels y [N] of the program."""
    rng = np.random.default_rng(0)
    means, scales = rng.normal(0.0, 1.0, (CLASSES, COLUMNS)), rng.uniform(0.5, 2.0, (CLASSES, COLUMNS))
    y = rng.choice(CLASSES, num_rows, p=[0.5, 0.3, 0.2])
    return rng.normal(means[y], scales[y]), y


def on_rows(program: Callable[..., None], X: Array, y: Array, num_samples: int) -> Sampler:
    """NUTS on the program as it stands."""
    sampler = MCMC(NUTS(program), num_warmup=num_samples, num_samples=num_samples, progress_bar=False)

    def draw() -> Draws:
        sampler.run(jax.random.key(0), X, y)
        return jax.tree.map(np.asarray, sampler.get_samples())

    return draw


def exact(program: Callable[..., None], X: Array, y: Array, num_samples: int) -> Sampler:
    """Independent draws from the exact posterior of the recognised model."""
    model = nb.from_numpyro(program, model_args=(X, y), label="y")
    print(model.certificate)
    return lambda: jax.tree.map(np.asarray, nb.fit_posterior(model, X, y).sample(jax.random.key(1), num_samples))


def on_statistics(program: Callable[..., None], X: Array, y: Array, num_samples: int) -> Sampler:
    """NUTS on the sufficient statistics of the recognised model."""
    model = nb.from_numpyro(program, model_args=(X, y), label="y")
    print(model.certificate)
    size = {"num_samples": num_samples, "num_warmup": num_samples, "num_chains": 1, "progress_bar": False}
    return lambda: jax.tree.map(np.asarray, dict(nb.fit_nuts(model, X, y, key=jax.random.key(1), **size).params))


# %% [markdown]
# **What must hold**: whichever way they were drawn, the posterior means are the same up to Monte Carlo error.


# %%
def timed(what: str, sample: Sampler) -> tuple[Draws, float]:
    """Draws, and the seconds that the same draws take a second time, when most is compiled."""
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        draws = sample()
        seconds.append(time.perf_counter() - started)
    print(f"{what}: {seconds[0]:.2f} s with compilation, {seconds[1]:.2f} s the second time")
    return draws, seconds[1]


def require_same_means(one: Draws, other: Draws) -> None:
    """No posterior mean may differ by more than its Monte Carlo errors allow."""
    far = 0.0
    for site in one:
        spread = [d[site].var(axis=0) / effective_sample_size(d[site][None].astype(float)) for d in (one, other)]
        change = one[site].mean(axis=0) - other[site].mean(axis=0)
        far = max(far, float(np.abs(change / np.sqrt(sum(spread))).max()))
    if not far <= MOST_ERRORS:
        raise SystemExit(f"a posterior mean differs by {far:.1f} Monte Carlo standard errors")
    count = sum(draws[0].size for draws in one.values())
    print(f"{count} posterior means differ by at most {far:.2f} Monte Carlo standard errors\n")


# %% [markdown]
# **The picture**: the draws lie on each other. Everything is drawn twice, since the first time is mostly compilation;
# what is shown are the seconds of the second time. A step of NUTS on rows takes the longer the more rows there are; one
# on statistics does not.


# %%
def draw_means(ax: Axes, title: str, rows: Draws, recognised: Draws, name: str) -> None:
    """Posterior draws of the first column's mean in each class: bars by rows, lines by the recognised model."""
    for k, colour in enumerate(COLOURS):
        draws = [one["mean"][:, 0, k] for one in (rows, recognised)]
        bins = np.linspace(np.min(draws), np.max(draws), 30)
        labels = ("NUTS on rows", name) if k == 0 else (None, None)
        ax.hist(draws[0], bins, density=True, color=colour, alpha=0.35, label=labels[0])
        ax.hist(draws[1], bins, density=True, color=colour, histtype="step", linewidth=1.8, label=labels[1])
    ax.legend(frameon=False, fontsize=8)
    ax.set(title=title, xlabel="mean of the first column, by class", ylabel="density")


def draw_times(ax: Axes, seconds: dict[str, float]) -> None:
    """Seconds of each way."""
    places = np.arange(len(seconds))[::-1]
    ax.barh(places, list(seconds.values()), color=["C7", "C0", "C7", "C1"], height=0.6)
    for place, value in zip(places, seconds.values(), strict=True):
        ax.annotate(f"{value:.2f} s", (value, place), (4, 0), textcoords="offset points", va="center")
    ax.set_yticks(places, list(seconds))
    ax.margins(x=0.2)
    ax.set(title="time of a second run", xlabel="seconds")


# %% [markdown]
# **All of it**, of 10,000 rows and 200 draws; options of the program ask for more.


# %%
def main(rows: int = 10000, samples: int = 200, out: Path = Path()) -> None:
    """Both programs, both ways, and the picture."""
    X, y = make_insects(rows)
    print(f"{rows:,} rows, {samples:,} draws\n")
    ways = (
        (insects, "conjugate priors", exact, "exact"),
        (own_priors, "LogNormal scales in common", on_statistics, "NUTS on statistics"),
    )
    picture, seconds = plt.figure(figsize=(13, 4), layout="constrained"), {}
    axes = picture.subplots(1, 3)
    for ax, (program, priors, recognised, name) in zip(axes, ways, strict=False):
        print(f"{priors}: {program.__name__}")
        rows, by_rows = timed("NUTS on rows", on_rows(program, X, y, samples))
        own, by_own = timed(f"recognised, {name}", recognised(program, X, y, samples))
        require_same_means(rows, own)
        seconds |= {f"{priors}:\nNUTS on rows": by_rows, f"recognised,\n{name}": by_own}
        draw_means(ax, priors, rows, own, name)
    draw_times(axes[2], seconds)
    picture.savefig(out / "bring_your_own_model.png")


# %%
if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10000, help="rows of the program (%(default)s)")
    options.add_argument("--samples", type=int, default=200, help="draws, and steps of warm-up (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_known_args()[0]))  # of a notebook the arguments are not ours
