"""Class sums (fitting) and products of rows with class tables (prediction), each with a host and a device body.

Tricks of speed live here. It knows rows and classes, not distributions.
"""
