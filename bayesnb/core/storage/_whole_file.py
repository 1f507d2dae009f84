"""Write files as a whole, beside their targets under a hidden name, and clean up after writers that died.

The writer locks the hidden file, and the lock ends with its process. So an unlocked one of this host was left by a dead
writer, and the next writer removes it.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import stat
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ModuleNotFoundError:  # without locks, dead writers cannot be recognised and their files stay
    fcntl = None  # type: ignore[assignment]

PREFIX = f".bayesnb-{re.sub(r'[^A-Za-z0-9.]', '_', platform.node())[:64]}-"
"""Prefix of the names of this host's hidden files; the rest of the name is random."""

FILE_TYPES = {
    stat.S_IFDIR: "a folder", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}  # fmt: skip


def require_file(path: Path) -> None:
    """Raise OSError if the path exists and, after following links, is not a regular file."""
    with suppress(FileNotFoundError):
        kind = stat.S_IFMT(os.stat(path).st_mode)
        if kind != stat.S_IFREG:
            code = errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL
            raise OSError(code, f"it is {FILE_TYPES.get(kind, 'something else')}, expected a regular file", str(path))


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` if the block succeeds; otherwise ``path`` stays unchanged.

    If ``path`` is a link, its target is replaced. The old file's mode is kept, and its owner if permissions allow.

    Raises:
        OSError: if the file cannot be written, or ``path`` exists and is not a regular file.
    """
    require_file(path)
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f"{PREFIX}*"):
        with suppress(OSError), locked(left):  # OSError if a living process holds it
            left.unlink()
    old = os.stat(target) if target.exists() else None
    name = uuid.uuid4().hex
    first, new = target.with_name(f".{name}"), target.with_name(f"{PREFIX}{name}")
    with ExitStack() as stack:
        # nobody else can read the file until it has the old one's permissions
        handle = os.open(first, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600)
        file = stack.enter_context(open(handle, "wb"))
        with suppress(OSError):  # this file system has no locks
            stack.enter_context(locked(first))
        first.rename(new)  # other writers know it only when it is locked
        stack.callback(new.unlink, missing_ok=True)
        yield file
        file.flush()
        os.fsync(handle)
        if old is not None:
            _take_rights(new, old)
        os.replace(new, target)


def _take_rights(new: Path, old: os.stat_result) -> None:
    """Give a file the mode of an old one and, if permissions allow, its owner."""
    for owner in ((-1, old.st_gid), (old.st_uid, -1)):
        with suppress(OSError):  # only root may give files to other users or to foreign groups
            os.chown(new, *owner)
    mode = stat.S_IMODE(old.st_mode)
    if os.stat(new).st_gid != old.st_gid:
        mode &= ~stat.S_IRWXG  # these permissions were meant for another group
    with suppress(PermissionError):  # some file systems have no modes
        os.chmod(new, mode)


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Lock a file or a folder for a block; BlockingIOError if another process has, OSError where there are no locks."""
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "this system has no locks", str(place))
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        with suppress(OSError):  # closing it is not enough if a process that was forked has it open, too
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
