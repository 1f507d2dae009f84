"""Fits as queries of the engine that has the rows: polars, DuckDB, Spark, Ibis, SQLFrame, Dask."""
