"""Class sums (fitting) and products of rows with class tables (prediction), each implemented for host and device.

Code that is optimised for speed is kept here. It depends on rows and classes, not on distributions.
"""
