"""The journal of a study: cells under the keys of their contents, appended to two files, or kept in memory.

``cells.jsonl`` has one line a cell. ``losses.bin`` has its losses by test row: log loss and Brier in float32, one byte
that is 1 for a wrong prediction, and those of sets of classes in float32. The losses are written before the line that
says where they are, so a process that is killed leaves whole cells, and at most a line that is cut, which the next one
drops.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.arrays._user_warnings import warn
from bayesnb.comparison._designs import Design, Split
from bayesnb.comparison._scored_cells import Cell, Place
from bayesnb.frames._series import Array, DataError

CELLS, LOSSES, ABOUT, SPLITS, LOCK = "cells.jsonl", "losses.bin", "study.json", "splits.npz", "lock"
KINDS = "nested", "redrawn"
PLAIN, PLAIN_BYTES = 3, 9
"""Losses of a row without sets of classes, and their bytes."""
NOTHING = Cell()


class Journal:
    """Cells by key; those of a folder are read when it is opened.

    Attributes:
        broken: Why cells are no longer written to the folder; None if they are, or if there is none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.broken: str | None = None
        self._cells: dict[str, Cell] = {}
        self._losses: dict[str, Array | tuple[int, ...]] = {}
        if folder is not None and (folder / CELLS).exists():
            self._read(folder)

    def _read(self, folder: Path) -> None:
        data = (folder / CELLS).read_bytes()
        for line in data[: data.rfind(b"\n") + 1].splitlines():
            record = json.loads(line)
            key, at = record.pop("key"), record.pop("losses")
            for name in Place._fields:
                del record[name]
            self._cells[key] = Cell(**record)
            self._losses[key] = tuple(at) if len(at) > 2 else (*at, PLAIN)

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def get(self, key: str, otherwise: Cell) -> Cell:
        """The cell, or another if it is not there."""
        return self._cells.get(key, otherwise)

    def losses(self, key: str) -> Array:
        """The losses by test row, [3, T], or [6, T] with sets of classes."""
        found = self._losses[key]
        if not isinstance(found, tuple):
            return found
        assert self.folder is not None
        start, rows, height = found
        data = np.fromfile(self.folder / LOSSES, np.uint8, _bytes(rows, height), offset=start)
        losses, wrong, of_sets = np.split(data, [8 * rows, PLAIN_BYTES * rows])
        plain = losses.view("<f4").reshape(2, rows)
        wrong = np.where(np.isnan(plain[0]), np.nan, wrong)
        return np.vstack([plain, wrong, of_sets.copy().view("<f4").reshape(-1, rows)])

    def append(self, found: Sequence[tuple[str, Place, Cell, Array]]) -> None:
        """Add cells, all of them or none; where the folder takes no more, they stay in memory."""
        self._cells |= {key: cell for key, _, cell, _ in found}
        self._losses |= {key: losses.astype(np.float32) for key, *_, losses in found}
        if self.folder is None or self.broken:
            return
        start, lines, blobs = _size(self.folder / LOSSES), [], []
        ends = np.cumsum([start, *(_bytes(losses.shape[1], len(losses)) for *_, losses in found)]).tolist()
        places = {key: (at, losses.shape[1], len(losses)) for at, (key, *_, losses) in zip(ends, found, strict=False)}
        for key, place, cell, losses in found:
            told = {name: value for name, value in vars(cell).items() if value != getattr(NOTHING, name)}
            record = {"key": key, **place._asdict(), **told, "losses": places[key]}
            lines.append(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            plain, wrong, of_sets = losses[:2].astype("<f4"), np.nan_to_num(losses[2]), losses[PLAIN:].astype("<f4")
            blobs.append(plain.tobytes() + wrong.astype(np.uint8).tobytes() + of_sets.tobytes())
        try:
            for name, content in ((LOSSES, blobs), (CELLS, lines)):
                with (self.folder / name).open("ab") as file:
                    file.write(b"".join(content))
        except OSError as error:
            self.broken = f"{error.strerror} ({self.folder})"
            warn(f"cells can no longer be written: {self.broken}; the rest of the study is in memory only")
            return
        self._losses |= places


def _bytes(rows: int, height: int) -> int:
    return rows * (PLAIN_BYTES + 4 * (height - PLAIN))


@contextmanager
def open_journal(folder: Path, about: Mapping[str, Any]) -> Iterator[Journal]:
    """The journal of a folder, held by this process alone until the end of the context.

    ``about`` describes the study; it replaces what the folder says, unless that is another study.

    Raises:
        DataError: if another process holds the folder, or it has another study.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _hold(folder / LOCK)
    except OSError as error:
        raise DataError(f"out='{folder}' cannot be written ({error.strerror}): give another folder") from error
    try:
        if (folder / ABOUT).exists():
            _require_same(folder, json.loads((folder / ABOUT).read_text("utf-8")), about)
        elif any(path.name != LOCK for path in folder.iterdir()):
            raise DataError(f"out='{folder}' has other files than those of a study: give an empty or a new folder")
        if (folder / CELLS).exists():
            with (folder / CELLS).open("rb+") as file:
                file.truncate(file.read().rfind(b"\n") + 1)  # a line that was cut when a process was killed
        write_about(folder, about)
        yield Journal(folder)
    finally:
        (folder / LOCK).unlink(missing_ok=True)


def write_about(folder: Path, about: Mapping[str, Any]) -> None:
    """Write what describes a study, whole or not at all."""
    scratch = folder / f"{ABOUT}.tmp"
    scratch.write_text(json.dumps(about, indent=1), "utf-8")
    scratch.replace(folder / ABOUT)


def write_splits(folder: Path, designs: Mapping[str, Design]) -> None:
    """Write the splits of each set, as positions in the rows that were given."""
    arrays: dict[str, Any] = {}
    for number, design in enumerate(designs.values()):
        for kind in KINDS:
            splits = getattr(design, kind)
            arrays |= {f"{number} {kind} {part}": [getattr(split, part) for split in splits] for part in Split._fields}
    scratch = folder / f"scratch-{SPLITS}"
    np.savez(scratch, **arrays)
    scratch.replace(folder / SPLITS)


def read_splits(folder: Path, about: Mapping[str, Any]) -> dict[str, Design]:
    """The designs of the sets of a folder."""
    designs = {}
    with np.load(folder / SPLITS) as found:
        for number, (name, one) in enumerate(about["sets"].items()):
            both = [[*map(Split, *(found[f"{number} {kind} {part}"] for part in Split._fields))] for kind in KINDS]
            designs[name] = Design(one["design"], tuple(one["sizes"]), *both)
    return designs


def read_about(folder: Path) -> dict[str, Any]:
    """What describes the study of a folder; DataError if there is none."""
    if not (folder / ABOUT).exists():
        raise DataError(f"'{folder}' is no folder of a study: it has no {ABOUT}")
    return dict(json.loads((folder / ABOUT).read_text("utf-8")))


def _hold(lock: Path) -> None:
    """Make the lock; one whose process has ended is taken over."""
    host = socket.gethostname()
    for _ in range(2):
        try:
            with lock.open("x") as file:
                json.dump(
                    {"pid": os.getpid(), "host": host, "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"}, file
                )
            return
        except FileExistsError:
            held = _read_lock(lock)
            if held and held["host"] == host and not _runs(held["pid"]):
                lock.unlink(missing_ok=True)
                continue
            who = "another process" if not held else f"process {held['pid']} on {held['host']} since {held['since']}"
            raise DataError(
                f"'{lock.parent}' is in use by {who}: wait for its end, give another folder and merge the two with "
                f"nb.merge_experiments, or remove {lock} if that process has ended"
            ) from None


def _read_lock(lock: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(lock.read_text("utf-8")))
    except (OSError, ValueError):  # its process has not written it yet, or could not
        return {}


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _require_same(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise DataError if the folder is of another study: of another seed or design, or of none of these sets."""
    designs = [{name: one["design"] for name, one in about["sets"].items()} for about in (before, now)]
    differs = [f"seed={before['seed']}, now {now['seed']}"] if before["seed"] != now["seed"] else []
    differs += [
        f"design='{design}' of set '{name}', now '{designs[1][name]}'"
        for name, design in designs[0].items()
        if designs[1].get(name, design) != design
    ]
    if not {*before["sets"]} & {*now["sets"]}:
        differs.append(f"its sets are {', '.join(before['sets'])}, now {', '.join(now['sets'])}")
    if differs:
        raise DataError(f"'{folder}' has another study ({'; '.join(differs)}): give another folder, out=...")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
