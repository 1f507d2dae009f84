"""The folder of a comparison: its files appear all together, and never in the place of anybody else's.

What a comparison wrote it knows again by its summary, which has the digest of every file. Whatever else is in the way,
or has changed since, stays, and is refused before the work.
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
"""All that a comparison may write."""

WRITTEN = "files"
"""The part of the summary with the digests, its own being that of its other parts."""


@contextmanager
def staged(out: Path, *given: Path) -> Iterator[Path]:
    """Give a hidden folder to write into, whose files appear in `out` all together when the block ends well.

    The folder is made at once, so that a place that cannot be written is found before the long work; where the block
    fails, it vanishes and `out` is as it was. Of an earlier comparison in `out` no file remains.

    Args:
        out: The folder of the comparison.
        given: Files that the comparison reads.

    Raises:
        DataError: `out` is a file, nothing can be written there, or it holds a file of one of these names that no
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
            earlier = _earlier(place)  # somebody may have come meanwhile
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
    """What is raised where nothing can be written, in a sentence."""
    try:
        yield
    except OSError as error:
        raise DataError(f"the results cannot go into '{out}': {error.strerror or error}") from error


def summary_text(summary: Mapping[str, Any], folder: Path) -> str:
    """The summary as it is written, with the digests of itself and of the files that are in the folder already."""
    digests = {path.name: _digest(path.read_bytes()) for path in sorted(folder.iterdir())}
    return _text({**summary, WRITTEN: {**digests, SUMMARY: _digest(_text(summary).encode())}}) + "\n"


def _earlier(place: Path) -> set[str]:
    """The files of an earlier comparison.

    Raises:
        DataError: for a file in the way that no comparison wrote, or that has changed since.
    """
    present = {name for name in FILES if os.path.lexists(place / name)}
    written = _written(place / SUMMARY) if SUMMARY in present else {}
    for name in sorted(present, key=lambda name: name != SUMMARY):  # without it nothing else is known
        path = place / name
        ours = name in written and _is_plain(path)
        if not ours or (name != SUMMARY and _digest(path.read_bytes()) != written[name]):
            raise DataError(
                f"'{path}' is in the way: no comparison of this version wrote it, or it has changed since, and it "
                "would be written over; give another folder with --out, or move it"
            )
    return present


def _written(path: Path) -> dict[str, str]:
    """The digests in a summary; none where it is no comparison's, or has changed."""
    try:
        summary = json.loads(path.read_text(encoding="utf-8")) if _is_plain(path) else {}
        written = dict(summary.pop(WRITTEN))
        return written if written[SUMMARY] == _digest(_text(summary).encode()) else {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _is_plain(path: Path) -> bool:
    """True for a regular file, and no link to one."""
    return path.is_file() and not path.is_symlink()


def _text(summary: Mapping[str, Any]) -> str:
    return json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
