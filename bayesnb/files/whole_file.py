"""Files that appear whole or not at all, and leave nothing hidden behind.

A file is written in a hidden folder beside its target, and takes the target's place in one step. The writer holds a
lock on the hidden folder, which ends with the process, however that ends. One of this host that nobody holds is a dead
writer's, and the next writer removes it.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ModuleNotFoundError:  # without locks nobody can tell the dead, and what they leave stays
    fcntl = None  # type: ignore[assignment]

PREFIX = f".bayesnb-{re.sub(r'[^A-Za-z0-9.]', '_', platform.node())[:64]}-"
"""How the hidden folders of this host are called; the rest is random."""

KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}  # fmt: skip


def require_file(path: Path) -> None:
    """Raises OSError where something is at the path, or at the end of its links, that is no regular file."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except FileNotFoundError:
        return
    if kind != stat.S_IFREG:
        code = errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL
        raise OSError(code, f"it is {KINDS.get(kind, 'something else')}, expected a regular file", str(path))


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which is at ``path`` when the block ends well; otherwise what was there stays as it is.

    Of links the target is replaced. The mode of an old file is kept, and its owner where that is allowed.

    Raises:
        OSError: where it cannot be written, or something that is no regular file is there.
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
    """Puts a file in the place of another in one step; it has the mode and, where allowed, the owner of the old one."""
    with suppress(FileNotFoundError):
        old = os.stat(target)
        for owner in ((-1, old.st_gid), (old.st_uid, -1)):
            with suppress(OSError):  # nobody but root gives files to others, or to a group that is not one's own
                os.chown(new, *owner)
        mode = stat.S_IMODE(old.st_mode)
        if os.stat(new).st_gid != old.st_gid:
            mode &= ~stat.S_IRWXG  # these rights were another group's
        with suppress(PermissionError):  # some file systems have no modes
            os.chmod(new, mode)
    os.replace(new, target)


@contextmanager
def hidden_folder(parent: Path) -> Iterator[Path]:
    """A hidden folder to write into, locked for as long as the block runs, and removed at its end.

    Raises:
        OSError: where the parent cannot be written.
    """
    _remove_left_over(parent)
    folder, lock = _locked(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked(parent: Path) -> tuple[Path, int | None]:
    while True:
        folder = parent / f"{PREFIX}{uuid.uuid4().hex}"
        folder.mkdir(mode=0o700)  # nobody else reads a file before it has the rights of the old one
        if fcntl is None:
            return folder, None
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # removed before it was locked
            continue
        except OSError:
            return folder, None
        with suppress(OSError):  # no locks here
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)


def _remove_left_over(parent: Path) -> None:
    """Removes what dead processes of this host have left in the folder."""
    if fcntl is None:
        return
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):  # a living process holds it, or it is gone
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
