"""The experiment of `bayesnb compare`: methods and rivals on the same splits, and their scores.

`plots` and `report` present the results.
"""
