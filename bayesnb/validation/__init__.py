"""Held-out prediction: leave-one-out, cross-validation, and the powers that are learned on it.

It knows nothing of scikit-learn or files.
"""
