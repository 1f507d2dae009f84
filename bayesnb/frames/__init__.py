"""Columns with names and types, and labels of any kind, as rows that a model takes.

It knows nothing of fits, files or scikit-learn.
"""
