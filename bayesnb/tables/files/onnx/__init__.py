"""Predictions as ONNX graphs, translated from JAX's trace of a fit; only ``export`` knows what a fit is."""
