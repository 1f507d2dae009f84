"""Save fits to files and load them again, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from bayesnb.arrays.placement import Array, is_traced
from bayesnb.files.storage import tensors

KIND, VERSION = "bayesnb result", 1
"""The kind of file, and the version of its format."""


class StorageError(ValueError):
    """A file that cannot be written or read, or a result that cannot be saved."""


def save(fit: Any, path: str | os.PathLike[str]) -> None:
    """Save a fit, a model or statistics to a safetensors file, with the specification as JSON in its header.

    The file is written atomically: an existing file is replaced completely or stays unchanged.

    Args:
        fit: A result of a ``fit_`` function, ``bootstrap``, ``stream`` or ``sufficient_statistics``, a model, or a
            fitted ``NaiveBayesClassifier``, which is saved with its names, categories and labels.
        path: The file; its folder must exist.

    Raises:
        StorageError: if ``fit`` is of another type, or the file cannot be written.

    Example:
        >>> import tempfile, bayesnb as nb
        >>> fit = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     nb.save(fit, f"{folder}/fit.safetensors")
        ...     nb.load(f"{folder}/fit.safetensors").predict([[1, 0]])
        array([0])
    """
    from bayesnb.files.storage.encoding import Arrays, decode_result, encode, is_result  # imports data frames

    if not is_result(fit):
        raise StorageError(f"save takes a bayesnb fit, estimator, model or statistics, got {type(fit).__name__}")
    if is_traced(fit):
        raise StorageError("a fit inside a JAX transformation has no values yet: save it outside the transformation")
    arrays: Arrays = {}
    try:
        code = encode(fit, arrays)
        again = decode_result(code, arrays)
    except (ValueError, TypeError, AttributeError) as error:
        raise StorageError(f"this {type(fit).__name__} cannot be saved: {error}") from error
    before, after = (str(jax.tree.structure(one)) for one in (fit, again))
    if before != after:
        raise StorageError(f"this {type(fit).__name__} cannot be saved: some part of it would change when loaded")
    write_format(Path(path), KIND, VERSION, {"result": code}, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """The result in a file that ``save`` wrote: the same type with the same numbers. No code from the file runs.

    Shapes, types, supports and names are checked like user input.

    Raises:
        StorageError: if the file cannot be read, is damaged or not valid, or was written by a later version.
    """
    from bayesnb.files.storage.encoding import decode_result

    source = Path(path)
    header, arrays = read_format(source, KIND, VERSION, "nb.save")
    for array in arrays.values():
        array.setflags(write=False)
    try:
        return decode_result(header["result"], arrays)
    except Exception as error:  # a malformed header can raise anything
        problem = str(error) if isinstance(error, ValueError) else f"it cannot be read, {type(error).__name__} {error}"
        raise StorageError(f"'{source}' does not contain a valid bayesnb result: {problem}") from error


def write_format(path: Path, kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a file with its kind and version; raise StorageError if it cannot be written."""
    try:
        tensors.write(path, {"format": f"{kind} {version}", **header}, arrays)
    except (OSError, ValueError) as error:
        raise StorageError(f"'{path}' cannot be written: {getattr(error, 'strerror', None) or error}") from error


def read_format(path: Path, kind: str, version: int, writer: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a file of this kind and version; StorageError if it is another file, or damaged."""
    try:
        header, arrays = tensors.read(path)
    except OSError as error:
        raise StorageError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise StorageError(f"'{path}' is damaged, or was not written by {writer}: {error}") from error
    written = str(header.get("format"))
    if written != f"{kind} {version}":
        later = written.startswith(kind)
        raise StorageError(
            f"'{path}' has the format {written!r} and this version of bayesnb reads {kind!r} {version}: "
            + ("update bayesnb" if later else f"give a file that {writer} wrote")
        )
    return header, arrays
