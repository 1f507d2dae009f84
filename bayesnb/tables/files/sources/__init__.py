"""Where rows come from, in batches with places: CSV, Parquet, folders, Arrow tables and streams, arrays."""
