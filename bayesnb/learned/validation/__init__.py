"""Held-out prediction: leave-one-out, cross-validation, and powers learned on leave-one-out.

It knows nothing of scikit-learn or files.
"""
