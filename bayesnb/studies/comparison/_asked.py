"""What is asked of a study, checked before JAX is loaded: names of sets, metrics, sizes, the folder."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.studies.comparison._metrics import STUDY_METRICS
from bayesnb.tables.files.sources._places import split_target
from bayesnb.tables.frames._values import DataError, closest

CELLS, ABOUT = "cells.jsonl", "study.json"
"""The files by which a folder is known as that of a study: its cells, and what describes it."""


def check_folder(folder: Path) -> None:
    """Raise DataError for what cannot be a study's folder: a file, a place that is not writable, one of other files."""
    try:
        place = folder.absolute()
        there = next(one for one in (place, *place.parents) if one.exists())
        wrong = 0 if os.access(there, os.W_OK | os.X_OK) else errno.EACCES
        if not there.is_dir():
            wrong = errno.EEXIST if there == place else errno.ENOTDIR
    except OSError as error:  # such as a name that is too long
        wrong = error.errno or errno.EIO
    if wrong:
        raise DataError(f"out='{folder}' cannot be written ({os.strerror(wrong)}): give another folder")
    names = {path.name for path in there.iterdir() if not path.name.startswith(".")} if there == place else set()
    if names - {"lock"} and not names & {CELLS, ABOUT}:
        raise DataError(f"out='{folder}' has other files than those of a study: give an empty or a new folder")


def names_of(files: Sequence[str]) -> list[str]:
    """The names of sets that are files, or of scikit-learn; DataError if two are alike."""
    names = [Path(split_target(one)[0]).stem for one in files]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        both = [one for one, name in zip(files, names, strict=True) if name == twice]
        raise DataError(
            f"'{both[0]}' and '{both[1]}' would both be set '{twice}': leave one out, or rename its file (in Python, "
            "give a dict of names)"
        )
    return names


def check_groups(groups: Sequence[str], names: Sequence[str]) -> None:
    """Raise DataError if groups are given for what is no set."""
    odd = next((name for name in groups if name not in names), None)
    if odd is not None:
        raise DataError(f"groups are by set, and there is no set '{odd}'{closest(odd, names)}")


def check_metrics(given: Any) -> tuple[str, ...]:
    """The metrics; DataError unless a study has them."""
    metrics = (given,) if isinstance(given, str) else tuple(given)
    odd = [name for name in metrics if name not in STUDY_METRICS]
    if not metrics:
        raise DataError(f"a study needs at least one metric of {', '.join(STUDY_METRICS)}")
    if odd:
        raise DataError(
            f"there is no metric '{odd[0]}' among {', '.join(STUDY_METRICS)}{closest(str(odd[0]), STUDY_METRICS)}"
        )
    return metrics


def check_sizes(sizes: Any) -> Sequence[int] | None:
    """The sizes; DataError unless they are whole numbers from 2."""
    if sizes is None:
        return None
    found = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
    if not found or not all(isinstance(size, int | np.integer) and not isinstance(size, bool) for size in found):
        raise DataError(f"sizes must be whole numbers of training rows such as [16, 32, 64], got {sizes!r}")
    if min(found) < 2:
        raise DataError(f"a training size of {min(found)} is too small; the smallest is 2")
    return [int(size) for size in found]
