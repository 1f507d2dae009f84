"""Rows that are taken away from statistics, or count less; ``tests/laws.py`` has what holds of every family."""

from functools import reduce

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.core.families.parts._statistics import STEP_ERROR, Statistics
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from tests.laws import equal

MODEL = nb.NaiveBayes(nb.Normal(), num_classes=1)
EPS = np.finfo(np.float64).eps


def exact(x, weight):
    """n, n mean and the squares about zero in extended precision, and the squares about the mean."""
    x, weight = np.asarray(x, np.longdouble), np.asarray(weight, np.longdouble)
    n = weight.sum()
    mean = (weight * x).sum() / n if n else np.longdouble(0)
    return np.array([n, n * mean, (weight * (x - mean) ** 2).sum()])


def sums_of(statistics):
    of = statistics.blocks["x"]
    return np.array([of.count[0, 0], of.count[0, 0] * of.mean[0, 0], of.squares[0, 0]], np.longdouble)


def totals_of(x, weight):
    """What the bound is relative to."""
    x, weight = np.asarray(x), np.asarray(weight)
    return np.array([weight.sum(), np.abs(weight * x).sum(), (weight * x * x).sum()])


def a_block(rng, num_rows, offset):
    x, weight = rng.normal(offset, 1.0, num_rows), rng.uniform(0.1, 3.0, num_rows)
    return x, weight, nb.sufficient_statistics(MODEL, x[:, None], np.zeros(num_rows, int), sample_weight=weight)


@pytest.mark.parametrize("offset", [0.0, 30.0, 1e6])
def test_a_step_is_within_its_stated_bound(offset):
    rng = np.random.default_rng(0)
    for _ in range(150):
        first, second = (a_block(rng, int(10 ** rng.uniform(0, 3)), offset) for _ in range(2))
        whole = nb.merge(first[2], second[2])
        x, weight = (np.concatenate([a, b]) for a, b in zip(first[:2], second[:2], strict=True))
        bound = STEP_ERROR * EPS * totals_of(x, weight)
        # the first two are the rounding of the blocks themselves
        of_blocks = sum(abs(sums_of(one[2]) - exact(*one[:2])) for one in (first, second))
        assert (abs(sums_of(whole) - exact(x, weight)) <= bound + of_blocks).all()
        left = nb.subtract(whole, second[2])
        assert (abs(sums_of(left) - sums_of(first[2])) <= 2 * bound).all()


@pytest.mark.parametrize(
    ("offset", "steps"),
    [(1e4, 1000), *(pytest.param(offset, 10_000, marks=pytest.mark.slow) for offset in (0.0, 1e4))],
)
def test_the_errors_of_a_chain_add_up_to_no_more_than_their_bounds(offset, steps):
    """Many steps that add blocks of rows and take them away, from ten rows to thousands and back."""
    rng = np.random.default_rng(1)
    blocks = [a_block(rng, int(10 ** rng.uniform(0, 2.5)), offset + rng.normal()) for _ in range(60)]
    held, statistics, largest = set(), nb.discount(blocks[0][2], 0.0), np.zeros(3)
    for step in range(steps):
        one = int(rng.integers(60))
        change = nb.subtract if one in held else nb.merge
        statistics, held = change(statistics, blocks[one][2]), held ^ {one}
        if step % 10 == 9:
            rows = [np.concatenate([blocks[i][part] for i in held]) if held else np.zeros(0) for part in (0, 1)]
            largest = np.maximum(largest, totals_of(*rows))
    assert (abs(sums_of(statistics) - exact(*rows)) <= steps * STEP_ERROR * EPS * largest).all()
    assert statistics.blocks["x"].squares >= 0


def test_counts_come_out_exactly():
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (1000, 5)), rng.integers(0, 3, 1000)
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=3)
    of = [nb.sufficient_statistics(model, X[part], y[part]) for part in np.array_split(np.arange(1000), 7)]
    left = reduce(nb.subtract, of[1:], reduce(nb.merge, of))
    for found, expected in zip(jax.tree.leaves(left), jax.tree.leaves(of[0]), strict=True):
        assert_array_equal(found, expected)


def test_forests_forget_too():
    rng = np.random.default_rng(3)
    X = {"flags": rng.integers(0, 2, (60, 2)), "reals": rng.normal(5.0, 1.0, (60, 3))}
    X["reals"][7, 1] = np.nan
    y = rng.integers(0, 2, 60)
    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "reals": nb.Normal()})
    of = lambda rows: nb.fit_forests(model, {b: x[rows] for b, x in X.items()}, y[rows]).statistics  # noqa: E731
    whole, part, rest = of(slice(None)), of(slice(40, None)), of(slice(0, 40))
    equal(nb.subtract(whole, part), rest, rtol=1e-9, atol=1e-9)
    nothing = [nb.discount(whole, 0.0), nb.subtract(whole, whole)]
    before, after = (nb.fit_forests(model.resolve(X, y), statistics=one).edge_probs for one in nothing)
    assert_allclose(before, after)
    with pytest.raises(ValueError, match="one factor in common"):
        nb.discount(whole, {"label": 1.0, "flags": 0.5, "reals": 1.0})


def test_one_factor_for_each_block():
    X = {"a": np.ones((4, 1)), "b": np.ones((4, 2))}
    model = nb.NaiveBayes({"a": nb.Bernoulli(), "b": nb.Poisson()})
    found = nb.discount(nb.sufficient_statistics(model, X, [0, 0, 1, 1]), {"label": 1.0, "a": 0.5, "b": 0.0})
    assert_array_equal(found.class_counts, [2.0, 2.0])
    assert_array_equal(found.blocks["a"].trials, [[1.0], [1.0]])
    assert_array_equal(found.blocks["b"].cells, np.zeros((2, 2)))


def counted(X, y=None, model=MODEL):
    X = np.asarray(X, float)
    return nb.sufficient_statistics(model, X, np.zeros(len(X), int) if y is None else y)


COVARIANCE = nb.NaiveBayes(nb.MultivariateNormal(), num_classes=1)
WHOLE = counted([[1.0], [2.0], [3.0]])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: nb.subtract(WHOLE, counted([[1.0]] * 4)), "weight of the rows to take away, 4 in class 0"),
        (
            lambda: nb.subtract(WHOLE, counted([[9.0]])),
            "column 0: mean 9 .* do not fit in mean 2 and squares 2",
        ),
        (lambda: nb.subtract(WHOLE, counted([[1.0], [2.0], [4.0]])), "cannot have been counted"),
        (lambda: nb.subtract(WHOLE, counted([[2.0], [2.0], [2.0]])), "cannot have been counted"),
        (lambda: nb.subtract(counted([[1.0], [np.nan]]), counted([[1.0], [1.0]])), "count of the rows to take away, 2"),
        (
            lambda: nb.subtract(
                counted([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], model=COVARIANCE), counted([[0.0, 9.0]], model=COVARIANCE)
            ),
            "column 1",
        ),
        (lambda: nb.subtract(WHOLE, nb.sufficient_statistics(MODEL, np.zeros((1, 2)), [0])), "can be subtracted only"),
        (lambda: nb.subtract(WHOLE, counted([[1.0]], model=COVARIANCE)), "of different models cannot be subtracted"),
        (lambda: nb.discount(WHOLE, 1.5), "from 0, forget all, to 1, keep all, got 1.5"),
        (lambda: nb.discount(WHOLE, np.nan), "got nan"),
        (lambda: nb.discount(WHOLE, True), "got True"),
        (lambda: nb.discount(WHOLE, {"x": 0.5}), "one for each of"),
    ],
)
def test_what_cannot_have_been_counted_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_family_that_merges_in_its_own_way_must_say_how_it_subtracts():
    class Extremes(Statistics):
        def merge(self, other):
            return other

    with pytest.raises(NotImplementedError, match="Extremes defines merge, and so must define minus"):
        Extremes().minus(Extremes())
    assert NormalStatistics.minus is not Statistics.minus


NEVER = {
    "failures of the rows": (nb.Bernoulli(), [[1.0]] * 5 + [[0.0]] * 5, [[0.0]] * 6),
    "the scatter of the rows": (nb.MultivariateNormal(), [[0, 0], [1, 1], [2, 2], [3.0, 3]], [[0, 3], [3.0, 0]]),
    "missing cells of the rows": (nb.Normal(), [[1.0], [2.0], [4.0]], [[np.nan]]),
    "leave 12 events in no cell": (nb.Poisson(), [[1.0], [2.0], [9.0]], [[0.0]] * 3),
}


@pytest.mark.parametrize("sentence", NEVER)
def test_rows_that_do_not_fit_in_the_others_are_refused(sentence):
    family, rows, never = NEVER[sentence]
    model = nb.NaiveBayes(family, num_classes=1)
    total, part = (nb.sufficient_statistics(model, np.array(x), [0] * len(x)) for x in (rows, never))
    with pytest.raises(ValueError, match=f"{sentence}.* cannot have been counted"):
        nb.subtract(total, part)
    for half in (rows[:2], rows):
        nb.subtract(total, nb.sufficient_statistics(model, np.array(half), [0] * len(half)))


def test_successes_that_are_left_are_no_more_than_trials():
    rng = np.random.default_rng(0)
    x, weight = (rng.random((40, 3)) < 0.5).astype(float), rng.uniform(0.1, 3, 40)
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    total, part = (nb.sufficient_statistics(model, x[:n], np.arange(n) % 2, sample_weight=weight[:n]) for n in (40, 40))
    left = nb.subtract(total, part)
    assert (left.blocks["x"].successes <= left.blocks["x"].trials).all()
