"""Results in files: what was fitted is there again after ``load``, to the last bit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax

from bayesnb import tensors
from bayesnb.arrays import is_traced
from bayesnb.encoding import RESULTS, Arrays, decode, encode

KIND, VERSION = "bayesnb result", 1
"""What the file holds, and the version of its format."""


class StorageError(ValueError):
    """A file that cannot be written or read, or a result that no file can hold."""


def save(fit: Any, path: str | os.PathLike[str]) -> None:
    """Writes a fit, a model or statistics to a file: safetensors, with the specification as JSON in its header.

    The file is whole or not there: a file of that name is replaced in one step, or stays as it is.

    Args:
        fit: What a ``fit_`` function, ``bootstrap``, ``stream`` or ``sufficient_statistics`` returned, or a model.
        path: The file; its folder must exist.

    Raises:
        StorageError: for what is none of these, and where the file cannot be written.
    """
    if not isinstance(fit, RESULTS):
        raise StorageError(f"save takes a fit, a model or statistics of bayesnb's, got {type(fit).__name__}")
    if is_traced(fit):
        raise StorageError("a fit inside of JAX's transformations has no values yet: save it outside of them")
    arrays: Arrays = {}
    try:
        code = encode(fit, arrays)
        again = decode(code, arrays)
    except (ValueError, TypeError, AttributeError) as error:
        raise StorageError(f"this {type(fit).__name__} cannot be saved: {error}") from error
    before, after = (str(jax.tree.structure(one)) for one in (fit, again))
    if before != after:
        raise StorageError(f"this {type(fit).__name__} cannot be saved: a part of it would not come back as it is")
    target = Path(path)
    try:
        tensors.write(target, {"format": f"{KIND} {VERSION}", "result": code}, arrays)
    except OSError as error:
        raise StorageError(f"'{target}' cannot be written: {error.strerror or error}") from error
    except ValueError as error:
        raise StorageError(f"'{target}' cannot be written: {error}") from error


def load(path: str | os.PathLike[str]) -> Any:
    """What ``save`` wrote: the same type, the same numbers. No code of the file's runs.

    Raises:
        StorageError: for a file that cannot be read, is damaged, was not written by ``save``, or by a later version.
    """
    source = Path(path)
    try:
        header, arrays = tensors.read(source)
    except OSError as error:
        raise StorageError(f"'{source}' cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise StorageError(f"'{source}' is damaged, or was not written by nb.save: {error}") from error
    written = str(header.get("format"))
    if written != f"{KIND} {VERSION}":
        later = written.startswith(KIND)
        raise StorageError(
            f"'{source}' has the format {written!r} and this version of bayesnb reads {KIND!r} {VERSION}: "
            + ("update bayesnb" if later else "give a file that nb.save wrote")
        )
    for array in arrays.values():
        array.setflags(write=False)
    try:
        fit = decode(header["result"], arrays)
    except Exception as error:  # whatever a header may make of its readers
        problem = f"{type(error).__name__}, {error}"
        raise StorageError(f"'{source}' does not hold a result of bayesnb's: {problem}") from error
    if not isinstance(fit, RESULTS):
        raise StorageError(f"'{source}' does not hold a result of bayesnb's, but {type(fit).__name__}")
    return fit
