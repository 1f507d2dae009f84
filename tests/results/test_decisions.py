import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb

PROBA = np.random.default_rng(0).dirichlet(np.ones(3), 50)
COSTS = np.random.default_rng(1).normal(size=(3, 4))


def test_no_other_decision_costs_less():
    found = nb.decide(PROBA, COSTS)
    each = np.array([[sum(p[k] * COSTS[k, j] for k in range(3)) for j in range(4)] for p in PROBA])
    assert_array_equal(found.labels, each.argmin(axis=1))
    assert_allclose(found.expected_cost, each.min(axis=1))


def test_by_default_the_most_probable_class_and_the_probability_of_an_error():
    found = nb.decide(PROBA)
    assert_array_equal(found.labels, PROBA.argmax(axis=1))
    assert_allclose(found.expected_cost, 1.0 - PROBA.max(axis=1))
    careful = nb.decide(PROBA, abstain=0.3)
    assert_array_equal(careful.labels == -1, 1.0 - PROBA.max(axis=1) > 0.3)
    assert (careful.expected_cost <= 0.3).all()
    assert_array_equal(careful.labels[careful.labels >= 0], found.labels[careful.labels >= 0])


def test_on_a_device_and_inside_jit():
    found = jax.jit(lambda proba: nb.decide(proba, COSTS, abstain=0.1))(jnp.asarray(PROBA))
    assert_array_equal(found.labels, nb.decide(PROBA, COSTS, abstain=0.1).labels)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: nb.decide(PROBA, np.ones((2, 2))), "a row for each of the 3 classes"),
        (lambda: nb.decide(PROBA, np.ones(3)), r"got float64 of shape \(3,\)"),
        (lambda: nb.decide(PROBA, [[0, 1, 1], [1, 0, np.nan], [1, 1, 0]]), "got nan for class 1 and decision 2"),
        (lambda: nb.decide(2 * PROBA), "sum 1 in each row"),
        (lambda: nb.decide(PROBA[0]), r"probabilities \[N, K\]"),
        (lambda: nb.decide(PROBA, abstain=np.nan), "abstain must be the cost of no decision"),
        (lambda: nb.decide(PROBA, abstain="a"), "a finite number, got 'a'"),
        (lambda: nb.decide(PROBA, {"rare": {}}), "takes a dict by label"),
        (lambda: nb.decide(np.zeros((0, 0))), "proba must be probabilities"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
