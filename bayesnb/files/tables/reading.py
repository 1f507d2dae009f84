"""Read files and scikit-learn's data sets into data frames of numbers and text, whole or in blocks of rows.

A frame made here has columns of two types only: float64 (missing is NaN) and object (text; missing is None). Its
index is the line of the file on which each row begins, or the row number for Parquet, so that error messages can name
the place of a cell.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from bayesnb.files.tables.csv_files import csv_blocks, header_warnings
from bayesnb.files.tables.file_kinds import require_parquet
from bayesnb.files.tables.source import PARQUET, ROWS_IN_BLOCK, Block, Source, Wanted, in_sentences
from bayesnb.frames.series import DataError, closest

BUILT_IN = ("iris", "wine", "breast_cancer", "digits")


def read(data: str) -> Source:
    """Read a CSV or Parquet file, or one of the data sets that come with scikit-learn.

    Args:
        data: The path of a file, or one of `iris`, `wine`, `breast_cancer`, `digits`. Write `./iris` for a
            file with one of these names.

    Raises:
        DataError: if the file does not exist, cannot be read, or is not a table.
    """
    if data in BUILT_IN:
        return _read_built_in(data)
    path = _existing(data)
    texts: set[str] = set()
    while (frame := _whole(_blocks(path, texts, None), texts)) is None:
        pass  # a column that began with numbers contains text: start over
    warnings = () if path.suffix.lower() in PARQUET else header_warnings(list(frame.columns))
    return Source(path.stem, frame, str(frame.columns[-1]), warnings)


def _whole(blocks: Iterator[Block], texts: set[str]) -> pd.DataFrame | None:
    """All rows; if a column is text in some blocks only, add it to ``texts`` and return None: the caller rereads."""
    frames = [block.frame for block in blocks]
    kinds = [{name for name in frame if frame[name].dtype == object} for frame in frames]
    mixed = set.union(*kinds) - set.intersection(*kinds)
    texts |= mixed
    return None if mixed else pd.concat(frames) if len(frames) > 1 else frames[0]


def read_blocks(data: str, texts: Collection[str] = frozenset(), wanted: Wanted | None = None) -> Iterator[Block]:
    """Yield the same rows in blocks, all with the same columns; there is at least one row in total.

    Args:
        data: As for ``read``.
        texts: Columns to read as text. Other columns are text in a block if one of its cells is not a number, or is a
            number that floats would round. Names added during iteration apply to the blocks that follow.
        wanted: Returns, given its name, whether to read a column; the other columns may contain anything.

    Raises:
        DataError: as for ``read``, after the rows before the error have been yielded.
    """
    if data in BUILT_IN:
        frame = _read_built_in(data).frame
        yield Block(frame if wanted is None else frame[[name for name in frame if wanted(name)]], 1.0)
    else:
        yield from _blocks(_existing(data), texts, ROWS_IN_BLOCK, wanted)


def _blocks(path: Path, texts: Collection[str], num_rows: int | None, wanted: Wanted | None = None) -> Iterator[Block]:
    if path.suffix.lower() in PARQUET:
        from bayesnb.files.tables.parquet_files import parquet_blocks

        with in_sentences(path):
            require_parquet(path)
        return parquet_blocks(path, num_rows or ROWS_IN_BLOCK, texts, wanted)
    return csv_blocks(path, texts, num_rows, wanted)


def _read_built_in(name: str) -> Source:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    frame = pd.DataFrame(bunch.data, columns=[str(column) for column in bunch.feature_names])
    frame["class"] = np.array([str(label) for label in bunch.target_names], dtype=object)[bunch.target]
    frame["class"] = frame["class"].astype(object)
    return Source(name, frame, "class")


def _existing(data: str) -> Path:
    path = Path(data)
    with in_sentences(path):
        exists = path.exists()
    if not exists:
        hint = closest(data, BUILT_IN) or f"; the built-in data sets are {', '.join(BUILT_IN)}"
        raise DataError(f"there is no file '{path}'{hint}")
    if path.is_dir():
        raise DataError(f"'{path}' is a directory; give the CSV or Parquet file inside it")
    return path
