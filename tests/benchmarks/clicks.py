"""A generated table of clicks in the shape of Criteo's: 13 counts with gaps and 26 columns of categories as text.

A row has a hidden taste z ~ N(0, 1), and a click with the probability expit(z - 4), in about 3 % of the rows. Counts
are exp(2 + z / 2 + e), e ~ N(0, 1), rounded down, and missing in 5 to 65 % of the rows. The columns of text take one of
4, ..., 2^18 values; the rank of a value is V u^3 for u uniform, in every second column u to the power of exp(z / 5), so
that columns depend on the class and on each other. A text is eight hexadecimal digits that do not show the rank; 3 %
of the cells are missing. Rows are made a million at a time, and a seed gives the same rows whatever their number.

``python -m tests.benchmarks.clicks FOLDER ROWS`` writes the rows as Parquet, a file for every ten million, and prints
the processor time and the peak memory of fits of them in new processes, beside DuckDB's sums and counts of the same.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import bayesnb as nb

COUNTS = [f"I{j}" for j in range(1, 14)]
TEXTS = [f"C{j}" for j in range(1, 27)]
SIZES = [1 << round(2 + 16 * j / 25) for j in range(26)]
"""How many values each column of text has."""

MADE, IN_FILE = 1_000_000, 10_000_000
"""Rows that are made at a time, and those of a file."""

Array = np.ndarray[Any, Any]


def chunks(num_rows: int, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """The rows, a million at a time."""
    for first in range(0, num_rows, MADE):
        yield _rows(np.random.default_rng([seed, first]), MADE).slice(0, num_rows - first)


def write(folder: Path, num_rows: int, seed: int = 0) -> None:
    """Parquet files of the rows, in row groups of a million."""
    folder.mkdir(parents=True)
    for number, rows in enumerate(chunks(num_rows, seed)):
        if number % (IN_FILE // MADE) == 0:
            file = pq.ParquetWriter(folder / f"{number // (IN_FILE // MADE):03d}.parquet", rows.schema)
        file.write_batch(rows)
        if (number + 1) % (IN_FILE // MADE) == 0 or (number + 1) * MADE >= num_rows:
            file.close()


def _rows(rng: np.random.Generator, num_rows: int) -> pa.RecordBatch:
    taste = rng.normal(size=num_rows).astype(np.float32)
    columns = {"label": pa.array((rng.random(num_rows) < 1.0 / (1.0 + np.exp(4.0 - taste))).astype(np.int8))}
    for j, name in enumerate(COUNTS):
        count = np.exp(2.0 + 0.5 * taste + rng.normal(size=num_rows).astype(np.float32)).astype(np.int32)
        columns[name] = pa.array(count, mask=rng.random(num_rows) < 0.05 + 0.05 * j)
    for j, (name, size) in enumerate(zip(TEXTS, SIZES, strict=True)):
        u = rng.random(num_rows)
        u = u if j % 2 else u ** np.exp(0.2 * taste)
        rank = (size * u**3).astype(np.uint32)
        columns[name] = _hexadecimal(_scramble(rank + np.uint32(1 + (j << 18))), rng.random(num_rows) < 0.03)
    return pa.RecordBatch.from_pydict(columns)


def _scramble(numbers: Array) -> Array:
    """Other numbers of 32 bits, one to one."""
    for factor in (0x45D9F3B, 0x45D9F3B, 1):
        numbers = (numbers ^ (numbers >> np.uint32(16))) * np.uint32(factor)
    return numbers


def _hexadecimal(numbers: Array, missing: Array) -> pa.Array:
    """Eight digits for each number."""
    shifts = np.arange(28, -1, -4, dtype=np.uint32)
    letters = np.frombuffer(b"0123456789abcdef", np.uint8)[(numbers[:, None] >> shifts) & 15]
    offsets = pa.py_buffer(np.arange(0, letters.size + 1, 8, dtype=np.int32))
    there = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(numbers), [there, offsets, pa.py_buffer(letters.tobytes())])


def in_duckdb(files: str) -> None:
    """The sums of counts and the counts of texts by class, as DuckDB aggregates them."""
    import duckdb

    moments = ", ".join(f"count({name}), avg({name}), var_pop({name})" for name in COUNTS)
    duckdb.sql(f"select label, count(*), {moments} from '{files}' group by label").fetchall()
    parts = (f"select '{name}', label, {name}, count(*) from '{files}' group by label, {name}" for name in TEXTS)
    duckdb.sql(" union all ".join(parts)).to_arrow_table()


def in_arrow(files: str) -> None:
    """The rows, read batch by batch."""
    for path in sorted(Path(files).parent.glob("*.parquet")):
        for _ in pq.ParquetFile(path, read_dictionary=TEXTS).iter_batches(100_000, use_threads=False):
            pass


def fit(files: str, **params: Any) -> None:
    """A fit of the rows."""
    nb.fit_table(str(Path(files).parent), "label", progress_bar=False, **params)


JOBS: dict[str, Callable[[str], None]] = {
    "pyarrow": in_arrow,
    "DuckDB": in_duckdb,
    "fit_table(temper=False)": lambda files: fit(files, temper=False),
    "fit_table()": fit,
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.clicks", description=__doc__)
    parser.add_argument("folder", type=Path, help="a new folder, or one that this program has written")
    parser.add_argument("rows", type=int)
    parser.add_argument("--job", choices=[*JOBS], action="append", help="only these jobs")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.folder.exists():
        write(options.folder, options.rows)
    for job in options.job or JOBS:
        if options.here:
            _measure(job, f"{options.folder}/*.parquet")
        else:
            command = [sys.executable, "-m", "tests.benchmarks.clicks", str(options.folder), str(options.rows)]
            subprocess.run([*command, "--here", "--job", job], check=True)


def _measure(job: str, files: str) -> None:
    """Print the time and the memory of a job, after what all fits share has been imported and compiled."""
    if job.startswith("fit"):
        few = pd.DataFrame({"x": np.arange(40) % 7, "t": ["a", "b"] * 20, "y": ["c", "d"] * 20})
        nb.fit_table(few, "y", progress_bar=False)
    before, cpu, wall = _peak(), time.process_time(), time.perf_counter()
    JOBS[job](files)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{job:25} {cpu:7.2f} s of processor time, {wall:7.2f} s, {_peak():,.0f} MB, {before:,.0f} before")


def _peak() -> float:
    """The most memory that this process has had, in MB; what ``resource`` tells includes that of its parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
