"""Errors before memory is exceeded, as the system would end the process, and for rows that are not in memory yet."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from bayesnb.compute.arrays import _limits as limits

SYSTEM = Path("/proc/meminfo")
GROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory"))
"""Where Linux keeps the memory limit of a container, in version 2 and in version 1 of its control groups."""


def require(num_bytes: float, what: str, advice: str) -> None:
    """Raises ValueError unless this much memory is available: ``what`` needs it, ``advice`` says what to do instead."""
    if num_bytes <= limits.UNCHECKED_BYTES:
        return
    there = available()
    if there is not None and num_bytes > there:
        raise ValueError(
            f"{what} would take at least {in_words(num_bytes)} of memory; {in_words(there)} is available: {advice}"
        )


def available() -> int | None:
    """The bytes that can still be allocated, swap included; None if the system does not report them."""
    found = [bytes_ for bytes_ in (_of_system(), *map(_of_group, GROUPS)) if bytes_ is not None]
    return min(found, default=None)


def in_words(num_bytes: float) -> str:
    """A number of bytes, in the largest unit in which it is at least 1."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.3g} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:,.3g} TiB" if num_bytes < 1000 else f"{num_bytes:,.0f} TiB"


def _of_system() -> int | None:
    """The available memory that Linux reports, with free swap; on other systems all memory."""
    with suppress(OSError, ValueError, KeyError, IndexError):
        lines = (line.split() for line in SYSTEM.read_text().splitlines())
        sizes = {words[0]: int(words[1]) << 10 for words in lines if words[1].isdigit()}
        return sizes["MemAvailable:"] + sizes.get("SwapFree:", 0)
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _of_group(folder: Path) -> int | None:
    """The memory left below the limit of this process's control group; inactive pages of files count as free."""
    names = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
    for limit, used in names:
        with suppress(OSError, ValueError):  # without a limit the file contains "max"
            left = int((folder / limit).read_text()) - int((folder / used).read_text())
            lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return left + sum(int(size) for name, size in lines if name in ("inactive_file", "total_inactive_file"))
    return None


DASK_PARTS = {"DataFrame": "partitions", "Series": "partitions", "Array": "blocks.ravel()"}
"""The attributes of Dask's collections that hold their parts."""

READERS = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
"""The methods of DuckDB's relations, from the newest version to the oldest, that read batches of rows."""


def require_computed(name: str, given: Any) -> None:
    """Raise ValueError, naming the methods to call, for a collection of Dask and for a query of DuckDB."""
    library, kind = type(given).__module__.partition(".")[0].lstrip("_"), type(given).__name__
    if library == "dask":
        raise ValueError(
            f"{name} is a Dask {kind}, whose rows are not computed: give {name}.compute() if they fit in memory, else "
            f"part.compute() for each part in {name}.{DASK_PARTS.get(kind, 'to_delayed()')}, to partial_fit, or to "
            "nb.stream, whose statistics nb.merge adds up"
        )
    if library == "duckdb":
        reader = next((method for method in READERS if hasattr(given, method)), READERS[0])
        raise ValueError(
            f"{name} is a query of DuckDB, a {kind}, whose rows are not read: give {name}.df() if they fit in memory, "
            f"else {name}.{reader}() to nb.stream"
        )
