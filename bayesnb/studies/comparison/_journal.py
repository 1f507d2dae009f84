"""The journal of a study: cells under the keys of their contents, appended to two files, or kept in memory.

``cells.jsonl`` has one line a cell. ``losses.bin`` has its losses by test row: log loss and Brier in float32, one byte
that is 1 for a wrong prediction, and those of sets of classes in float32. The losses are written before the line that
says where they are, so a process that is killed leaves whole cells. Every line has a digest of itself and one of its
losses; ``study.json`` has one of itself and one of ``splits.npz``. Cells that do not agree with theirs are left out,
with a warning, and have to run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.storage._whole_file import locked, whole_file
from bayesnb.studies.comparison._asked import ABOUT, CELLS
from bayesnb.studies.comparison._designs import Design, Split
from bayesnb.studies.comparison._scored_cells import Cell, Place
from bayesnb.tables.frames._series import Array, DataError

LOSSES, SPLITS, LOCK = "losses.bin", "splits.npz", "lock"
KINDS = "nested", "redrawn"
PLAIN, PLAIN_BYTES = 3, 9
"""Losses of a row without sets of classes, and their bytes."""
NOTHING = Cell()


class Journal:
    """Cells by key; those of a folder that are whole are read when it is opened.

    Attributes:
        broken: Why cells are no longer written to the folder; None if they are, or if there is none.
    """

    def __init__(self, folder: Path | None = None, *, mend: bool = False) -> None:
        """Read the cells; ``mend`` takes those that are not whole out of the folder."""
        self.folder = folder
        self.broken: str | None = None
        self._cells: dict[str, Cell] = {}
        self._losses: dict[str, Array | tuple[Any, ...]] = {}
        data = b"" if folder is None else _content(folder / CELLS)
        lines = data.removesuffix(b"\n").split(b"\n") if data else []
        whole = [line for line in lines if self._read(line)]
        if len(whole) < len(lines):
            warn(
                f"{len(lines) - len(whole)} of the {len(lines)} cells in '{folder}' are cut or damaged, and left out: "
                f"the same experiment with out='{folder}' runs them again"
            )
        if folder is not None and mend and (mended := b"".join(line + b"\n" for line in whole)) != data:
            with whole_file(folder / CELLS) as file:
                file.write(mended)

    def _read(self, line: bytes) -> bool:
        """Add the cell of a line, if it and its losses are whole."""
        record = _unseal(line)
        if record is None or self._packed(record["losses"]) is None:
            return False
        key, at = record.pop("key"), record.pop("losses")
        for name in Place._fields:
            del record[name]
        self._cells[key], self._losses[key] = Cell(**record), tuple(at)
        return True

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
        data, rows = self._packed(found), found[1]
        if data is None:
            raise DataError(f"{LOSSES} in '{self.folder}' has been changed since it was read: load the study again")
        losses, wrong, of_sets = np.split(np.frombuffer(data, np.uint8), [8 * rows, PLAIN_BYTES * rows])
        plain = losses.view("<f4").reshape(2, rows)
        wrong = np.where(np.isnan(plain[0]), np.nan, wrong)
        return np.vstack([plain, wrong, of_sets.copy().view("<f4").reshape(-1, rows)])

    def _packed(self, at: Sequence[Any]) -> bytes | None:
        """The bytes of losses at a place of the file; None unless they are whole."""
        assert self.folder is not None
        start, rows, height, digest = at
        data = _content(self.folder / LOSSES, start, rows * (PLAIN_BYTES + 4 * (height - PLAIN)))
        return data if _digest(data) == digest else None

    def append(self, found: Sequence[tuple[str, Place, Cell, Array]]) -> None:
        """Add cells, all of them or none; where the folder takes no more, they stay in memory."""
        self._cells |= {key: cell for key, _, cell, _ in found}
        self._losses |= {key: losses.astype(np.float32) for key, *_, losses in found}
        if self.folder is None or self.broken:
            return
        places, blobs, lines = dict[str, tuple[Any, ...]](), [], []
        try:
            with (self.folder / LOSSES).open("ab") as file:
                start = file.tell()
                for key, place, cell, losses in found:
                    plain, wrong, of_sets = losses[:2].astype("<f4"), np.nan_to_num(losses[2]), losses[PLAIN:]
                    blobs.append(plain.tobytes() + wrong.astype(np.uint8).tobytes() + of_sets.astype("<f4").tobytes())
                    places[key] = start, losses.shape[1], len(losses), _digest(blobs[-1])
                    start += len(blobs[-1])
                    told = {name: value for name, value in vars(cell).items() if value != getattr(NOTHING, name)}
                    record = {"key": key, **place._asdict(), **told, "losses": places[key]}
                    lines.append(_seal(record, separators=(",", ":")) + b"\n")
                file.write(b"".join(blobs))
            with (self.folder / CELLS).open("ab") as file:
                file.write(b"".join(lines))
        except OSError as error:
            self.broken = f"{error.strerror} ({self.folder})"
            warn(f"cells can no longer be written: {self.broken}; the rest is in memory only: make room, run it again")
            return
        self._losses |= places


@contextmanager
def open_journal(folder: Path, about: Mapping[str, Any], designs: Mapping[str, Design]) -> Iterator[Journal]:
    """The journal of a folder, held by this process alone until the end of the context.

    ``about`` describes the study, and ``designs`` are its splits; they replace what the folder has, unless that is
    another study.

    Raises:
        DataError: if another process holds the folder, it has another study or other files, or cannot be written.
    """
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_hold(folder))
            _require_place(folder, about)
            journal = Journal(folder, mend=True)
            _write_study(folder, about, designs)
        except OSError as error:
            raise DataError(f"out='{folder}' cannot be written ({error.strerror}): give another folder") from error
        yield journal


def read_study(folder: Path) -> tuple[dict[str, Any], dict[str, Design]]:
    """What describes the study of a folder, and the designs of its sets; DataError if one is not there and whole."""
    if not (folder / ABOUT).exists():
        raise DataError(f"'{folder}' is no folder of a study: it has no {ABOUT}; give the out= of nb.experiment")
    about, splits = _read_study(folder)
    if about is None or splits is None:
        raise DataError(
            f"'{folder / (ABOUT if about is None else SPLITS)}' is not whole: the same experiment with out='{folder}' "
            "writes it anew, and keeps the cells that are whole"
        )
    designs = {}
    with np.load(BytesIO(splits)) as found:
        for number, (name, one) in enumerate(about["sets"].items()):
            both = [
                [*map(Split, *(_rows(found, f"{number} {kind} {part}") for part in Split._fields))] for kind in KINDS
            ]
            designs[name] = Design(one["design"], tuple(one["sizes"]), *both)
    return about, designs


def _rows(found: Mapping[str, Array], name: str) -> Sequence[Array]:
    """The rows of each split, of one length or not."""
    return np.split(found[name], found[f"{name} ends"]) if f"{name} ends" in found else list(found[name])


def _read_study(folder: Path) -> tuple[dict[str, Any] | None, bytes | None]:
    """What describes the study of a folder, and the bytes of its splits; None for what is not there and whole."""
    about, splits = _unseal(_content(folder / ABOUT)), _content(folder / SPLITS)
    return about, splits if about is not None and _digest(splits) == about["splits"] else None


def _write_study(folder: Path, about: Mapping[str, Any], designs: Mapping[str, Design]) -> None:
    """Write what describes a study, and the splits of each set as positions in the rows that were given."""
    arrays: dict[str, Any] = {}
    for number, design in enumerate(designs.values()):
        for kind in KINDS:
            splits = getattr(design, kind)
            for part in Split._fields:
                rows, name = [getattr(split, part) for split in splits], f"{number} {kind} {part}"
                arrays[name] = rows
                if len({*map(len, rows)}) > 1:  # test parts of groups: one after another, with the places between them
                    arrays |= {name: np.concatenate(rows), f"{name} ends": np.cumsum([*map(len, rows)])[:-1]}
    np.savez(packed := BytesIO(), **arrays)
    told = _seal({**about, "splits": _digest(packed.getvalue())}, indent=1)
    for name, content in ((ABOUT, told), (SPLITS, packed.getvalue())):
        with whole_file(folder / name) as file:
            file.write(content)


def _require_place(folder: Path, about: Mapping[str, Any]) -> None:
    """Raise DataError unless the folder is empty or of this study; warn of what is not whole, to be written anew."""
    before, splits = _read_study(folder)
    used = any(path.name != LOCK and not path.name.startswith(".") for path in folder.iterdir())
    if before is not None:
        _require_same(folder, before, about)
    elif used and not any(map(_unseal, _content(folder / CELLS).split(b"\n"))):
        raise DataError(f"out='{folder}' has other files than those of a study: give an empty or a new folder")
    if used and (before is None or splits is None):
        warn(f"'{folder / (ABOUT if before is None else SPLITS)}' is not whole, and is written anew; cells are kept")


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Hold a folder by a lock that the kernel takes off a process that ends; a file in it says who does.

    Where the kernel has none, and between hosts, the file is the lock, and one that was left is removed by hand.
    """
    lock, host, alone, kernel = folder / LOCK, socket.gethostname(), True, True
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder.resolve()))
        except BlockingIOError:
            alone = False
        except OSError:
            kernel = False
        said, there = _content(lock), lock.exists()
        held = _unseal(said) or {}
        left = kernel and (not said or held.get("host") == host)  # by a process that has ended
        if not alone or (there and not left):
            who = f"process {held['pid']} on {held['host']} since {held['since']}" if held else "another process"
            raise DataError(
                f"'{folder}' is in use by {who}: wait for its end, give another folder and merge the two with "
                f"nb.merge_experiments, or remove {lock} if that process has ended"
            )
        if there:
            warn(f"a process that held '{folder}' ended before its study; the cells that it wrote are kept")
        with lock.open("wb" if there else "xb") as file:  # "x" fails for the second of two hosts
            stack.callback(lock.unlink, missing_ok=True)
            since = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
            file.write(_seal({"pid": os.getpid(), "host": host, "since": since}))
        yield


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


def _seal(record: Mapping[str, Any], **layout: Any) -> bytes:
    """A record as JSON, sealed by the digest of what it says."""
    return json.dumps({**record, "seal": _digest(json.dumps(record).encode())}, **layout).encode()


def _unseal(data: bytes) -> dict[str, Any] | None:
    """The record; None unless it agrees with its seal."""
    try:
        record = dict(json.loads(data))
        digest = record.pop("seal")
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if digest == _digest(json.dumps(record).encode()) else None


def _digest(data: bytes) -> str:
    return b64encode(hashlib.blake2b(data, digest_size=6).digest()).decode()  # eight letters


def _content(path: Path, start: int = 0, size: int = -1) -> bytes:
    """The bytes of a file from a place on, all or so many; none if there is no file."""
    try:  # to ask first whether it exists would be too early: another process may remove it in between
        with path.open("rb") as file:
            file.seek(start)
            return file.read(size)
    except FileNotFoundError:
        return b""
