"""Columns of text that are read as words: how the vectorizers of scikit-learn split and count them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import narwhals.stable.v2 as nw
import numpy as np

from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.tables.frames._columns import Column, in_order
from bayesnb.tables.frames._series import DataError, are_missing, as_series
from bayesnb.tables.frames._texts import DATES, factorise
from bayesnb.tables.frames._values import READING, Reading

WORDS: dict[str, dict[str, Any]] = {
    "words": {},
    "character n-grams": {"analyzer": "char_wb", "ngram_range": (3, 3)},
}
"""The likelihoods of text by name, and the parameters of their ``CountVectorizer``."""

OF_ALL_TEXTS = {"max_df": 1.0, "min_df": 1, "max_features": None}
"""Parameters that choose words by their frequency in all texts, which later rows would change, and what leaves them."""

NO_WORD = "\0"
"""The only word of a vocabulary that is empty so far."""


@runtime_checkable
class Vectorizer(Protocol):
    """A vectorizer of scikit-learn, known by its method: its module takes half a second to import."""

    def build_analyzer(self) -> Any:
        """What splits a text into words."""


def vectorizer_of(given: Any) -> Any:
    """A vectorizer of its own for a likelihood by name, or for a vectorizer, which stays as it is; else None.

    Raises:
        DataError: for a vectorizer whose cells are no counts, or depend on the texts of other rows.
    """
    if isinstance(given, str):
        return make("CountVectorizer", WORDS[given]) if given in WORDS else None
    if not hasattr(given, "build_analyzer"):
        return None
    if isinstance(given, type):
        raise DataError(f"a likelihood is a vectorizer, not its class: write {given.__name__}()")
    kind, params = type(given).__name__, given.get_params()
    if kind not in ("CountVectorizer", "HashingVectorizer"):
        raise DataError(
            f"a {kind} does not count words, and a multinomial likelihood is of counts: give a CountVectorizer or a "
            "HashingVectorizer of scikit-learn"
        )
    if params["input"] != "content":
        raise DataError(f"the {kind} reads its texts from a {params['input']}: give input='content'")
    if kind == "HashingVectorizer" and (params["norm"] is not None or params["alternate_sign"]):
        raise DataError(
            "the HashingVectorizer gives no counts: write HashingVectorizer(norm=None, alternate_sign=False, ...)"
        )
    for name, without in OF_ALL_TEXTS.items():
        if params.get(name, without) != without:
            raise DataError(
                f"the CountVectorizer chooses words by {name}={params[name]!r}, which later rows would change: leave "
                "it out, give a vocabulary, or use a HashingVectorizer"
            )
    if params["analyzer"] == "word" and params["tokenizer"] is None:
        try:
            re.compile(params["token_pattern"])
        except (re.error, TypeError) as error:
            raise DataError(
                f"token_pattern of the {kind} must be a regular expression, such as r'\\w+', got "
                f"{params['token_pattern']!r}: {error}"
            ) from None
    return make(kind, changed_params(given))


def changed_params(vectorizer: Any) -> dict[str, Any]:
    """The parameters that differ from the defaults; the vocabulary as a list of words in order."""
    defaults = type(vectorizer)().get_params()
    params = {name: value for name, value in vectorizer.get_params().items() if name != "vocabulary"}
    changed = {name: value for name, value in params.items() if value != defaults[name] and name != "dtype"}
    vocabulary = getattr(vectorizer, "vocabulary", None)
    return changed if vocabulary is None else {**changed, "vocabulary": sorted({*map(str, vocabulary)})}


def plain_params(vectorizer: Any) -> dict[str, Any]:
    """The parameters that differ from the defaults; ValueError for functions, which a file cannot hold."""
    params = changed_params(vectorizer)
    functions = [name for name, value in params.items() if callable(value)]
    if functions:
        raise ValueError(
            f"its {type(vectorizer).__name__} has a function, {functions[0]}, which a file cannot hold: use "
            "token_pattern, or other parameters that are text or numbers"
        )
    return {name: sorted(value) if isinstance(value, set | frozenset) else value for name, value in params.items()}


def make(kind: str, params: Mapping[str, Any]) -> Any:
    """A vectorizer of scikit-learn by the name of its class."""
    from sklearn.feature_extraction import text  # takes long to import

    return {"CountVectorizer": text.CountVectorizer, "HashingVectorizer": text.HashingVectorizer}[kind](**params)


def vocabulary_of(vectorizer: Any, texts: Iterable[str]) -> frozenset[str]:
    """The words that occur in some of the texts, or those that the vectorizer has; empty if words are hashed."""
    if hasattr(vectorizer, "n_features"):
        return frozenset()
    if vectorizer.vocabulary is not None:
        return frozenset(vectorizer.vocabulary)
    split, found = vectorizer.build_analyzer(), set[str]()
    for text in texts:
        found.update(split(text))
    return frozenset(found)


def count_words(counter: Any, texts: list[str], positions: Any) -> Any:
    """The counts of words [N, D] in CSR format: row n is the text at ``positions[n]``, without words if that is -1."""
    counts = counter.transform(texts) if texts else counter.transform([""])[:0]
    if np.array_equal(positions, np.arange(len(texts))):
        return counts
    counts.resize((len(texts) + 1, counts.shape[1]))  # an empty row at the end, at -1
    return counts[positions]


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
        kind, changed = type(self.vectorizer).__name__, changed_params(self.vectorizer)
        names = [name for name, params in WORDS.items() if kind == "CountVectorizer" and params == changed]
        return names[0] if names else kind

    @property
    def names(self) -> tuple[str, ...]:
        """The words; the places of hashed ones, or one place without a word if none has occurred."""
        if self.values:
            return self.values  # type: ignore[return-value]
        size = getattr(self.vectorizer, "n_features", 1)
        return tuple(f"{self.name}[{place}]" for place in range(size))

    def encode(self, given: Any, reading: Reading = READING) -> Any:
        """Cells [N] as counts of words [N, D] in CSR format; DataError for cells that are not text."""
        cells = as_series(given, missing=reading.missing)
        if are_missing(cells, reading.missing).all():
            return count_words(self._counter, [], np.full(len(cells), -1))
        other = cells.dtype == nw.Boolean or cells.dtype.is_numeric() or cells.dtype in DATES
        require_text(other, self.name, "dates or times" if cells.dtype in DATES else "numbers")
        positions, texts = factorise(cells, reading.missing)
        counts = count_words(self._counter, texts.to_pylist(), positions)
        if self.values and self.vectorizer.vocabulary is None:
            silent, split = positions[(positions >= 0) & (np.diff(counts.indptr) == 0)], self._counter.build_analyzer()
            some = {place: texts[place].as_py() for place in np.unique(silent).tolist()}
            unknown = [place for place, text in some.items() if split(text)]  # others have no word at all
            if unknown:
                warn(
                    f"{np.isin(silent, unknown).sum():,} of {len(cells):,} texts in column '{self.name}' have no word "
                    f"that the model knows, such as {some[unknown[0]][:40]!r}, and say nothing of the class"
                )
        return counts

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
        return replace(self, values=in_order([*self.values, *new])) if new else self

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


def require_vocabularies(columns: Iterable[Column]) -> None:
    """Raise DataError if the vocabulary of a column of words is empty; hashed words have none."""
    for column in columns:
        if isinstance(column, WordColumn) and not (column.values or hasattr(column.vectorizer, "n_features")):
            raise DataError(
                f"column '{column.name}' has an empty vocabulary; perhaps its texts only contain stop words, or no "
                f"word of two letters: choose likelihoods={{'{column.name}': 'character n-grams'}}, or leave it out"
            )


def require_text(refused: bool, name: str, held: str) -> None:
    """Raise DataError if the column is ``refused``: it holds something else than text."""
    if refused:
        raise DataError(
            f"column '{name}' holds {held}, which cannot be split into words: choose a likelihood of numbers or "
            "'categorical', or convert its cells to text"
        )
