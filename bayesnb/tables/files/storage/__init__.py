"""Saved results: safetensors for fits, StableHLO for predictions."""
