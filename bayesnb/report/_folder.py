"""The folder of a comparison: metrics after every split, then all files at once, which never overwrite other files.

Files of an earlier comparison are recognised by the digests in its summary. If another file has one of their names, or
one of them has changed, the comparison is refused before it starts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bayesnb.files._whole_file import hidden_folder, put
from bayesnb.files.sources._csv import line
from bayesnb.frames._series import DataError
from bayesnb.report._comparison import Comparison, numbers_of
from bayesnb.report._page import PAGE_DPI, draw_figures, png, render_page
from bayesnb.report._summary import Findings

SUMMARY = "summary.json"
FILES = ("report.html", "results.csv", SUMMARY, "learning_curve.png", "reliability.png", "dependence.png")
"""All files that a comparison may write."""

DIGESTS = "files"
"""The key of the digests in the summary; the summary's own digest covers its other parts."""


def write_files(folder: Path, findings: Findings, summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Write the files of a comparison and return their names; a single column has no dependence.png."""
    figures = draw_figures(findings, summary)
    for name, figure in figures.items():
        (folder / name).write_bytes(png(figure, 150))
    text = render_page(summary, {name: png(figure, PAGE_DPI) for name, figure in figures.items()})
    (folder / "report.html").write_text(text, encoding="utf-8")
    return "report.html", *write_metrics(folder, findings.result, summary), *figures


def write_metrics(folder: Path, result: Comparison, summary: Mapping[str, Any]) -> tuple[str, ...]:
    """Write the metrics, and last the summary, which has the digests of all other files; return the files' names."""
    rows = [
        {"repeat": repeat, "size": size, "method": method, **numbers_of(cell)}
        for size in result.sizes
        for method in result.methods
        for repeat, cell in enumerate(result.cells(size, method))
    ]
    with (folder / "results.csv").open("w", newline="", encoding="utf-8") as handle:
        handle.write(line(rows[0]))
        handle.writelines(line(row.values()) for row in rows)
    (folder / SUMMARY).write_text(summary_text(summary, folder), encoding="utf-8")
    return "results.csv", SUMMARY


@contextmanager
def stage(out: Path, *given: Path) -> Iterator[Path]:
    """Provide a hidden folder to write into, whose files are moved to `out` by `publish`, and if the block succeeds.

    The folder is created first, so that an unwritable place is found before the long computation. If the block fails,
    the folder is removed and `out` stays as it is. Files of an earlier comparison in `out` are replaced or removed.

    Args:
        out: The folder of the comparison.
        given: Files that the comparison reads.

    Raises:
        DataError: if `out` is a file or cannot be written, or contains a file of one of the ``FILES`` names
            that no comparison wrote, or that this one reads.
    """
    place = Path(os.path.realpath(out))
    existing = next(path for path in (place, *place.parents) if os.path.lexists(path))
    if not existing.is_dir():
        raise DataError(f"the results cannot go into '{out}': '{out if existing == place else existing}' is a file")
    for path in (place / name for name in FILES):
        if path.exists() and any(one.exists() and path.samefile(one) for one in given):
            raise DataError(f"'{path}' is an input and would be overwritten: give another folder with --out")
    with ExitStack() as stack:
        with _one_sentence(out):
            _require_own_files(place)
            folder = stack.enter_context(hidden_folder(existing))
        yield folder
        publish(folder, out)


def publish(folder: Path, out: Path) -> None:
    """Move the files of the hidden folder to `out`, if there are any, in place of those of an earlier comparison.

    Raises:
        DataError: as for `stage`, if other files have appeared meanwhile.
    """
    new = sorted(path.name for path in folder.iterdir())
    if not new:
        return
    place = Path(os.path.realpath(out))
    with _one_sentence(out):
        earlier = _require_own_files(place)
        place.mkdir(parents=True, exist_ok=True)
        for name in new:
            put(folder / name, place / name)
        for name in earlier - {*new}:
            (place / name).unlink()


@contextmanager
def _one_sentence(out: Path) -> Iterator[None]:
    """Turn errors from writing into a DataError with a one-sentence message."""
    try:
        yield
    except OSError as error:
        raise DataError(f"the results cannot go into '{out}': {error.strerror or error}") from error


def summary_text(summary: Mapping[str, Any], folder: Path) -> str:
    """The summary as text, with the digests of itself and of the files already in the folder."""
    digests = {path.name: _digest(path.read_bytes()) for path in sorted(folder.iterdir())}
    return _json({**summary, DIGESTS: {**digests, SUMMARY: _digest(_json(summary).encode())}}) + "\n"


def _require_own_files(place: Path) -> set[str]:
    """The files of an earlier comparison; DataError if another file has such a name, or one has changed since."""
    present = {name for name in FILES if os.path.lexists(place / name)}
    digests = _read_digests(place / SUMMARY) if SUMMARY in present else {}
    for name in sorted(present, key=lambda name: name != SUMMARY):  # first the summary, with all digests
        path = place / name
        own = name in digests and _is_plain(path)
        if not own or (name != SUMMARY and _digest(path.read_bytes()) != digests[name]):
            raise DataError(
                f"'{path}' would be overwritten, but no comparison of this version wrote it, or it has changed since: "
                "move it, or give another folder with --out"
            )
    return present


def _read_digests(path: Path) -> dict[str, str]:
    """The digests in a summary; empty unless a comparison wrote it and it is unchanged."""
    try:
        summary = json.loads(path.read_text(encoding="utf-8")) if _is_plain(path) else {}
        digests = dict(summary.pop(DIGESTS))
        return digests if digests[SUMMARY] == _digest(_json(summary).encode()) else {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _json(summary: Mapping[str, Any]) -> str:
    return json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
