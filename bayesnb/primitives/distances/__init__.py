"""Squared distances of rows under class covariances, on which multivariate Gaussian and Student densities depend.

Each covariance is factored once, S = L L', and a row's squared distance is |L^-1 (x - m)|^2. A missing cell is
marginalised: the observed sub-vector has the sub-mean and the sub-covariance. A column whose variance is 0 in every
class carries no information and is left out in the same way.
"""

from __future__ import annotations

from bayesnb.arrays.placement import Array, on_host
from bayesnb.primitives.distances import device, host
from bayesnb.primitives.distances.device import LOG_2PI as LOG_2PI
from bayesnb.primitives.distances.device import Distances as Distances
from bayesnb.primitives.distances.device import log_normal as log_normal
from bayesnb.primitives.distances.device import log_student as log_student


def distances(loc: Array, covariance: Array, x: Array) -> Distances:
    """Distances of rows x [N, D], NaN where missing, from centres [K, D] under covariances [K, D, D] or [1, D, D]."""
    body = host if on_host(loc, covariance, x) else device
    return body.distances(loc, covariance, x)
