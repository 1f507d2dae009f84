"""Tables in CSV and Parquet files: reading, summaries, fits and predictions."""
