"""What a table says of its columns, of parts anywhere: described apart, merged, and then counted apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from io import BytesIO
from typing import Any, Self, Unpack

import numpy as np

from bayesnb.compute.arrays._typing import ByColumn
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.families import Family
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._arguments import check_model
from bayesnb.core.rows._checks import num_parts
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._model_statistics import merge_parts
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, sufficient_statistics
from bayesnb.core.storage._encoding import Arrays, decode, encode
from bayesnb.core.storage._results import StorageError, read_format, write_format
from bayesnb.tables.files._counting import count
from bayesnb.tables.files._description import Description, decide
from bayesnb.tables.files._progress import progress
from bayesnb.tables.files._summarise_table import Asked, RowSample, ask, summarise_source
from bayesnb.tables.files.sources._paths import KeptFile
from bayesnb.tables.files.sources._source import Part, Source, row_batch
from bayesnb.tables.files.sources._tables import open_table
from bayesnb.tables.frames._choices import AUTO
from bayesnb.tables.frames._inferred import in_python
from bayesnb.tables.frames._series import DataError, listing
from bayesnb.tables.frames._summaries import Summary
from bayesnb.tables.frames._values import READING, ReadingOptions
from bayesnb.tables.sklearn._settings import Parameters, require, specification

KIND, VERSION = "bayesnb schema", 1
"""The kind of content, and the version of its format."""


@dataclass(frozen=True, eq=False)
class TableSchema:
    """The columns and classes of a table, or of a part of it: what ``nb.describe_table`` returns.

    ``nb.merge`` of those of all parts is that of the table, whatever the parts and their order: bounds of numbers,
    categories by value, and classes by label. It has a sample of the rows, 10,000 at most of each class: in the same
    rows, whatever the parts, bins find their edges, and powers and dependence are learned.

    Attributes:
        asked: The columns, the target and the likelihoods that were chosen.
        summaries: What the cells of each column say.
        sample: Some of the rows.

    Example:
        >>> import pandas as pd, bayesnb as nb
        >>> parts = [pd.DataFrame({"leaf": [1.0, 1.2], "kind": [kind, kind]}) for kind in ("rose", "lily")]
        >>> nb.merge(*[nb.describe_table(part, "kind") for part in parts])
        TableSchema of 4 rows, 1 columns, target 'kind'
    """

    asked: Asked
    summaries: Mapping[str, Summary]
    sample: RowSample

    @property
    def num_rows(self) -> int:
        """The number of rows with a class."""
        return self.summaries[self.asked.target].num_cells

    def __repr__(self) -> str:
        return f"TableSchema of {self.num_rows:,} rows, {len(self.asked.names)} columns, target '{self.asked.target}'"

    @cached_property
    def description(self) -> Description:
        """The features and the classes, with the sample as the source of rows."""
        weight = f"weight of {max((*self.asked.names, self.asked.target), key=len)}"  # which no column can be called
        rows = self.sample.weighted(weight)
        file = KeptFile([row_batch(rows, 0, 1.0)], rows.schema)
        source = Source("the table", "table", rows.schema, [Part("the table", 0, lambda: file)])
        return replace(decide(source, self.asked, self.summaries, in_python), weight=weight)

    @cached_property
    def model(self) -> NaiveBayes:
        """What is counted: inferred numbers in all views, and bins with the edges of the sample."""
        found = self.description
        model = specification(Parameters(), found.schema, np.array(found.classes), views=True)
        X, y, weight = found.encode(self.sample.lowest().weighted(found.weight or ""), None)
        families = label_rows(model, X, y, weight, len(found.classes)).families
        return model.with_hyperparameters(families, model.class_concentration)

    @cached_property
    def key(self) -> str:
        """What statistics must share to be merged: a digest of the target, the columns, their values and the edges."""
        arrays: Arrays = {}
        code = [self.description.description(), self.asked.weight, encode(self.model, arrays)]
        digest = hashlib.blake2b(json.dumps(code).encode(), digest_size=16)
        for array in arrays.values():
            digest.update(array.tobytes())
        return digest.hexdigest()

    @cached_property
    def no_rows(self) -> ModelStatistics:
        """The statistics of no rows."""
        classes = self.description.classes
        empty = np.zeros(0, int)
        found = sufficient_statistics(self.model, self.description.empty(), empty, classes=classes)
        return replace(found, schema=self.key)

    def count(self, part: Any, *, progress_bar: bool = True) -> ModelStatistics:
        """The statistics of a part of the table, for ``nb.merge`` and then ``nb.fit_table(schema, statistics=...)``.

        Args:
            part: Any source of ``nb.fit_table``; it may have no rows.
            progress_bar: Whether to show a progress bar on stderr if that is a terminal.

        Raises:
            ValueError: naming the row, for a class or a category that the schema does not have.
        """
        described = replace(
            self.description, source=open_table(part, self.asked.reading), weight=self.asked.weight, key=self.key
        )
        how: dict[str, Any] = {"progress_bar": progress_bar, "none": self.no_rows}
        found = count(self.model, described, num_classes=len(described.classes), **how)
        return replace(found.named(described.classes), schema=self.key)

    def require(self, statistics: Any) -> Description:
        """The description, if the statistics were counted under this schema, with a warning if some rows were not."""
        if getattr(statistics, "schema", None) != self.key:
            raise DataError(
                "statistics must be counted under this schema, nb.merge(*[schema.count(part) for part in parts]), got "
                + ("those of another schema" if getattr(statistics, "schema", None) else type(statistics).__name__)
            )
        rows = float(np.sum(statistics.class_counts))
        if self.asked.weight is None and rows != self.num_rows:
            warn(f"the schema describes {self.num_rows:,} rows, and the statistics count {rows:,g}")
        return self.description

    def to_bytes(self) -> bytes:
        """The schema in the format of ``ModelStatistics.to_bytes``; its sample holds rows of the table."""
        arrays: Arrays = {}
        code = encode((tuple(self.asked), dict(self.summaries), self.sample), arrays)
        file = BytesIO()
        write_format(file, KIND, VERSION, {"schema": code}, arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The schema whose ``to_bytes`` this is; no code in it runs.

        Raises:
            StorageError: if it is damaged, of a later version, or something else.
        """
        header, arrays = read_format(content, KIND, VERSION, "TableSchema.to_bytes")
        try:
            asked, summaries, sample = decode(header["schema"], arrays)
        except Exception as error:  # a malformed header can raise anything
            raise StorageError(f"the content is no valid schema: {type(error).__name__} {error}") from error
        return cls(Asked(*asked), summaries, sample)

    def merge(self, other: Self) -> Self:
        """The schema of the rows of both parts.

        Raises:
            ValueError: if they differ in columns, in what was asked, or in the type of a column.
        """
        asked, theirs = self.asked, other.asked
        alone = {*asked.names} ^ {*theirs.names}
        if alone:
            raise DataError(f"the parts differ in columns, {listing(sorted(alone))}: give parts with the same columns")
        if repr(asked._replace(names=[])) != repr(theirs._replace(names=[])):
            raise DataError("the parts were described with another target, weight or likelihoods: give the same to all")
        summaries = {}
        for name, one in self.summaries.items():
            two = other.summaries[name]
            if one.text != two.text and min(one.num_cells, two.num_cells) > 0:
                raise DataError(
                    f"column '{name}' is text, or true and false, in one part and numbers in another: give it one type"
                )
            summaries[name] = one.merge(two)
        same = asked if asked.names == theirs.names else asked._replace(names=sorted(asked.names))
        return type(self)(same, summaries, self.sample.merge(other.sample))


@merge_parts.register(TableSchema)
def _(first: TableSchema, *others: Any, axis: int | None = None) -> TableSchema:
    del axis
    odd = next((type(other).__name__ for other in others if not isinstance(other, TableSchema)), None)
    if odd is not None:
        raise DataError(f"merge takes schemas or statistics, all of one kind, got a TableSchema and a {odd}")
    return reduce(TableSchema.merge, others, first)


def describe_table(
    source: Any,
    target: str | None = None,
    likelihoods: str | Family | Sequence[object] | ByColumn = AUTO,
    weight: str | None = None,
    *,
    missing: str | ByColumn | None = AUTO,
    progress_bar: bool = True,
    **reading: Unpack[ReadingOptions],
) -> TableSchema:
    """The schema of a table, or of a part of it that lies anywhere; one pass over its rows.

    Merged with those of the other parts it is the schema of the whole, under which the parts are counted. A fit to the
    merged statistics is the same for any split of the rows, in any order; up to 10,000 rows it is that of
    ``fit_table``, and beyond that edges of bins, powers and dependence come from the schema's sample of rows.

    Args:
        source, target, likelihoods, weight, progress_bar: As for ``nb.fit_table``; a part may have no rows.
        missing: `informative` or a dict for flags of missing cells, as for ``nb.fit_table``; of `auto`, which learns
            from rows, there are none.
        **reading: As for ``nb.fit_table``.

    Raises:
        ValueError: if the source, the target or a likelihood does not fit.

    Example:
        >>> import pandas as pd, bayesnb as nb
        >>> frame = pd.DataFrame({"leaf": [1.0, 1.2, 3.0, 3.1], "kind": ["rose", "rose", "lily", "lily"]})
        >>> parts = [frame[:1], frame[1:]]
        >>> schema = nb.merge(*[nb.describe_table(part, "kind", "normal") for part in parts])
        >>> total = nb.merge({day: schema.count(part) for day, part in enumerate(parts)})
        >>> nb.fit_table(schema, statistics=total).class_count_.tolist()
        [2.0, 2.0]
    """
    require(Parameters(missing=missing))
    opened = open_table(source, READING.declare(reading))
    asked = ask(opened, target, likelihoods, weight, missing)
    with progress(f"describing {opened.title}", 1.0, wanted=progress_bar) as advance:
        found, _, sample, _ = summarise_source(opened, asked, advance, sampled=True)
    summaries = {name: found.get(name) or Summary(name, 0, 0) for name in (*asked.names, asked.target)}
    return TableSchema(asked, summaries, sample)


def no_rows(model: NaiveBayes | TableSchema) -> ModelStatistics:
    """The statistics of no rows, to begin with: ``nb.merge(nb.no_rows(model), total)`` is ``total``.

    Args:
        model: A schema, or a model that knows its classes and columns, such as a resolved one.

    Raises:
        ValueError: if the number of classes or of columns is unknown.

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.Poisson()).resolve([[2, 7], [4, 1]], [0, 1])
        >>> nb.no_rows(model).blocks["x"].total.tolist()
        [[0.0, 0.0], [0.0, 0.0]]
    """
    if isinstance(model, TableSchema):
        return model.no_rows
    check_model(model)
    arrays = {}
    for block, family in model.families.items():
        width = model.columns[block] or getattr(family, "num_columns", None)  # some families know it
        if width is None:
            raise ValueError(f"the number of columns of block {block!r} is unknown: give model.resolve(X, y)")
        x = np.zeros((0, width))
        arrays[block] = (x, x) if num_parts(family) == 2 else x
    return sufficient_statistics(model, arrays["x"] if model.single else arrays, np.zeros(0, int))
