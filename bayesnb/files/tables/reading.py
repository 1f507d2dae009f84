"""Files and scikit-learn's data sets, read into data frames of numbers and text, whole or in blocks of rows.

A frame made here has columns of two types only: float64 (missing is NaN) and object (text; missing is None). Its
index is the line of the file on which each row begins, of a Parquet file the number of the row, so that whoever refuses
a cell can say where it stands.
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
        data: The path of a file, or one of `iris`, `wine`, `breast_cancer`, `digits`. A file that bears one of these
            names is reached as `./iris`.

    Raises:
        DataError: The file is not there, cannot be read, or is not a table.
    """
    if data in BUILT_IN:
        return _read_built_in(data)
    path = _existing(data)
    texts: set[str] = set()
    while (frame := _whole(_blocks(path, texts, None), texts)) is None:
        pass  # a column that began with numbers turned out to be text: once more
    warnings = () if path.suffix.lower() in PARQUET else header_warnings(list(frame.columns))
    return Source(path.stem, frame, str(frame.columns[-1]), warnings)


def _whole(blocks: Iterator[Block], texts: set[str]) -> pd.DataFrame | None:
    """All rows; None where a column that is text in some blocks is not among ``texts``, and now is."""
    frames = [block.frame for block in blocks]
    kinds = [{name for name in frame if frame[name].dtype == object} for frame in frames]
    mixed = set.union(*kinds) - set.intersection(*kinds)
    texts |= mixed
    return None if mixed else pd.concat(frames) if len(frames) > 1 else frames[0]


def read_blocks(data: str, texts: Collection[str] = frozenset(), wanted: Wanted | None = None) -> Iterator[Block]:
    """The same rows some at a time, every block with the same columns; at least one row in all.

    Args:
        data: As for ``read``.
        texts: Columns that are text. Others are text in a block where one of its cells is no number, or one that floats
            would round; names that are added on the way hold for the blocks that follow.
        wanted: Says by its name whether a column is read; the others may hold anything.

    Raises:
        DataError: as ``read``, when the rows before have been given.
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
