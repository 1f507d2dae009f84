"""Rules of the evaluation by numpy, at random and special values in every dtype that they take, against JAX."""

import numpy as np
import pytest

from tests.compute.jaxpr_numpy import rules
from tests.fuzz.settings import SEED

NUMBER = 100
"""Draws of each case and dtype."""


@pytest.mark.fuzz
@pytest.mark.parametrize("name", rules.CASES)
def test_numpy_gives_what_jax_gives(name):
    for turn in range(NUMBER):
        rules.require_agreement(name, np.random.default_rng([SEED, turn]), rules.dtypes_of(name))
