"""Present a comparison as an HTML page, as tables, as text on the console, and as files.

This package only shows results; `comparison` computes them.
"""
