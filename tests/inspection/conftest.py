"""Draws by NUTS that the tests of several modules look at."""

import jax
import pytest

import bayesnb as nb
from tests.inspection.coins import MODEL, X, Y


@pytest.fixture(scope="session")
def draws():
    with jax.numpy_rank_promotion("allow"):
        return nb.fit_nuts(MODEL, X, Y, key=jax.random.key(4), num_warmup=300, num_samples=500, progress_bar=False)
