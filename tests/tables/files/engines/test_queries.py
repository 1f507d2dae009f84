import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from bayesnb.tables.files.engines._queries import COUNT, LABEL, VALUE, Queries, as_lazy, beyond, number, run
from tests.tables.files.engines.tables import ENGINES, query

CELLS = [1.0, np.nan, np.inf, -np.inf, None, 2.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_and_infinite_numbers_are_told_apart(engine, tmp_path):
    lazy = as_lazy(query(engine, pa.table({"x": pa.array(CELLS), "place": range(6)}), tmp_path))
    dtype = lazy.collect_schema()["x"]
    found = run(lazy.select("place", x=number("x", dtype), far=beyond("x", dtype)).sort("place"))
    assert found["x"].to_pylist() == [1.0, None, None, None, None, 2.0]
    far = found["far"].fill_null(False)  # of null Dask says false
    assert far.to_pylist() == [False, False, True, True, False, False]


@pytest.mark.parametrize("engine", ENGINES)
def test_values_are_counted_by_label(engine, tmp_path):
    table = pa.table({"text": ["a", "", None, "a", "b", "a"], "y": ["u", "u", "u", "u", "v", None]})
    queries = Queries(as_lazy(query(engine, table, tmp_path)), "y")
    found = queries.values("text").to_pylist()
    rows = sorted((row[LABEL], row[VALUE], row[COUNT]) for row in found)
    assert rows == [("u", "", 1), ("u", "a", 2), ("v", "b", 1)]
    assert Queries(queries.lazy, "y").values("text", 2) is None
    assert queries.distinct("text") == 3
    assert queries.totals({"one": nw.col("text")}, nw.col("one").count())["one"] == 4
    assert sorted(queries.labels[COUNT].to_pylist()) == [1, 1, 4]


def test_only_queries_are_lazy():
    assert as_lazy(pl.DataFrame({"x": [1]})) is None
    assert as_lazy("rows.parquet") is None
    assert as_lazy(pl.LazyFrame({"x": [1]})) is not None
