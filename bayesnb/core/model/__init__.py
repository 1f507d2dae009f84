"""The generative NumPyro program and its conjugate update: `NaiveBayes`.

It knows nothing about fitting.
"""
