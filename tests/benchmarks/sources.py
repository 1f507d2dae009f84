"""Peak memory and processor time of `nb.fit_table` for each source of one table: `python -m ... FOLDER`."""

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

ROWS = (1_000_000, 4_000_000)
BLOCK = 250_000


def make(place, rows):
    """The table as Parquet, as files of a folder and as CSV."""
    rng, texts = np.random.default_rng(0), np.array([f"v{i}" for i in range(500)])
    folder = place.with_suffix("")
    folder.mkdir()
    writers = []
    for number in range(rows // BLOCK):
        y = rng.integers(0, 2, BLOCK)
        numbers = {"a": rng.normal(size=BLOCK) + y, "b": rng.gamma(2.0, size=BLOCK), "d": rng.poisson(3.0, BLOCK)}
        block = pa.table({**numbers, "c": texts[rng.integers(0, 500, BLOCK)], "y": np.array(["no", "yes"])[y]})
        writers = writers or [pq.ParquetWriter(place, block.schema), pa.csv.CSVWriter(_csv(place), block.schema)]
        for writer in writers:
            writer.write_table(block)
        pq.write_table(block, folder / f"{number}.parquet")
    for writer in writers:
        writer.close()


def _csv(place):
    return place.with_suffix(".csv")


def of_duckdb(place):
    import duckdb

    return duckdb.connect().sql(f"from '{place}'")


def of_polars(place):
    import polars as pl

    return pl.scan_parquet(place)


def of_ibis(place):
    import ibis

    return ibis.polars.connect({"rows": of_polars(place)}).table("rows")


def of_adbc(place):
    """A function that opens a cursor of SQLite, as one cursor can be read once only."""
    from adbc_driver_sqlite import dbapi

    connection = dbapi.connect(str(place.with_suffix(".db")))
    with connection.cursor() as cursor:
        cursor.adbc_ingest("rows", of_function(place)(), mode="replace")

    def opened():
        cursor = connection.cursor()
        cursor.execute("select * from rows")
        return cursor

    return opened


def of_function(place):
    file = pq.ParquetFile(place)
    return lambda: pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(50_000))


SOURCES = {
    "a Parquet file": str,
    "a folder of Parquet files": lambda place: place.with_suffix(""),
    "a CSV file": _csv,
    "a frame of pandas": pd.read_parquet,
    "a frame of polars": lambda place: of_polars(place).collect(),
    "a table of pyarrow": pq.read_table,
    "a query of DuckDB": of_duckdb,
    "a query of polars": of_polars,
    "a query of Ibis": of_ibis,
    "a function that opens a stream of Arrow": of_function,
    "a function that opens a cursor of ADBC": of_adbc,
    "parts": str,
}


def measure(name, place):
    import bayesnb as nb
    from bayesnb.compute.arrays import _limits as limits

    warnings.simplefilter("ignore")
    limits.KEPT_BYTES = 64 << 20  # so that it is read twice
    source = SOURCES[name](place)
    before, start = _peak(), time.process_time()
    if name == "parts":
        schema = nb.describe_table(source, "y")
        nb.fit_table(schema, statistics=schema.count(source), temper=False)
    else:
        nb.fit_table(source, "y", temper=False, progress_bar=False)
    seconds, rows = time.process_time() - start, pq.ParquetFile(place).metadata.num_rows
    print(f"| {name} | {rows:,} | {seconds:.1f} | {_peak():.0f} | {before:.0f} |", flush=True)


def _peak():
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) / 1e3


if __name__ == "__main__":
    folder, *one = sys.argv[1:]
    if one:
        measure(one[0], Path(one[1]))
    for rows in () if one else ROWS:
        place = Path(folder) / f"{rows}.parquet"
        make(place, rows)
        for name in SOURCES:
            subprocess.run([sys.executable, "-m", "tests.benchmarks.sources", folder, name, str(place)], check=True)
