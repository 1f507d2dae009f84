# %% [markdown]
"""A network whose last layer is an exact posterior: Naive Bayes inside a JAX pipeline, from training to serving.

    features f(x; w);   theta_kd ~ normal-inverse-gamma,   f_d(x_n) | y_n = k ~ N(mu_kd, sigma2_kd)
    loss(w) = -1/M sum over rows m of one half of  log p(y_m | f(x_m), the other half),   gradient through both halves

Every step of training fits the posterior anew, inside ``jax.jit``, to the features of half of the rows, and the exact
predictive of the other half is what the network is trained by. The parameters of the last layer are integrated out, so
nothing of it is left to be trained. Then the posterior of all training rows is exported, loaded, and put behind the
network in one compiled function.

No number is printed in a source; the losses are printed by the program. The features of the network must predict better
than the pixels do, and what was loaded must equal the fit.
Source: none for these numbers. Wilson et al., Deep kernel learning (2016), train a network through a Gaussian process,
by its marginal likelihood; the digits are those of scikit-learn.
"""

# %%
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import bayesnb as nb

try:
    import equinox as eqx
except ImportError:
    eqx = None

NUM_FEATURES, WIDTH, LEARNING_RATE = 10, 64, 0.3
MODEL = nb.NaiveBayes(nb.Normal(), num_classes=10)

# %% [markdown]
# **The pipeline.** A network gives features, a fit of bayesnb classifies them. Both are pytrees and pure JAX.


# %%
def features(network: Any, x: jax.Array) -> jax.Array:
    """f(x; w) of each row, [N, D]."""
    return jax.vmap(network)(x)


def log_loss(network: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    """Of the second half of the rows, under the posterior given the first half."""
    half, f = len(y) // 2, features(network, x)
    posterior = nb.fit_posterior(MODEL, f[:half], y[:half])
    log_proba = posterior.predict_log_proba(f[half:])
    return -jnp.take_along_axis(log_proba, y[half:, None], axis=1).mean()


# %% [markdown]
# **Training.** Gradient descent with the rows in a new order at each step: nothing but the network is learned, and all
# steps are one compiled loop.


# %%
def train(network: Any, x: jax.Array, y: jax.Array, key: jax.Array, num_steps: int) -> tuple[Any, jax.Array]:
    """The network after so many steps, and the loss before each."""
    weights, static = eqx.partition(network, eqx.is_array)

    def loss(weights: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        return log_loss(eqx.combine(weights, static), x, y)

    def step(weights: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        order = jax.random.permutation(key, len(y))
        value, slope = jax.value_and_grad(loss)(weights, x[order], y[order])
        return jax.tree.map(lambda w, s: w - LEARNING_RATE * s, weights, slope), value

    weights, losses = jax.jit(lambda weights, keys: jax.lax.scan(step, weights, keys))(
        weights, jax.random.split(key, num_steps)
    )
    return eqx.combine(weights, static), losses


# %% [markdown]
# **Serving.** The file holds compiled functions for processors, GPUs and TPUs. They go behind the network in one
# function, which takes any number of rows.


# %%
def serve(network: Any, posterior: nb.Posterior, path: Any) -> Any:
    """Exports the posterior, reads it, and returns the compiled pipeline from pixels to class probabilities."""
    rows = jax.ShapeDtypeStruct(jax.export.symbolic_shape(f"n, {NUM_FEATURES}"), jnp.float32)
    exported = jax.export.export(jax.jit(posterior.predict_proba), platforms=("cpu", "cuda", "tpu"))(rows)
    path.write_bytes(exported.serialize())
    served = jax.export.deserialize(path.read_bytes())
    print(f"\n{served.fun_name} on {', '.join(served.platforms)}: {path.stat().st_size:,} bytes")
    return jax.jit(lambda x: served.call(features(network, x)))


def score(name: str, proba: Any, y: Any) -> float:
    """Prints a line and returns the log loss."""
    chosen, right = np.asarray(proba)[np.arange(len(y)), y], np.asarray(proba).argmax(axis=1) == np.asarray(y)
    loss = float(-np.log(np.maximum(chosen, np.finfo(np.float32).tiny)).mean())
    print(f"{name:44}{loss:10.3f}{right.mean():10.3f}")
    return loss


def draw(losses: Any, pixels: float, learned: float) -> Figure:
    """The loss of the half that the posterior has not seen, step by step."""
    picture = plt.figure(figsize=(7, 4), layout="constrained")
    ax = picture.subplots()
    ax.semilogy(losses, color="C0", linewidth=1, label="training: each half by the other")
    ax.axhline(pixels, color="C1", linestyle="--", label="test: posterior on pixels")
    ax.axhline(learned, color="C7", linestyle=":", linewidth=2, label="test: posterior on the network's features")
    ax.legend(frameon=False, fontsize=9)
    ax.set(
        title="A network trained by the exact predictive of its last layer",
        xlabel="step",
        ylabel="log loss [nats], log scale",
    )
    return picture


# %% [markdown]
# **All of it**, with half of the rows and 60 steps; options of the program ask for more.


# %%
def main(steps: int = 60, rows: int = 900, out: Path = Path()) -> None:
    """The table, the picture, and the exported posterior."""
    if eqx is None:
        raise SystemExit("this example builds its network with Equinox: pip install equinox")
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))[:rows]
    x, y = jnp.asarray(digits.data[order] / 16.0, jnp.float32), jnp.asarray(digits.target[order])
    half = len(order) // 2
    x, x_test, y, y_test = x[:half], x[half:], y[:half], y[half:]
    print(f"{half} rows to train and {len(y_test)} to test\n\n{'':44}{'log loss':>10}{'accuracy':>10}")

    pixels = score("posterior on pixels", nb.fit_posterior(MODEL, x, y).predict_proba(x_test), y_test)
    start, training = jax.random.split(jax.random.key(0))
    network = eqx.nn.MLP(x.shape[1], NUM_FEATURES, WIDTH, depth=1, key=start)
    posterior = nb.fit_posterior(MODEL, features(network, x), y)
    score("posterior on features, before training", posterior.predict_proba(features(network, x_test)), y_test)
    network, losses = train(network, x, y, training, steps)
    posterior = nb.fit_posterior(MODEL, features(network, x), y)
    proba = posterior.predict_proba(features(network, x_test))
    learned = score("posterior on features, after training", proba, y_test)

    pipeline = serve(network, posterior, out / "posterior.bin")
    gap = float(jnp.abs(pipeline(x_test) - proba).max())
    verdict = "equals" if gap < 1e-4 else "DIFFERS FROM"
    print(f"what was loaded {verdict} the fit: probabilities at most {gap:.0e} apart")
    draw(losses, pixels, learned).savefig(out / "jax_pipeline.png")


# %%
if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=60, help="steps of training (%(default)s)")
    options.add_argument("--rows", type=int, default=900, help="rows, half of them to train (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_known_args()[0]))  # of a notebook the arguments are not ours
