"""What may be named as data, looked up before JAX and pandas are loaded: a wrong name is refused at once."""

from pathlib import Path

from bayesnb.tables.frames._values import DataError, closest

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")


def require_data(data: str) -> None:
    """Raise DataError if there is neither a data set of this name nor a file or folder at this path."""
    path = Path(data)
    try:
        exists = data in BUILT_IN or path.exists()
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error
    if not exists:
        hint = closest(data, BUILT_IN) or f"; the built-in data sets are {', '.join(BUILT_IN)}"
        raise DataError(f"there is no file '{path}'{hint}")


def require_path(path: str) -> None:
    """Raise DataError if there is nothing at this path; what it is, and whether it may be read, is seen later."""
    try:
        Path(path).stat()
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error
