"""A table as a NumPyro program sees it: the recognised model, with the program's observed sites as blocks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pandas as pd

from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.fits._closed_form import conjugate
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._checks import num_parts
from bayesnb.recognition._from_numpyro import from_numpyro
from bayesnb.recognition._user_program import Program
from bayesnb.tables.frames._columns import KINDS, Column
from bayesnb.tables.frames._series import Array, DataError, closest

if TYPE_CHECKING:
    from bayesnb.tables.files._description import Table

LABELS = ("y", "label", "labels")
"""Names of the argument that takes the labels; without one of them it is the second."""

NUM_CLASSES = "num_classes"
"""The argument that takes the number of classes, unless it is given."""


def recognise_table(
    program: Callable[..., Any],
    table: Table,
    names: Sequence[str],
    given: Mapping[str, Any],
    codes: Collection[str] = (),
) -> tuple[Table, NaiveBayes]:
    """The table with the cells that a program observes in its rows, and the model that the program is.

    Args:
        program: The program; its first argument takes the columns [N, D], and another one the labels.
        table: The rows.
        names: The columns in the order in which the program has them; a table has them by kind.
        given: Values of its other arguments.
        codes: Columns of numbers whose values are categories, and become codes 0, 1, ... as text does.

    Raises:
        DataError: for arguments that do not fit the program, cells that do not fit a comparison, or a model without an
            exact posterior.
        NotNaiveBayes: if it is no Naive Bayes model.
    """
    columns, cells = _columns(table, names, codes)
    missing = np.isnan(cells)
    # a program sees no missing cells; in its model they have no factor
    filled = np.where(missing, np.take_along_axis(cells, np.argmin(missing, axis=0)[None], axis=0), cells)
    whole = (filled % 1 == 0).all() and (np.abs(filled) <= np.iinfo(np.int32).max).all()
    X = filled.astype(np.int32 if whole else np.float64)
    signature, features, label, others = _arguments(program, given, len(table.classes))

    def on(rows: Array) -> Program:
        bound = inspect.BoundArguments(signature, {**others, features: X[rows], label: table.y[rows]})
        return Program(program, bound.args, bound.kwargs, label)

    # rows of every class come first
    order = np.argsort(pd.Series(table.y).groupby(table.y).cumcount().to_numpy(), kind="stable")
    few = order[: max(limits.PROBE_ROWS, len(table.classes))]
    with jax.enable_x64(True):
        trace = on(few).in_double().trace({}, jax.random.key(0))
    observed = {name: site["value"] for name, site in trace.items() if site.get("is_observed")}
    sites = [name for name, value in observed.items() if np.array_equal(np.ravel(value), table.y[few])]
    model = from_numpyro(program, on(few).args, on(few).kwargs, label=sites[0] if sites else label)
    try:
        conjugate(model)
        model.resolve()  # hyperpriors have no closed form either
    except ValueError as error:
        raise DataError(f"a comparison needs an exact posterior: {error}") from error
    if model.num_classes != len(table.classes):
        raise DataError(f"the program has {model.num_classes} classes, and '{table.target}' has {len(table.classes)}")
    every = on(np.arange(len(table.y)))
    observed, blocks, described = model.rows(*every.args, **every.kwargs).cells, {}, []
    for block, site, _ in model.spelling.cells:  # type: ignore[union-attr]
        family = model.families[block]
        if num_parts(family) > 1:
            raise DataError(f"site '{site}' has totals that differ between rows, which a comparison does not take")
        values = np.array(observed[site], np.float64).reshape(len(table.y), -1)
        blocks[block] = values
        for d in range(values.shape[1]):
            source = _source(values[:, d], X, d)
            if source is None and missing.any():
                raise DataError(
                    f"site '{site}' has cells that are no columns of '{table.name}', and some cells of that are "
                    "missing: leave out their rows, or their columns with --as COLUMN=skip"
                )
            if source is None:
                ends = np.nanmin(values[:, d]), np.nanmax(values[:, d])
                column = Column(f"{site}[{d}]", "own", span=(float(ends[0]), float(ends[1])))
            else:
                column, values[missing[:, source], d] = columns[source], np.nan
            kind = type(family).__name__.lower()
            own = replace(column, family=None, own_block=block)
            described.append(replace(own, kind=kind) if kind in KINDS else replace(own, kind="own", family=family))
    spelling: Any = model.spelling
    own_blocks = model.with_sites(spelling._replace(observes=""), single=False, certificate=model.certificate)
    return replace(table, X=blocks, columns=tuple(described)), own_blocks


def _columns(table: Table, names: Sequence[str], codes: Collection[str]) -> tuple[list[Column], Array]:
    """The columns in the order of the names, and their cells [N, D]: numbers, or codes; NaN is missing."""
    found = {}
    for block, columns in table.blocks.items():
        for d, column in enumerate(columns):
            cells = table.X[block][:, d].astype(np.float64)
            if column.kind == "categorical":
                cells[cells < 0] = np.nan
                if not column.text and column.name not in codes:
                    numbers = np.array([*column.values, np.nan], np.float64)
                    cells = numbers[np.nan_to_num(cells, nan=-1.0).astype(int)]
                    column = replace(column, values=())
            found[column.name] = column, cells
    kept = [found[name] for name in names if name in found]
    return [column for column, _ in kept], np.stack([cells for _, cells in kept], axis=1)


def _arguments(
    program: Callable[..., Any], given: Mapping[str, Any], num_classes: int
) -> tuple[inspect.Signature, str, str, dict[str, Any]]:
    """The program's signature, its arguments of columns and of labels, and the values of the others."""
    signature = inspect.signature(program)
    named = {n: p for n, p in signature.parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    features, *rest = named or [""]
    free = [name for name in rest if name not in given and name != NUM_CLASSES]
    if not free:
        raise DataError(
            f"the program takes the arguments {signature}: the first must take the columns, and another "
            "one, such as y, the labels"
        )
    label = next((name for name in free if name in LABELS), free[0])
    for name in given:
        if name not in named:
            raise DataError(f"the program has no argument '{name}' among {', '.join(rest)}{closest(name, rest)}")
        if name == features or name in LABELS:
            raise DataError(f"the program's argument '{name}' takes its values from the data: leave out --model-arg")
    values: dict[str, Any] = {NUM_CLASSES: num_classes} if NUM_CLASSES in named else {}
    values |= {name: np.array(v) if isinstance(v, list | tuple) else v for name, v in given.items()}
    for name in free:
        if named[name].default is inspect.Parameter.empty and name not in values and name != label:
            raise DataError(
                f"the program's argument '{name}' has no value: give --model-arg {name}=VALUE; all columns are one "
                f"array, the argument '{features}': if '{name}' takes columns too, write a function of one array that "
                "calls the program with its parts, such as X[:, :2]"
            )
    return signature, features, label, values


def _source(values: Array, X: Array, first: int) -> int | None:
    """The column of X that has these values; of several equal ones the ``first``, if it is among them."""
    near = np.flatnonzero((X[: limits.PROBE_ROWS] == values[: limits.PROBE_ROWS, None]).all(axis=0))
    same = [column for column in near.tolist() if (X[:, column] == values).all()]
    return first if first in same else next(iter(same), None)
