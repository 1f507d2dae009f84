"""The results of a fit: predictions, intervals, draws, evidence, generated rows.

They depend on models, not on how these were fitted.
"""
