"""Held-out prediction: leave-one-out, cross-validation, and powers learned on leave-one-out."""
