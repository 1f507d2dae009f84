"""Write files atomically, and clean up after writers that died.

A file is written in a hidden folder next to its target and then renamed onto the target. The writer locks the hidden
folder, and the lock ends with its process. So an unlocked hidden folder of this host was left by a dead writer, and the
next writer removes it.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ModuleNotFoundError:  # without locks, dead writers cannot be recognised and their folders stay
    fcntl = None  # type: ignore[assignment]

PREFIX = f".bayesnb-{re.sub(r'[^A-Za-z0-9.]', '_', platform.node())[:64]}-"
"""Prefix of the names of this host's hidden folders; the rest of the name is random."""

FILE_TYPES = {
    stat.S_IFDIR: "a folder", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}  # fmt: skip


def require_file(path: Path) -> None:
    """Raise OSError if the path exists and, after following links, is not a regular file."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except FileNotFoundError:
        return
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
    with hidden_folder(target.parent) as folder:
        with (folder / "new").open("xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        put(folder / "new", target)


def put(new: Path, target: Path) -> None:
    """Atomically replace a file, keeping the old file's mode and, if permissions allow, its owner."""
    with suppress(FileNotFoundError):
        old = os.stat(target)
        for owner in ((-1, old.st_gid), (old.st_uid, -1)):
            with suppress(OSError):  # only root may give files to other users or to foreign groups
                os.chown(new, *owner)
        mode = stat.S_IMODE(old.st_mode)
        if os.stat(new).st_gid != old.st_gid:
            mode &= ~stat.S_IRWXG  # these permissions were meant for another group
        with suppress(PermissionError):  # some file systems have no modes
            os.chmod(new, mode)
    os.replace(new, target)


@contextmanager
def hidden_folder(parent: Path) -> Iterator[Path]:
    """Create a hidden folder to write into, locked while the block runs and removed afterwards.

    Raises:
        OSError: if the parent folder is not writable.
    """
    for left in parent.glob(f"{PREFIX}*"):
        with suppress(OSError), lock_folder(left):  # OSError if a living process holds it
            shutil.rmtree(left, ignore_errors=True)
    with ExitStack() as stack:
        # nobody else can read the file until it has the old one's permissions
        unknown = Path(tempfile.mkdtemp(prefix=".", dir=parent))
        with suppress(OSError):  # this file system has no locks
            stack.enter_context(lock_folder(unknown))
        folder = unknown.rename(parent / f"{PREFIX}{unknown.name}")  # other writers know it only when it is locked
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder while the block runs; BlockingIOError if another process has, OSError where there are no locks."""
    if fcntl is None:
        raise OSError(errno.ENOTSUP, "this system has no locks", str(folder))
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        with suppress(OSError):  # closing it is not enough if a process that was forked has it open, too
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
