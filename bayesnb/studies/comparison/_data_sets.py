"""The data sets of a study: each as a table with a model, and as the rows that other packages take."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import joblib
import numpy as np
import pandas as pd
from pyarrow.types import is_dictionary
from sklearn.utils import _safe_indexing as take

from bayesnb.compute.arrays._cells import is_sparse
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._checks import check_shapes, num_parts
from bayesnb.studies.comparison._asked import check_groups, names_of
from bayesnb.tables.files._description import Description, Table, describe, read_table, say_unlabelled
from bayesnb.tables.files.sources._paths import as_pandas, of_frame, open_data
from bayesnb.tables.files.sources._places import split_target
from bayesnb.tables.files.sources._source import Source
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import Array, DataError, as_frame, closest
from bayesnb.tables.frames._values import FLAGS, READING, Reading, ReadingOptions


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows with their classes.

    Attributes:
        name: The user's name of the set.
        table: The rows with a class, as blocks.
        model: The model of all methods, if the user gave one; then ``table`` has the rows as its blocks.
        given: The same rows for methods of other packages: the array, or a pandas frame of all columns.
        places: The positions of these rows among those that were given.
        names: The columns in order.
        seed: The seed of methods that draw at random.
        groups: The group of each row, which trains or tests as a whole; None if each row is one.
    """

    name: str
    table: Table
    model: NaiveBayes | None
    given: Any
    places: Array
    names: tuple[str, ...] = ()
    seed: int = 0
    groups: Array | None = None

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.table.classes)

    @cached_property
    def bayes(self) -> NaiveBayes:
        """The model of full Bayes."""
        return bayes_model(self.table) if self.model is None else self.model

    @cached_property
    def laplace(self) -> NaiveBayes:
        """The model of MAP."""
        return bayes_model(self.table, laplace=True) if self.model is None else self.model

    def rows(self, index: Array) -> tuple[Any, Array]:
        """The features, as the model takes them, and the labels of some rows."""
        X, y = self.table.rows(index)
        return (X["x"] if self.model is not None and self.model.single else X), y

    def given_rows(self, index: Array) -> Any:
        """The features of some rows, as the user gave them."""
        return take(self.given, index)

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of the rows, the labels and the model, the same for a frame and an array of the same numbers."""
        found = hashlib.blake2b(digest_size=16)
        for column in _columns(self.given):
            found.update(np.ascontiguousarray(column).tobytes())
        found.update(repr([column.likelihood for column in self.table.columns]).encode())
        found.update(self.table.y.astype("<i8").tobytes())
        if self.model is not None:
            found.update(
                joblib.hash(
                    [str(jax.tree.structure(self.model)), *map(np.asarray, jax.tree.leaves(self.model))]
                ).encode()
            )
        return found.digest()


def bayes_model(table: Table, *, laplace: bool = False, smoothing: float = 1.0) -> NaiveBayes:
    """The model of a table.

    Args:
        table: The data.
        laplace: The prior of counts and of classes is Dirichlet(2), whose mode is Laplace's rule, instead of
            Dirichlet(1). The prior of numbers is the unit-information prior in either case.
        smoothing: l of the features' priors, 1 by default; see ``Schema.likelihoods``.
    """
    likelihoods = Schema(table.columns).likelihoods(smoothing, laplace=laplace)
    # a small training set may lack a class, so the number of classes is declared
    return NaiveBayes(likelihoods, class_concentration=2.0 if laplace else 1.0, num_classes=len(table.classes))


def read_sets(
    given: Any, seed: int, groups: Mapping[str, Any] | None = None, reading: ReadingOptions | None = None
) -> list[DataSet]:
    """The data sets that a user gives, by name, or by their own names if they are files.

    ``groups`` has by set the group of each row, or the column that has it, which is then no feature; ``reading`` says
    what texts mean.

    Raises:
        DataError: for a set that is none of the forms that ``experiment`` takes, or whose rows do not fit.
    """
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Sequence) and all(isinstance(one, str) for one in given):
        given = dict(zip(names_of(given), given, strict=True))
    if not isinstance(given, Mapping) or not given:
        raise DataError(
            "sets must be a dict such as {'iris': (X, y), 'adult': 'adult.csv:income'}, or a list of files, got "
            f"{type(given).__name__}"
        )
    if groups is not None and not isinstance(groups, Mapping):
        raise DataError(
            f"groups must be a dict by set, such as {{'{next(iter(given))}': patients}}, got {type(groups).__name__}"
        )
    groups = {} if groups is None else groups
    check_groups([*groups], [*given])
    declared = READING.declare(reading or {})
    return [_read_set(str(name), one, seed, groups.get(name), declared) for name, one in given.items()]


def _read_set(name: str, given: Any, seed: int, group: Any, reading: Reading) -> DataSet:
    if isinstance(given, str | Path):
        return _of_file(name, str(given), seed, group, reading)
    if isinstance(given, tuple) and len(given) == 3 and isinstance(given[0], NaiveBayes):
        return _of_model(name, *given, seed, group)
    if not isinstance(given, tuple) or len(given) != 2:
        raise DataError(
            f"set '{name}' must be (X, y), (frame, 'target'), (model, X, y) or the name of a file such as "
            f"'adult.csv:income', got {type(given).__name__}"
        )
    X, y = given
    frame: Any = as_frame(X)
    own, target = [column for column in (y, group) if isinstance(column, str)], y if isinstance(y, str) else "class"
    for column in own:
        if frame is None or column not in frame.columns:
            hint = "" if frame is None else closest(column, frame.columns)
            raise DataError(
                f"set '{name}' has no column '{column}' for its {'classes' if column is y else 'groups'}{hint}"
            )
    y, group = (frame[column].to_numpy() if isinstance(column, str) else column for column in (y, group))
    if is_sparse(X):
        raise DataError(
            f"set '{name}' is a sparse matrix: give it with a model, (nb.NaiveBayes(nb.Multinomial()), X, y)"
        )
    X = np.asarray(X) if frame is None else frame.drop(own).to_pandas()
    if X.ndim != 2:
        raise DataError(f"X of set '{name}' must have rows and columns, got shape {X.shape}")
    y = np.asarray(y)
    if y.shape != (len(X),):
        raise DataError(f"y of set '{name}' must have one class for each of the {len(X)} rows, got shape {y.shape}")
    gone = pd.isna(y) | np.array([*map(reading.is_missing, y.tolist())], bool)
    group, places = _checked_groups(name, group, y), np.flatnonzero(~gone)
    X, y = take(X, places), y[places]
    plain = pd.DataFrame(X, columns=[f"x{d}" for d in range(X.shape[1])]) if frame is None else X
    target = next(name for name in (f"{target}{'_' * n}" for n in range(99)) if name not in plain)
    labels = (
        pd.Series(y, plain.index) if y.dtype.kind in "iufb" else pd.Series(y.astype(str), plain.index, dtype=object)
    )
    source = of_frame(name, plain.assign(**{target: labels})).read_as(reading)
    found = _described(name, source, target, {}, int(gone.sum()))
    given = X if frame is None else _as_others_take(source, found)[[*X]]
    group = None if group is None else group[places]
    return DataSet(name, read_table(found), None, given, places, (*plain,), seed, group)


def _described(name: str, source: Source, target: str | None, likelihoods: Any, gone: int = 0) -> Description:
    """The features and the classes of a set, whose name is said with every warning and error.

    Args:
        name, source, target, likelihoods: As for ``describe``.
        gone: The number of rows without a class, if the source has them no more.
    """
    try:
        found = describe(source, target, likelihoods, how=lambda *_: "")  # a study has no option for likelihoods
    except DataError as error:
        raise DataError(f"set '{name}': {error}") from error
    gone = gone or found.num_unlabelled
    said = [*([say_unlabelled(gone, found.target.name)] if gone else []), *found.warnings]
    found = replace(found, warnings=tuple(f"set '{name}': {text}" for text in said))
    for text in found.warnings:
        warn(text)
    return found


def _checked_groups(name: str, given: Any, y: Array) -> Array | None:
    if given is not None and np.shape(given) != y.shape:
        raise DataError(
            f"groups of set '{name}' must be one for each of the {len(y):,} rows, got shape {np.shape(given)}"
        )
    return None if given is None else np.asarray(given)


def _of_file(name: str, given: str, seed: int, group: Any, reading: Reading) -> DataSet:
    """A file, with the column of classes after a colon, or a set of scikit-learn."""
    data, target = split_target(given)
    source, column = open_data(data, reading), [group] if isinstance(group, str) else []
    found = _described(name, source, target, dict.fromkeys(column, "skip"))
    rows = _as_others_take(source, found, column).drop(columns=found.target.name)
    table, group = read_table(found), rows.pop(group) if column else group
    group = _checked_groups(name, group, table.y)
    return DataSet(name, table, None, rows, np.arange(len(rows)), (*rows,), seed, group)


def _as_others_take(source: Source, found: Description, texts: Sequence[str] = ()) -> pd.DataFrame:
    """All columns, numbers in float64 and missing cells as NaN, which are the same from a file and from a frame."""
    kinds = dict(zip(source.names, source.schema.types, strict=True))
    every = {*found.texts, *texts, *(column.name for column in found.schema.columns if column.text)}
    batches = (as_pandas(found.labelled(batch)) for batch in source.batches([*kinds], every))
    rows = pd.concat(batches, ignore_index=True)
    flags = {text: text == FLAGS["true"] for text in FLAGS.values()}
    for name in rows.columns[[kind.kind == "O" for kind in rows.dtypes]]:
        cells = rows[name]
        plain = cells.map(flags) if {*cells.dropna()} <= flags.keys() else cells.fillna(np.nan)
        rows[name] = cells.astype("category") if is_dictionary(kinds[name]) else plain.infer_objects()
    return rows.astype(dict.fromkeys(rows.select_dtypes("floating"), np.float64))


def block_arrays(name: str, model: NaiveBayes, X: Any) -> dict[str, Array]:
    """The rows of a set by the blocks of its model; DataError if a block has totals in its rows."""
    for block, family in model.families.items():
        if num_parts(family) > 1:
            differ = f"block '{block}' of set '{name}' has totals that differ between rows"
            raise DataError(f"{differ}, which no study takes: leave it out")
    return check_shapes(model.families, model.single, model.by_block(X))


def _of_model(name: str, model: NaiveBayes, X: Any, y: Any, seed: int, group: Any) -> DataSet:
    arrays = block_arrays(name, model, X)
    if model.spelling is not None:  # a recognised program, whose rows have the names of its sites
        model, X = model.with_sites(None), arrays["x"] if model.single else arrays
    y = np.asarray(y)
    if y.dtype.kind not in "iu" or y.ndim != 1:
        raise DataError(f"y of set '{name}', which has a model, must be integers 0..K-1, got {y.dtype} {y.shape}")
    num_classes = model.num_classes or int(y.max()) + 1
    table = Table(name, "class", arrays, y, tuple(map(str, range(num_classes))), ())
    model = model._replace(num_classes=num_classes)
    return DataSet(name, table, model, X, np.arange(len(y)), (), seed, _checked_groups(name, group, y))


def _columns(given: Any) -> Any:
    """The bytes of each column; numbers as float64."""
    if isinstance(given, Mapping):
        for name in sorted(given):
            yield from _columns(given[name])
    elif is_sparse(given):
        yield np.frombuffer(joblib.hash(given.tocsr()).encode(), np.uint8)
    elif (frame := as_frame(given)) is None:
        yield from np.ascontiguousarray(np.asarray(given, np.float64).T)
    else:
        for cells in frame.to_pandas().items():
            numeric = cells[1].dtype.kind in "iufb"
            yield cells[1].to_numpy(np.float64) if numeric else pd.util.hash_array(cells[1].astype(object).to_numpy())
