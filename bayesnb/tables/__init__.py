"""Columns with names and types, wherever they are: frames, the estimator, files, engines, saved results."""
