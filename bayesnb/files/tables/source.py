"""A table as it was read, whole or some rows of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bayesnb.frames.series import DataError

MISSING = frozenset({"", "NA", "nan", "NaN", "NAN", "?"})
ROWS_IN_BLOCK = 1 << 16
Wanted = Callable[[str], bool]
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Source:
    """A data frame as it was read.

    Attributes:
        name: What to call the data; the default folder of a report is named after it.
        frame: Rows by columns, float64 or object, the index being the line of each row.
        target: The column that holds the classes unless the user names another.
        warnings: Sentences about what looks wrong and was read all the same.
    """

    name: str
    frame: pd.DataFrame
    target: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a file: a frame, and the share of the file that has been read with them."""

    frame: pd.DataFrame
    done: float


@contextmanager
def in_sentences(path: Path) -> Iterator[None]:
    """What is raised for a file that cannot be read, in a sentence."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(f"'{path}' is not UTF-8 text (it holds the byte 0x{byte:02x}); save it as UTF-8") from error
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error


def is_text(cells: pd.Series) -> bool:
    """Say whether a column holds text, in whatever type pandas keeps it."""
    return not pd.api.types.is_numeric_dtype(cells)
