"""Leave-one-out by hand, on a device, and of rows of enormous weight; tests/laws.py has refits of every family."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.learned.validation._leave_one_out import fitted_rows
from bayesnb.learned.validation._ratio_table import left_out_log_ratios
from tests import cases


def test_leave_one_out_of_two_coins_by_hand():
    """Beta(1, 1) and Dirichlet(1): a head among (2 heads, 1 tail) leaves 1 head, 1 tail, and 2 + 2 rows of class 1."""
    X, y = np.array([[1], [1], [0], [0], [0]]), np.array([0, 0, 0, 1, 1])
    joint = nb.leave_one_out(nb.NaiveBayes(nb.Bernoulli()), X, y, joint=True)
    assert_allclose(np.exp(joint[0]), [3 / 6 * 2 / 4, 3 / 6 * 1 / 4])
    assert_allclose(np.exp(nb.leave_one_out(nb.NaiveBayes(nb.Bernoulli()), X, y)[0]), [2 / 3, 1 / 3])


def test_leave_one_out_keeps_fixed_class_probabilities():
    case = cases.make("bernoulli")
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.2, 0.3, 0.5])
    joint = nb.leave_one_out(model, np.full((3, 2), np.nan), np.array([0, 1, 2]), joint=True)
    assert_allclose(np.exp(joint), np.tile([0.2, 0.3, 0.5], (3, 1)))
    with pytest.raises(ValueError, match="integer labels"):
        nb.leave_one_out(case.model, case.X, np.eye(3)[case.y])


SOME = cases.by_default(cases.NAMES[:-1], "ragged", "normal", "covariance")


@pytest.mark.parametrize("name", SOME)
def test_a_row_leaves_as_if_it_had_never_been(name):
    """Also the one that alone shows something: what is left is then the prior, which the weight had drowned."""
    case = cases.make(name)
    size = len(case.y)
    for weight in (1e15, 4e28):
        weights = np.full(size, weight)
        folds = nb.cross_validate(case.model, case.X, case.y, sample_weight=weights, folds=np.arange(size))
        assert_allclose(nb.leave_one_out(case.model, case.X, case.y, sample_weight=weights), folds, rtol=1e-9)
        rows, labels, as_jax = jax.tree.map(jnp.asarray, (case.X, case.y, weights))
        found = nb.leave_one_out(case.model, rows, labels, sample_weight=as_jax)
        assert_allclose(found, folds, rtol=1e-3, atol=1e-3)


ALONE = {
    "normal": (nb.Normal(), [[0.3], [1.0], [1.7], [2.9]]),
    "shared": (nb.Normal(variance="shared"), [[0.3], [1.0], [1.7], [2.9]]),
    "covariance": (nb.MultivariateNormal(), [[0.3, 1.0], [1.0, 0.2], [1.7, 1.1], [2.9, -1.0]]),
    "discriminant": (nb.MultivariateNormal("shared"), [[0.3, 1.0], [1.0, 0.2], [1.7, 1.1], [2.9, -1.0]]),
    "bernoulli": (nb.Bernoulli(), [[0], [1], [1], [0]]),
    "poisson": (nb.Poisson(), [[0], [1], [3], [2]]),
    "multinomial": (nb.Multinomial(), [[0, 2], [1, 1], [3, 0], [2, 5]]),
}


@pytest.mark.parametrize("weight", [1.0, 1e20])
@pytest.mark.parametrize("name", ALONE)
def test_the_only_row_of_its_class_leaves_the_prior(name, weight):
    family, X = ALONE[name]
    X, y, weights = np.array(X), np.array([0, 0, 0, 1]), np.array([1.0, 1.0, 1.0, weight])
    found = nb.leave_one_out(nb.NaiveBayes(family), X, y, sample_weight=weights)
    folds = nb.cross_validate(nb.NaiveBayes(family), X, y, sample_weight=weights, folds=np.arange(4))
    assert_allclose(found[3], folds[3], rtol=1e-8)


WORDS = np.array([[2, 0, 1, 0, 3], [0, 1, 1, 0, 0], [1, 1, 0, 2, 0], [0, 0, 2, 0, 0], [1, 2, 0, 0, 0]])
"""Words 3 and 4 are in one row each."""


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("weight", [np.ones(5), np.array([1.0, 2.0, 0.5, 1.0, 3.0])], ids=["", "weighted"])
@pytest.mark.parametrize("vocabulary", ["of these rows", "larger"])
def test_a_row_is_judged_by_the_words_that_a_new_row_would_have(form, weight, vocabulary):
    """By refits: words of no other row are dropped where each word of the vocabulary is in some row."""
    rows = WORDS if vocabulary == "of these rows" else np.column_stack([WORDS, np.zeros(5, int)])
    y = np.array([0, 1, 0, 2, 2])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), form(rows), y, sample_weight=weight)
    table = left_out_log_ratios(fit, fitted_rows(fit, form(rows), y, weight), by_feature=False)
    flat = fit.prior.with_class_probs([1 / 3] * 3)
    for n in range(5):
        others = np.where(np.arange(5) == n, np.maximum(weight - 1.0, 0.0), weight)
        known = others @ rows > 0 if vocabulary == "of these rows" else True
        row = np.where(known, rows[[n]], 0)
        logs = nb.fit_posterior(flat, rows, y, sample_weight=others).predict_log_proba(row)[0]
        assert_allclose(table.words["x"][n], np.delete(logs - logs[y[n]], y[n]), atol=1e-10)
        assert table.lengths["x"][n] == row.sum()
