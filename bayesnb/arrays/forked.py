"""Detects processes forked after JAX has run: in them JAX would wait forever for threads that a fork does not copy."""

from __future__ import annotations

import os


class _Process:
    """Whether this package has run JAX in this process, and whether it had done so before the process was forked."""

    has_run = False
    is_lost = False

    def after_fork(self) -> None:
        self.is_lost = self.is_lost or self.has_run


_HERE = _Process()

if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_HERE.after_fork)


def require_jax() -> None:
    """Raises RuntimeError in a process that was forked after JAX had run; call it before JAX runs."""
    if _HERE.is_lost:
        raise RuntimeError(
            "this process was forked after JAX had run in its parent, and JAX does not survive a fork: start processes "
            "by multiprocessing.get_context('spawn') or ('forkserver'), or by joblib's default, or fork before the "
            "first fit"
        )
    _HERE.has_run = True
