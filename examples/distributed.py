# %% [markdown]
"""Past one machine: several processes, each with its own rows, and the same call as on one.

    statistics(all rows) = merge over devices of statistics(rows of a device),    posterior = update(statistics)

Every process holds some rows of arrays that span all of them. ``fit_posterior`` sums up the rows where they are; what
travels are statistics, K x D numbers from every device, whatever the number of rows. Here the processes share one
machine and talk through gloo. On a cluster the same program starts once a machine: ``jax.distributed.initialize()``
finds the others by itself under SLURM, under Open MPI and on TPUs; elsewhere it takes the address of the first process,
the number of processes and its own. Devices hold equally many rows: fill up with rows of weight 0.

At the end every process fits all rows alone too, and the two posteriors must agree.

Source: Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979), for
the merge; JAX's documentation, Multi-controller JAX.
"""

# %%
from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import bayesnb as nb

NAME = "distributed.py"
LARGEST_GAP = 1e-9
"""Relative difference that the order of the sums may leave in float64."""

# %% [markdown]
# **The rows**, of which each process makes its own. On a cluster it would read them from its own files.


# %%
def rows(num_rows: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Flags and measurements of 3 classes: the files that a cluster would read, each process its own."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, num_rows)
    flags = rng.random((num_rows, 4)) < 0.2 + 0.2 * y[:, None]
    return {"flags": flags, "vitals": rng.normal(y[:, None], [1.0, 2.0, 3.0], (num_rows, 3))}, y


# %% [markdown]
# **What a process does.** `make_array_from_process_local_data` says that an array spans all processes; the call of the
# fit is the same as on one machine.


# %%
def worker(process: int, port: int, processes: int, num_rows: int) -> None:
    """One of the processes: its share of the rows, the fit of all, and the check.

    Raises:
        SystemExit: where the posterior is not that of a single fit.
    """
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", processes, process)

    X, y = rows(num_rows * processes)
    own = slice(process * num_rows, (process + 1) * num_rows)
    by_rows = NamedSharding(Mesh(jax.devices(), ("rows",)), PartitionSpec("rows"))
    X_all, y_all = jax.tree.map(lambda a: jax.make_array_from_process_local_data(by_rows, a[own]), (X, y))

    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "vitals": nb.Normal()})
    post = nb.fit_posterior(model, X_all, y_all)  # the same call as on one machine

    single = nb.fit_posterior(model, X, y)
    gap = max(
        float(np.abs(np.asarray(ours) / np.asarray(theirs) - 1).max())
        for ours, theirs in zip(jax.tree.leaves(post.model), jax.tree.leaves(single.model), strict=True)
    )
    if not gap < LARGEST_GAP:
        raise SystemExit(f"process {process}: the posterior differs from that of a single fit by {gap:.1e} of itself")
    if process == 0:
        print(
            f"known answer: {processes} processes with {num_rows} rows each have the posterior of a single "
            f"fit; the largest relative difference is {gap:.1e}"
        )


# %% [markdown]
# **Two processes on one machine.** A cluster's scheduler does this for you.


# %%
def this_file() -> Path:
    """The file that the processes run; a notebook does not know its own, and looks where Python looks for modules."""
    known = globals().get("__file__")
    return Path(known) if known else next(Path(f, NAME) for f in sys.path if Path(f, NAME).is_file())


def launch(command: Sequence[str], processes: int, seconds: float) -> None:
    """Run the command with --port and --process, so many times at once, and leave no process behind.

    Raises:
        SystemExit: where one fails, or they take too long.
    """
    with socket.socket() as free:
        free.bind(("localhost", 0))
        numbered = [*command, "--port", str(free.getsockname()[1]), "--process"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}  # one accelerator would not serve two processes
    children = [subprocess.Popen([*numbered, str(process)], env=environment) for process in range(processes)]
    try:
        end = time.monotonic() + seconds
        while None in (codes := [child.poll() for child in children]) and not any(codes):
            if time.monotonic() > end:
                raise SystemExit(f"the processes did not end within {seconds:g} seconds: give more with --seconds")
            time.sleep(0.05)
    finally:
        for child in children:
            child.kill()  # JAX would catch a milder signal and wait for the others
            child.wait()
    if any(codes):
        raise SystemExit(f"a process failed and says why above; they ended with {codes}")


# %% [markdown]
# **All of it**: this program starts the processes, which are this program too.

# %%
if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=100_000, help="rows of each process (%(default)s)")
    options.add_argument("--processes", type=int, default=2, help="how many processes (%(default)s)")
    options.add_argument("--seconds", type=int, default=120, help="time for all of it (%(default)s)")
    options.add_argument("--process", type=int, help=argparse.SUPPRESS)
    options.add_argument("--port", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_known_args()[0]  # of a notebook the arguments are not ours
    if chosen.process is None:
        command = [sys.executable, str(this_file()), "--rows", str(chosen.rows), "--processes", str(chosen.processes)]
        launch(command, chosen.processes, chosen.seconds)
    else:
        worker(chosen.process, chosen.port, chosen.processes, chosen.rows)
