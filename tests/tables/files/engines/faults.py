"""Clusters of two workers, and what these do in tests: describe and count parts, and die at a wrong moment."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., list[bytes]]
"""Give a function each of some parts, on workers; ``between`` runs here when all have results, before they are sent."""


def describe(path: str) -> bytes:
    """The schema of a part."""
    import bayesnb as nb

    return nb.describe_table(path, "kind", progress_bar=False).to_bytes()


def count(schema: Any, path: str) -> bytes:
    """The statistics of a part."""
    return schema.count(path, progress_bar=False).to_bytes()


def count_and_tell(schema: Any, folder: str, path: str) -> bytes:
    """The same, and leave a file named by the worker's process."""
    (Path(folder) / str(os.getpid())).touch()
    return count(schema, path)


def count_and_die(schema: Any, one: str, marker: str, path: str) -> bytes:
    """Die, the first time, when one part is counted and nobody has the result."""
    counted = count(schema, path)
    if path == one:
        die_once(marker)
    return counted


def die_while_counting(schema: Any, one: str, marker: str, path: str) -> bytes:
    """Die, the first time, when some rows of one part are counted."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in file.iter_batches(20):
            yield batch
            if path == one:
                die_once(marker)

    reader = pa.RecordBatchReader.from_batches(file.schema_arrow, batches())
    return schema.count(reader, progress_bar=False).to_bytes()


def count_in_later_version(schema: Any, path: str) -> bytes:
    """Count as a worker with a later version of the library."""
    from bayesnb.core.storage import _results

    known = _results.VERSION
    _results.VERSION = known + 1
    try:
        return count(schema, path)
    finally:
        _results.VERSION = known


def die_always(one: str, path: str) -> bytes:
    """Die at one part, each time."""
    if path == one:
        die()
    return b""


def die_once(marker: str) -> None:
    """Die, unless somebody did already."""
    with suppress(FileExistsError):
        Path(marker).touch(exist_ok=False)
        die()


def die() -> None:
    """End this process, as a machine that loses its power does."""
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def on_dask() -> Iterator[Run]:
    """Two workers of Dask, which tries a part twice."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    import dask

    calls = itertools.count()
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    client = distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None)

    def run(function: Any, paths: list[str], between: Callable[[], None] = lambda: None) -> list[bytes]:
        call = next(calls)  # a key has one result, whatever the function
        found = client.map(function, paths, key=[f"{call} of {path}" for path in paths])
        distributed.wait(found)
        between()
        return client.gather(found)

    yield run
    client.shutdown()
    dask.config.refresh()


@contextmanager
def on_ray() -> Iterator[Run]:
    """Two workers of Ray, which tries a part three times."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=3e8, log_to_driver=False)

    def run(function: Any, paths: list[str], between: Callable[[], None] = lambda: None) -> list[bytes]:
        parts = ray.data.from_items(paths, override_num_blocks=max(len(paths), 1))
        retries = lambda: {"max_retries": 2}  # noqa: E731
        found = parts.map_batches(partial(_of_rows, function), batch_size=1, ray_remote_args_fn=retries).materialize()
        between()
        by_path = {row["path"]: row["blob"] for row in found.take_all()}
        return [by_path[path] for path in paths if path in by_path]

    yield run
    ray.shutdown()


def _of_rows(function: Any, rows: Any) -> dict[str, list[Any]]:
    return {"path": list(rows["item"]), "blob": [function(path) for path in rows["item"]]}


@contextmanager
def on_spark() -> Iterator[Run]:
    """Two workers of Spark, which tries a part twice."""
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2,2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "1g").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    session.sparkContext.setLogLevel("OFF")

    def run(function: Any, paths: list[str], between: Callable[[], None] = lambda: None) -> list[bytes]:
        parts = session.createDataFrame([(path,) for path in paths], "path string").repartition(max(len(paths), 1))
        found = parts.mapInArrow(partial(_of_batches, function), "path string, blob binary").cache()
        found.count()
        between()
        by_path = {row["path"]: bytes(row["blob"]) for row in found.collect()}
        return [by_path[path] for path in paths]

    yield run
    session.stop()


def _of_batches(function: Any, batches: Any) -> Any:
    import pyarrow as pa

    for batch in batches:
        for path in batch["path"].to_pylist():
            yield pa.RecordBatch.from_pydict({"path": [path], "blob": [function(path)]})


CLUSTERS = {"dask": on_dask, "ray": on_ray, "spark": on_spark}
