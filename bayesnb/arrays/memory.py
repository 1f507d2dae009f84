"""What would take more memory than the machine has is refused beforehand, in a sentence: systems end the process."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

SMALL = 64 << 20
"""Bytes that every machine has."""

SYSTEM = Path("/proc/meminfo")
GROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory"))
"""Where Linux says what a container may take, in the second version of its control groups and in the first."""


def require(num_bytes: float, what: str, advice: str) -> None:
    """Raises ValueError where so many bytes are not there; costs nothing where they are few.

    Args:
        num_bytes: At least as many are needed.
        what: What needs them, the beginning of the sentence.
        advice: What to do, the end of the sentence.
    """
    if num_bytes <= SMALL:
        return
    there = available()
    if there is not None and num_bytes > there:
        raise ValueError(
            f"{what} would take at least {in_words(num_bytes)} of memory, and {in_words(there)} are there: {advice}"
        )


def available() -> int | None:
    """Bytes that can still be had, swap included; None where the system does not tell."""
    found = [bytes_ for bytes_ in (_of_system(), *map(_of_group, GROUPS)) if bytes_ is not None]
    return min(found, default=None)


def in_words(num_bytes: float) -> str:
    """Bytes in the largest unit of which there is one."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if num_bytes < 1024:
            return f"{num_bytes:.3g} {unit}"
        num_bytes /= 1024
    return f"{num_bytes:,.3g} TiB" if num_bytes < 1000 else f"{num_bytes:,.0f} TiB"


def _of_system() -> int | None:
    """What Linux calls available; elsewhere all that there is."""
    with suppress(OSError, ValueError, KeyError, IndexError):
        lines = (line.split() for line in SYSTEM.read_text().splitlines())
        sizes = {words[0]: int(words[1]) << 10 for words in lines if words[1].isdigit()}
        return sizes["MemAvailable:"] + sizes.get("SwapFree:", 0)
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _of_group(folder: Path) -> int | None:
    """What is left of a limit on this process's group; pages of files that are not in use make room."""
    names = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
    for limit, used in names:
        with suppress(OSError, ValueError):  # a group without a limit says "max"
            left = int((folder / limit).read_text()) - int((folder / used).read_text())
            lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return left + sum(int(size) for name, size in lines if name in ("inactive_file", "total_inactive_file"))
    return None
