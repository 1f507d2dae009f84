"""Users' rows and labels, checked once, and the sufficient statistics computed from them.

The code depends on families, but not on the class prior or the generative program.
"""
