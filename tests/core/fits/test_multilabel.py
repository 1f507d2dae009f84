"""fit_multilabel is as many single fits, in one call."""

import jax
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.fits._closed_form import CLOSED_FORMS
from bayesnb.core.fits._multilabel import MultiLabel, fit_multilabel
from tests import cases, laws

FITS = list(CLOSED_FORMS)
L = 4
Y = np.random.default_rng(1).integers(0, 2, (cases.N, L))


def two_classes(name: str) -> cases.Case:
    """A case with the hyperparameters of its first two classes; ``y`` is the first label."""
    case = cases.make(name)
    resolved = case.model.resolve(case.X, case.y).families

    def first_two(value):
        return value[:2] if value.ndim else value

    families = {
        block: jax.tree.map(first_two, resolved[block]) if family.num_classes else family
        for block, family in case.model.families.items()
    }
    likelihoods = families["x"] if case.model.single else families
    return cases.Case(nb.NaiveBayes(likelihoods, class_concentration=[1.5, 0.5]), case.X, Y[:, 0])


POSTERIOR_FIRST = [
    fit if fit is nb.fit_posterior else pytest.param(fit, marks=pytest.mark.slow, id=fit.__name__) for fit in FITS
]


@pytest.mark.parametrize("fit", POSTERIOR_FIRST)
@pytest.mark.parametrize("name", cases.SEVERAL)
def test_every_label_is_fitted_as_if_alone(name, fit):
    case = two_classes(name)
    many = fit_multilabel(case.model, case.X, Y, fit=fit)
    assert many.num_labels == L
    tables = many.predict_proba(case.X), many.log_odds(case.X), many.predict(case.X)
    for label in range(L):
        one = fit(case.model, case.X, Y[:, label])
        laws.equal(many.label(label), one, rtol=1e-9)
        proba, odds, predicted = (table[:, label] for table in tables)
        expected = one.predict_log_proba(case.X)
        assert_allclose(proba, np.exp(expected[:, 1]), rtol=1e-9, atol=1e-12)
        with np.errstate(invalid="ignore"):
            assert_allclose(odds, expected[:, 1] - expected[:, 0], rtol=1e-9, atol=1e-9)
        assert_array_equal(predicted, one.predict(case.X))


def test_numpy_is_fitted_in_float64_and_float32_rows_keep_their_digits(rng):
    """A far centre: float32 arithmetic would see nothing of the spread."""
    y = rng.integers(0, 2, (200, 3))
    X = (1e4 + rng.normal(y @ rng.normal(size=(3, 30)), 1.0)).astype(np.float32)
    for fit in FITS:
        many = fit_multilabel(nb.NaiveBayes(nb.Normal()), X, y, fit=fit)
        assert {leaf.dtype for leaf in jax.tree.leaves(many)} == {np.dtype(np.float64)}
        expected = fit(nb.NaiveBayes(nb.Normal()), X.astype(float), y[:, 2]).predict_proba(X.astype(float))
        assert_allclose(many.predict_proba(X)[:, 2], expected[:, 1], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("fit", FITS)
def test_weights_are_those_of_single_fits(fit, rng):
    case, weight = two_classes("mixed"), rng.integers(0, 3, cases.N)
    spoiled = Y.astype(float)
    spoiled[weight == 0] = np.nan  # rows of weight zero are as if they were not there
    many = fit_multilabel(case.model, case.X, spoiled, sample_weight=weight, fit=fit)
    for label in range(L):
        laws.equal(
            many.label(label), fit(case.model, case.X, Y[:, label], sample_weight=weight.astype(float)), rtol=1e-9
        )


def test_what_the_data_decide_is_the_same_for_each_label(rng):
    X = rng.normal(size=(50, 3)) * [1.0, 1e4, 1e-4] + [0.0, 1e8, 0.0]
    many = fit_multilabel(nb.NaiveBayes(nb.Normal()), X, rng.integers(0, 2, (50, 5)))
    for leaf in jax.tree.leaves(many.fits.prior):
        assert_array_equal(leaf, np.broadcast_to(leaf[:1], leaf.shape))


def test_sparse_rows_are_the_dense_ones(rng):
    X, y = rng.poisson(0.5, (60, 5)), rng.integers(0, 2, (60, 3))
    model = nb.NaiveBayes(nb.Multinomial())
    dense, sparse = (fit_multilabel(model, rows, y) for rows in (X, scipy.sparse.csr_array(X)))
    assert_allclose(sparse.predict_proba(scipy.sparse.csr_array(X)), dense.predict_proba(X), rtol=1e-9)


def test_what_is_impossible_is_certain_to_be_absent():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    many = fit_multilabel(nb.NaiveBayes(nb.Bernoulli()), X, [[1, 0], [0, 1], [1, 1], [0, 0]], fit=nb.fit_mle)
    assert_array_equal(many.predict_proba(X), X)
    assert_array_equal(many.log_odds(X), np.where(X == 1, np.inf, -np.inf))
    # both states of the label are impossible, each in one column: nothing speaks for either
    both = fit_multilabel(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [[1], [0]], fit=nb.fit_mle)
    assert_array_equal(both.predict_proba([[1, 1]]), [[0.5]])


def test_predictions_come_in_blocks_of_rows(rng, monkeypatch):
    """Many rows, and none, give what they give one by one."""
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, (100, L))
    many = fit_multilabel(nb.NaiveBayes(nb.Normal()), X, y)
    whole = many.predict_proba(X)
    monkeypatch.setattr(limits, "BLOCK_BYTES", 1000)
    assert_allclose(many.predict_proba(X), whole, rtol=1e-12)
    assert many.predict_proba(X[:0]).shape == (0, L)


def test_a_result_is_a_pytree():
    case = two_classes("mixed")
    many = fit_multilabel(case.model, case.X, Y)
    leaves, structure = jax.tree.flatten(many)
    again = jax.tree.unflatten(structure, leaves)
    assert isinstance(again, MultiLabel)
    assert_array_equal(again.predict_proba(case.X), many.predict_proba(case.X))
    assert repr(many).startswith("MultiLabel(fits=Posterior(")


X = np.random.default_rng(0).normal(size=(6, 2))
GOOD = np.array([[0, 1], [1, 0], [0, 1], [1, 1], [0, 0], [1, 0]])
MODEL = nb.NaiveBayes(nb.Normal())


def changed(row, column, value):
    out = GOOD.astype(float)
    out[row, column] = value
    return out


@pytest.mark.parametrize(
    ("Y", "words"),
    [
        (GOOD[:, 0], r"zeros and ones \[6, L\].*got shape \(6,\); for a single label give Y\[:, None\]"),
        (GOOD[:4], r"zeros and ones \[6, L\].*got shape \(4, 2\)"),
        (GOOD[:, :0], r"one column a label, got shape \(6, 0\)"),
        (GOOD[None], r"got shape \(1, 6, 2\)"),
        (changed(2, 1, np.nan), "column 1: a label is 0 or 1, got nan; leave out rows that lack a label"),
        (changed(0, 0, 0.5), "column 0: a label is 0 or 1, got 0.5"),
        (np.where(GOOD == 1, "yes", "no"), r"got dtype <U3: use Y\.astype\(int\), or a comparison such as Y == 'yes'"),
        (np.where(np.arange(2) == 1, 1, GOOD), "column 1 is 1 in every row: .* drop the column"),
        (np.where(np.arange(2) == 0, False, GOOD == 1), "column 0 is 0 in every row: .* drop the column"),
    ],
)
def test_labels_that_are_none(Y, words):
    with pytest.raises(ValueError, match=words):
        fit_multilabel(MODEL, X, Y)
    with pytest.raises(ValueError, match=words):
        fit_multilabel(MODEL, X, Y.tolist())


def test_a_label_that_is_constant_where_it_counts():
    with pytest.raises(ValueError, match="column 0 is 1 in every row"):
        fit_multilabel(MODEL, X, GOOD, sample_weight=GOOD[:, 0])
    with pytest.raises(ValueError, match="no row with a positive weight"):
        fit_multilabel(MODEL, X, GOOD, sample_weight=np.zeros(6))


def test_other_bad_input():
    with pytest.raises(ValueError, match="each label has 2 classes, absent and present, got num_classes=3"):
        fit_multilabel(nb.NaiveBayes(nb.Normal(), num_classes=3), X, GOOD)
    with pytest.raises(ValueError, match=r"fit must be fit_mle or .*, got 'fit_nuts': call it once for each label"):
        fit_multilabel(MODEL, X, GOOD, fit=nb.fit_nuts)
    with pytest.raises(ValueError, match="the first argument must be a model"):
        fit_multilabel(nb.Normal(), X, GOOD)
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative"):
        fit_multilabel(MODEL, X, GOOD, sample_weight=-np.ones(6))
    with pytest.raises(ValueError, match="a Bernoulli cell is 0, 1 or NaN"):
        fit_multilabel(nb.NaiveBayes(nb.Bernoulli()), X, GOOD)
    two_ones = np.c_[GOOD[:, 0], [0, 0, 0, 0, 1, 1]]
    with pytest.raises(ValueError, match=r"Y, column 1: block 'x': the covariance of class 1 .* is singular"):
        fit_multilabel(nb.NaiveBayes(nb.MultivariateNormal()), X, two_ones, fit=nb.fit_mle)
    many = fit_multilabel(MODEL, X, GOOD)
    with pytest.raises(ValueError, match=r"labels are 0\.\.1, got 2"):
        many.label(2)
    with pytest.raises(ValueError, match="has 3 columns, the model has 2"):
        many.predict_proba(np.zeros((4, 3)))
