"""Rows in any layout that numpy knows: the answers of the same numbers one row after the other, and nothing written."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays._cells import part_of

FAMILIES = {
    "normal": nb.Normal(),
    "bernoulli": nb.Bernoulli(),
    "categorical": nb.Categorical(2),
    "multinomial": nb.Multinomial(),
    "poisson": nb.Poisson(),
}


def read_only(x):
    x.setflags(write=False)
    return x


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "every other column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "middle columns": lambda x: np.pad(x, ((0, 0), (3, 4)))[:, 3:-4],
    "every other row, backwards": lambda x: np.repeat(x[::-1], 2, axis=0)[::-2],
    "read-only": lambda x: read_only(x.copy()),
    "big-endian": lambda x: x.astype(">f8"),
    "float16": lambda x: x.astype(np.float16),
    "uint8": lambda x: x.astype(np.uint8),
    "bool": lambda x: x.astype(bool),
}


def rows():
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (30, 5)).astype(float), np.arange(30) % 2


@cache
def fits(name):
    """The model, its exact posterior and its MAP."""
    model = nb.NaiveBayes(FAMILIES[name])
    return model, nb.fit_posterior(model, *rows()), nb.PointEstimate(model, nb.fit_map(model, *rows()).params)


# the layouts of multinomial counts by default, and the types of normal cells: numba compiles for each pair of them
TYPES = ("read-only", "big-endian", "float16", "uint8", "bool")


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        pytest.param(
            name, layout, marks=() if name == ("normal" if layout in TYPES else "multinomial") else pytest.mark.slow
        )
        for name in FAMILIES
        for layout in LAYOUTS
    ],
)
def test_the_answers_do_not_depend_on_the_layout(name, layout):
    (X, y), (model, *results) = rows(), fits(name)
    given = LAYOUTS[layout](X)
    found = nb.sufficient_statistics(model, given, y)
    for result in results:
        assert_allclose(result.log_joint(given), result.log_joint(X), rtol=1e-5, atol=1e-6)
    assert_allclose(nb.fit_posterior(model, statistics=found).log_evidence, results[0].log_evidence, rtol=1e-9)


def test_bad_cells_in_columns_of_their_own_are_refused():
    X = np.asfortranarray(np.ones((4, 3)))
    X[2, 1] = np.inf
    with pytest.raises(ValueError, match="block 'x', column 1: a Normal cell is a finite number"):
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, [0, 1, 0, 1])


def test_a_part_of_rows_is_in_order_and_no_copy_where_it_was(rng):
    x = rng.normal(size=(8, 3))
    assert np.shares_memory(part_of(x, slice(2, 5)), x)
    columns = np.asfortranarray(x)
    assert part_of(columns, slice(2, 5)).flags.c_contiguous
    assert part_of(columns, slice(2, 5), order="K").flags.f_contiguous
    assert (part_of(columns, slice(2, 5)) == x[2:5]).all()
