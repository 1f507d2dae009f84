"""Distinct texts as arrays of Arrow: the texts of a column, how they look, their order, and their codes.

Nothing here is done for every text in Python, since columns of clicks have millions of them. The dictionary of a column
of Parquet grows from batch to batch of a row group, so what was found for its beginning is kept.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.frames._values import (
    DECIMAL_COMMA,
    FLAGS,
    MAYBE_NAMES,
    THOUSANDS,
    WHOLE,
    Array,
    DataError,
    label,
    reads_as_number,
)

DATES = (nw.Date, nw.Datetime, nw.Time, nw.Duration)

SPACE = r"[\t-\r \x{85}\p{Z}]"
DIGITS = r"(\p{Nd}+\.?\p{Nd}*|\.\p{Nd}+)([eE][+-]?\p{Nd}+)?"
NUMBER = f"{SPACE}*[+-]?({DIGITS}|(?i:inf|infinity|nan)){SPACE}*"
"""What Python's ``float`` reads, without underscores."""

MEANT = "|".join((NUMBER, DECIMAL_COMMA.pattern, THOUSANDS.pattern, WHOLE.pattern))
SHORT = 15
"""Letters of a whole number that float64 does not round."""

DAY = r"(0?[1-9]|[12]\d|3[01])"
DATE = rf"(\d{{4}}[-/.]{DAY}[-/.]{DAY}|{DAY}[-/]{DAY}[-/]\d\d(\d\d)?|{DAY}\.{DAY}\.\d{{4}})([T ]+\d\d?:.*)?"

Part = tuple[pa.Array, Array]
"""Texts, and how often each occurs, by class."""

KEPT = np.array([0, *(2**64 - 2 ** (64 - 8 * n) for n in range(1, 9))], np.uint64)
"""What is left of eight bytes of which the first n count."""


def encoded(cells: nw.Series[Any], missing: Collection[str] = ()) -> tuple[Array, pa.Array]:
    """The code of each cell [N], -1 if it is missing, and the texts of the codes, of which some may not occur.

    Texts among those ``missing``, with blanks around them or not, are missing, too.

    DataError for text that is not Unicode.
    """
    codes, texts = _encoded(cells)
    absent = are_among(texts, missing)
    return (np.where(np.append(absent, True)[codes], np.int32(-1), codes) if absent.any() else codes), texts


def are_among(texts: pa.Array, some: Collection[str]) -> Array:
    """Whether each text [N] is one of these, apart from blanks around it."""
    if not some:
        return np.zeros(len(texts), bool)
    found = pc.is_in(pc.utf8_trim_whitespace(texts), value_set=pa.array([*some], texts.type))
    return found.to_numpy(zero_copy_only=False)


def without(column: pa.Array, missing: Collection[str]) -> tuple[pa.Array, int]:
    """A column of texts, null where they are among those missing, and how many of these cells may be names."""
    encoded = pa.types.is_dictionary(column.type)
    values = column.dictionary if encoded else column
    absent = are_among(values, missing)
    if not absent.any():
        return column, 0
    names = are_among(values, {*MAYBE_NAMES} & {*missing})
    if not encoded:
        return pc.if_else(pa.array(absent), None, column), int(names.sum())
    codes = pa.array(np.cumsum(~absent, dtype=np.int32) - np.int32(1), mask=absent).take(column.indices)
    kept = pa.DictionaryArray.from_arrays(codes, values.filter(pa.array(~absent)), ordered=column.type.ordered)
    return kept, pc.sum(pa.array(names).take(column.indices)).as_py() or 0


def _encoded(cells: nw.Series[Any]) -> tuple[Array, pa.Array]:
    if not len(cells):
        return np.zeros(0, np.int32), as_texts([])
    native = cells.to_native()
    if cells.implementation.is_pandas() or cells.dtype in DATES:
        # dates of all libraries as those of pandas
        given = native if cells.implementation.is_pandas() else pd.Series(cells.to_numpy())
        codes, found = pd.factorize(given)
        try:
            return codes, as_texts(found)
        except UnicodeEncodeError as error:
            odd = error.object[error.start]
            raise DataError(
                f"column '{cells.name}' holds text with {odd!r}, which is half of a character: write it as Unicode"
            ) from error
    column = native if cells.implementation.is_pyarrow() else cells.to_arrow()
    column = column if hasattr(column.type, "index_type") else column.dictionary_encode()
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    codes = column.indices.cast(pa.int32()).fill_null(-1).to_numpy()
    found = column.dictionary
    if found.null_count:
        codes = np.where(np.append(found.is_null(), True)[codes], np.int32(-1), codes)
    return codes, as_texts(found)


def as_texts(found: Any) -> pa.Array:
    """Distinct values as texts."""
    if isinstance(found, pa.Array):
        if is_text(found.type):
            return found.cast(pa.large_string())
        found = found.to_pylist()
    elif isinstance(getattr(found, "dtype", None), pd.CategoricalDtype):
        found = found.astype(object)
    try:
        texts = pa.array(found, pa.large_string(), from_pandas=True)
        return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    except (pa.ArrowException, TypeError):  # booleans, dates and values of several types
        return pa.array([None if value is None else label(value) for value in found], pa.large_string())


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text, plain or dictionary-encoded."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def factorise(cells: nw.Series[Any], missing: Collection[str] = ()) -> tuple[Array, pa.Array]:
    """The distinct texts of a column, and for each cell [N] the position of its text; -1 if it is missing.

    True, true and TRUE are one text, `True`, as they are in other readers of files. Texts are in order of appearance.
    """
    codes, given = encoded(cells, missing)
    places, present = np.full(len(codes), -1), codes >= 0
    places[present], used = pd.factorize(codes[present])
    distinct = in_one_spelling(given.take(pa.array(used))).dictionary_encode()
    if len(distinct.dictionary) < len(used):
        places = np.append(distinct.indices, -1)[places]
    return places, distinct.dictionary


def in_one_spelling(texts: pa.Array) -> pa.Array:
    """The texts with booleans in one spelling."""
    flags = match(texts, r"(?i:true|false)")
    if not flags.any():
        return texts
    spelt = [FLAGS[text.casefold()] for text in texts.filter(pa.array(flags)).to_pylist()]
    return pc.replace_with_mask(texts, pa.array(flags), pa.array(spelt, texts.type))


def match(texts: pa.Array, pattern: str) -> Array:
    """Whether each text [N] as a whole matches a regular expression of RE2."""
    found = pc.match_substring_regex(texts, f"^(?:{pattern})$").fill_null(False)
    return found.to_numpy(zero_copy_only=False)


def are_numbers(texts: pa.Array) -> Array:
    """Whether each text [N] is a number, and not a whole number that float64 would round."""
    if len(texts) == 1:  # expressions take half a millisecond to begin
        return np.array([reads_as_number(texts[0].as_py())])
    found = match(texts, NUMBER)
    long = np.flatnonzero(found & (pc.binary_length(texts).fill_null(0).to_numpy() > SHORT))
    found[long] = [*map(reads_as_number, texts.take(pa.array(long)).to_pylist())]
    return found


def order_of(texts: pa.Array) -> Array:
    """The positions that sort texts as Python does; most differ in their first letters, compared as one number."""
    first = _letters(texts, _same_start([*pc.min_max(texts).as_py().values()]))
    order = np.argsort(first)
    same, tied = first[order][1:] == first[order][:-1], np.zeros(len(order), bool)
    tied[1:] |= same
    tied[:-1] |= same
    some = texts.take(pa.array(order[tied]))
    order[tied] = order[tied][pc.array_sort_indices(some)]
    return order


def _same_start(ends: Sequence[str]) -> int:
    """The number of bytes with which the first and the last of some texts begin alike, and so all between."""
    return sum(takewhile(bool, map(operator.eq, *(end.encode() for end in ends)))) if ends and all(ends) else 0


def _letters(texts: pa.Array, start: int) -> Array:
    """Eight bytes of each text [N] from ``start`` on, as one number in their order; zeros beyond the end."""
    ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
    starts, left = ends[:-1] - ends[0] + start, np.clip(np.diff(ends) - start, 0, 8)
    room = np.append(letters, np.zeros(8, np.uint8))
    words = np.ndarray(len(room) - 7, ">u8", room, strides=(1,))[np.minimum(starts, len(letters))]
    return words.astype(np.uint64) & KEPT[left]


def first_alike(texts: pa.Array) -> tuple[str, str] | None:
    """The first two texts that differ only in case or blanks."""
    folded = pc.utf8_lower(pc.utf8_upper(pc.replace_substring_regex(texts, f"{SPACE}+", "")))
    if folded.equals(texts):  # which are distinct
        return None
    codes, _ = pd.factorize(folded.to_numpy(zero_copy_only=False))
    again = np.flatnonzero(codes <= np.maximum.accumulate(np.append(-1, codes[:-1])))[:1]
    return (texts[int(np.argmax(codes == codes[again]))].as_py(), texts[int(again[0])].as_py()) if len(again) else None


@dataclass(frozen=True, eq=False)
class Texts:
    """The distinct texts of some cells, ``counts`` of which have those of ``dictionary``, and others those ``before``.

    Attributes:
        dictionary: Texts, some of which may not occur.
        counts: How often each occurs in rows of each class, [V, K], or in all rows, [V, 1].
        most: How many texts are kept.
        before: The texts of the other cells and their counts, in parts; None if they are more than are kept.
        num_numbers: How many of the other cells are numbers, or are meant to be, where the texts are not kept.
        dates: Whether these cells are all dates.
    """

    dictionary: pa.Array
    counts: Array
    most: float
    before: tuple[Part, ...] | None = ()
    num_numbers: int = 0
    dates: bool = True

    def join(self, other: Texts) -> Texts:
        """The texts of both."""
        if other.before == () and _extends(other.dictionary, self.dictionary):
            fewer = max(self.counts.shape[1] - other.counts.shape[1], 0)  # once there are too many classes to count by
            counts = np.pad(other.counts, ((0, 0), (0, fewer)))
            counts[: len(self.counts), : self.counts.shape[1]] += self.counts
            return replace(self, dictionary=other.dictionary, counts=counts)
        one = self.closed
        if other.before == ():  # its dictionary may grow
            return replace(other, before=one.before, num_numbers=one.num_numbers, dates=one.dates, most=self.most)
        two = other.closed
        if one.before is None or two.before is None:
            one, two = one._without_texts(), two._without_texts()
            return replace(one, num_numbers=one.num_numbers + two.num_numbers, dates=one.dates and two.dates)
        return one._with(two.before)

    @property
    def shown(self) -> pa.Array:
        """The texts of the dictionary that occur."""
        return in_one_spelling(self.dictionary.filter(pa.array(self.counts.any(axis=1))))

    @cached_property
    def closed(self) -> Texts:
        """The same with all texts among those before."""
        used = self.counts.any(axis=1)
        return self._with(((in_one_spelling(self.dictionary.filter(pa.array(used))), self.counts[used]),))

    def _with(self, more: tuple[Part, ...]) -> Texts:
        """The same with these texts among those before, and no dictionary; each text once where they are many."""
        parts = (*(self.before or ()), *more)
        total = sum(len(texts) for texts, _ in parts)
        if self.before is not None and (total > 2 * len(parts[0][0]) or len(parts[0][0]) > self.most):
            parts = (_unique(parts),)
        found = replace(self, dictionary=self.dictionary[:0], counts=self.counts[:0], before=parts)
        return found if self.before is not None and len(parts[0][0]) <= self.most else found._without_texts()

    def _without_texts(self) -> Texts:
        """The same, but what they say of texts that are too many to be kept."""
        parts = self.before or ()
        numbers = self.num_numbers + sum(int(counts[match(texts, MEANT)].sum()) for texts, counts in parts)
        dates = self.dates and all(match(some, DATE).all() for texts, _ in parts for some in (texts[:1], texts))
        return replace(self, before=None, num_numbers=numbers, dates=dates)

    @cached_property
    def counted(self) -> Part | None:
        """The distinct texts in order and their counts; None if they are more than are kept.

        Here texts that became equal are one, whatever changed them, as each differs from the text before it.
        """
        parts = self.closed.before
        if parts is None:
            return None
        texts, counts = parts[0] if len(parts) == 1 else _unique(parts)
        if len(texts) > self.most:
            return None
        order = order_of(texts)
        texts, counts = texts.take(pa.array(order)), counts[order]
        new = pc.not_equal(texts[1:], texts[:-1]).to_numpy(zero_copy_only=False)
        return (texts, counts) if new.all() else _unique(((texts, counts),))

    @property
    def distinct(self) -> pa.Array | None:
        """The distinct texts; None if they are more than are kept."""
        return self.counted and self.counted[0]

    @cached_property
    def said(self) -> tuple[int, bool]:
        """How many cells are numbers, or are meant to be, and whether all are dates."""
        found = self.closed if self.counted is None else replace(self.closed, before=(self.counted,))
        found = found._without_texts()
        return found.num_numbers, found.dates


def _unique(parts: tuple[Part, ...]) -> Part:
    """Each text once, with its counts."""
    every = pa.chunked_array([texts for texts, _ in parts], pa.large_string()).dictionary_encode().combine_chunks()
    most = max(counts.shape[1] for _, counts in parts)
    table = np.concatenate([np.pad(counts, ((0, 0), (0, most - counts.shape[1]))) for _, counts in parts])
    codes, size = every.indices.to_numpy(), len(every.dictionary)
    return every.dictionary, np.stack([np.bincount(codes, own, minlength=size) for own in table.T], axis=1)


class Lookup:
    """The codes of texts among sorted values, by the eight letters after those with which all values begin; among few
    values, in any order, by their hashes.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = pa.array(values, pa.large_string())
        self._start = _same_start([*values[:1], *values[-1:]])
        self._last = self._values[:0], np.zeros(0, np.int32)

    @cached_property
    def _letters(self) -> Array:
        return _letters(self._values, self._start)

    def codes(self, dictionary: pa.Array) -> Array:
        """As ``find``, with booleans in one spelling; of a dictionary that has grown only what is new is looked up."""
        before, codes = self._last
        codes = codes if _extends(dictionary, before) else codes[:0]
        codes = np.append(codes, self.find(in_one_spelling(dictionary.slice(len(codes)))))
        self._last = dictionary, codes
        return codes

    def find(self, texts: pa.Array) -> Array:
        """The code of each text [N]; -1 if it is not among the values."""
        if not len(self._values):
            return np.full(len(texts), -1, np.int32)
        if texts.equals(self._values):
            return np.arange(len(texts), dtype=np.int32)
        if len(self._values) <= limits.MOST_BINS:  # as many as an ordered column may have
            return pc.index_in(texts, value_set=self._values).fill_null(-1).to_numpy()
        letters, places = _letters(texts, self._start), np.zeros(len(texts), np.int32)
        order = np.argsort(letters)  # to search for neighbours one after the other is six times as fast
        places[order] = np.minimum(np.searchsorted(self._letters, letters[order]), len(self._values) - 1)
        same = pc.equal(self._values.take(pa.array(places)), texts).fill_null(False).to_numpy(zero_copy_only=False)
        codes = np.where(same, places, np.int32(-1))
        others = np.flatnonzero(~same & (self._letters[places] == letters))  # what differs further on
        if len(others):
            codes[others] = pc.index_in(texts.take(pa.array(others)), value_set=self._values).fill_null(-1)
        return codes


def _extends(dictionary: pa.Array, before: pa.Array) -> bool:
    """Whether a dictionary begins with another one, which is not empty."""
    return len(dictionary) >= len(before) > 0 and dictionary.slice(0, len(before)).equals(before)
