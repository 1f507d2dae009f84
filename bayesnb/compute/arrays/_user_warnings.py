"""Warnings that point at the user's line."""

import sys
import warnings
from types import FrameType
from typing import Any, NamedTuple

OURS = ("bayesnb", "sklearn")
BETWEEN = (*OURS, "joblib", "threading", "concurrent", "multiprocessing", "runpy", "contextlib")
"""Packages whose lines are none of the user's: they call us in folds, threads, processes and context managers."""

FOLDS = ("sklearn.utils.parallel", "sklearn.model_selection")
"""Where scikit-learn sets the filters of warnings for each fold, by which Python forgets what it has shown."""

_shown: dict[tuple[str, str, int], object] = {}
"""The texts that were shown in folds, with their places: for these it has the part of Python's own registry."""


class Line(NamedTuple):
    """A line of the user's: a worker of joblib, which has none on its stack, finds it in the estimator that it fits."""

    filename: str
    lineno: int
    module: str


def find_line_of_folds() -> Line | None:
    """The innermost line on the stack outside of this package, scikit-learn and joblib, if it asked for folds."""
    found, _, root, in_folds, _ = _walk()
    return found if in_folds and root not in BETWEEN else None


def warn(message: str) -> None:
    """Issue a UserWarning at the user's line: the innermost outside, or the ``asked_at`` of an estimator on the stack.

    In folds it is shown once a line, as Python's default filter has it, and each time if a filter says so; in folds of
    several processes once in each of them.
    """
    found, registry, root, in_folds, asked_at = _walk()
    if root in BETWEEN and asked_at is not None:
        found, registry = asked_at, {}
    key, first = (message, found.filename, found.lineno), object()
    applies = (f[0] for f in warnings.filters if issubclass(UserWarning, f[2]) and (not f[1] or f[1].match(message)))
    each_time = not in_folds or next(applies, "") in ("always", "all", "error")
    if each_time or _shown.setdefault(key, first) is first:  # one step, as folds may be threads
        warnings.warn_explicit(message, UserWarning, *key[1:], module=found.module, registry=registry)


def _walk() -> tuple[Line, dict[Any, Any], str, bool, Line | None]:
    """From the caller's caller outwards to the user's line, or ours outermost if there is none.

    Returns the line, the registry of its module, the package that the walk ended in, whether it came through folds, and
    what an estimator on the way carries.
    """
    frame: FrameType | None = sys._getframe(2)
    root, in_folds, asked_at = OURS[0], False, None
    while frame is not None and root in BETWEEN:
        spec = frame.f_globals.get("__spec__")  # has the name of a module that was started as a program
        name = str(getattr(spec, "name", None) or frame.f_globals.get("__name__"))
        root, in_folds = name.split(".")[0], in_folds or name.startswith(FOLDS)
        if root == OURS[0]:
            asked_at = asked_at or getattr(frame.f_locals.get("self"), "asked_at", None)
        if root in OURS or root not in BETWEEN:
            found = Line(frame.f_code.co_filename, frame.f_lineno, name)
            registry = frame.f_globals.setdefault("__warningregistry__", {})
        frame = frame.f_back
    return found, registry, root, in_folds, asked_at
