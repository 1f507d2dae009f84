"""Statistics of blocks, merged in any order: pickles that travel between processes, and Dask as the one who reduces."""

import pickle
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from tests import cases
from tests.laws import equal


def assert_same(found, expected):
    """One structure, and leaf by leaf the same bits, type and kind of array."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert type(a) is type(b)
        assert_array_equal(a, b, strict=not np.isscalar(a))


@pytest.mark.parametrize(
    ("by", "convert"),
    [
        ("pickle", np.asarray),
        pytest.param("cloudpickle", np.asarray, marks=pytest.mark.slow),
        pytest.param("pickle", jnp.asarray, marks=pytest.mark.slow),
        pytest.param("cloudpickle", jnp.asarray, marks=pytest.mark.slow),
    ],
)
def test_models_statistics_and_fits_travel(by, convert):
    """Every family, resolved and not; what comes back fits and predicts as what went."""
    by = pytest.importorskip(by, reason="cloudpickle comes with Dask, which is not installed")
    case = cases.make("mixed")
    X, y = jax.tree.map(convert, (case.X, case.y))
    statistics = nb.sufficient_statistics(case.model, X, y)
    prior = case.model.resolve(statistics=statistics)
    mle = nb.PointEstimate(prior, jax.tree.map(convert, prior.reference()))
    for one in (case.model, statistics, nb.fit_posterior(prior, statistics=statistics), mle):
        assert_same(by.loads(by.dumps(one)), one)


def blocks_of(case, parts):
    """A list of (X, y), as workers would read them."""
    return [(case.rows(rows), case.y[rows]) for rows in np.array_split(np.arange(len(case.y)), parts)]


def test_pickled_statistics_of_blocks_merge():
    case = cases.make("mixed")
    carried = [pickle.dumps(nb.sufficient_statistics(case.model, X, y, num_classes=3)) for X, y in blocks_of(case, 5)]
    whole = reduce(nb.merge, map(pickle.loads, carried))
    equal(whole, nb.sufficient_statistics(case.model, case.X, case.y, num_classes=3), rtol=1e-9)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_dask_maps_and_merges(scheduler):
    dask_bag = pytest.importorskip("dask.bag", reason="Dask is not installed")
    case = cases.make("normal")
    blocks = dask_bag.from_sequence(blocks_of(case, 6), npartitions=3)
    statistics = blocks.starmap(lambda X, y: nb.sufficient_statistics(case.model, X, y))
    whole = statistics.fold(nb.merge, split_every=2).compute(scheduler=scheduler)
    equal(
        nb.fit_posterior(case.model, statistics=whole).model, nb.fit_posterior(case.model, case.X, case.y).model, 1e-9
    )


def test_dask_merges_delayed_statistics():
    delayed = pytest.importorskip("dask", reason="Dask is not installed").delayed
    case = cases.make("bernoulli")
    parts = [delayed(nb.sufficient_statistics)(case.model, X, y) for X, y in blocks_of(case, 4)]
    whole = delayed(reduce)(nb.merge, parts).compute(scheduler="synchronous")
    equal(whole, nb.sufficient_statistics(case.model, case.X, case.y), rtol=1e-9)
