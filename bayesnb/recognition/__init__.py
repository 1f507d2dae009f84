"""A user's NumPyro program as a `NaiveBayes`, with a certificate that both have one density.

It runs the program on example rows and compares numbers; it never reads its source.
"""
