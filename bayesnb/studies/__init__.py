"""Experiments: methods on the same splits, pictures, reports, the command line."""
