"""Inspection of fits: explanations, dependence, formulas, diagnostics, export to ArviZ."""
