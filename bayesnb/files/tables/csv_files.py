"""Read CSV files in batches of rows, with the line of every row.

pyarrow parses the file in blocks of bytes. If the quotes of a block do not each enclose a whole cell, or if pyarrow
cannot parse it, the standard library reads the rest of the file: it is slower, but takes odd spelling, and finds the
line of an error.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from bayesnb.files.tables.csv_cells import MISSING, convert, first_refused_cell
from bayesnb.files.tables.csv_lines import count_lines, end_of_rows, lines_of, lines_of_rows, most_frequent_mark
from bayesnb.files.tables.file_kinds import format_of, opened, require_csv
from bayesnb.files.tables.row_batches import RowBatch, in_sentences
from bayesnb.frames.series import LARGEST_INTEGER, Array, DataError, is_number, why_text

BLOCK_BYTES = 4 << 20
"""Bytes parsed at a time."""

BLOCK_ROWS = 4096
"""Rows converted at a time if the standard library reads them."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PROBLEMS = {"unexpected end": "a quoted cell is never closed", "expected after": "a quoted cell has text after it"}


class Wanted(NamedTuple):
    """The columns to read.

    Attributes:
        names: Their names.
        texts: Columns to read as text. Others are numbers if all cells of a batch are, without rounding, else text.
        types: Types that columns must have, by name; they come before ``texts``.
    """

    names: Sequence[str]
    texts: Collection[str] = frozenset()
    types: Mapping[str, pa.DataType] = {}

    def type(self, name: str) -> pa.DataType:
        """The type that a column is expected to have."""
        return self.types.get(name, pa.string() if name in self.texts else pa.float64())


class CsvFile:
    """A CSV file with a header line, in UTF-8; the name may end in .gz, .bz2 or .zst.

    Attributes:
        path: Its path.
        names: The names of its columns.
        warnings: Sentences about a header that looks wrong.
    """

    def __init__(self, path: Path, missing: Collection[str] = MISSING) -> None:
        """Read the header.

        Args:
            path: The file.
            missing: The cells that are missing, apart from spaces around them.

        Raises:
            DataError: if the file cannot be read, is not CSV, is empty, or has two columns of one name.
        """
        self.path, self._missing = path, missing
        self.names: list[str] = []
        with in_sentences(path), opened(path) as (_, content):
            head = content.read(BLOCK_BYTES)
            require_csv(path, head)
            start = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
            self._delimiter = "\t" if format_of(path) == "tsv" else most_frequent_mark(head[start:], ",;\t")
            chunks = chain([head[start:]], iter(partial(content.read, BLOCK_BYTES), b""))
            sizes: list[int] = []
            header = next(self._rows(_with_sizes(lines_of(chunks), sizes), 1), None)
        if header is None:
            raise DataError(f"'{path}' is empty: give a file with a header line and rows below it")
        self._start, self._line = start + sum(sizes), 1 + len(sizes)
        self.names = [name.strip() or f"column {position}" for position, name in enumerate(header[1], 1)]
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise DataError(f"'{path}' has more than one column named '{twice[0]}'; is its header line missing?")
        self.warnings = header_warnings(self.names)

    def batches(self, wanted: Wanted) -> Iterator[RowBatch]:
        """Yield the rows; each column is float64, text, or of the type that ``wanted`` gives it.

        Raises:
            DataError: if a row is not as wide as the header, a quoted cell does not end, or a cell does not have the
                type of its column, naming the line; after the batches before the error.
        """
        first, size = 0, max(self.path.stat().st_size, 1)
        with in_sentences(self.path), opened(self.path) as (file, content):
            content.read(self._start)
            for rows, lines, place in self._blocks(content, wanted):
                if rows.num_rows:
                    yield RowBatch(rows, first, place, min(file.tell() / size, 1.0), "line", lines)
                first += rows.num_rows

    def infer_types(self, choices: Mapping[str, Sequence[pa.DataType]]) -> dict[str, pa.DataType]:
        """For each column the first of its choices that fits all cells of the first batch of rows.

        Raises:
            DataError: if none fits, naming the first cell that does not fit the first choice.
        """
        texts = Wanted([*choices], types=dict.fromkeys(choices, pa.string()))
        batch = next(self.batches(texts), None)
        found = {}
        for name, kinds in choices.items():
            found[name] = kinds[0]
            if batch is not None:
                column = batch.rows[name]
                fits = (kind for kind in kinds if convert(column, kind, self._missing, exact=False) is not None)
                found[name] = next(fits, None) or self._refuse(name, column, kinds[0], batch.numbers)
        return found

    def _blocks(self, content: Any, wanted: Wanted) -> Iterator[tuple[pa.RecordBatch, Callable[[], Array], str]]:
        """Yield rows, a function that computes their lines, and their place."""
        line, rest = self._line, b""
        while block := rest + (chunk := content.read(BLOCK_BYTES)):
            cut = end_of_rows(block, self._delimiter, last=not chunk)
            raw, rest = block[:cut], block[cut:]
            rows = None if not cut or len(self.names) == 1 else self._parse(raw, line, wanted)
            if rows is None:
                yield from self._read_slowly(
                    chain([block], iter(partial(content.read, BLOCK_BYTES), b"")), line, wanted
                )
                return
            num_lines = count_lines(raw)
            last = line + num_lines - raw.endswith((b"\n", b"\r"))
            yield rows, partial(lines_of_rows, raw, line), self._place(line, last)
            line += num_lines

    def _parse(self, raw: bytes, line: int, wanted: Wanted) -> pa.RecordBatch | None:
        """The rows of a block, or None if pyarrow cannot parse it."""
        types = {name: wanted.type(name) for name in wanted.names}
        try:
            rows = self._parse_as(raw, types)
        except pa.ArrowInvalid:  # a cell is not a number, or a row is not as wide as the header
            try:
                rows = self._parse_as(raw, dict.fromkeys(types, pa.string()))
            except pa.ArrowInvalid:
                return None
        exact = [name for name in types if name not in wanted.types and _is_large(rows[name])]
        if exact:
            texts = self._parse_as(raw, dict.fromkeys(exact, pa.string()))
            for name in exact:
                rows = rows.set_column(rows.schema.get_field_index(name), name, texts[name])
        return self._typed(rows, partial(lines_of_rows, raw, line), wanted)

    def _parse_as(self, raw: bytes, types: dict[str, pa.DataType]) -> pa.RecordBatch:
        table = pa.csv.read_csv(
            pa.BufferReader(raw),
            pa.csv.ReadOptions(column_names=self.names, block_size=len(raw) + 1),
            pa.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            pa.csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[*self._missing], strings_can_be_null=True
            ),
        )
        return next(iter(table.combine_chunks().to_batches()), pa.RecordBatch.from_pylist([], table.schema))

    def _read_slowly(self, chunks: Iterable[bytes], line: int, wanted: Wanted) -> Iterator[tuple[Any, Any, str]]:
        """Yield the same as ``_blocks``, read by the standard library."""
        rows = self._rows(lines_of(chunks), line)
        columns = [self.names.index(name) for name in wanted.names]
        while some := list(islice(rows, BLOCK_ROWS)):
            lines = [line for line, _ in some]
            cells = [pa.array([row[column] for _, row in some], pa.string()) for column in columns]
            batch = pa.RecordBatch.from_arrays(cells, list(wanted.names))
            numbers = partial(np.asarray, lines)
            yield self._typed(batch, numbers, wanted), numbers, self._place(lines[0], lines[-1])

    def _typed(self, rows: pa.RecordBatch, lines: Callable[[], Array], wanted: Wanted) -> pa.RecordBatch:
        """Convert columns that were read as text."""
        columns = []
        for name in wanted.names:
            column, kind = rows[name], wanted.type(name)
            if pa.types.is_string(column.type):
                found = convert(column, kind, self._missing, exact=name not in wanted.types)
                if found is None and name in wanted.types:
                    self._refuse(name, column, kind, lines)
                column = convert(column, pa.string(), self._missing, exact=True) if found is None else found
            columns.append(column)
        return pa.RecordBatch.from_arrays(columns, list(wanted.names))

    def _refuse(self, name: str, column: pa.Array, kind: pa.DataType, lines: Callable[[], Array]) -> NoReturn:
        row, cell = first_refused_cell(column, kind, self._missing)
        why = f"which {why_text(cell)}"
        if not pa.types.is_floating(kind):
            why = f"expected {'true or false' if pa.types.is_boolean(kind) else 'a whole number'}, as in the first rows"
        place = f"line {lines()[row]} of '{self.path}'"
        raise DataError(f"column '{name}' holds '{cell}' on {place}, {why}; change the cell, or leave the column out")

    def _rows(self, lines: Iterable[bytes], line: int) -> Iterator[tuple[int, list[str]]]:
        """Yield every row with its first line number, by the standard library's reader; ``line`` is the first.

        Rows must be as wide as the header, once that has been read; blank lines are skipped.
        """
        before, start = line - 1, line
        reader = csv.reader(self._decoded(lines, line), delimiter=self._delimiter, skipinitialspace=True, strict=True)
        try:
            for row in reader:
                here, start = start, before + reader.line_num + 1
                if not row or (len(row) == 1 and not row[0].strip()):
                    continue
                if self.names and len(row) != len(self.names):
                    cells = f"{len(row):,} cell" if len(row) == 1 else f"{len(row):,} cells"
                    raise DataError(f"line {here} of '{self.path}' has {cells} where the header has {len(self.names)}")
                yield here, row
        except csv.Error as error:
            problem = next((words for sign, words in PROBLEMS.items() if sign in str(error)), str(error))
            raise DataError(f"line {start} of '{self.path}' is not CSV: {problem}") from error

    def _decoded(self, lines: Iterable[bytes], line: int) -> Iterator[str]:
        for number, text in enumerate(lines, line):
            try:
                yield text.decode()
            except UnicodeDecodeError as error:
                byte = f"0x{text[error.start]:02x}"
                raise DataError(
                    f"'{self.path}' is not UTF-8 text (line {number} holds the byte {byte}); save it as UTF-8"
                ) from error

    def _place(self, first: int, last: int) -> str:
        return f"'{self.path}', lines {first:,} to {last:,}"


def header_warnings(names: Sequence[str]) -> tuple[str, ...]:
    """A warning if a column name is a number: the header line may be missing."""
    numbers = [name for name in names if is_number(name)]
    # tables of pixels name all columns but the target 0, 1, 2, ...; a stray number suggests that the header is missing
    if not numbers or len(numbers) == len(names) - 1:
        return ()
    return (f"the header names a column '{numbers[0]}'; is the header line missing?",)


def _is_large(column: pa.Array) -> bool:
    """Whether a column of numbers holds one that may stand for a rounded whole number."""
    if not pa.types.is_floating(column.type):
        return False
    span = pc.min_max(column).as_py()
    return span["min"] is not None and max(-span["min"], span["max"]) >= LARGEST_INTEGER


def _with_sizes(lines: Iterable[bytes], sizes: list[int]) -> Iterator[bytes]:
    """Yield the lines, and append the size of each to ``sizes``."""
    for line in lines:
        sizes.append(len(line))
        yield line
