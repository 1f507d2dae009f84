"""A thousand random answers of all kinds of fits, doors and files, to be held against those of another version.

    python -m tests.benchmarks.answers --out before.npz                       # in one checkout
    python -m tests.benchmarks.answers --out after.npz --against before.npz   # in another one

Each problem is drawn from its own seed and uses public names alone. An answer is an array, or the kind of an error.
"""

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

import bayesnb as nb
from bayesnb.compute.arrays._cells import dense
from tests.served import served

Rng = np.random.Generator
Answers = Iterator[tuple[str, Callable[[], Any]]]

CLOSE = {"rtol": 1e-7, "atol": 1e-9}
"""Of answers in float64; rounding differs where sums are taken in another order."""

CLOSE_IN_JAX = {"rtol": 2e-4, "atol": 2e-5}
"""Of answers that JAX computes in float32."""


def draw_block(rng: Rng, y: Any) -> tuple[nb.Family, Any]:
    """A family with some prior, and cells that depend on the class."""
    n, d = len(y), int(rng.integers(1, 5))
    shift = y[:, None]
    flags = (rng.random((n, d)) < 0.2 + 0.5 * (shift % 2)).astype(int)
    codes, counts = (rng.integers(0, 3, (n, d)) + shift) % 4, rng.poisson(1.0 + shift, (n, d))
    numbers = rng.normal(shift, 1.0, (n, d)) * rng.choice([1.0, 1e-3, 1e4]) + rng.choice([0.0, 100.0])
    blocks: list[tuple[nb.Family, Any]] = [
        (nb.Bernoulli(*rng.uniform(0.5, 3.0, 2)), flags),
        (nb.Bernoulli.laplace(1.0), flags),
        (nb.Categorical(4, rng.uniform(0.3, 2.0)), codes),
        (nb.Multinomial(rng.uniform(0.3, 2.0)), counts),
        (nb.Poisson(), counts),
        (nb.Binomial(12), np.minimum(counts, 12)),
        (nb.Normal(), numbers),
        (nb.Normal(0.0, 1.0, 2.0, 1.0), numbers),
        (nb.Normal(variance="shared"), numbers),
        (nb.MultivariateNormal(), numbers),
        (nb.Histogram(), numbers),
        (nb.Views(nb.NormalScores(), nb.Histogram()), numbers),
        (nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram()), numbers),
    ]
    family, x = blocks[rng.integers(len(blocks))]
    if rng.random() < 0.4 and not isinstance(family, nb.Multinomial | nb.MultivariateNormal):
        x = np.where(rng.random(x.shape) < 0.15, np.nan, x)
    return family, x


def of_functions(rng: Rng) -> Answers:
    """Fits of arrays by the functions, by numpy and by JAX."""
    n, k = int(rng.integers(12, 90)), int(rng.integers(2, 5))
    y = np.arange(n) % k
    rng.shuffle(y)
    drawn = {name: draw_block(rng, y) for name in ("a", "b")[: rng.integers(1, 3)]}
    single = len(drawn) == 1
    families, cells = ({name: pair[at] for name, pair in drawn.items()} for at in (0, 1))
    X: Any = cells["a"] if single else cells
    model = nb.NaiveBayes(families["a"] if single else families, num_classes=k)
    weight = rng.integers(0, 3, n) + 0.5 * (rng.random(n) < 0.3) if rng.random() < 0.4 else None
    if weight is not None:
        weight[:k] = 1.0
    half = jax.tree.map(lambda x: x[: n // 2], (X, y))
    rest = jax.tree.map(lambda x: x[n // 2 :], (X, y))
    post = nb.fit_posterior(model, X, y, sample_weight=weight)

    def merged() -> Any:
        resolved = post.prior
        parts = (nb.sufficient_statistics(resolved, *part) for part in (half, rest))
        return nb.fit_posterior(resolved, statistics=nb.merge(*parts)).predict_log_proba(X)

    yield "mle", lambda: nb.fit_mle(model, X, y, sample_weight=weight).predict_log_proba(X)
    yield "map", lambda: nb.fit_map(model, X, y, sample_weight=weight).log_joint(X)
    yield "posterior", lambda: post.predict_log_proba(X)
    yield "log_density", lambda: post.log_density(X)
    yield "evidence", lambda: post.log_evidence
    yield "draws", lambda: jax.tree.leaves(post.sample(jax.random.key(1), 3))
    yield "leave_one_out", lambda: nb.leave_one_out(model, X, y, sample_weight=weight)
    yield "cross_validate", lambda: nb.cross_validate(post.prior, X, y, folds=3)
    yield "temper", lambda: nb.temper(post, X, y, sample_weight=weight).predict_proba(X)
    yield "per_feature", lambda: nb.temper(post, X, y, per_feature=True, sample_weight=weight).predict_proba(X)
    yield "inclusion", lambda: jax.tree.leaves(nb.feature_inclusion(model, X, y).log_bayes_factor)
    yield "prequential", lambda: nb.prequential(post.prior, X, y)
    yield "averaged", lambda: nb.fit_averaged(model, X, y).predict_proba(X)
    yield "empirical", lambda: nb.fit_empirical(model, X, y).predict_proba(X)
    yield "forests", lambda: nb.fit_forests(model, X, y, sample_weight=weight).predict_log_proba(X)
    yield "merged", merged
    yield "in JAX", lambda: nb.fit_posterior(post.prior, *jax.tree.map(jnp.asarray, (X, y))).predict_proba(X)
    in_jit = jax.jit(lambda x: post.predict_proba(x))
    yield "in jit of JAX", lambda: in_jit(jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), X))


def of_frames(rng: Rng) -> Answers:
    """Fits of frames by the estimator, their files and those of their rows."""
    n, k = int(rng.integers(40, 160)), int(rng.integers(2, 4))
    y = np.arange(n) % k
    labels = np.array([f"class {label}" for label in y])
    number = rng.normal(y, 1.0)
    columns = {
        "number": np.where(rng.random(n) < 0.1, np.nan, number),
        "count": rng.poisson(1.0 + y),
        "flag": rng.random(n) < 0.2 + 0.2 * y,
        "kind": rng.choice(["u", "v", "w"], n),
        "text": [" ".join(rng.choice(["win", "lunch", "prize", "today"], 3)) for _ in range(n)],
    }
    chosen = [name for name in columns if rng.random() < 0.6] or ["number"]
    frame = pd.DataFrame({name: columns[name] for name in chosen})
    likelihoods: Any = {"text": "words"} if "text" in chosen else "auto"
    settings: dict[str, Any] = {"temper": [None, False, True][rng.integers(3)]}
    if rng.random() < 0.3:
        settings["class_prior"] = "uniform"
    clf = nb.NaiveBayesClassifier(likelihoods, **settings).fit(frame, labels)

    def stored() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            nb.save(clf, Path(folder, "fit"))
            return nb.load(Path(folder, "fit")).predict_proba(frame)

    def of_file(ending: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path, table = Path(folder, f"rows.{ending}"), frame.assign(label=labels)
            table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
            fit = nb.fit_file(path, "label", likelihoods=likelihoods if "text" in chosen else {}, progress_bar=False)
            return fit.predict_proba(frame)

    def in_batches() -> Any:
        again = nb.NaiveBayesClassifier(likelihoods, method="posterior")
        for rows in (slice(0, n, 2), slice(1, n, 2)):
            again.partial_fit(frame[rows], labels[rows], classes=np.unique(labels))
        return again.forget(frame[:3], labels[:3]).predict_proba(frame)

    yield "estimator", lambda: clf.predict_log_proba(frame)
    yield "one row", lambda: clf.predict_proba(frame.iloc[0].to_dict())
    yield (
        "method map",
        lambda: nb.NaiveBayesClassifier(likelihoods, method="map").fit(frame, labels).predict_proba(frame),
    )
    yield "batches", in_batches
    yield "explain", lambda: nb.explain(clf, frame[:2]).log_odds
    yield "stored", stored
    yield "CSV", lambda: of_file("csv")
    yield "Parquet", lambda: of_file("parquet")
    encoded = jax.tree.map(dense, clf.encoded(frame))
    yield "exported", lambda: served(clf.fit_.predict_proba, encoded)(encoded)


def of_programs(rng: Rng) -> Answers:
    """Programs that are recognised."""
    n, k, d = int(rng.integers(20, 60)), int(rng.integers(2, 4)), int(rng.integers(1, 4))
    y, a, b = np.arange(n) % k, *rng.uniform(0.5, 3.0, 2)
    flags, numbers = (rng.random((n, d)) < 0.5).astype(int), rng.normal(y[:, None], 1.0, (n, d))

    def program(flags: Any, numbers: Any, y: Any) -> None:
        pi = numpyro.sample("pi", dist.Dirichlet(jnp.full(k, a)))
        with numpyro.plate("class", k, dim=-2), numpyro.plate("column", d):
            theta = numpyro.sample("theta", dist.Beta(a, b))
            variance = numpyro.sample("variance", dist.InverseGamma(a + 1.0, b))
            mean = numpyro.sample("mean", dist.Normal(0.0, jnp.sqrt(variance / a)))
        with numpyro.plate("row", n):
            label = numpyro.sample("y", dist.Categorical(pi), obs=y)
            numpyro.sample("flags", dist.Bernoulli(theta[label]).to_event(1), obs=flags)
            numpyro.sample("numbers", dist.Normal(mean[label], jnp.sqrt(variance[label])).to_event(1), obs=numbers)

    model = nb.from_numpyro(program, (flags, numbers, y), label="y")
    X = {"flags": flags, "numbers": numbers}
    post = nb.fit_posterior(model, X, y)
    yield "program", lambda: post.predict_log_proba(X)
    yield "its evidence", lambda: post.log_evidence
    yield "its mode", lambda: jax.tree.leaves(nb.fit_map(model, X, y).params)


def answer(call: Callable[[], Any]) -> np.ndarray[Any, Any]:
    """All numbers of an answer, or the name of its error."""
    try:
        return np.concatenate([np.ravel(np.asarray(part, np.float64)) for part in jax.tree.leaves(call())])
    except (ValueError, TypeError) as error:
        return np.array(type(error).__name__)


def differ(name: str, before: Any, after: Any) -> bool:
    """Whether two answers are not the same to rounding."""
    if before.dtype.kind == "U" or after.dtype.kind == "U":
        return bool(before.dtype.kind != after.dtype.kind or before != after)
    close = CLOSE_IN_JAX if "JAX" in name else CLOSE
    return before.shape != after.shape or not np.allclose(before, after, equal_nan=True, **close)


def main() -> None:
    """Write the answers, and print those that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--against")
    parser.add_argument("--answers", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    seed = 0
    while len(found) < options.answers:
        rng = np.random.default_rng(seed)
        kind = (of_functions, of_frames, of_functions, of_programs)[seed % 4]
        for name, call in kind(rng):
            found[f"{seed} {name}"] = answer(call)
        seed += 1
        print(f"\r{len(found)} answers", end="", flush=True)
    np.savez(options.out, **found)
    errors = sum(value.dtype.kind == "U" for value in found.values())
    print(f"\r{len(found)} answers of {seed} problems, {errors} of them refusals")
    if options.against:
        with np.load(options.against) as file:
            others = [name for name in found if name not in file or differ(name, file[name], found[name])]
        print(f"{len(others)} differ" + "".join(f"\n  {name}" for name in others))


if __name__ == "__main__":
    main()
