"""The columns and the classes of a described source, which encode its rows as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bayesnb.files.sources.batches import RowBatch, as_frame
from bayesnb.files.sources.csv_cells import TEXT
from bayesnb.files.sources.source import Encoder, Source
from bayesnb.frames.column_kinds import Column
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.series import Array, label


@dataclass(frozen=True, eq=False)
class Description(Encoder):
    """The features and the classes of a source, which encode its rows.

    Attributes:
        source: Where the rows come from.
        target: The column whose values are the classes.
        classes: The K classes, sorted; as integers if they are whole numbers.
        chosen: The kinds or families that the user has chosen, by column, or one family for all columns.
        schema: The features, in the order of the table, with those that are left out.
        num_rows: The number of rows with a class.
        num_unlabelled: The number of rows without a class, which are left out.
        warnings: Whole sentences for the user.
    """

    source: Source
    target: Column
    classes: tuple[Any, ...]
    chosen: Any
    schema: FrameSchema
    num_rows: int
    num_unlabelled: int
    warnings: tuple[str, ...]

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Name and reason of each column that is not used."""
        return tuple((column.name, column.reason) for column in self.schema.columns if column not in self.schema.used)

    @property
    def names(self) -> list[str]:
        return [column.name for column in (*self.schema.used, self.target)]

    @property
    def texts(self) -> set[str]:
        return {column.name for column in (*self.schema.used, self.target) if column.text}

    def description(self) -> Any:
        return {
            "target": self.target.name,
            "classes": [label(value) for value in self.classes],
            "columns": [[column.name, column.kind, [*map(label, column.values)]] for column in self.schema.used],
        }

    def check(self, schema: pa.Schema, place: str) -> None:
        del place
        self.schema.require(schema.names)

    def find_classes(self, source: Source, num_classes: int | None, classes: list[Any] | None) -> tuple[int, None]:
        del source, num_classes, classes
        return len(self.classes), None

    def empty(self) -> Any:
        types = [(name, TEXT if name in self.texts else pa.float64()) for name in self.names]
        return self.schema.encode(as_frame(pa.RecordBatch.from_pylist([], pa.schema(types))))

    def labelled(self, batch: RowBatch) -> RowBatch:
        return batch.keep(batch.present(self.target.name))

    def encode(self, rows: pa.RecordBatch, classes: Sequence[Any] | None) -> tuple[Any, Array, None]:
        del classes
        frame = as_frame(rows)
        return self.schema.encode(frame), self.target.encode(frame[self.target.name]), None
