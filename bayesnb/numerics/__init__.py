"""Special functions, log probabilities, matrices and Newton's method, on either kind of array.

It knows numbers, not data: no rows, no classes.
"""
