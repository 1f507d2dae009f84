"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType

OURS = ("bayesnb", "sklearn")
BETWEEN = (*OURS, "joblib", "threading", "concurrent", "multiprocessing", "runpy")
"""Packages whose lines are none of the user's: they call us in folds, in threads and in processes."""

FOLDS = "sklearn.utils.parallel"
"""Where scikit-learn sets the filters of warnings for each fold, by which Python forgets what it has shown."""

_shown: dict[tuple[str, str, int], object] = {}
"""The texts that were shown in folds, with their places: for these it has the part of Python's own registry."""


def warn(message: str) -> None:
    """Issue a UserWarning at the innermost line outside of this package, scikit-learn and joblib.

    In folds it is shown once a line, as Python's default filter has it, and always if the user's filters say so. A
    process or a thread of joblib does not know the user's line: there it points at scikit-learn's, once a process.
    """
    frames = [*_outward(sys._getframe(1))]
    names = [_name_of(frame) for frame in frames]
    roots = [name.split(".")[0] for name in names]
    own = max(place for place, root in enumerate(roots) if root in OURS)
    place = next((place for place, root in enumerate(roots) if root not in BETWEEN), own)
    frame, name = frames[place], names[place]
    key, first = (message, frame.f_code.co_filename, frame.f_lineno), object()
    once = FOLDS in names and _action(message, name, frame.f_lineno) in ("default", "module", "once")
    if not once or _shown.setdefault(key, first) is first:  # one step, as folds may be threads
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(message, UserWarning, *key[1:], module=name, registry=registry)


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _name_of(frame: FrameType) -> str:
    """The name of the module that the frame's code is from, also if it was started as a program."""
    spec = frame.f_globals.get("__spec__")
    return str(getattr(spec, "name", None) or frame.f_globals.get("__name__", ""))


def _action(message: str, module: str, line: int) -> str:
    """What the first of Python's filters that applies to a warning does with it."""
    for action, text, category, name, number in warnings.filters:
        if not issubclass(UserWarning, category) or number not in (0, line):
            continue
        if (text is None or text.match(message)) and (name is None or name.match(module)):
            return action
    return "default"
