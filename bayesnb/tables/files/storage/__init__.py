"""Saved estimators; and predictions in StableHLO."""
