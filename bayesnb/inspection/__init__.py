"""What a fit says about rows and features: explanations, dependence, formulas, tables for ArviZ.

It changes no fit, and draws nothing.
"""
