"""Special functions, log probabilities, matrices and Newton's method, for numpy and JAX arrays.

Nothing here depends on data: no rows, no classes.
"""
