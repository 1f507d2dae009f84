"""Twelve calls: how many files of the package each enters, how many functions, and how often.

    python -m tests.benchmarks.ways
    python -m tests.benchmarks.ways --calls "its predict" --top 30

The second lists the files of the calls so named, and the functions that are called most.
Each call is counted warm, in one process, with the threads that it starts. What evaluates JAX's traces by numpy is left
out: its calls are operations of the mathematics, not steps of the way.
"""

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

import bayesnb as nb

PACKAGE = str(Path(nb.__file__).parent)
EVALUATOR = str(Path(PACKAGE, "compute", "jaxpr_numpy"))


def count_calls(call: Callable[[], object]) -> Counter[CodeType]:
    """How often a call enters each function of the package, what evaluates traces left out."""
    calls: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE) and not name.startswith(EVALUATOR):
            calls[frame.f_code] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def spam(words: Any, label: Any = None) -> None:
    """A program of four sites."""
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(2)))
    with numpyro.plate("class", 2), numpyro.plate("word", words.shape[1]):
        theta = numpyro.sample("theta", dist.Beta(2.0, 2.0))
    with numpyro.plate("email", words.shape[0]):
        label = numpyro.sample("y", dist.Categorical(pi), obs=label)
        numpyro.sample("words", dist.Bernoulli(theta.T[label]).to_event(1), obs=words)


def make_calls(folder: Path) -> dict[str, Callable[[], object]]:
    """The twelve calls by name."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    flags = (rng.random((200, 3)) < 0.3 + 0.3 * y[:, None]).astype(int)
    numbers = rng.normal(y[:, None], 1.0, (200, 2))
    frame = pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": flags[:, 0]})
    frame["d"], frame["e"] = np.where(flags[:, 1], "u", "v"), rng.choice(["x", "y", "z"], 200)
    table = frame.assign(label=np.where(y, "yes", "no"))
    csv, parquet, stored = folder / "table.csv", folder / "table.parquet", folder / "fit.safetensors"
    table.to_csv(csv, index=False)
    table.to_parquet(parquet)
    one = nb.NaiveBayes(nb.Bernoulli())
    both = nb.NaiveBayes({"flags": nb.Bernoulli(), "numbers": nb.Normal()})
    blocks = {"flags": flags, "numbers": numbers}
    post, classifier = nb.fit_posterior(one, flags, y), nb.NaiveBayesClassifier().fit(frame, y)
    forests = nb.fit_forests(one, flags, y)

    def save_and_load() -> object:
        nb.save(post, stored)
        return nb.load(stored)

    return {
        "fit_posterior, a Bernoulli block": lambda: nb.fit_posterior(one, flags, y),
        "its predict_proba": lambda: post.predict_proba(flags),
        "both": lambda: nb.fit_posterior(one, flags, y).predict_proba(flags),
        "both, two blocks": lambda: nb.fit_posterior(both, blocks, y).predict_proba(blocks),
        "NaiveBayesClassifier().fit, a frame": lambda: nb.NaiveBayesClassifier().fit(frame, y),
        "its predict_proba, a frame": lambda: classifier.predict_proba(frame),
        "fit_file, CSV": lambda: nb.fit_file(csv, "label"),
        "fit_file, Parquet": lambda: nb.fit_file(parquet, "label"),
        "from_numpyro, four sites": lambda: nb.from_numpyro(spam, (flags, y), label="y"),
        "leave_one_out": lambda: nb.leave_one_out(one, flags, y),
        "fit_forests and predict_proba": lambda: (nb.fit_forests(one, flags, y), forests.predict_proba(flags)),
        "save and load": save_and_load,
    }


def show(found: Counter[CodeType], top: int) -> None:
    """Print each file with its functions and calls, and the functions that are called most."""
    where = {code: str(Path(code.co_filename).relative_to(PACKAGE)) for code in found}
    for file in sorted(set(where.values())):
        of_file = [code for code in found if where[code] == file]
        print(f"    {file:44} {len(of_file):10} {sum(found[code] for code in of_file):7}")
    for code, calls in found.most_common(top):
        print(f"    {calls:7}  {where[code]}: {code.co_qualname}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Files, functions and calls of the package that twelve calls enter.")
    parser.add_argument("--calls", help="only calls whose names have this text, with their files and functions")
    parser.add_argument("--top", type=int, default=20, help="how many of the most called functions to list")
    asked = parser.parse_args()
    print(f"{'call':36} {'files':>6} {'functions':>10} {'calls':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, call in make_calls(Path(folder)).items():
            if asked.calls is not None and asked.calls not in name:
                continue
            call()
            found = count_calls(call)
            files = {code.co_filename for code in found}
            print(f"{name:36} {len(files):6} {len(found):10} {found.total():7}")
            if asked.calls is not None:
                show(found, asked.top)


if __name__ == "__main__":
    main()
