"""The price of studies: closed forms on ten sets, one more of them, nothing left to run, and twelve tables in one call.

BAYESNB_DATA=DATA python -m tests.benchmarks.experiments
"""

import tempfile
import time
import warnings
from statistics import median
from typing import Any

import numpy as np

import bayesnb as nb
from bayesnb.tables.files.sources._places import BUILT_IN
from tests.benchmarks.full_bayes_or_map import tables

SIZES = [16, 23, 32, 45, 52, 64, 75, 90]
SIX = ["MLE", "MAP", "full Bayes", *nb.methods("full Bayes", smoothing=[0.1, 0.5, 2.0])]
ROUNDS = 3


def ten_sets() -> dict[str, Any]:
    """Those of scikit-learn, and six of 2,000 rows, 20 columns and 4 classes."""
    found: dict[str, Any] = {name: name for name in BUILT_IN}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y, means = rng.integers(0, 4, 2000), rng.normal(0, 0.7, (4, 20))
        found[f"simulated {seed}"] = means[y] + rng.normal(size=(2000, 20)), y
    return found


def seconds(sets: Any, methods: Any, sizes: Any = SIZES, splits: int = 30, out: str | None = None) -> float:
    """The processor time of a study."""
    started = time.process_time()
    nb.experiment(sets, methods, sizes=sizes, splits=splits, out=out)
    return time.process_time() - started


def main() -> None:
    """Print the prices."""
    warnings.simplefilter("ignore")
    sets, more = ten_sets(), {"posterior": nb.methods("full Bayes", smoothing=[5.0])}
    more["MAP"] = nb.methods("MAP", smoothing=[0.3])
    print(f"six closed forms, compiling: {seconds(sets, SIX):.1f} s")
    jobs = {"six": SIX, **{f"and another {name}": [*SIX, *one] for name, one in more.items()}}
    for methods in jobs.values():
        seconds(sets, methods, splits=2)
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, methods in jobs.items():
            found[name].append(seconds(sets, methods))
    for name, times in found.items():
        print(f"{name}: {median(times):.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        seconds(sets, SIX, out=folder)
        print(f"nothing left to run: {median(seconds(sets, SIX, out=folder) for _ in range(ROUNDS)):.1f} s")
    twelve = dict([*tables().items()][:12])
    six = ["MLE", "MAP", "full Bayes", "learned prior", "averaged", "tempered"]
    print(f"twelve tables, 5,760 fits: {seconds(twelve, six, [16, 32, 64, 90], 20):.1f} s")


if __name__ == "__main__":
    main()
