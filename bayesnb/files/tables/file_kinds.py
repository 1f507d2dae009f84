"""Recognise the kind of a file by its ending and its first bytes, and open it, decompressed if necessary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from bayesnb.frames.series import DataError

ENDINGS = re.compile(r"\.(parquet|pq|csv|tsv)(\.gz|\.bz2|\.zst)?$", re.IGNORECASE)
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}

KINDS: Mapping[str, tuple[bytes, str]] = {
    "compressed by gzip": (rb"\x1f\x8b", "unpack it first, gzip -d"),
    "compressed by bzip2": (rb"BZh[1-9]1AY&SY", "unpack it first, bzip2 -d"),
    "compressed by xz": (rb"\xfd7zXZ\x00", "unpack it first, xz -d"),
    "compressed by zstd": (rb"\x28\xb5\x2f\xfd", "unpack it first, zstd -d"),
    "an Excel workbook or another zip archive": (rb"PK\x03\x04", "save its sheet as CSV, or unpack it"),
    "an old Excel workbook": (rb"\xd0\xcf\x11\xe0", "save its sheet as CSV"),
    "a Parquet file": (rb"PAR1\x15", "name it .parquet"),
    "an Arrow file": (rb"ARROW1\x00\x00", "write it as Parquet"),
    "UTF-16 text": (rb"\xff\xfe|\xfe\xff|([^\x00]\x00){4}|(\x00[^\x00]){4}", "save it as UTF-8"),
}
"""For each kind, a pattern of its first bytes and advice for the user."""


def format_of(path: Path) -> str:
    """`parquet`, `csv` or `tsv`, from the ending of the path in any case; empty for other endings."""
    found = ENDINGS.search(path.name)
    return "" if found is None else found[1].lower().replace("pq", "parquet")


@contextmanager
def open_content(path: Path) -> Iterator[tuple[BinaryIO, Any]]:
    """Open a file, and yield its stored bytes, whose position is the progress, and its decompressed content."""
    with path.open("rb") as file:
        codec = CODECS.get(path.suffix.lower())
        yield file, file if codec is None else pa.CompressedInputStream(file, codec)


def require_kind(path: object, head: bytes, wanted: str) -> None:
    """Raise DataError if the first bytes of a file show that it is of a known kind other than ``wanted``."""
    kind = next((kind for kind, (sign, _) in KINDS.items() if re.match(sign, head, re.DOTALL)), f"a {wanted} file")
    if kind != f"a {wanted} file":
        raise DataError(f"'{path}' is {kind}, expected {wanted}: {KINDS[kind][1]}")
