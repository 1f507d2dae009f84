"""A table with everything that a column may be, as queries of the engines that are installed."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

LIKELIHOODS = {"events": "poisson", "gaps": "histogram", "chosen": "normal", "level": "categorical"}


def make_table(num_rows, seed=1):
    """Rows of three classes, some of them without one."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "bé", "c'"], num_rows, p=[0.5, 0.3, 0.2])
    k = np.unique(y, return_inverse=True)[1]
    some = rng.random(num_rows)
    return pa.table(
        {
            "id": [f"row {place}" for place in range(num_rows)],
            "number": np.arange(num_rows),
            "large": 1e8 + rng.normal(k, 1.0),
            "nan": pa.array(np.where(some < 0.1, np.nan, rng.normal(k, 2.0))),
            "gaps": pa.array(rng.normal(k, 1.0), mask=some > 0.8),
            "heavy": 100.0 * rng.standard_cauchy(num_rows) + k,
            "single": rng.normal(k, 1.0).astype(np.float32),
            "chosen": rng.lognormal(k, 1.0),
            "events": rng.poisson(3 + 4 * k).astype(np.int32),
            "level": rng.integers(0, 30, num_rows) * 2.5,
            "flag": pa.array(rng.random(num_rows) < 0.3 + 0.2 * k, mask=some < 0.1),
            "zero": rng.integers(0, 2, num_rows),
            "few": rng.integers(0, 5, num_rows).astype(float),
            "text": pa.array(rng.choice(["it's", "ü", "", "true", "True", "x y"], num_rows), mask=some > 0.95),
            "many": [f"m{value % 700}" for value in rng.zipf(1.4, num_rows)],
            "constant": np.ones(num_rows),
            "label": pa.array(y, mask=rng.random(num_rows) < 0.02),
        }
    )


def package(name):
    return pytest.importorskip(name, reason=f"{name} is an extra")


def duck(path):
    return package("duckdb").sql(f"from '{path}'")


def duck_in_memory(path):
    connection = package("duckdb").connect()
    connection.register("rows", pq.read_table(path))
    return connection.sql("from rows")


def ibis(backend):
    def read(path):
        return getattr(package("ibis"), backend).connect().read_parquet(path)

    return read


def sqlframe(path):
    return package("sqlframe.duckdb").DuckDBSession().read.parquet(path)


def dask(path):
    return package("dask.dataframe").read_parquet(path, dtype_backend="pyarrow").repartition(npartitions=3)


READERS = {
    "polars": pl.scan_parquet,
    "DuckDB": duck,
    "DuckDB in memory": duck_in_memory,
    "Ibis": ibis("duckdb"),
    "Ibis of polars": ibis("polars"),
    "SQLFrame": sqlframe,
    "Dask": dask,
}
QUIET = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of what they lean on
FAST, OTHERS = [*READERS][:2], [*READERS][2:]
ENGINES = FAST + [pytest.param(name, marks=[pytest.mark.slow, QUIET]) for name in OTHERS]
"""Those that take long are slow; Spark has tests of its own, as a session takes a minute."""


def query(engine, table, folder):
    """The table as a query of an engine."""
    path = Path(folder) / "rows.parquet"
    pq.write_table(table, path)
    return READERS[engine](str(path))


def assert_alike(found, wanted):
    """Statistics are the same to 1e-9 of their size, or of one."""
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        finite = np.isfinite(other)
        np.testing.assert_array_equal(np.isfinite(one), finite)
        off = np.abs(one[finite] - other[finite]) / np.maximum(np.abs(other[finite]), 1.0)
        assert off.max(initial=0.0) < 1e-9
