"""The problems as numpy solves them, against integrals that are known."""

import numpy as np
import numpyro.distributions as dist
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb.compute.arrays._compute import interpret
from bayesnb.core.families.parts._densities import read_arguments
from bayesnb.core.families.parts._frames import Frame, find_frame
from bayesnb.core.families.parts._solvers import level_by_level, solver


def units(density, x):
    frame = Frame(density.scale, find_frame(density.scale, x))
    first, weights, _ = frame.spread(x)
    table = np.zeros((x.shape[1], frame.size))
    for d in range(x.shape[1]):
        np.add.at(table[d], first[:, d, None] + np.arange(8), weights[:, d])
    return table, frame.nodes


def test_the_evidence_of_a_rate_is_the_gammas():
    x = np.random.default_rng(0).exponential(2.0, (30, 2))
    density, numbers = read_arguments(dist.Exponential, {"rate": dist.Gamma(2.0, 3.0)})
    prior = np.zeros((2, 1)), np.ones((2, 1)), np.tile(numbers, (2, 1))
    found = interpret(solver("find", density), *units(density, x), *prior)
    a, b = 2.0 + 30, 3.0 + x.sum(axis=0)
    from scipy.special import gammaln

    assert_allclose(found[3], 2 * np.log(3.0) - gammaln(2.0) + gammaln(a) - a * np.log(b), rtol=1e-10)
    new = np.array([[0.5], [7.0]])
    exact = stats.lomax.logpdf(new[:, 0], a, scale=b)
    predicted = interpret(solver("integrate", density), *units(density, x), *prior, *found[:3], new, 0 * new)[0]
    assert_allclose(predicted[:, 0], exact, rtol=1e-9)


def test_few_rows_have_higher_levels():
    density, _ = read_arguments(dist.Exponential, {})
    levels = []
    for n in (1, 2000):
        x = np.random.default_rng(1).exponential(size=(n, 1))
        prior = np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 0))
        levels.append(interpret(solver("find", density), *units(density, x), *prior)[2][0])
    assert levels[0] == 2
    assert levels[1] < 2


def test_the_last_answers_are_kept():
    density, _ = read_arguments(dist.Exponential, {})
    x = np.random.default_rng(2).exponential(size=(20, 1))
    table, nodes = units(density, x)
    prior = np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 0))
    first, again, other = (
        level_by_level(w, nodes, *prior, density=density, cost=(51, 97, 241)) for w in (table, table.copy(), 2 * table)
    )
    assert again is first
    assert (other[3] != first[3]).all()
