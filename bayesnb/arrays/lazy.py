"""Rows of Dask and DuckDB, which are computed only on request."""

from __future__ import annotations

from typing import Any

DASK_PARTS = {"DataFrame": "partitions", "Series": "partitions", "Array": "blocks.ravel()"}
"""The attributes of Dask's collections that hold their parts."""

READERS = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
"""The methods of DuckDB's relations, from the newest version to the oldest, that read batches of rows."""


def require_computed(name: str, given: Any) -> None:
    """Raise ValueError, naming the methods to call, for a collection of Dask and for a query of DuckDB."""
    library, kind = type(given).__module__.partition(".")[0].lstrip("_"), type(given).__name__
    if library == "dask":
        raise ValueError(
            f"{name} is a Dask {kind}, whose rows are not computed: give {name}.compute() if they fit in memory, else "
            f"part.compute() for each part in {name}.{DASK_PARTS.get(kind, 'to_delayed()')}, to partial_fit, or to "
            "nb.stream, whose statistics nb.merge adds up"
        )
    if library == "duckdb":
        reader = next((method for method in READERS if hasattr(given, method)), READERS[0])
        raise ValueError(
            f"{name} is a query of DuckDB, a {kind}, whose rows are not read: give {name}.df() if they fit in memory, "
            f"else {name}.{reader}() to nb.stream"
        )
