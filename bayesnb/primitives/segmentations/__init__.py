"""Sums over all segmentations of G ordered cells, and the best one, by dynamic programming.

A segmentation is a set of cuts between neighbouring cells, and its weight the product of its segments' weights. A
priori the number of cuts is uniform on 0..C, where C is the number of boundaries that may be cut, and so are their
places given the number: the mixture over p ~ Uniform(0, 1) of "each boundary is a cut with probability p". The sum over
segmentations is a polynomial of degree C in p, so Gauss and Legendre's rule with C / 2 + 1 nodes integrates it exactly.
The prior is that of Boulle, MODL: a Bayes optimal discretization method (2006).
"""

from bayesnb.primitives.segmentations.sums import (
    best_segmentation,
    draw_segmentation,
    log_prior_of_count,
    sum_segmentations,
)

__all__ = ["best_segmentation", "draw_segmentation", "log_prior_of_count", "sum_segmentations"]
