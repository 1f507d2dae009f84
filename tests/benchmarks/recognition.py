"""Recognition against the program's own density, each in a new process: ``python -m tests.benchmarks.recognition``."""

import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpyro.infer.util import log_density

import bayesnb as nb
from tests.recognition import oracle
from tests.recognition.case import Case
from tests.recognition.programs import CASES

CALLS = 8
"""Recognition should take at most the time of so many calls of ``log_density``, the first of which compiles."""

WARM = 1.0
"""The seconds that it should take at most when the process has recognised the program before."""

NAMES = (
    "recipes: bernoulli 0, first, plates, index",
    "recipes: bernoulli 4, last, event, last axis",
    "recipes: categorical 0, first, plates, index",
    "recipes: poisson 0, first, plates, index",
    "recipes: multinomial 2, sites, event, one hot",
    "labels: hyperprior",
    "labels: label is an argument",
    "recipes: covariance 2, sites, event, one hot",
    "multivariate: shared covariance",
    "recipes: normal 0, first, plates, index",
    "normal: shared variance",
    "own priors: lognormal scale",
    "several: four likelihoods",
    "several: masked by a handler",
)


def seconds(job: Callable[[], object]) -> float:
    """Processor time of a call: compilation has threads of its own, and other programs run beside."""
    start = time.process_time()
    job()
    return time.process_time() - start


def densities(case: Case, values: dict[str, Any]) -> None:
    """The program's log density, as often as recognition may take."""
    fn, args, kwargs = case.call(case.X, case.y)
    for _ in range(CALLS):
        float(log_density(fn, args, kwargs, values)[0])


def recognise(case: Case) -> None:
    """The program as a model."""
    fn, args, kwargs = case.call(case.X, case.y)
    nb.from_numpyro(fn, args, kwargs, label=case.label)


def in_a_new_process(case: Case, what: str, values: dict[str, Any]) -> list[float]:
    """The seconds that ``child`` prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "values"
        path.write_bytes(pickle.dumps({site: np.asarray(value) for site, value in values.items()}))
        command = [sys.executable, "-m", __spec__.name, case.name, what, str(path)]
        return [*map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())]


def child(name: str, what: str, path: str) -> None:
    """Print the seconds of the densities, or of a first and of a second recognition."""
    case = next(case for case in CASES if case.name == name)
    values = pickle.loads(Path(path).read_bytes())  # written by the parent
    with jax.numpy_rank_promotion("allow"):
        if what == "density":
            print(seconds(lambda: densities(case, values)))
        else:
            print(seconds(lambda: recognise(case)), min(seconds(lambda: recognise(case)) for _ in range(3)))


def main() -> None:
    """Print the table."""
    print(f"| program | {CALLS} densities, s | recognition, s | ratio | again, s (asked {WARM:g}) |")
    print("|---|---:|---:|---:|---:|")
    for case in (case for case in CASES if case.name in NAMES):
        with jax.numpy_rank_promotion("allow"):
            values = oracle.draw(case.call(case.X, case.y), case.label, seed=1)
        (theirs,) = in_a_new_process(case, "density", values)
        cold, warm = in_a_new_process(case, "recognition", values)
        print(f"| {case.name} | {theirs:.2f} | {cold:.2f} | {cold / theirs:.2f} | {warm:.2f} |", flush=True)


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else child(*sys.argv[1:])
