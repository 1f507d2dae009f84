"""The idx format of the MNIST files, plain or compressed by gzip.

Two zero bytes, one for the type of the cells, one for the number of dimensions; each dimension as a big-endian
unsigned 32-bit integer; then the cells, the last dimension fastest. MNIST has unsigned bytes (type 8) only.
LeCun, Cortes and Burges, The MNIST database of handwritten digits (1998).
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

UNSIGNED_BYTES = 8
FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def read(path: Path, num_dimensions: int) -> Array:
    """The array of unsigned bytes in an idx file.

    Raises:
        ValueError: where there is no such file, it is not idx, is cut short, or has another number of dimensions.
    """
    content = _content(path)
    if len(content) < 4 or content[:2] != b"\0\0":
        raise ValueError(f"{path} is not an idx file: it must begin with two zero bytes; download it again")
    if content[2] != UNSIGNED_BYTES or content[3] != num_dimensions:
        raise ValueError(
            f"{path} must hold unsigned bytes (type {UNSIGNED_BYTES}) in {_dimensions(num_dimensions)}, got type "
            f"{content[2]} in {_dimensions(content[3])}: are images and labels exchanged?"
        )
    start = 4 + 4 * num_dimensions
    shape = np.frombuffer(content[4:start].ljust(4 * num_dimensions, b"\0"), ">u4").tolist()
    expected = start + math.prod(shape)
    if len(content) < start or len(content) != expected:
        raise ValueError(
            f"{path} must have {expected:,} bytes by its own header, got {len(content):,}: download it again"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def read_mnist(folder: Path) -> tuple[Array, Array]:
    """All images as bytes [N, pixels], train files first, and their labels [N].

    Raises:
        ValueError: where the folder or one of its four files is missing, damaged, or does not fit the others.
    """
    if not folder.is_dir():
        raise ValueError(f"--data must name the folder that holds {FILES[0]} and its companions, got {folder}")
    paths = [_either(folder / name) for name in FILES]
    images, labels = [read(path, 3) for path in paths[::2]], [read(path, 1) for path in paths[1::2]]
    for path, some, names in zip(paths[::2], images, labels, strict=True):
        if len(some) != len(names):
            raise ValueError(f"{path} has {len(some):,} images and {len(names):,} labels: take files of one collection")
    if images[0].shape[1:] != images[1].shape[1:]:
        raise ValueError(f"the images of {folder} differ in size: take files of one collection")
    return np.concatenate([some.reshape(len(some), -1) for some in images]), np.concatenate(labels)


def _either(path: Path) -> Path:
    """The plain file, or else the compressed one."""
    compressed = path.with_name(f"{path.name}.gz")
    return path if path.exists() or not compressed.exists() else compressed


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}, plain or .gz: put it there, or name another folder") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged ({error}): download it again") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def _dimensions(number: int) -> str:
    return f"{number} dimension{'s' * (number != 1)}"
