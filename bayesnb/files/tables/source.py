"""Tables read from files: a whole data frame, or a block of its rows."""

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
    """A data frame read from a file or data set.

    Attributes:
        name: The name of the data; a report's default folder is named after it.
        frame: Rows by columns, float64 or object, indexed by each row's line in the file.
        target: The default column of classes.
        warnings: Sentences about data that look wrong but were read.
    """

    name: str
    frame: pd.DataFrame
    target: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a file, and the fraction of the file read so far, including them."""

    frame: pd.DataFrame
    done: float


@contextmanager
def in_sentences(path: Path) -> Iterator[None]:
    """Turn errors from reading a file into a DataError with a one-sentence message."""
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise DataError(f"'{path}' is not UTF-8 text (it holds the byte 0x{byte:02x}); save it as UTF-8") from error
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {error.strerror or error}") from error


def is_text(cells: pd.Series) -> bool:
    """Whether a column contains text, whatever pandas type stores it."""
    return not pd.api.types.is_numeric_dtype(cells)
