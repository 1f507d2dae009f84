"""Results in files: safetensors for fits, StableHLO for predictions."""
