"""Find lines and rows in the bytes of a CSV file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from bayesnb.frames.series import Array

LF, CR, QUOTE = b'\n\r"'


def most_frequent_mark(text: bytes, marks: str) -> str:
    """The mark that is most frequent outside quotes in the first non-blank line."""
    first = next(filter(bytes.strip, text.splitlines()), b"")
    bare = re.sub(rb'"[^"]*("|$)', b"", first)
    return max(marks, key=lambda mark: bare.count(mark.encode()))


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of chunks, with their ends: LF, CR or CR LF."""
    rest = b""
    for chunk in chunks:
        # a CR that ends a chunk may be the first half of CR LF
        *lines, rest = (rest + chunk).splitlines(keepends=True) or [b""]
        yield from lines
    yield from rest.splitlines(keepends=True)


def count_lines(raw: bytes) -> int:
    """The number of line ends."""
    cells = np.frombuffer(raw, np.uint8)
    num_returns = np.count_nonzero(cells == CR) - raw.count(b"\r\n") if b"\r" in raw else 0
    return int(np.count_nonzero(cells == LF) + num_returns)


def end_of_rows(block: bytes, delimiter: str, *, last: bool) -> int:
    """The end of the last whole row of a block; 0 if there is none, or a quote is not the first or last of its cell.

    Args:
        block: Bytes from the start of a row on.
        delimiter: The character that separates cells.
        last: Whether the file ends with this block.
    """
    cells = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(cells == QUOTE) if b'"' in block else np.zeros(0, int)
    end = len(block) if last else _line_end_before(block, len(block))
    while end and np.searchsorted(quotes, end) % 2:  # this line end is inside quotes
        end = 0 if last else _line_end_before(block, end - 1)
    quotes = quotes[: np.searchsorted(quotes, end)]
    marks = np.zeros(256, bool)
    marks[[ord(delimiter), LF, CR, QUOTE]] = True
    opening, closing = quotes[::2], quotes[1::2]  # a quote inside quotes is doubled: one closes, the next opens
    before, after = opening[opening > 0] - 1, closing[closing < len(block) - 1] + 1
    return end if marks[cells[before]].all() and marks[cells[after]].all() else 0


def _line_end_before(block: bytes, end: int) -> int:
    """The end of the last line that ends before ``end``; a CR just before ``end`` may be the first half of CR LF."""
    return max(block.rfind(b"\n", 0, end), block.rfind(b"\r", 0, max(end - 1, 0))) + 1


def lines_of_rows(raw: bytes, line: int) -> Array:
    """The line number of each row that is not blank, in whole rows with regular quotes; the first line is ``line``."""
    cells = np.frombuffer(raw, np.uint8)
    follower = np.append(cells[1:], 0)
    ends = np.flatnonzero((cells == LF) | ((cells == CR) & (follower != LF)))
    quotes = np.flatnonzero(cells == QUOTE)
    row_ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    starts = np.append(0, row_ends + 1)
    starts = starts[starts < len(raw)]
    lines = line + np.searchsorted(ends, starts)
    return lines[(cells[starts] != LF) & (cells[starts] != CR)]
