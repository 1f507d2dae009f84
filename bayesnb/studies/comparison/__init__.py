"""The experiment of `bayesnb compare`: methods and rivals on the same splits, and their metrics.

`plots` and `report` present the results.
"""
