"""Read CSV files in batches of rows, with the line of every row, and write cells that spreadsheets do not run.

pyarrow parses the file in blocks of whole rows. A quote encloses a whole cell, or is written twice inside one; other
quotes are refused. Spreadsheets run cells that begin with ``=``, ``+``, ``-`` or ``@``, some of them also after a tab
or a space. Such text is written with a leading apostrophe: ``=1+1`` as ``'=1+1``, and ``'=1+1`` as ``''=1+1``, so that
reading removes an apostrophe exactly where writing added one. Other text and all numbers are written unchanged.
"""

from __future__ import annotations

import csv
import io
import math
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files.sources._source import RowBatch, format_of, in_sentences, require_kind
from bayesnb.tables.frames._series import Array, DataError
from bayesnb.tables.frames._texts import are_among, are_numbers, match
from bayesnb.tables.frames._values import DECIMAL_COMMA, READING, Reading, reads_as_number

STARTS = "=+-@＝＋－＠"
"""First characters of formulas, in half and full width."""

QUOTED = ',;\t\r\n"'
"""Characters that separate cells or rows in some locale or dialect of CSV, and the quote."""

TEXT = pa.dictionary(pa.int32(), pa.string())
"""The type of text: each distinct cell once, so that nothing is done for every cell."""

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}

GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+")
"""What may be a whole number with points between its thousands."""

SPACES = re.compile(rb'("[^"]*")|(?<![^\r\n])[ \t]+(?![^\r\n])')
"""A cell in quotes, or a line of spaces."""


class CsvFile:
    """A CSV file with a header line, in UTF-8; the name may end in .gz, .bz2 or .zst.

    Attributes:
        path: Its path.
        names: The names of its columns.
        schema: The names with the type null, since any type will do.
        warnings: Sentences about a header that looks wrong, and numbers that may be.
    """

    warnings: tuple[str, ...] = ()

    def __init__(self, path: Path, reading: Reading = READING) -> None:
        """Read the header.

        Args:
            path: The file.
            reading: What the user has declared of its cells.

        Raises:
            DataError: if the file cannot be read, is not CSV, is empty, or has two columns of one name.
        """
        self.path, self._reading, self.names = path, reading, list[str]()
        with in_sentences(path), _open_content(path) as (_, content):
            found, *rows = self._read_head(content)
        self.names = [name.strip() or f"column {position}" for position, name in enumerate(found, 1)]
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise DataError(f"'{path}' has more than one column named '{twice[0]}'; is its header line missing?")
        self.schema = pa.schema([(name, pa.null()) for name in self.names])
        numbers = [name for name in self.names if reads_as_number(name)]
        # tables of pixels name all columns but the target 0, 1, 2, ...; a stray number suggests that there is no header
        if numbers and len(numbers) != len(self.names) - 1:
            self.warnings = (f"the header names a column '{numbers[0]}'; is the header line missing?",)
        if self._delimiter == ";" and reading.decimal is reading.thousands is None:
            marks, warning = decimals_of(self.names, rows, reading.missing)
            self._reading, self.warnings = replace(reading, **marks), self.warnings + warning

    def _read_head(self, content: Any) -> list[list[str]]:
        """The header and some rows; what follows the header begins at ``_start``, on ``_line``."""
        head = content.read(limits.CSV_HEAD_BYTES)
        require_kind(self.path, head, "CSV")
        mark = len(BOM_UTF8) if head.startswith(BOM_UTF8) else 0
        head = head[mark:]
        if not head.strip():
            raise DataError(f"'{self.path}' is empty: give a file with a header line and rows below it")
        found = "\t" if format_of(self.path) == "tsv" else most_frequent_mark(head, ",;\t")
        self._delimiter = self._reading.sep or found
        while len(starts := find_rows(head, self._delimiter)[0]) < 2 and len(head) < limits.MOST_CSV_ROW_BYTES:
            if not (more := content.read(len(head))):
                break
            head += more
        header = head[: starts[1]] if len(starts) > 1 else head
        if self._reading.sep is None:
            require_separator(self.path, header, head, found.encode())
        self._require_quotes(header, 1)
        self._require_rows(header, 1)
        self._start, self._line = mark + len(header), 1 + count_lines(header)
        text = head[starts[0] : max(end_of_rows(head), len(header))].decode(errors="replace")
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter) if row]

    def batches(self, names: Sequence[str], texts: Collection[str] = ()) -> Iterator[RowBatch]:
        """Yield the named columns of all rows.

        A column is text if it is one of ``texts``, which may grow while batches are read, or if a cell of this batch or
        one before is not an exact number; otherwise it is numbers.

        Raises:
            DataError: naming the line, after the batches before it, if a row is not as wide as the header, or quotes do
                not enclose a whole cell.
        """
        first, line, rest, size = 0, self._line, b"", max(self.path.stat().st_size, 1)
        found = set[str]()  # columns of text so far; to read one as numbers and again as text would take long
        with in_sentences(self.path), _open_content(self.path) as (file, content):
            content.read(self._start)
            while block := rest + (chunk := content.read(limits.CSV_BLOCK_BYTES)):
                end = end_of_rows(block) if chunk and len(block) < limits.MOST_CSV_ROW_BYTES else len(block)
                raw, rest = block[:end], block[end:]
                num_lines = count_lines(raw)
                if raw.strip(b" \r\n"):
                    self._require_quotes(raw, line)
                    rows = self._parse(raw, line, names, {*texts} | found)
                    found |= {name for name in names if rows[name].type == TEXT}
                    lines = partial(self._lines_of_rows, raw, line)
                    if num_lines + (not raw.endswith((b"\r", b"\n"))) == rows.num_rows:  # a row is a line
                        lines = partial(np.arange, line, line + rows.num_rows)
                    if rows.num_rows:
                        yield RowBatch(rows, first, min(file.tell() / size, 1.0), "line", lines)
                    first += rows.num_rows
                line += num_lines

    def _parse(self, raw: bytes, line: int, names: Sequence[str], texts: Collection[str]) -> pa.RecordBatch:
        """The rows of a block that begins on a line: as numbers, and as text what is no number, or may be rounded."""
        raw = SPACES.sub(rb"\1", raw) if len(self.names) == 1 else raw  # pyarrow would take such a line for a cell
        types: dict[str, Any] = {name: TEXT if name in texts else pa.float64() for name in names}
        try:
            rows = self._read(raw, types)
            numbers = [name for name in names if types[name] != TEXT]
            doubtful = [name for name in numbers if (pc.max(pc.abs(rows[name])).as_py() or 0) >= limits.LARGEST_WHOLE]
        except pa.ArrowInvalid:
            self._require_rows(raw, line)
            doubtful = [*names]
        if doubtful:
            rows = self._read(raw, types | dict.fromkeys(doubtful, TEXT))
        for position, name in enumerate(names):
            if rows[name].type == TEXT:
                rows = rows.set_column(position, name, as_cells(rows[name], self._reading, text=name in texts))
        return rows

    def _read(self, raw: bytes, types: dict[str, Any]) -> pa.RecordBatch:
        """The rows in these types, without lines of spaces; ArrowInvalid for other cells or other widths."""

        def of_odd_row(row: Any) -> str:
            return "error" if row.actual_columns > 1 or row.text.strip() else "skip"

        table = pa.csv.read_csv(
            pa.BufferReader(raw),
            pa.csv.ReadOptions(column_names=self.names, block_size=len(raw) + 1),
            pa.csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=b'"' in raw, invalid_row_handler=of_odd_row
            ),
            pa.csv.ConvertOptions(
                column_types=types,
                include_columns=[*types],
                null_values=[*self._reading.missing],
                decimal_point=self._reading.decimal or ".",
            ),
        )
        return next(iter(table.combine_chunks().to_batches()), pa.RecordBatch.from_pylist([], table.schema))

    def _lines_of_rows(self, raw: bytes, line: int) -> Array:
        return line + find_rows(raw, self._delimiter)[1]

    def _require_quotes(self, raw: bytes, line: int) -> None:
        place = irregular_quote(raw, self._delimiter)
        if place is not None:
            raise DataError(
                f"line {line + count_lines(raw[:place])} of '{self.path}' is not CSV: a cell is not enclosed by its "
                'quotes; enclose the whole cell, and write a quote inside it twice: "5"" wide" for 5" wide'
            )

    def _require_rows(self, raw: bytes, line: int) -> None:
        """Raise DataError, naming the line, if some bytes are not UTF-8, or a row is not as wide as the header."""
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            place = f"line {line + count_lines(raw[: error.start])} holds the byte 0x{raw[error.start]:02x}"
            raise DataError(f"'{self.path}' is not UTF-8 text ({place}); save it as UTF-8") from error
        _, lines, widths = find_rows(raw, self._delimiter)
        wrong = widths != (len(self.names) or widths[0])
        if wrong.any():
            place, width = line + lines[wrong][0], widths[wrong][0]
            cells = f"{width:,} cell" if width == 1 else f"{width:,} cells"
            raise DataError(
                f"line {place} of '{self.path}' has {cells} where the header has {len(self.names)}: mend the line, or "
                f"quote a cell that holds {'a tab' if self._delimiter == chr(9) else repr(self._delimiter)}"
            )


@contextmanager
def _open_content(path: Path) -> Iterator[tuple[BinaryIO, Any]]:
    """Open a file, and yield its stored bytes, whose position is the progress, and its decompressed content."""
    with path.open("rb") as file:
        codec = CODECS.get(path.suffix.lower())
        yield file, file if codec is None else pa.CompressedInputStream(file, codec)


def most_frequent_mark(text: bytes, marks: str) -> str:
    """The mark that is most frequent outside quotes in the first non-blank line."""
    first = next(filter(bytes.strip, text.splitlines()), b"")
    bare = re.sub(rb'"[^"]*("|$)', b"", first)
    return max(marks, key=lambda mark: bare.count(mark.encode()))


def count_lines(raw: bytes) -> int:
    """The number of line ends: LF, CR or CR LF."""
    return raw.count(b"\n") + (raw.count(b"\r") - raw.count(b"\r\n") if b"\r" in raw else 0)


def end_of_rows(block: bytes) -> int:
    """The end of the last whole row of a block that begins with a row; 0 if there is none."""
    bare = _without_quoted(block)  # of which a CR at its end may be the first half of CR LF
    return max(bare.rfind(b"\n"), bare.rfind(b"\r", 0, max(len(bare) - 1, 0))) + 1


def irregular_quote(raw: bytes, delimiter: str) -> int | None:
    """The place of the first cell that has quotes which do not enclose it, or that does not end; None without one."""
    other = rf"[^{re.escape(delimiter)}\r\n]"
    cell = rf'(?<!{other})"[^"]*+(?>""[^"]*+)*+"(?!{other})'
    regular: Any = re.match(rf'[^"]*+(?>{cell}[^"]*+)*+'.encode(), raw)
    return None if regular.end() == len(raw) else regular.end()


def find_rows(raw: bytes, delimiter: str) -> tuple[Array, Array, Array]:
    """The starts, lines (the first is 0) and numbers of cells of the rows that are not blank; quotes are regular."""
    cells, bare = (np.frombuffer(some, np.uint8) for some in (raw, _without_quoted(raw)))
    starts = np.append(0, _line_ends(bare))
    starts = starts[starts < len(raw)]
    widths = 1 + np.add.reduceat(bare == ord(delimiter), starts, dtype=int)
    shown = np.logical_or.reduceat(~np.isin(cells, [*b" \t\r\n"]), starts) | (widths > 1)
    return starts[shown], np.searchsorted(_line_ends(cells), starts, "right")[shown], widths[shown]


def _without_quoted(raw: bytes) -> bytes:
    """The bytes, with quotes in place of all that quotes enclose."""
    if b'"' not in raw:
        return raw
    cells, quote = np.frombuffer(raw, np.uint8), np.uint8(ord('"'))
    return np.where(np.logical_xor.accumulate(cells == quote), quote, cells).tobytes()


def _line_ends(cells: Array) -> Array:
    """The places after line ends: LF, CR or CR LF."""
    lf, cr = (cells == mark for mark in b"\n\r")
    return 1 + np.flatnonzero(lf | (cr & ~np.append(lf[1:], False)))


def as_cells(column: pa.Array, reading: Reading, *, text: bool) -> pa.Array:
    """Cells that were read as ``TEXT``: as numbers if all are, and exact ones, unless it is text.

    Texts are without spaces around them and without protecting apostrophes.
    """
    cells = pc.utf8_trim_whitespace(column.dictionary)  # the distinct ones, of which a column has few
    present = pc.if_else(pa.array(are_among(cells, reading.missing)), None, plain_numbers(cells, reading))
    if text or not are_numbers(present.drop_null()).all():
        quoted = pc.starts_with(cells, "'")
        read = [as_read(cell) for cell in cells.filter(quoted).to_pylist()]
        texts = pc.replace_with_mask(cells, quoted, pa.array(read, pa.string()))
        return pa.DictionaryArray.from_arrays(column.indices, texts)
    try:
        numbers = present.cast(pa.float64())
    except pa.ArrowInvalid:  # Python reads +1 and digits of other scripts as well
        numbers = pa.array([None if cell is None else float(cell) for cell in present.to_pylist()], pa.float64())
    return numbers.take(column.indices)


def plain_numbers(cells: pa.Array, reading: Reading) -> pa.Array:
    """Texts as Python writes numbers, where they are numbers with the declared marks."""
    decimal, thousands = reading.decimal or ".", reading.thousands
    if thousands:
        grouped = rf"[+-]?\d{{1,3}}({re.escape(thousands)}\d{{3}})+({re.escape(decimal)}\d*)?"
        plain = pc.replace_substring(cells, thousands, "")
        cells = pc.if_else(pa.array(match(cells, grouped)), plain, cells)
    if decimal != ".":  # a point is none, and what has one is text
        cells = pc.replace_substring(pc.replace_substring(cells, ".", "\0"), decimal, ".")
    return cells


def decimals_of(
    names: Sequence[str], rows: Sequence[Sequence[str]], missing: frozenset[str]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The marks in the numbers of a file with semicolons, as its first rows show them, and sentences about them.

    Commas are decimal if all columns of numbers with a fraction have them.
    """
    commas, grouped, points = list[str](), dict[str, str](), False
    for place, name in enumerate(names):
        cells = {row[place].strip() for row in rows if len(row) == len(names)} - missing
        odd = sorted(cell for cell in cells if not cell.lstrip("+-").isdecimal())
        if odd and all(map(DECIMAL_COMMA.fullmatch, odd)):
            commas += odd
        elif odd and all(map(GROUPED.fullmatch, odd)) and len(odd) < len(cells):
            grouped[name] = odd[0]
        else:
            points |= any(map(reads_as_number, odd))
    if commas and not points:
        marks = {"decimal": ","} | ({"thousands": "."} if grouped or any("." in cell for cell in commas) else {})
        return marks, (f"numbers such as '{commas[0]}' have decimal commas, and are read so: decimal=',', --decimal ,",)
    return {}, tuple(
        f"column '{name}' has whole numbers and '{cell}': if its point is one between thousands, say so, thousands='.' "
        "or --thousands ."
        for name, cell in grouped.items()
    )


def require_separator(path: Path, header: bytes, head: bytes, delimiter: bytes) -> None:
    """Raise DataError if the first line shows another separator than commas, semicolons and tabs, or is a comment."""
    first, *others = (line.strip() for line in head.splitlines() if line.strip())
    rows = [first, *others[:2]]
    cells = [[reads_as_number(cell.decode(errors="replace")) for cell in line.split(delimiter)] for line in rows[1:]]
    names_follow = len(cells) == 2 and any(cells[1]) and not any(cells[0])  # the header, and then a row
    comment = first.startswith(b"#") and (len({line.count(delimiter) for line in rows}) > 1 or names_follow)
    blanks = len(rows) == 3 and len({len(line.split()) for line in rows}) == 1 < len(first.split())
    other = delimiter not in header and (b"|" in header or blanks)
    if not (comment or other or first.lower().startswith(b"sep=")):
        return
    shown = header.strip().decode(errors="replace")[:40]
    raise DataError(
        f"the first line of '{path}', '{shown}', is no header: commas, semicolons and tabs separate cells; name "
        "another separator, sep='|' or --sep '|', and take lines such as sep=; and comments out"
    )


def as_written(text: str) -> str:
    """The text of a cell as written to the file."""
    return f"'{text}" if _looks_like_formula(text) else text


def as_read(cell: str) -> str:
    """The original text of a cell read from the file; the inverse of ``as_written``."""
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell[1:]) else cell


def line(cells: Iterable[Any]) -> str:
    """A row of text and numbers as a line of CSV."""
    return ",".join([_quote(as_written(cell)) if isinstance(cell, str) else repr(cell) for cell in cells]) + "\n"


def _quote(text: str) -> str:
    if any(mark in text for mark in QUOTED):
        return '"' + text.replace('"', '""') + '"'
    return text


def _looks_like_formula(text: str) -> bool:
    bare = text.lstrip("'")
    if bare[:1].isspace():
        return True
    return bare[:1] in STARTS and bare != "" and not (reads_as_number(bare) and math.isfinite(float(bare)))
