"""Fits inside engines, beside the engine's own sums and counts of the same, and beside its own Naive Bayes.

``python -m tests.benchmarks.engines FOLDER ROWS --engine DuckDB`` makes the table of ``tests.benchmarks.clicks``, or
reads the one that is there, and prints seconds of processor time, medians of rounds in which all take turns: of this
process and its children, such as Spark's. The engine's own counts are count, mean and variance of 13 numbers, how many
lie in each of 32 bins, and how often each value of 26 texts occurs, all by class; the sample is its queries alone.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bayesnb as nb
from bayesnb.tables.files.engines._engine_schema import _first_rows
from bayesnb.tables.files.engines._queries import Queries, as_lazy
from tests.benchmarks.clicks import COUNTS, TEXTS, write

EDGES = np.exp(np.linspace(0.0, 6.0, 31)).tolist()
CASES = " ".join(f"when {{0}} < {edge} then {g}" for g, edge in enumerate(EDGES))

Jobs = dict[str, Callable[[], object]]


def of_sql(ask: Callable[[str], object], table: str) -> None:
    """The sums and counts in SQL, a query for all sums and one for each column."""
    sums = ", ".join(f"count({name}), avg({name}), var_pop({name})" for name in COUNTS)
    ask(f"select label, count(*), {sums} from {table} group by label")
    for name in COUNTS:
        code = f"case {CASES.format(name)} else {len(EDGES)} end"
        ask(f"select label, {code} as g, count(*) from {table} where {name} is not null group by 1, 2")
    for name in TEXTS:
        ask(f"select label, {name}, count(*) from {table} where {name} is not null group by 1, 2")


def duckdb_jobs(files: str) -> Jobs:
    import duckdb

    counts = lambda: of_sql(lambda query: duckdb.sql(query).to_arrow_table(), f"'{files}'")  # noqa: E731
    return {"its own counts": counts, **fits(duckdb.sql(f"from '{files}'"))}


def polars_jobs(files: str) -> Jobs:
    import polars as pl

    rows, every = pl.scan_parquet(files), pl.col(*COUNTS)

    def counts() -> None:
        sums = [every.mean().name.suffix(" mean"), every.var().name.suffix(" var"), every.count()]
        rows.group_by("label").agg(pl.len(), *sums).collect()
        for name in COUNTS:
            code = pl.lit(np.array(EDGES)).search_sorted(pl.col(name), "right")
            rows.filter(pl.col(name).is_not_null()).group_by("label", code.alias("g")).len().collect()
        for name in TEXTS:
            rows.filter(pl.col(name).is_not_null()).group_by("label", name).len().collect().to_arrow()

    return {"its own counts": counts, **fits(rows)}


def spark_jobs(files: str) -> Jobs:
    """With the engine's own Naive Bayes: a Normal for each of the numbers, where missing ones are zero."""
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    session = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    rows = session.read.parquet(str(Path(files).parent))
    rows.createOrReplaceTempView("clicks")
    full = rows.select("label", *COUNTS).fillna(0)
    vectors = VectorAssembler(inputCols=COUNTS, outputCol="features").transform(full)
    return {
        "its own counts": lambda: of_sql(lambda query: session.sql(query).toArrow(), "clicks"),
        **fits(rows),
        "its NaiveBayes, 13 numbers": lambda: NaiveBayes(modelType="gaussian", labelCol="label").fit(vectors),
        "bayesnb, these numbers": lambda: fit(full, "normal", method="map"),
    }


def dask_jobs(files: str) -> Jobs:
    """dask-ml's Naive Bayes of the same numbers, and ours by parts."""
    import dask
    import dask.dataframe as dd
    from dask_ml.naive_bayes import GaussianNB

    rows = dd.read_parquet(files, columns=["label", *COUNTS], split_row_groups=True).fillna(0).optimize()
    chosen, lengths = dict.fromkeys(COUNTS, "normal"), rows.map_partitions(len).compute().tolist()

    def by_parts() -> None:
        parts = [dask.delayed(part) for part in rows.to_delayed()]
        describe = dask.delayed(lambda part: nb.describe_table(part, "label", chosen, progress_bar=False))
        schema = nb.merge(*dask.compute(*map(describe, parts)))
        count = dask.delayed(lambda part: schema.count(part, progress_bar=False))
        nb.fit_table(schema, statistics=nb.merge(*dask.compute(*map(count, parts))), method="map")

    def own() -> None:
        cells = rows.to_dask_array(lengths=lengths)
        found = GaussianNB(classes=[0, 1]).fit(cells[:, 1:], cells[:, 0])
        dask.compute(found.theta_, found.sigma_, found.class_count_)

    return {"dask-ml's GaussianNB, 13 numbers": own, "bayesnb by parts, these numbers": by_parts}


def fits(query: Any) -> Jobs:
    return {
        "sample": lambda: _first_rows(Queries(as_lazy(query), "label")),
        "fit, temper=False": lambda: fit(query, temper=False),
        "fit": lambda: fit(query),
    }


def fit(query: Any, likelihoods: Any = "auto", **params: Any) -> None:
    nb.fit_table(query, "label", likelihoods, where="engine", dependence=False, progress_bar=False, **params)


JOBS = {"DuckDB": duckdb_jobs, "polars": polars_jobs, "Spark": spark_jobs, "Dask": dask_jobs}


def spent() -> float:
    """The processor time of this process and its children so far."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.parent.name, stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        found[int(pid)] = int(rest[1]), sum(map(int, rest[11:15]))
    mine = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in mine} - mine:
        mine |= more
    return sum(found[pid][1] for pid in mine) / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.engines", description=__doc__)
    parser.add_argument("folder", type=Path, help="a new folder, or one with such a table")
    parser.add_argument("rows", type=int)
    parser.add_argument("--engine", choices=[*JOBS], required=True)
    parser.add_argument("--only", default="", help="only what has this in its name")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    if not options.folder.exists():
        write(options.folder, options.rows)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jobs = JOBS[options.engine](f"{options.folder}/*.parquet")
    jobs = {name: job for name, job in jobs.items() if options.only in name}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(options.rounds + 1):  # the first one compiles
        for name, job in jobs.items():
            cpu, wall = spent(), time.perf_counter()
            job()
            times[name].append((spent() - cpu, time.perf_counter() - wall))
    for name, found in times.items():
        cpu, wall = np.median(found[1:], axis=0)
        print(f"{options.engine}, {name:35} {cpu:7.2f} s of processor time, {wall:7.2f} s", flush=True)


if __name__ == "__main__":
    main()
