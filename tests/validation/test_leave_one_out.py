"""Leave-one-out by hand, on a device and under fixed class probabilities; tests/laws.py has refits of every family."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests import cases


def test_leave_one_out_of_two_coins_by_hand():
    """Beta(1, 1) and Dirichlet(1): a head among (2 heads, 1 tail) leaves 1 head, 1 tail, and 2 + 2 rows of class 1."""
    X, y = np.array([[1], [1], [0], [0], [0]]), np.array([0, 0, 0, 1, 1])
    joint = nb.leave_one_out(nb.NaiveBayes(nb.Bernoulli()), X, y, joint=True)
    assert_allclose(np.exp(joint[0]), [3 / 6 * 2 / 4, 3 / 6 * 1 / 4])
    assert_allclose(np.exp(nb.leave_one_out(nb.NaiveBayes(nb.Bernoulli()), X, y)[0]), [2 / 3, 1 / 3])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "shared", "multinomial", "trials"])
def test_leave_one_out_on_a_device(name):
    case = cases.make(name)
    host = nb.leave_one_out(case.model, case.X, case.y)
    device = nb.leave_one_out(case.model, jax.tree.map(jnp.asarray, case.X), jnp.asarray(case.y))
    assert isinstance(device, jax.Array)
    assert_allclose(device, host, atol=2e-3)


def test_leave_one_out_keeps_fixed_class_probabilities():
    case = cases.make("bernoulli")
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.2, 0.3, 0.5])
    joint = nb.leave_one_out(model, np.full((3, 2), np.nan), np.array([0, 1, 2]), joint=True)
    assert_allclose(np.exp(joint), np.tile([0.2, 0.3, 0.5], (3, 1)))
    with pytest.raises(ValueError, match="integer labels"):
        nb.leave_one_out(case.model, case.X, np.eye(3)[case.y])
