"""Read CSV files in batches of rows, with the line of every row.

pyarrow parses the file in blocks of bytes. If the quotes of a block do not each enclose a whole cell, or if pyarrow
cannot parse it, the standard library reads the rest of the file: it is slower, but accepts unusual quoting, and finds
the line of an error.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, tee
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from bayesnb.files.tables.csv_cells import MISSING, TEXT, convert, first_refused_cell
from bayesnb.files.tables.csv_lines import count_lines, end_of_rows, lines_of, lines_of_rows, most_frequent_mark
from bayesnb.files.tables.file_kinds import format_of, open_content, require_kind
from bayesnb.files.tables.row_batches import RowBatch, in_sentences
from bayesnb.frames.number_texts import is_number, why_text
from bayesnb.frames.series import LARGEST_INTEGER, Array, DataError

BLOCK_BYTES = 16 << 20
"""Bytes parsed at a time. The distinct texts of a column cost time once a block."""

HEAD_BYTES = 1 << 16
"""Bytes read at first to find the header."""

BLOCK_ROWS = 4096
"""Rows converted at a time if the standard library reads them."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PROBLEMS = {"unexpected end": "a quoted cell is never closed", "expected after": "a quoted cell has text after it"}

Rows = tuple[pa.RecordBatch, Callable[[], Array]]
"""Some rows, and a function that computes the line of each."""


class CsvFile:
    """A CSV file with a header line, in UTF-8; the name may end in .gz, .bz2 or .zst.

    Attributes:
        path: Its path.
        names: The names of its columns.
        schema: The names with the types that the columns must have; null if any type will do.
        warnings: Sentences about a header that looks wrong.
    """

    def __init__(
        self,
        path: Path,
        missing: Collection[str] = MISSING,
        texts: Collection[str] = (),
        types: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        """Read the header.

        Args:
            path: The file.
            missing: The cells that are missing, apart from spaces around them.
            texts: Columns to read as text. In each batch, another column is numbers if all its cells are exact numbers,
                otherwise text.
            types: Types that columns must have.

        Raises:
            DataError: if the file cannot be read, is not CSV, is empty, or has two columns of one name.
        """
        self.path, self._missing, self._texts, self._types = path, missing, texts, types or {}
        self.names: list[str] = []
        with in_sentences(path), open_content(path) as (_, content):
            head = content.read(HEAD_BYTES)
            require_kind(path, head, "CSV")
            start = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
            self._delimiter = "\t" if format_of(path) == "tsv" else most_frequent_mark(head[start:], ",;\t")
            lines, again = tee(lines_of(chain([head[start:]], _chunks(content))))
            _, self._line, header = next(self._rows(lines, 1), (0, 1, []))
            self._start = start + sum(map(len, islice(again, self._line - 1)))
        if not header:
            raise DataError(f"'{path}' is empty: give a file with a header line and rows below it")
        self.names = [name.strip() or f"column {position}" for position, name in enumerate(header, 1)]
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise DataError(f"'{path}' has more than one column named '{twice[0]}'; is its header line missing?")
        self.schema = pa.schema([(name, self._types.get(name, pa.null())) for name in self.names])
        self.warnings = header_warnings(self.names)

    def batches(self, names: Sequence[str], start: int = 0) -> Iterator[RowBatch]:
        """Yield the named columns of all rows, from the first on, since the place of row ``start`` is unknown.

        Raises:
            DataError: naming the line, after the batches before it, if a row is not as wide as the header, a quoted
                cell does not end, or a cell does not have the type of its column.
        """
        del start
        first, size = 0, max(self.path.stat().st_size, 1)
        with in_sentences(self.path), open_content(self.path) as (file, content):
            content.read(self._start)
            for rows, lines in self._blocks(content, names):
                if rows.num_rows:
                    yield RowBatch(rows, first, min(file.tell() / size, 1.0), "line", lines)
                first += rows.num_rows

    def infer_types(self, choices: Mapping[str, Sequence[pa.DataType]]) -> dict[str, pa.DataType]:
        """For each column the first of its choices that fits all cells of the first batch of rows.

        Raises:
            DataError: if none fits, naming the first cell that does not fit the first choice.
        """
        texts = [name for name, kinds in choices.items() if kinds[0] != pa.float64()]
        batch = next(CsvFile(self.path, self._missing, texts).batches([*choices]), None)
        found = {name: kinds[0] for name, kinds in choices.items()}
        if batch is None:
            return found
        for name, kinds in choices.items():
            column = batch.rows[name]
            if column.type != kinds[0]:
                fits = (kind for kind in kinds if convert(column, kind, self._missing, exact=False) is not None)
                found[name] = next(fits, None) or self._refuse(name, column, kinds[0], batch.numbers)
        return found

    def _blocks(self, content: Any, names: Sequence[str]) -> Iterator[Rows]:
        line, rest = self._line, b""
        while block := rest + (chunk := content.read(BLOCK_BYTES)):
            cut = end_of_rows(block, self._delimiter, last=not chunk)
            raw, rest = block[:cut], block[cut:]
            # a blank line may be a row of one missing cell: only the standard library distinguishes spaces from nothing
            rows = self._parse(raw, names) if cut and len(self.names) > 1 else None
            if rows is None:
                yield from self._read_slowly(chain([block], _chunks(content)), line, names)
                return
            num_lines = count_lines(raw)
            lines = partial(lines_of_rows, raw, line)
            if num_lines + (not raw.endswith((b"\r", b"\n"))) == rows.num_rows:  # neither blank lines nor long rows
                lines = partial(np.arange, line, line + rows.num_rows)
            yield self._convert_texts(rows, lines), lines
            line += num_lines

    def _parse(self, raw: bytes, names: Sequence[str]) -> pa.RecordBatch | None:
        """The rows of a block, with columns that are or may be text as text; None if it is not CSV."""
        try:
            rows = self._parse_as(raw, {name: self._type(name) for name in names})
        except pa.ArrowInvalid:  # a cell is not a number, or a row is not as wide as the header
            try:
                rows = self._parse_as(raw, dict.fromkeys(names, TEXT))
            except pa.ArrowInvalid:
                return None
        large = [name for name in names if name not in self._types and _is_large(rows[name])]
        if large:
            texts = self._parse_as(raw, dict.fromkeys(large, TEXT))
            for name in large:
                rows = rows.set_column(names.index(name), name, texts[name])
        return rows

    def _parse_as(self, raw: bytes, types: dict[str, pa.DataType]) -> pa.RecordBatch:
        table = pa.csv.read_csv(
            pa.BufferReader(raw),
            pa.csv.ReadOptions(column_names=self.names, block_size=len(raw) + 1),
            pa.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=b'"' in raw),
            pa.csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[*self._missing], strings_can_be_null=True
            ),
        )
        return next(iter(table.combine_chunks().to_batches()), pa.RecordBatch.from_pylist([], table.schema))

    def _read_slowly(self, chunks: Iterable[bytes], line: int, names: Sequence[str]) -> Iterator[Rows]:
        """The same rows as ``_blocks``, read by the standard library."""
        rows = self._rows(lines_of(chunks), line)
        columns = [self.names.index(name) for name in names]
        while some := list(islice(rows, BLOCK_ROWS)):
            cells = [pa.array([row[column] for _, _, row in some], pa.string()) for column in columns]
            lines = partial(np.array, [line for line, _, _ in some])
            yield self._convert_texts(pa.RecordBatch.from_arrays(cells, list(names)), lines), lines

    def _convert_texts(self, rows: pa.RecordBatch, lines: Callable[[], Array]) -> pa.RecordBatch:
        for position, name in enumerate(rows.schema.names):
            column, kind, exact = rows[name], self._type(name), name not in self._types
            if column.type in (pa.string(), TEXT):
                found = convert(column, kind, self._missing, exact=exact)
                if found is None and not exact:
                    self._refuse(name, column, kind, lines)
                column = convert(column, TEXT, self._missing, exact=True) if found is None else found
                rows = rows.set_column(position, name, column)
        return rows

    def _type(self, name: str) -> pa.DataType:
        return self._types.get(name, TEXT if name in self._texts else pa.float64())

    def _refuse(self, name: str, column: pa.Array, kind: pa.DataType, lines: Callable[[], Array]) -> NoReturn:
        row, cell = first_refused_cell(column, kind, self._missing)
        why = f"which {why_text(cell)}"
        if not pa.types.is_floating(kind):
            why = f"expected {'true or false' if pa.types.is_boolean(kind) else 'a whole number'}, as in the first rows"
        place = f"line {lines()[row]} of '{self.path}'"
        raise DataError(f"column '{name}' holds '{cell}' on {place}, {why}; change the cell, or leave the column out")

    def _rows(self, lines: Iterable[bytes], line: int) -> Iterator[tuple[int, int, list[str]]]:
        """The first line of every row, the line after it, and its cells; blank lines are skipped."""
        first, after = line, line
        reader = csv.reader(self._decode(lines, line), delimiter=self._delimiter, skipinitialspace=True, strict=True)
        try:
            for row in reader:
                here, after = after, first + reader.line_num
                if not row or (len(row) == 1 and not row[0].strip()):
                    continue
                if self.names and len(row) != len(self.names):
                    cells = f"{len(row):,} cell" if len(row) == 1 else f"{len(row):,} cells"
                    raise DataError(f"line {here} of '{self.path}' has {cells} where the header has {len(self.names)}")
                yield here, after, row
        except csv.Error as error:
            problem = next((words for sign, words in PROBLEMS.items() if sign in str(error)), str(error))
            raise DataError(f"line {after} of '{self.path}' is not CSV: {problem}") from error

    def _decode(self, lines: Iterable[bytes], line: int) -> Iterator[str]:
        for number, text in enumerate(lines, line):
            try:
                yield text.decode()
            except UnicodeDecodeError as error:
                place = f"line {number} holds the byte 0x{text[error.start]:02x}"
                raise DataError(f"'{self.path}' is not UTF-8 text ({place}); save it as UTF-8") from error


def header_warnings(names: Sequence[str]) -> tuple[str, ...]:
    """A warning if a column name is a number: the header line may be missing."""
    numbers = [name for name in names if is_number(name)]
    # tables of pixels name all columns but the target 0, 1, 2, ...; a stray number suggests that the header is missing
    if not numbers or len(numbers) == len(names) - 1:
        return ()
    return (f"the header names a column '{numbers[0]}'; is the header line missing?",)


def _chunks(content: Any) -> Iterator[bytes]:
    return iter(partial(content.read, BLOCK_BYTES), b"")


def _is_large(column: pa.Array) -> bool:
    """Whether one of the numbers may be a rounded whole number."""
    if not pa.types.is_floating(column.type):
        return False
    span = pc.min_max(column).as_py()
    return span["min"] is not None and max(-span["min"], span["max"]) >= LARGEST_INTEGER
