"""Convert columns with names and types, and labels of any type, to rows that a model takes.

It knows nothing of fits, files or scikit-learn.
"""
