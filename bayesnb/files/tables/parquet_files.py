"""Read Parquet files with pyarrow in blocks of rows, for ``reading``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from bayesnb.files.tables.source import Block, Wanted
from bayesnb.frames.series import DataError, numbers, rounded, sort_of, texts


def parquet_blocks(path: Path, num_rows: int, texts: Collection[str], wanted: Wanted | None) -> Iterator[Block]:
    """Yield the rows of a file, ``num_rows`` at a time, as columns of numbers and text; other types are refused.

    Columns of whole numbers are read as text if named in ``texts``, or if floats would round one of the numbers.

    Raises:
        DataError: if pyarrow is not installed, or the file is damaged, has no rows, or has columns of other types.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise DataError(f"'{path}' is read by pyarrow: pip install 'bayesnb[parquet]'") from error
    try:
        with pq.ParquetFile(path) as file:
            total = file.metadata.num_rows
            if not total or not file.metadata.num_columns:
                raise DataError(f"'{path}' has no rows" if not total else f"'{path}' has no columns")
            first = 0
            names = [name for name in file.schema_arrow.names if wanted is None or wanted(name)]
            for batch in file.iter_batches(num_rows, columns=names):
                rows = pa.Table.from_batches([batch])
                yield Block(_plain(path, rows, first, texts), (first + rows.num_rows) / total)
                first += rows.num_rows
    except (pa.ArrowException, OSError) as error:
        words = " ".join(str(error).split()).rstrip(".")
        raise DataError(f"'{path}' cannot be read as Parquet: {words}") from error


def _plain(path: Path, rows: Any, first: int, as_text: Collection[str]) -> pd.DataFrame:
    frame = nw.from_native(rows, eager_only=True)
    index = pd.RangeIndex(first + 1, first + rows.num_rows + 1, name="row")
    columns = {}
    for name in frame.columns:
        sort, whole = sort_of(frame[name]), not frame[name].dtype.is_float()
        # True and False are text, as in a CSV file
        if sort in ("text", "flag") or (
            sort == "number" and whole and (name in as_text or rounded(frame[name]) is not None)
        ):
            cells = pd.Series(texts(frame[name]), index=index, dtype=object)
        else:
            cells = pd.Series(np.asarray(numbers(frame[name]), np.float64), index=index)
            if np.isinf(cells).any():
                row = int(np.argmax(np.isinf(cells)))
                raise DataError(f"column '{name}' holds an infinite number in row {first + row + 1} of '{path}'")
        columns[name] = cells
    return pd.DataFrame(columns)
