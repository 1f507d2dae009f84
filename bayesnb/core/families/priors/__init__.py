"""Conjugate priors with their updates, on which the families are built."""
