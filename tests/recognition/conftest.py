"""Users' programs are NumPyro's, whose distributions promote ranks."""

import jax
import pytest


@pytest.fixture(autouse=True)
def _as_numpyro_promotes_ranks(numpyro_promotes_ranks):
    return numpyro_promotes_ranks


@pytest.fixture
def in_float64():
    """The program's own density is in float64."""
    with jax.enable_x64(True):
        yield
