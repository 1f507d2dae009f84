"""Processes in which JAX cannot run: those that were forked after it had run.

JAX would wait forever for threads that a fork does not copy.
"""

from __future__ import annotations

import os
from functools import cache


@cache
def _first_process() -> int:
    """The process that first ran JAX by this package; a forked process has the number of its parent here."""
    return os.getpid()


def require_jax() -> None:
    """Raises RuntimeError in a process that was forked after JAX had run; call it before JAX runs."""
    if _first_process() != os.getpid():
        raise RuntimeError(
            "this process was forked after JAX had run in its parent, and JAX does not survive a fork: start processes "
            "by multiprocessing.get_context('spawn') or ('forkserver'), or by joblib's default, or fork before the "
            "first fit"
        )
