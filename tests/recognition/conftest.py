"""Users' programs are NumPyro's, whose distributions promote ranks; and models that several modules of tests ask."""

import jax
import pytest

from tests.recognition.pairs import Pairs


@pytest.fixture(autouse=True)
def _as_numpyro_promotes_ranks(numpyro_promotes_ranks):
    return numpyro_promotes_ranks


@pytest.fixture
def in_float64():
    """The program's own density is in float64."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def pairs():
    """Recognised models beside plain ones, by name."""
    return Pairs()
