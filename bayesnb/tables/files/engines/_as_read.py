"""The cells of a query as they are read in memory, so that no engine decides what is missing, a number, or equal."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files.engines._queries import COUNT, TEXTS, VALUE, beyond, run
from bayesnb.tables.frames._series import WIDE, as_series, round_floats
from bayesnb.tables.frames._values import READING, Reading

BYTES = {"sqlframe.duckdb": "C", "pyspark.sql": "UTF8_BINARY"}
"""The collation by bytes, in engines whose functions have one."""


def as_read(lazy: nw.LazyFrame[Any], names: Sequence[str], reading: Reading = READING) -> nw.LazyFrame[Any]:
    """These columns: NaN is null, -0.0 is 0.0, whole numbers that float64 rounds are text, texts differ if bytes do.

    What is missing as it is read is null.
    """
    types, cells, texts = lazy.collect_schema(), {}, []
    for name in names:
        x, dtype = nw.col(name), types[name]
        if dtype in TEXTS or _rounds(lazy, name, dtype):
            texts.append(name)
            x = x.cast(nw.String())
            x = nw.when(~x.str.strip_chars().is_in([*reading.missing])).then(x)
        elif reading.numbers and dtype.is_numeric():
            x = nw.when(~x.is_in([*reading.numbers])).then(x)
        if dtype.is_float():  # with its type, as Ibis takes the sum with 0.0 of single precision for double
            x = nw.when((x - x == 0.0) | beyond(name, dtype)).then((x + 0.0).cast(dtype))
        cells[name] = x
    lazy = lazy.select(**cells)
    return nw.from_native(_by_bytes(lazy, texts)) if texts else lazy


def _rounds(lazy: nw.LazyFrame[Any], name: str, dtype: Any) -> bool:
    if not (dtype in WIDE or dtype.is_decimal()):
        return False
    large = lazy.filter(beyond(name, dtype, limits.LARGEST_WHOLE - 1)).select(nw.col(name).alias(VALUE))
    distinct = large.group_by(VALUE).agg(nw.len().alias(COUNT)).head(limits.MOST_VALUES)
    return round_floats(as_series(run(distinct)[VALUE])) is not None


def _by_bytes(lazy: nw.LazyFrame[Any], texts: Sequence[str]) -> Any:
    """The query, whose texts are compared by their bytes, whatever their collation or the engine's default."""
    native, engine = lazy.to_native(), lazy.implementation
    if engine.is_duckdb():
        columns = {name: import_module("duckdb").ColumnExpression(name) for name in native.columns}
        return native.select(*(x.collate("C").alias(name) if name in texts else x for name, x in columns.items()))
    if engine.is_ibis() and native.get_backend().name == "duckdb":  # text that is made of bytes has no collation
        made = import_module("ibis").udf.scalar.builtin
        encode = made(run, name="encode", signature=(("string",), "binary"))
        decode = made(run, name="decode", signature=(("binary",), "string"))
        return native.mutate(**{name: decode(encode(native[name])) for name in texts})
    module = ".".join(type(native).__module__.split(".")[:2])
    functions: Any = import_module(f"{module}.functions") if module in BYTES else None
    if not hasattr(functions, "collate"):
        return native
    return native.withColumns({name: functions.collate(functions.col(name), BYTES[module]) for name in texts})
