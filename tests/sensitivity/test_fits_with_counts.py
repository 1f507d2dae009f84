"""Fits whose counts pseudo-rows change, and those that have none."""

import jax
import numpy as np
import pytest

import bayesnb as nb
from tests.sensitivity.credal_sets import fitted, tables

X, Y = tables()
MODEL = nb.NaiveBayes(nb.Categorical(3), num_classes=3)


@pytest.mark.parametrize(
    "fit",
    [
        lambda: nb.fit_mle(MODEL, X, Y),
        lambda: nb.fit_forests(MODEL, X, Y),
        lambda: nb.fit_nuts(MODEL, X, Y, key=jax.random.key(0), num_warmup=2, num_samples=4, num_chains=1),
    ],
    ids=["mle", "forests", "draws"],
)
@pytest.mark.filterwarnings("ignore")
def test_other_fits_are_refused_by_name(fit):
    given = fit()
    with pytest.raises(ValueError, match=type(given).__name__):
        nb.robustness(given, X)


def test_many_rows_in_blocks_are_the_same_as_few():
    post, rows = fitted(X, Y), np.tile(X, (700, 1))
    whole, few = nb.decide_set(post, rows), nb.decide_set(post, X)
    np.testing.assert_array_equal(whole.sets, np.tile(few.sets, (700, 1)))
    assert nb.robustness(post, X[:0]).s_star.shape == (0,)
