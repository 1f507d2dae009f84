"""Likelihoods of logarithms and logits, in the ways in which NumPyro writes them; the programs are in ``programs``."""

import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions.transforms import ExpTransform, PowerTransform, SigmoidTransform

import bayesnb as nb
from bayesnb.recognition._mapped_readings import unmapped

NORMAL = dist.Normal(np.zeros(3), 1.0)
TRANSFORMED = dist.TransformedDistribution


@pytest.mark.parametrize(
    ("given", "kind", "transform"),
    [
        (dist.LogNormal(0.0, 1.0), dist.Normal, "log"),
        (TRANSFORMED(NORMAL, ExpTransform()), dist.Normal, "log"),
        (TRANSFORMED(dist.Logistic(0.0, 1.0).expand([3]), [SigmoidTransform()]), dist.Logistic, "logit"),
        (nb.LogNormal().likelihood({"loc": np.zeros(3), "variance": np.ones(3)}), dist.Normal, "log"),
        (NORMAL, dist.Normal, ""),
        (TRANSFORMED(NORMAL, [ExpTransform(), PowerTransform(2.0)]), TRANSFORMED, ""),
        (dist.InverseGamma(2.0, 1.0), dist.InverseGamma, ""),
    ],
)
def test_the_distribution_of_the_mapped_cells(given, kind, transform):
    base, name = unmapped(given)
    assert (type(base), name) == (kind, transform)
