"""Peak memory and processor time of `nb.fit_table` for each source of one table: `python -m ... FOLDER`."""

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SOURCES = ("parquet", "duckdb", "polars", "function", "parts")
ROWS = (1_000_000, 4_000_000)
BLOCK = 250_000


def make(path, rows):
    rng, texts = np.random.default_rng(0), np.array([f"v{i}" for i in range(500)])
    writer = None
    for _ in range(rows // BLOCK):
        y = rng.integers(0, 2, BLOCK)
        numbers = {"a": rng.normal(size=BLOCK) + y, "b": rng.gamma(2.0, size=BLOCK), "d": rng.poisson(3.0, BLOCK)}
        block = pa.table({**numbers, "c": texts[rng.integers(0, 500, BLOCK)], "y": np.array(["no", "yes"])[y]})
        writer = writer or pq.ParquetWriter(path, block.schema)
        writer.write_table(block)
    writer.close()


def measure(source, path):
    import bayesnb as nb
    from bayesnb.arrays import _limits as limits

    warnings.simplefilter("ignore")
    limits.KEPT_BYTES = 64 << 20  # so that it is read twice
    start = time.process_time()
    if source == "parts":
        schema = nb.describe_table(path, "y")
        nb.fit_table(schema, statistics=schema.count(path), temper=False)
    else:
        nb.fit_table(opened(source, path), "y", temper=False, progress_bar=False)
    seconds = time.process_time() - start
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    print(
        f"| {source} | {pq.ParquetFile(path).metadata.num_rows:,} | {seconds:.1f} | {int(peak.split()[1]) / 1e3:.0f} |"
    )


def opened(source, path):
    if source == "duckdb":
        import duckdb

        return duckdb.connect().sql(f"from '{path}'")
    if source == "polars":
        import polars as pl

        return pl.scan_parquet(path)
    file = pq.ParquetFile(path)
    reader = lambda: pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(50_000))  # noqa: E731
    return path if source == "parquet" else reader


if __name__ == "__main__":
    folder, *one = sys.argv[1:]
    if one:
        measure(*one)
    for rows in () if one else ROWS:
        place = str(Path(folder) / f"{rows}.parquet")
        make(place, rows)
        for name in SOURCES:
            subprocess.run([sys.executable, "-m", "tests.benchmarks.sources", folder, name, place], check=True)
