"""JAX waits for threads that a forked process does not have: forever, unless the process is told."""

from __future__ import annotations

import os


class _Process:
    """Whether JAX has run here for us, and whether it had before this process was forked."""

    has_run = False
    is_lost = False

    def after_fork(self) -> None:
        self.is_lost = self.is_lost or self.has_run


_HERE = _Process()

if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_HERE.after_fork)


def require_jax() -> None:
    """Called before JAX runs; raises RuntimeError in a process that was forked after it had."""
    if _HERE.is_lost:
        raise RuntimeError(
            "this process was forked after JAX had run in its parent, and JAX does not survive a fork: start processes "
            "by multiprocessing.get_context('spawn') or ('forkserver'), or by joblib's default, or fork before the "
            "first fit"
        )
    _HERE.has_run = True
