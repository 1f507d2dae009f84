"""Class sums (fitting) and products of rows with class tables (prediction), each implemented for host and device.

Tricks of speed live here. The code depends on rows and classes, not on distributions.
"""
