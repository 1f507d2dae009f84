"""The experiment of `bayesnb compare`: methods and rivals on the same splits, and their scores.

It knows nothing of how results are shown.
"""
