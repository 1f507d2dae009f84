"""The folder of a comparison: its files appear all at once, and never overwrite files of other origin.

Files of an earlier comparison are recognised by the digests in its summary. If a file of the same name is of other
origin, or has changed since, it is kept, and the comparison is refused before it starts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bayesnb.files.whole_file import hidden_folder, put
from bayesnb.frames.series import DataError

SUMMARY = "summary.json"
FILES = ("report.html", "results.csv", SUMMARY, "learning_curve.png", "reliability.png", "dependence.png")
"""All files that a comparison may write."""

WRITTEN = "files"
"""The key of the digests in the summary; the summary's own digest is that of its other parts."""


@contextmanager
def staged(out: Path, *given: Path) -> Iterator[Path]:
    """Provide a hidden folder to write into, whose files are moved to `out` if the block succeeds.

    The folder is created first, so that an unwritable place is found before the long computation. If the block fails,
    the folder is removed and `out` stays unchanged. Files of an earlier comparison in `out` are replaced or removed.

    Args:
        out: The folder of the comparison.
        given: Files that the comparison reads.

    Raises:
        DataError: if `out` is a file or cannot be written, or contains a file of one of these names that no
            comparison wrote, or that this one reads.
    """
    place = Path(os.path.realpath(out))
    existing = next(path for path in (place, *place.parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise DataError(f"the results cannot go into '{out}': '{out if existing == place else existing}' is a file")
    _refuse_given(place, given)
    with _told(out):
        _earlier(place)
    with ExitStack() as stack:
        with _told(out):
            folder = stack.enter_context(hidden_folder(existing))
        yield folder
        with _told(out):
            earlier = _earlier(place)  # check again: other files may have appeared meanwhile
            place.mkdir(parents=True, exist_ok=True)
            new = sorted(path.name for path in folder.iterdir())
            for name in new:
                put(folder / name, place / name)
            for name in earlier - {*new}:
                (place / name).unlink()


def _refuse_given(place: Path, given: Iterable[Path]) -> None:
    for path in (place / name for name in FILES):
        if path.exists() and any(one.exists() and path.samefile(one) for one in given):
            raise DataError(f"'{path}' is read here, and would be written over: give another folder with --out")


@contextmanager
def _told(out: Path) -> Iterator[None]:
    """Turn errors from writing into a DataError with a one-sentence message."""
    try:
        yield
    except OSError as error:
        raise DataError(f"the results cannot go into '{out}': {error.strerror or error}") from error


def summary_text(summary: Mapping[str, Any], folder: Path) -> str:
    """The summary as text, with the digests of itself and of the files already in the folder."""
    digests = {path.name: _digest(path.read_bytes()) for path in sorted(folder.iterdir())}
    return _text({**summary, WRITTEN: {**digests, SUMMARY: _digest(_text(summary).encode())}}) + "\n"


def _earlier(place: Path) -> set[str]:
    """The files of an earlier comparison.

    Raises:
        DataError: if a file of one of these names was not written by a comparison, or has changed since.
    """
    present = {name for name in FILES if os.path.lexists(place / name)}
    written = _written(place / SUMMARY) if SUMMARY in present else {}
    for name in sorted(present, key=lambda name: name != SUMMARY):  # first the summary, with all digests
        path = place / name
        ours = name in written and _is_plain(path)
        if not ours or (name != SUMMARY and _digest(path.read_bytes()) != written[name]):
            raise DataError(
                f"'{path}' is in the way: no comparison of this version wrote it, or it has changed since, and it "
                "would be written over; give another folder with --out, or move it"
            )
    return present


def _written(path: Path) -> dict[str, str]:
    """The digests in a summary; empty unless a comparison wrote it and it is unchanged."""
    try:
        summary = json.loads(path.read_text(encoding="utf-8")) if _is_plain(path) else {}
        written = dict(summary.pop(WRITTEN))
        return written if written[SUMMARY] == _digest(_text(summary).encode()) else {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _is_plain(path: Path) -> bool:
    """Whether the path is a regular file, not a link."""
    return path.is_file() and not path.is_symlink()


def _text(summary: Mapping[str, Any]) -> str:
    return json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
