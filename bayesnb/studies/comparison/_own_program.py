"""A NumPyro program as a method: the model that it is, and the rows of a set as it observes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.recognition._from_numpyro import from_numpyro
from bayesnb.recognition._user_program import Program
from bayesnb.studies.comparison._data_sets import DataSet, block_arrays
from bayesnb.tables.frames._series import Array, DataError

LABELS = ("y", "label", "labels")
"""Names of the argument that takes the labels; without one of them it is the second."""

NUM_CLASSES = "num_classes"
"""The argument that takes the number of classes."""


def recognise_set(program: Callable[..., Any], data: DataSet) -> tuple[DataSet, NaiveBayes]:
    """The set with what a program observes in its rows, and the model that the program is.

    The program's first argument takes the columns [N, D] in order: numbers, and codes 0, 1, ... of text. Missing cells
    are filled for it, and have no factor in its model.

    Raises:
        DataError: if the program has another number of classes, or computes its cells from missing ones.
        NotNaiveBayes: if it is no Naive Bayes model, or takes other arguments.
    """
    y, num_classes = data.table.y, data.num_classes
    X = _cells(data)
    missing = np.isnan(X)
    X = np.where(missing, np.take_along_axis(X, np.argmin(missing, axis=0)[None], axis=0), X)
    if (X % 1 == 0).all() and (np.abs(X) <= np.iinfo(np.int32).max).all():
        X = X.astype(np.int32)
    names = [*inspect.signature(program).parameters]
    free = [name for name in names[1:] if name != NUM_CLASSES] or [*LABELS]
    label = next((name for name in free if name in LABELS), free[0])
    given = {label: y} | ({NUM_CLASSES: num_classes} if NUM_CLASSES in names else {})
    with jax.enable_x64(True):
        trace = Program(program, (X,), given, label).in_double().trace({}, jax.random.key(0))
    observed = {name: np.ravel(site["value"]) for name, site in trace.items() if site.get("is_observed")}
    site = next((name for name, values in observed.items() if np.array_equal(values, y)), label)
    model = from_numpyro(program, (X,), given, label=site)
    if model.num_classes != num_classes:
        differ = f"the program has {model.num_classes} classes, and set '{data.name}' has {num_classes}"
        raise DataError(f"{differ}: give the program an argument num_classes")
    rows = block_arrays(data.name, model, model.rows(X, **given))
    blocks = {block: np.array(cells, np.float64) for block, cells in rows.items()}
    for d, cells in enumerate(column for x in blocks.values() for column in x.T if missing.any()):
        first = [d, *range(len(X.T))][d >= len(X.T) :]  # of several equal columns the one at the same place
        source = next((column for column in first if np.array_equal(X[:, column], cells)), None)
        if source is None:
            raise DataError(
                f"the program observes cells that are no columns of set '{data.name}', and some cells of that are "
                "missing: leave out their rows or their columns"
            )
        cells[missing[:, source]] = np.nan
    own = model.with_sites(None)
    return replace(data, table=replace(data.table, X=blocks, columns=()), model=own), own


def _cells(data: DataSet) -> Array:
    """The columns [N, D] in the order of the set: numbers, or codes of text; NaN is missing."""
    found = {}
    for block, columns in data.table.blocks.items():
        for column, cells in zip(columns, data.table.X[block].T, strict=True):
            if column.kind in ("categorical", "ordered"):
                values = range(len(column.values)) if column.text else column.values
                codes = np.where(cells >= 0, cells, -1).astype(int)  # the code -1 is the last one
                cells = np.array([*values, np.nan], np.float64)[codes]
            found[column.name] = cells.astype(np.float64)
    return np.stack([found[name] for name in data.names if name in found], axis=1)
