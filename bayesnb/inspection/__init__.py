"""Inspection of fits: explanations, dependence, formulas, diagnostics, export to ArviZ.

It changes no fit and makes no plots.
"""
