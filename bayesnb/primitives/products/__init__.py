"""Primitives of prediction: row features times class coefficients, table lookups, and functions of rows by blocks.

Families define the features and coefficients, not how they are multiplied: by BLAS, scipy and compiled loops by blocks
of rows on the host, by JAX on a device. A missing cell contributes nothing; zero probabilities are counted separately
from the finite part (see ``log_prob``).
"""

from bayesnb.primitives.products.blockwise import by_rows as by_rows
from bayesnb.primitives.products.blockwise import centre_of as centre_of
from bayesnb.primitives.products.blockwise import score_table as score_table
from bayesnb.primitives.products.blockwise import single_precision as single_precision
from bayesnb.primitives.products.blockwise import sum_terms as sum_terms
from bayesnb.primitives.products.category_tables import lookup as lookup
from bayesnb.primitives.products.counts import log_rising as log_rising
from bayesnb.primitives.products.counts import rising_and_linear as rising_and_linear
from bayesnb.primitives.products.linear_scores import Linear as Linear
from bayesnb.primitives.products.linear_scores import linear as linear
from bayesnb.primitives.products.linear_scores import linear_terms as linear_terms
