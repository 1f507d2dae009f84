"""Read columns of pandas, polars and pyarrow data frames, through narwhals, as numbers or text.

A column is numbers (booleans are 0 and 1; missing is NaN) or text (missing is None). Dates and durations are text.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._memory import require_computed
from bayesnb.tables.frames._texts import DATES, as_texts, encoded, factorise, in_one_spelling, is_text
from bayesnb.tables.frames._values import MISSING, Array, DataError
from bayesnb.tables.frames._values import closest as closest
from bayesnb.tables.frames._values import label as label
from bayesnb.tables.frames._values import listing as listing

Frame = nw.DataFrame
Sort = Literal["text", "number", "flag", "nothing"]

WITH_CATEGORIES = (nw.Categorical, nw.Enum)
WIDE = (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128)

NO_DATES = (
    "a likelihood of numbers takes no dates or times: give numbers, such as days since a first date, or "
    "durations / numpy.timedelta64(1, 'D')"
)


class NoLikelihoodError(DataError):
    """A column ``holds`` what no likelihood takes, so that it is left out where its likelihood is inferred."""

    def __init__(self, sentence: str, holds: str) -> None:
        super().__init__(sentence)
        self.holds = holds


def as_frame(X: Any) -> Frame | None:
    """X as a narwhals frame with text as column names, or None if X is not a data frame or is better read as an array.

    Frames are those of pandas, polars and pyarrow, and are not copied. Names other than text, which only pandas has,
    become text; a pandas frame of sparse columns with such names gives None, so that it is read as a sparse matrix.

    Raises:
        DataError: for a lazy frame, for two columns with the same name, and for a name with a NUL character.
    """
    if isinstance(X, np.ndarray):
        return None
    require_computed("X", X)
    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.DataFrame) and not _named_by_text(frame):
            # only pandas has names other than text
            native = frame.to_native().copy(deep=False)
            if any(isinstance(dtype, pd.SparseDtype) for dtype in native.dtypes):
                return None
            native.columns = [str(name) for name in native.columns]
            frame = nw.from_native(native)
    except DuplicateError as error:
        names = [str(name) for name in getattr(X, "column_names", None) or X.columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the data frame has more than one column named '{twice}': rename one") from error
    if isinstance(frame, nw.LazyFrame):
        raise DataError(f"a {type(X).__name__} has no rows before it is computed: give frame.collect()")
    if not isinstance(frame, nw.DataFrame):
        return None
    if "\0" in "".join(frame.columns):  # names in Arrow's C interface end there: polars panics
        name = next(name for name in frame.columns if "\0" in name)
        raise DataError(f"the data frame has a NUL character in the column name {name!r}: rename the column")
    return frame


def has_names(X: Any) -> bool:
    """Whether X is a frame whose column names are all text; scikit-learn ignores other names."""
    frame = nw.from_native(X, pass_through=True)
    return isinstance(frame, nw.DataFrame) and _named_by_text(frame)


def _named_by_text(frame: Frame) -> bool:
    return {*map(type, frame.columns)} <= {str}


def as_series(given: Any, *, coded: bool = False, missing: Collection[str] = MISSING) -> nw.Series[Any]:
    """A series of any library, or an array of Arrow, in the type of its values; other arguments as for ``to_plain``."""
    given = pa.chunked_array([given]) if isinstance(given, pa.Array) else given
    return to_plain(nw.from_native(given, series_only=True), coded=coded, missing=missing)


def sort_of(cells: nw.Series[Any]) -> Sort:
    """The sort of values in a column.

    Raises:
        NoLikelihoodError: for nested values, and objects of another type.
        DataError: for objects of more than one type.
    """
    dtype = cells.dtype
    if dtype == nw.Boolean:
        return "flag"
    if dtype.is_numeric():
        return "number"
    if dtype in (nw.String, nw.Categorical, nw.Enum, *DATES):
        return "text"
    if cells.is_null().all():
        return "nothing"
    held = {str(dtype)}
    if dtype == nw.Unknown:
        native = cells.to_native()
        held = {str(native.type if cells.implementation.is_pyarrow() else native.dtype)}
    elif dtype == nw.Object:
        held = {type(cell).__name__ for cell in cells.drop_nulls().to_list()}
    sentence = f"column '{cells.name}' holds {' and '.join(sorted(held))}, expected numbers, booleans or text"
    sentence += ": give the whole column one of these"
    raise DataError(sentence) if len(held) > 1 else NoLikelihoodError(sentence, f"cells of type {held.pop()}")


def are_missing(cells: nw.Series[Any], missing: Collection[str] = ()) -> Array:
    """Whether each cell [N] is missing: null, NaN, None, or one of these texts."""
    if missing and cells.dtype in (nw.String, *WITH_CATEGORIES):
        return encoded(cells, missing)[0] < 0
    return np.isnan(numbers(cells)) if cells.dtype.is_float() else np.asarray(cells.is_null().to_numpy(), bool)


def to_plain(cells: nw.Series[Any], *, coded: bool = False, missing: Collection[str] = MISSING) -> nw.Series[Any]:
    """The column in the type of its values if pandas stores it as objects, or as categories; others unchanged.

    Categories that are text stay categories; if ``coded`` all do. A dictionary of Arrow in pandas becomes Arrow's.
    Sparse, long and byte-swapped numbers become numpy's. Among objects that are not text the texts of ``missing`` are.
    """
    dtype = cells.dtype  # which takes pandas long to tell
    if dtype in WITH_CATEGORIES:
        native = cells.to_native()
        if isinstance(getattr(native, "dtype", None), pd.ArrowDtype):
            native = native.array.__arrow_array__()
        if isinstance(native, pa.ChunkedArray):
            cells = nw.from_native(plain_text(native), series_only=True).alias(cells.name)
        return cells if coded else _without_codes(cells)
    if dtype == nw.Unknown and cells.implementation.is_pandas():
        native = cells.to_native()
        return nw.from_native(native.astype(_plain_dtype(native.dtype)), series_only=True)
    if dtype != nw.Object or not hasattr(cells.to_native(), "convert_dtypes") or cells.is_null().all():
        return cells
    native = cells.to_native()
    found = nw.from_native(native.convert_dtypes(), series_only=True)
    if found.dtype == nw.Object:
        gone = [isinstance(cell, str) and cell.strip() in missing for cell in native]
        found = nw.from_native(native.mask(gone).convert_dtypes(), series_only=True) if any(gone) else found
    return _of_objects(found) if found.dtype == nw.Object else found


def _of_objects(cells: nw.Series[Any]) -> nw.Series[Any]:
    """Decimals, also beside numbers of Python, dates and times in the types of Arrow; others as given."""
    given = [None if missing else cell for cell, missing in zip(cells.to_list(), cells.is_null(), strict=True)]
    if {*map(type, given)} <= {Decimal, int, float, type(None)}:
        given = [None if cell is None else Decimal(str(cell)) for cell in given]
    try:
        found = nw.from_native(pa.chunked_array([pa.array(given)]), series_only=True).alias(cells.name)
    except (pa.ArrowException, OverflowError):
        return cells
    return found if found.dtype.is_decimal() or found.dtype in DATES else cells


def _plain_dtype(given: Any) -> Any:
    """The type of pandas that the values of sparse, long or byte-swapped numbers have in numpy; others unchanged."""
    dtype = given.subtype if isinstance(given, pd.SparseDtype) else given
    if not isinstance(dtype, np.dtype) or dtype.kind not in "fiu":
        return dtype
    return np.dtype(np.float64) if dtype.itemsize > 8 else dtype.newbyteorder("=")


def plain_text(column: Any) -> Any:
    """A column of Arrow whose views of text, or those of its dictionary, are texts, which all its functions take."""
    if isinstance(column, pa.ChunkedArray):
        chunks = [plain_text(chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks) if chunks else column
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        values = plain_text(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, values, ordered=column.type.ordered)
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def to_arrow(frame: Frame, missing: Collection[str] = MISSING) -> pa.Table:
    """The frame as a table of Arrow; DataError for a column of a type that Arrow does not have."""
    try:
        return frame.to_arrow()
    except (pa.ArrowException, TypeError, OverflowError):
        plain = [to_plain(frame[name], missing=missing) for name in frame.columns]
        for column in plain:
            sort_of(column)
        return pa.table({column.name: column.to_arrow() for column in plain})


def _without_codes(cells: nw.Series[Any]) -> nw.Series[Any]:
    """Categories as the column of their values; those of text, of several types or of huge numbers stay as they are."""
    native = cells.to_native()
    if cells.implementation.is_pyarrow():
        if is_text(native.type):
            return cells
        plain = native.cast(native.type.value_type)
    elif cells.implementation.is_pandas() and native.cat.categories.inferred_type != "string":
        values = pd.Series(native.cat.categories).convert_dtypes().array
        plain = pd.Series(values.take(native.cat.codes.to_numpy(), allow_fill=True))
    else:
        return cells
    found = nw.from_native(plain, series_only=True).alias(cells.name)
    sorted_out = found.dtype == nw.Boolean or found.dtype.is_numeric() or found.dtype in DATES
    return found if sorted_out and round_floats(found) is None else cells


def numbers(cells: nw.Series[Any]) -> Array:
    """Cells [N] as float64, or float32 if the column is and has no nulls; missing is NaN.

    Raises:
        DataError: for a whole number that would be rounded, as two of them could become equal.
    """
    dtype = cells.dtype
    if dtype == nw.Float64:
        return np.asarray(cells.to_numpy(), np.float64)
    if dtype == nw.Float32 and not cells.is_null().any():
        return cells.to_numpy()
    if sort_of(cells) == "nothing":
        return np.full(len(cells), np.nan)
    whole = whole_numbers(cells)
    if whole is not None:
        return whole.astype(np.float64)
    odd = round_floats(cells)
    if odd is not None:
        sentence = (
            f"column '{cells.name}' holds {odd}, which floating point would round to {float(odd):.0f}: convert the "
            "column to text if it is a category, or to floating point if rounding does no harm"
        )
        raise DataError(sentence) if abs(odd) < 2**63 else NoLikelihoodError(sentence, "whole numbers beyond 2^63")
    if dtype.is_decimal():  # Arrow's own cast multiplies by a power of ten that is rounded
        return np.asarray(cells.to_arrow().cast(pa.string()).cast(pa.float64()).to_numpy(zero_copy_only=False))
    if dtype.is_integer() and cells.implementation.is_pyarrow():  # pyarrow's cast refuses integers above 2^53
        return np.asarray(cells.to_numpy(), np.float64)
    return np.asarray(cells.cast(nw.Float64).to_numpy(), np.float64)


def whole_numbers(cells: nw.Series[Any]) -> Array | None:
    """Cells [N] as int64 if the column is of integers or booleans, none missing, and float64 rounds none; else None."""
    dtype = cells.dtype
    if not (dtype == nw.Boolean or dtype.is_integer()) or dtype in (nw.Int128, nw.UInt128) or cells.null_count():
        return None
    found = cells.to_numpy()
    if found.dtype.kind not in "biu":
        return None
    if (
        found.dtype.itemsize >= 8
        and len(found)
        and not -limits.LARGEST_WHOLE <= found.min() <= found.max() <= limits.LARGEST_WHOLE
    ):
        return None
    return found.astype(np.int64, copy=False)


def round_floats(cells: nw.Series[Any]) -> Any:
    """The first whole number that float64 cannot represent; None if there is none."""
    dtype = cells.dtype
    if not (dtype in WIDE or dtype.is_decimal()) or cells.is_null().all():
        return None
    if max(abs(int(cells.min())), abs(int(cells.max()))) <= limits.LARGEST_WHOLE:
        return None
    present = cells.drop_nulls().to_list()
    return next((cell for cell in present if abs(cell) > limits.LARGEST_WHOLE and cell != float(cell)), None)


def texts(cells: nw.Series[Any]) -> Array:
    """Cells [N] as text, in an array of objects; missing is None."""
    codes, found = factorise(cells)
    return np.array([*found.to_pylist(), None], object)[codes]


def is_ordered(cells: nw.Series[Any]) -> bool:
    """Whether a column's type has categories in an order: of pandas and Arrow those that say so, of polars an Enum.

    polars sorts and compares an Enum by its order, and writes it as an ordered dictionary of Arrow.
    """
    if cells.implementation.is_pyarrow():
        return getattr(cells.to_native().type, "ordered", False)
    return isinstance(cells.dtype, nw.Enum)  # narwhals' name for those of pandas too


def declared_categories(cells: nw.Series[Any], *, text: bool = True) -> list[Any]:
    """The categories that a column's type declares, even if they do not occur in it: texts, or else numbers."""
    if cells.dtype not in WITH_CATEGORIES:
        return []
    if cells.implementation.is_polars():  # its Categorical has the categories of the whole program
        found = list(cells.dtype.categories) if isinstance(cells.dtype, nw.Enum) else []
    else:
        unordered = text and cells.implementation.is_pyarrow() and not is_ordered(cells)
        found = [] if unordered or not len(cells) else cells.cat.get_categories().to_list()
    if not text:
        return [*dict.fromkeys(float(value) for value in found if value is not None)]
    return in_one_spelling(as_texts(found)).drop_null().unique().to_pylist()
