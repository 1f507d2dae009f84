"""Other processes: forked before JAX runs they can fit, forked afterwards they raise an error, spawned they can fit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

ROWS = """
import numpy as np
import bayesnb as nb

X, Y = np.arange(16.0).reshape(8, 2) ** 1.3, np.arange(8) % 2
MODEL = nb.NaiveBayes(nb.Normal())


def probability(_=None):
    return float(nb.fit_posterior(MODEL, X, Y).predict_proba(X)[0, 0])
"""

FORKED = """
import os
import signal
import warnings
import jax
from rows import MODEL, X, Y, nb, probability

warnings.simplefilter("ignore", RuntimeWarning)  # JAX's own, about the fork


def forked(what):
    print(end="", flush=True)
    child = os.fork()
    if not child:
        signal.alarm(60)  # ends a child that hangs
        try:
            print(what())
        except RuntimeError as error:
            print(error)
        print(end="", flush=True)
        os._exit(0)
    print("ended by", os.waitpid(child, 0)[1])


forked(lambda: f"fitted: {probability():.6f}")
fit, key, rows = nb.fit_posterior(MODEL, X, Y), jax.random.key(0), jax.numpy.asarray(X)
forked(probability)
forked(lambda: fit.predict_proba(X))
forked(lambda: fit.predict_proba(rows))
forked(lambda: fit.sample(key, 2))
forked(lambda: forked(probability))
forked(lambda: f"counted: {nb.sufficient_statistics(MODEL, X, Y).class_counts.tolist()}")
print(f"here: {probability():.6f}")
"""

STARTED = """
import multiprocessing
import sys
from rows import probability

if __name__ == "__main__":
    here = probability()
    if sys.argv[1] == "joblib":
        from joblib import Parallel, delayed
        found = Parallel(n_jobs=2)(delayed(probability)() for _ in range(2))
    else:
        with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
            found = pool.map(probability, [0])
    assert all(one == here for one in found), (found, here)
    print("the same")
"""

SENTENCE = (
    "this process was forked after JAX had run in its parent, and JAX does not survive a fork: start processes by "
    "multiprocessing.get_context('spawn') or ('forkserver'), or by joblib's default, or fork before the first fit"
)


def run(folder, script, *args):
    (folder / "rows.py").write_text(ROWS)
    (folder / "script.py").write_text(script)
    here = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, (here, str(folder), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, str(folder / "script.py"), *args]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_forked_process_fits_or_says_why_it_cannot(tmp_path):
    first, *others = run(tmp_path, FORKED)
    *others, here = others
    assert first.startswith("fitted: ")
    assert here == first.replace("fitted", "here")
    ended = [line for line in others if line.startswith("ended by")]
    assert set(ended) == {"ended by 0"}
    said = [line for line in others if not line.startswith("ended by")]
    assert said == [SENTENCE] * 5 + ["None", "counted: [4.0, 4.0]"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "start",
    ["forkserver", pytest.param("spawn", marks=pytest.mark.slow), pytest.param("joblib", marks=pytest.mark.slow)],
)
def test_processes_that_are_started_anew_fit(start, tmp_path):
    assert run(tmp_path, STARTED, start) == ["the same"]
