"""Warnings that point at the user's line."""

import sys
import warnings
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

    In folds it is shown once a line, as Python's default filter has it, and each time if a filter says so. A process
    or a thread of joblib does not know the user's line: there it points at scikit-learn's, once a process.
    """
    frame: FrameType | None = sys._getframe(1)
    root, in_folds = OURS[0], False
    while frame is not None and root in BETWEEN:
        spec = frame.f_globals.get("__spec__")  # has the name of a module that was started as a program
        name = str(getattr(spec, "name", None) or frame.f_globals.get("__name__"))
        root, in_folds = name.split(".")[0], in_folds or name == FOLDS
        if root in OURS or root not in BETWEEN:
            found, module = frame, name
        frame = frame.f_back
    key, first = (message, found.f_code.co_filename, found.f_lineno), object()
    applies = (f[0] for f in warnings.filters if issubclass(UserWarning, f[2]) and (not f[1] or f[1].match(message)))
    each_time = not in_folds or next(applies, "") in ("always", "all", "error")
    if each_time or _shown.setdefault(key, first) is first:  # one step, as folds may be threads
        registry = found.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(message, UserWarning, *key[1:], module=module, registry=registry)
