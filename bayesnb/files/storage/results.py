"""Results in files: what was fitted is there again after ``load``, to the last bit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from bayesnb.arrays.placement import Array, is_traced
from bayesnb.files.storage import tensors
from bayesnb.files.whole_file import require_file

KIND, VERSION = "bayesnb result", 1
"""What the file holds, and the version of its format."""


class StorageError(ValueError):
    """A file that cannot be written or read, or a result that no file can hold."""


def save(fit: Any, path: str | os.PathLike[str]) -> None:
    """Writes a fit, a model or statistics to a file: safetensors, with the specification as JSON in its header.

    The file is whole or not there: a file of that name is replaced in one step, or stays as it is.

    Args:
        fit: What a ``fit_`` function, ``bootstrap``, ``stream`` or ``sufficient_statistics`` returned, a model, or a
            fitted ``NaiveBayesClassifier``, with the names, categories and labels that it knows.
        path: The file; its folder must exist.

    Raises:
        StorageError: for what is none of these, and where the file cannot be written.

    Example:
        >>> import tempfile, bayesnb as nb
        >>> fit = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     nb.save(fit, f"{folder}/fit.safetensors")
        ...     nb.load(f"{folder}/fit.safetensors").predict([[1, 0]])
        array([0])
    """
    from bayesnb.files.storage.encoding import Arrays, checked, encode, is_result  # it knows data frames, too

    if not is_result(fit):
        raise StorageError(
            f"save takes a fit, an estimator, a model or statistics of bayesnb's, got {type(fit).__name__}"
        )
    if is_traced(fit):
        raise StorageError("a fit inside of JAX's transformations has no values yet: save it outside of them")
    arrays: Arrays = {}
    try:
        code = encode(fit, arrays)
        again = checked(code, arrays)
    except (ValueError, TypeError, AttributeError) as error:
        raise StorageError(f"this {type(fit).__name__} cannot be saved: {error}") from error
    before, after = (str(jax.tree.structure(one)) for one in (fit, again))
    if before != after:
        raise StorageError(f"this {type(fit).__name__} cannot be saved: a part of it would not come back as it is")
    write_format(Path(path), KIND, VERSION, {"result": code}, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """What ``save`` wrote: the same type, the same numbers, as the example there shows. No code of the file's runs.

    What it holds is checked as what a user hands in, whoever wrote it: shapes, types, supports, names.

    Raises:
        StorageError: for a file that cannot be read, is damaged, was not written by ``save``, or by a later version,
            and for a result that no fit returns.
    """
    from bayesnb.files.storage.encoding import checked

    source = Path(path)
    header, arrays = read_format(source, KIND, VERSION, "nb.save")
    for array in arrays.values():
        array.setflags(write=False)
    try:
        return checked(header["result"], arrays)
    except Exception as error:  # whatever a header may make of its readers
        problem = str(error) if isinstance(error, ValueError) else f"it cannot be read, {type(error).__name__} {error}"
        raise StorageError(f"'{source}' does not hold a result of bayesnb's: {problem}") from error


def require_place(path: Path) -> None:
    """Raises StorageError where something is at the path that no file may replace; to be asked before long work."""
    try:
        require_file(path)
    except (OSError, ValueError) as error:
        raise StorageError(f"'{path}' cannot be written: {getattr(error, 'strerror', None) or error}") from error


def write_format(path: Path, kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Writes a file that says to be of this kind and version; StorageError where it cannot be written."""
    try:
        tensors.write(path, {"format": f"{kind} {version}", **header}, arrays)
    except OSError as error:
        raise StorageError(f"'{path}' cannot be written: {error.strerror or error}") from error
    except ValueError as error:
        raise StorageError(f"'{path}' cannot be written: {error}") from error


def read_format(path: Path, kind: str, version: int, writer: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a file that says to be of this kind and version.

    Raises:
        StorageError: for a file that cannot be read, is damaged, or was written by something else or later.
    """
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
