"""Read Parquet files in batches of rows, with the number of every row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files.sources._source import RowBatch, in_sentences, require_kind, row_batch, words_of
from bayesnb.tables.frames._series import DataError


class ParquetFile:
    """A Parquet file.

    Attributes:
        path: Its path.
        schema: The names and types of its columns.
        num_rows: The number of its rows.
    """

    warnings: tuple[str, ...] = ()

    def __init__(self, path: Path | str, opener: Callable[[], Any] | None = None) -> None:
        """Read the footer.

        Args:
            path: Its path.
            opener: Opens a file that is not at a path of this machine.

        Raises:
            DataError: if the file is not Parquet, or is damaged.
        """
        self.path, self._opener = path, opener or (lambda: pa.OSFile(str(path)))
        with in_sentences(path, "Parquet"):
            with self._opener() as handle:
                require_kind(path, handle.read(16), "Parquet")
            with self._open() as file:
                self.schema: pa.Schema = file.schema_arrow
                self.num_rows: int = file.metadata.num_rows
                self._unordered = _without_order(file)

    def batches(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[RowBatch]:
        """Yield the named columns of all rows.

        Row groups are read a batch at a time: Arrow's scanner would hold several whole row groups in memory.

        Raises:
            DataError: if a row group is damaged, after the batches before it.
        """
        del texts
        size = rows_in_batch(names)
        strings = [name for name in names if pa.types.is_string(self.schema.field(name).type)]
        with in_sentences(self.path, "Parquet"), self._open(strings) as file:
            for groups, first in _row_groups(file.metadata, size):
                place = f"'{self.path}', row group {groups[0]}"
                place = place if len(groups) == 1 else f"{place} to {groups[-1]}"
                try:
                    # each Arrow thread would keep its own memory; reading already runs in parallel with counting
                    for rows in file.iter_batches(size, groups, list(names), use_threads=False):
                        for name in self._unordered.keys() & {*names}:
                            column = rows[name].cast(self._unordered[name])
                            rows = rows.set_column(rows.schema.get_field_index(name), name, column)
                        yield row_batch(rows, first, (first + rows.num_rows) / self.num_rows)
                        first += rows.num_rows
                except (pa.ArrowException, OSError) as error:
                    raise DataError(f"{place}, cannot be read: {words_of(error)}") from error

    @contextmanager
    def _open(self, texts: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
        """The open file; each distinct cell of ``texts`` is read once."""
        with (
            self._opener() as handle,
            pq.ParquetFile(handle, buffer_size=limits.BUFFER_BYTES, pre_buffer=False, read_dictionary=[*texts]) as file,
        ):
            yield file


def _without_order(file: pq.ParquetFile) -> dict[str, pa.DataType]:
    """The types of values of ordered columns whose order the file does not have, as their dictionary was left out."""
    fields = [field for field in file.schema_arrow if getattr(field.type, "ordered", False)]
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups if fields else 0))
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    without = {chunk.path_in_schema for chunk in chunks if not chunk.has_dictionary_page}
    return {field.name: field.type.value_type for field in fields if field.name in without}


def rows_in_batch(names: Sequence[str]) -> int:
    """The number of rows in a batch of these columns."""
    return max(limits.BATCH_BYTES // (8 * max(len(names), 1)), 1)


def _row_groups(metadata: pq.FileMetaData, size: int) -> Iterator[tuple[list[int], int]]:
    """Row groups to read together, combined up to ``size`` rows, with their first row."""
    groups: list[int] = []
    first = last = 0
    for group in range(metadata.num_row_groups):
        num_rows = metadata.row_group(group).num_rows
        if groups and last + num_rows - first > size:
            yield groups, first
            groups, first = [], last
        groups.append(group)
        last += num_rows
    if groups:
        yield groups, first
