"""A column of text whose cells are read as words: a block of counts, with a column for each word of the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.frames.column_kinds import Column, in_order
from bayesnb.frames.series import DATES, DataError, factorise, is_missing, to_plain
from bayesnb.frames.summaries import Summary
from bayesnb.frames.words import changed_params, count_words, make, name_of


@dataclass(frozen=True)
class WordColumn(Column):
    """A column of kind `words`: its block has a Multinomial likelihood given the number of words in a cell.

        theta_k ~ Dirichlet(l, ..., l),   x_n | y_n = k ~ Multinomial(sum_w x_nw, theta_k)

    ``values`` are the words that have occurred, sorted; other words are dropped from a cell. So a missing cell is one
    without words, whose factor is one.

    Attributes:
        vectorizer: How a cell is split: scikit-learn's ``CountVectorizer``, or its ``HashingVectorizer``, which has no
            vocabulary.
    """

    vectorizer: Any = field(default=None, compare=False)

    @property
    def likelihood(self) -> str:
        """`words`, `character n-grams`, or the class of the vectorizer."""
        return name_of(self.vectorizer)

    @property
    def is_block(self) -> bool:
        """True: the column alone is a block."""
        return True

    @property
    def names(self) -> tuple[str, ...]:
        """The words; the places of hashed ones, or one place without a word if none has occurred."""
        if self.values:
            return self.values  # type: ignore[return-value]
        size = getattr(self.vectorizer, "n_features", 1)
        return tuple(f"{self.name}[{place}]" for place in range(size))

    def encode(self, given: Any) -> Any:
        """Cells [N] as counts of words [N, D] in CSR format; DataError for cells that are not text."""
        cells = to_plain(nw.from_native(given, series_only=True))
        if is_missing(cells):
            return count_words(self._counter, [], np.full(len(cells), -1))
        other = cells.dtype == nw.Boolean or cells.dtype.is_numeric() or cells.dtype in DATES
        _require_text(other, self.name, "dates or times" if cells.dtype in DATES else "numbers")
        positions, texts = factorise(cells)
        return count_words(self._counter, texts, positions)

    def join(self, other: Any) -> Self:
        """The same column with the words of both; DataError if the other is of another kind, or is split otherwise."""
        if other.kind != self.kind:
            return super().join(other)
        if changed_params(self.vectorizer) != changed_params(other.vectorizer):
            raise DataError(
                f"column '{self.name}' was split by {self.vectorizer!r} in the rows before, and now by "
                f"{other.vectorizer!r}: give the same as in the first rows"
            )
        new = {*other.values} - {*self.values}
        return replace(self, values=in_order({*self.values, *new})) if new else self

    def describe(self) -> str:
        """The number of words, or of places for them."""
        return f"{len(self.values):,} words" if self.values else f"{len(self.names):,} places for words"

    @cached_property
    def _counter(self) -> Any:
        """The vectorizer with this vocabulary."""
        if hasattr(self.vectorizer, "n_features"):
            return self.vectorizer
        counter = make("CountVectorizer", changed_params(self.vectorizer))
        # what is not checked again takes no time for one row
        counter.vocabulary_ = {word: place for place, word in enumerate(self.values or (NO_WORD,))}
        counter.fixed_vocabulary_ = True
        return counter


NO_WORD = "\0"
"""The only word of a vocabulary that is empty so far."""


def describe_words(column: Summary, vectorizer: Any, own_block: str) -> WordColumn:
    """The column with the words of its cells; DataError for numbers, booleans and dates."""
    _require_text(column.num_cells > 0 and not column.text, column.name, "numbers")
    words = in_order(column.words or frozenset())
    return WordColumn(column.name, "words", words, True, None, column.missing, None, own_block, vectorizer=vectorizer)


def require_words(column: Summary) -> None:
    """Raise DataError if several texts are all numbers, dates or booleans: that column was hardly meant."""
    odd = "dates" * column.dates or "true and false" * column.flags or "numbers written as text" * (column.odd is None)
    _require_text(column.text and column.distinct > 1 and bool(odd), column.name, odd)


def _require_text(refused: bool, name: str, held: str) -> None:
    if refused:
        raise DataError(
            f"column '{name}' holds {held}, which cannot be split into words: choose a likelihood of numbers or "
            "'categorical', or convert its cells to text"
        )
