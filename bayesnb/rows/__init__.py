"""Users' rows and labels, checked once, and the sufficient statistics that they add up to.

It knows families, but neither the class prior nor the program.
"""
