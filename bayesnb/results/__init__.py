"""What a fit answers: predictions, intervals, draws, evidence, generated rows.

It knows models, not how they were fitted.
"""
