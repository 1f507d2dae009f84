"""The results of a fit, however it was fitted: predictions, intervals, draws, evidence, generated rows."""
