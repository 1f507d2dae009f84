"""Data frames of pandas, polars and pyarrow, through narwhals: what a column holds, as numpy arrays of two sorts.

A column holds numbers (booleans are 0 and 1; missing is NaN) or text (missing is None). Dates and the like are refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

Array = np.ndarray[Any, Any]
Frame = nw.DataFrame
Sort = Literal["text", "number", "flag", "nothing"]

DATES = (nw.Date, nw.Datetime, nw.Time, nw.Duration)


class DataError(ValueError):
    """Data that cannot be used, or an option that does not fit them; the message is one whole sentence."""


def as_frame(X: Any) -> Frame | None:
    """X as a frame of narwhals', or None where it is none, or none with names.

    Raises:
        DataError: for a frame that has not been computed yet.
    """
    if isinstance(X, np.ndarray):
        return None
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise DataError(f"a {type(X).__name__} has no rows before it is computed: give frame.collect()")
    if not isinstance(frame, nw.DataFrame):
        return None
    # scikit-learn's rule: columns are known by name where all names are text
    return frame if all(isinstance(name, str) for name in frame.columns) else None


def sort_of(cells: nw.Series[Any]) -> Sort:
    """What a column holds.

    Raises:
        DataError: for dates, nested values and objects of more than one type.
    """
    dtype = cells.dtype
    if dtype == nw.Boolean:
        return "flag"
    if dtype.is_numeric():
        return "number"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    if cells.is_null().all():
        return "nothing"
    if dtype in DATES:
        raise DataError(
            f"column '{cells.name}' holds {dtype}, and no likelihood here is one of dates and times: give numbers, "
            "such as days since a first one, or leave it out"
        )
    raise DataError(
        f"column '{cells.name}' holds {dtype}, expected numbers, booleans or text, one of them in the whole column"
    )


def is_missing(cells: nw.Series[Any]) -> bool:
    """Say whether no cell is there."""
    if cells.is_null().all():
        return True
    return cells.dtype.is_float() and bool(np.isnan(numbers(cells)).all())


def plain(cells: nw.Series[Any]) -> nw.Series[Any]:
    """The column in the type of its values, where pandas keeps objects."""
    if cells.dtype != nw.Object or not hasattr(cells.to_native(), "convert_dtypes") or cells.is_null().all():
        return cells
    return nw.from_native(cells.to_native().convert_dtypes(), series_only=True)


def numbers(cells: nw.Series[Any]) -> Array:
    """Cells [N] as floating point numbers, in single precision where they are; missing is NaN."""
    if cells.dtype == nw.Float32 and not cells.is_null().any():
        return cells.to_numpy()
    if sort_of(cells) == "nothing":
        return np.full(len(cells), np.nan)
    if cells.dtype.is_integer() and cells.implementation.is_pyarrow():  # which refuses to round integers above 2^53
        return np.asarray(cells.to_numpy(), np.float64)
    return np.asarray(cells.cast(nw.Float64).to_numpy(), np.float64)


def texts(cells: nw.Series[Any]) -> list[str | None]:
    """Cells [N] as text; missing is None."""
    missing = cells.is_null().to_list()
    return [None if gone else label(cell) for gone, cell in zip(missing, cells.to_list(), strict=True)]


def declared(cells: nw.Series[Any]) -> list[str]:
    """The categories that a column's type declares, whether or not a cell shows them; of text none."""
    if isinstance(cells.dtype, nw.Enum):
        return list(cells.dtype.categories)
    if cells.dtype == nw.Categorical and cells.implementation.is_pandas_like():
        return [label(category) for category in cells.cat.get_categories().to_list()]
    return []  # of polars' Categorical the categories are those of the whole program


def label(value: Any) -> str:
    """Write a category or a class: text as it is, a whole number without its decimal point."""
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def is_number(cell: str) -> bool:
    """Say whether the text of a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000 as a number; in a data file it is a name


def closest(word: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"` for the known word nearest to a mistyped one, or nothing."""
    by_fold = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return f"; did you mean '{by_fold[near[0]]}'?" if near else ""


def listing(names: Sequence[str], most: int = 8) -> str:
    """Name things in a sentence, the first few of many."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
