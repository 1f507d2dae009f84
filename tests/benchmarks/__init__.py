"""Benchmarks against scikit-learn, side by side in one run: ``python -m tests.benchmarks``."""
