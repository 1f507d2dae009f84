"""Users' rows and labels, checked once, and the sufficient statistics computed from them.

The code depends on families, but neither on the class prior nor on the program.
"""
