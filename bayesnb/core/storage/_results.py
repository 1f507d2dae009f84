"""Save fits to files and load them again, bit for bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from io import TextIOBase
from pathlib import Path
from typing import IO, Any

from bayesnb.compute.arrays._extras import MissingExtra
from bayesnb.compute.arrays._placement import Array, is_traced
from bayesnb.core.storage import _tensors as tensors
from bayesnb.core.storage._encoding import Arrays, decode, encode
from bayesnb.core.storage._kinds import kind_of, no_result, rebuild
from bayesnb.core.storage._saved_results import same_result, without_program
from bayesnb.core.storage._whole_file import whole_file

KIND, VERSION = "bayesnb result", 2
"""The kind of file, and the version of its format."""


Target = str | os.PathLike[str] | IO[bytes]
Source = Target | bytes


class StorageError(ValueError):
    """A file that cannot be written or read, or a result that cannot be saved.

    Example:
        >>> import bayesnb as nb
        >>> try:
        ...     nb.save([1, 2], "numbers.safetensors")
        ... except nb.StorageError as error:
        ...     print(error)
        save takes a bayesnb fit, estimator, model or statistics, got list
    """


def save(fit: object, path: Target, *, rows: bool = False) -> None:
    """Save a fit, a model or statistics to a safetensors file, with the specification as JSON in its header.

    The file is written atomically: an existing file is replaced completely or stays unchanged. Of a posterior it holds
    the prior, the statistics and the powers, and ``load`` runs the update.

    Args:
        fit: A result of a ``fit_`` function, ``stream`` or ``sufficient_statistics``, a model, or a
            fitted ``NaiveBayesClassifier``, which is saved with its names, categories and labels.
        path: The path of the file, whose folder must exist; or a file that is open for writing bytes, which is not
            closed, such as ``io.BytesIO()``.
        rows: Whether the file also holds the rows that ``partial_fit`` of an estimator has kept, with their labels, so
            that it goes on after ``load`` as if it had never been saved. Without them no row is written.

    Raises:
        StorageError: if ``fit`` is of another type, keeps no rows that are asked for, or the file cannot be written.

    Example:
        >>> import tempfile, bayesnb as nb
        >>> fit = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     nb.save(fit, f"{folder}/fit.safetensors")
        ...     nb.load(f"{folder}/fit.safetensors").predict([[1, 0]])
        array([0])
    """
    kind = kind_of(fit)
    if kind is None or kind.check is no_result:
        raise StorageError(f"save takes a bayesnb fit, estimator, model or statistics, got {type(fit).__name__}")
    if is_traced(fit):
        raise StorageError("a fit inside a JAX transformation has no values yet: save it outside the transformation")
    arrays: Arrays = {}
    try:
        code = encode(fit, arrays)
        again = rebuild(decode(code, arrays))
        kept = {"rows": encode(kind.rows[0](fit), arrays)} if rows else {}
    except (ValueError, TypeError, AttributeError) as error:
        raise StorageError(f"this {type(fit).__name__} cannot be saved: {error}") from error
    if not same_result(without_program(getattr(fit, "fit_", fit)), getattr(again, "fit_", again)):
        raise StorageError(f"this {type(fit).__name__} cannot be saved: some part of it would change when loaded")
    write_format(path, KIND, VERSION, {"result": code, **kept}, arrays)


def load(path: Source) -> Any:
    """The result in a file that ``save`` wrote: the same type with the same numbers. No code from the file runs.

    Shapes, types, supports and names are checked like user input.

    Args:
        path: The path of the file, its bytes, or a file that is open for reading bytes, which is read to its end.

    Raises:
        StorageError: if the file cannot be read, is damaged or not valid, or was written by a later version.

    Example:
        >>> import io, bayesnb as nb
        >>> file = io.BytesIO()
        >>> nb.save(nb.NaiveBayes({"flags": nb.Bernoulli(), "vitals": nb.Normal()}, num_classes=2), file)
        >>> nb.load(file.getvalue())
        NaiveBayes({'flags': Bernoulli(), 'vitals': Normal()}, class_concentration=1.0, num_classes=2)
    """
    result = read_result(path)
    kind = kind_of(result)
    return kind.public(result) if kind else result


def read_result(path: Source) -> Any:
    """The result in a file, checked; an estimator as what it holds, for which scikit-learn need not be loaded."""
    header, arrays = read_format(path, KIND, VERSION, "nb.save")
    for array in arrays.values():
        array.setflags(write=False)
    try:
        result = rebuild(decode(header["result"], arrays))
        kind = kind_of(result)
        if kind and "rows" in header:
            kind.rows[1](result, decode(header["rows"], arrays))
        return result
    except MissingExtra as error:
        raise StorageError(f"{name_of(path)} cannot be read: {error}") from error
    except Exception as error:  # a malformed header can raise anything
        problem = str(error) if isinstance(error, ValueError) else f"it cannot be read, {type(error).__name__} {error}"
        raise StorageError(f"{name_of(path)} does not contain a valid bayesnb result: {problem}") from error


def name_of(place: Source) -> str:
    """The words for a file in messages."""
    return f"'{_path(place)}'" if _path(place) else "the content"


def is_named(place: Source, ending: str) -> bool:
    """Whether the name of a file ends so, in capitals or not; bytes have no name."""
    return _path(place).lower().endswith(ending)


def _path(place: Any) -> str:
    path = place if isinstance(place, str | os.PathLike) else getattr(place, "name", None)
    return str(os.fspath(path)) if isinstance(path, str | os.PathLike) else ""


def write_format(
    place: Target, kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write a file with its kind and version; raise StorageError if it cannot be written."""
    write_content(place, lambda: tensors.to_bytes({"format": f"{kind} {version}", **header}, arrays))


def write_content(place: Target, content: Callable[[], bytes]) -> None:
    """Write a whole file of bytes; raise StorageError if they cannot be made, by ValueError, or not written."""
    try:
        if isinstance(place, str | os.PathLike):
            made = content()  # before the old file is touched
            with whole_file(Path(place)) as handle:
                handle.write(made)
        else:
            _require_open(place, "write").write(content())
    except StorageError:
        raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StorageError(f"{name_of(place)} cannot be written: {why}") from error


def read_format(place: Source, kind: str, version: int, writer: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and arrays of a file of this kind and version; StorageError if it is another, or damaged."""
    try:
        if isinstance(place, str | os.PathLike):
            header, arrays = tensors.read(Path(place))
        else:
            header, arrays = tensors.from_bytes(_content(place))
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"{name_of(place)} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise StorageError(f"{name_of(place)} is damaged, or was not written by {writer}: {error}") from error
    written = str(header.get("format"))
    if written != f"{kind} {version}":
        other = f"write it again with this version's {writer}" if written == f"{kind} 1" else "update bayesnb"
        raise StorageError(
            f"{name_of(place)} has the format {written!r} and this version of bayesnb reads {kind!r} {version}: "
            + (other if written.startswith(kind) else f"give a file that {writer} wrote")
        )
    return header, arrays


def _content(place: Any) -> bytes:
    given = isinstance(place, bytes | bytearray | memoryview)
    content = place if given else _require_open(place, "read").read()
    if not isinstance(content, bytes | bytearray | memoryview):
        raise StorageError(f"expected a file open for reading bytes, and it gave {type(content).__name__}")
    if not content:
        raise StorageError(f"{name_of(place)} is empty: after writing a file, seek(0) goes back to its start")
    return bytes(content)


def _require_open(place: Any, method: str) -> Any:
    """The open file; StorageError if it is something else, or a file of text."""
    able = getattr(place, "readable" if method == "read" else "writable", bool)
    if getattr(place, "closed", False) or (able is not bool and not able()):
        raise StorageError(f"{name_of(place)} is closed, or cannot {method}: open it again")
    if not hasattr(place, method) or isinstance(place, TextIOBase):
        kinds = "a path, bytes, or a file open for reading"
        kinds = kinds if method == "read" else "a path, or a file open for writing"
        got = "a file of text" if isinstance(place, TextIOBase) else type(place).__name__
        raise StorageError(f"expected {kinds} bytes, got {got}")
    return place
