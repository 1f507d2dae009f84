"""Primitives of prediction: row features times class coefficients, and table lookups.

Families define the features and coefficients, not how they are multiplied: by BLAS, scipy and compiled loops by blocks
of rows on the host, by JAX on a device. A missing cell contributes nothing; zero probabilities are counted separately
from the finite part (see ``log_prob``).
"""

from bayesnb.compute.primitives.products._linear_scores import (
    Linear,
    centre_of,
    linear,
    linear_terms,
    single_precision,
    sum_terms,
)
from bayesnb.compute.primitives.products._table_sums import common_unit, log_rising, lookup, rising_and_linear

__all__ = [
    "Linear", "centre_of", "common_unit", "linear", "linear_terms", "log_rising", "lookup",
    "rising_and_linear", "single_precision", "sum_terms",
]  # fmt: skip
