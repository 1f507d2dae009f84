"""Fits and predictions as queries of the engine that has the rows: polars, DuckDB, Spark, or another of narwhals."""
