"""A masked cell of X is missing; a masked label or weight is refused; without masked cells nothing changes."""

import jax
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

import bayesnb as nb
import bayesnb.sklearn as drop_in
from bayesnb.inspection._arviz import to_arviz
from bayesnb.studies.plots._regions import decision_regions

Y = np.array([0, 1, 0, 1, 1, 0])
MASK = np.zeros((6, 2), bool)
MASK[1, 0] = MASK[4, 1] = True
MEASURED = np.arange(12.0).reshape(6, 2) ** 1.5
CODES = np.array([[0, 1], [7, 0], [1, 1], [2, 0], [0, 9], [1, 0]])
FLAGS = CODES % 2 == 1


def masked(x, mask=MASK):
    """With a cell under the mask that would change every answer."""
    return np.ma.array(np.where(mask, x.max(), x).astype(x.dtype), mask=mask)


def missing(x):
    return np.where(MASK, np.nan, x)


def posterior(family, x):
    return nb.fit_posterior(nb.NaiveBayes(family, num_classes=2), x, Y)


CASES = {
    "normal": (nb.Normal(), MEASURED),
    "single": (nb.Normal(), MEASURED.astype(np.float32)),
    "whole": (nb.Poisson(), CODES),
    "small": (nb.Poisson(), CODES.astype(np.uint8)),
    "flags": (nb.Bernoulli(), FLAGS),
    "codes": (nb.Categorical(10), CODES),
}


@pytest.mark.parametrize("case", CASES)
def test_masked_cells_are_missing_in_fits_and_predictions(case):
    family, x = CASES[case]
    one, other = posterior(family, masked(x)), posterior(family, missing(x))
    for a, b in zip(jax.tree.leaves(one.statistics), jax.tree.leaves(other.statistics), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(one.predict_log_proba(masked(x)), other.predict_log_proba(missing(x)))


def test_a_wholly_masked_row_of_words_drops_the_block_and_a_partly_masked_one_is_refused():
    rows = np.array([[False, False]] * 5 + [[True, True]])
    given = np.where(rows, np.nan, CODES)
    assert_array_equal(
        posterior(nb.Multinomial(), masked(CODES, rows)).predict_proba(masked(CODES, rows)),
        posterior(nb.Multinomial(), given).predict_proba(given),
    )
    with pytest.raises(ValueError, match="NaN"):
        posterior(nb.Multinomial(), masked(CODES))


def _of_binomial(x):
    return posterior(nb.Binomial(None), (x, np.full((6, 2), 20))).predict_proba((x, np.full((6, 2), 20)))


def _explained(x):
    return nb.explain(_fitted(), x).contributions


def _fitted():
    return posterior(nb.Normal(), missing(MEASURED))


def _draws():
    fit = _fitted()
    params = {site: np.stack([value] * 4) for site, value in fit.model.mode().items()}
    return nb.Draws(fit.prior, params, {"diverging": np.zeros(4, bool)}, 1)


def _estimated(x):
    one = nb.NaiveBayesClassifier(temper=False).fit(x, Y)
    return one.partial_fit(x, Y).predict_proba(x)


MODEL = nb.NaiveBayes(nb.Normal(), num_classes=2)
DOORS = {
    "several blocks": lambda x: nb.fit_map(
        nb.NaiveBayes({"a": nb.Normal(), "b": nb.Normal()}, num_classes=2), {"a": x, "b": MEASURED}, Y
    ).predict_proba({"a": x, "b": x}),
    "pairs": lambda x: _of_binomial(np.ma.floor(x / 4) if np.ma.isMaskedArray(x) else np.floor(x / 4)),
    "a list of rows": lambda x: nb.fit_mle(MODEL, list(x), Y).predict_proba(list(x)),
    "leave_one_out": lambda x: nb.leave_one_out(MODEL, x, Y),
    "cross_validate": lambda x: nb.cross_validate(MODEL, x, Y, folds=2),
    "temper": lambda x: nb.temper(_fitted(), x, Y).predict_proba(x),
    "explain": _explained,
    "dependence": lambda x: nb.dependence(x, Y).log_bayes_factor,
    "blocks of rows": lambda x: jax.tree.leaves(nb.stream(MODEL, [(x[:4], Y[:4]), (x[4:], Y[4:])], num_classes=2)),
    "fit_em": lambda x: nb.fit_em(MODEL, x, np.where(np.arange(6) == 5, -1, Y), max_iterations=1).params["x_loc"],
    "multilabel": lambda x: nb.fit_multilabel(nb.NaiveBayes(nb.Normal()), x, np.stack([Y, 1 - Y], 1)).predict_proba(x),
    "the estimator": _estimated,
    "a picture": lambda x: decision_regions(Figure().gca(), _fitted(), x, resolution=3).get_xlim(),
    "ArviZ": lambda x: to_arviz(_draws(), X=x, y=Y)["observed_data"]["x"].to_numpy(),
    "the estimator of codes": lambda x: nb.NaiveBayesClassifier("categorical").fit(x // 9, Y).predict_proba(x // 9),
    "the drop-in class": lambda x: drop_in.GaussianNB().partial_fit(x, Y, [0, 1]).predict_proba(x),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:EM did not converge")
@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_masked_cells_for_missing(door):
    for a, b in zip(
        jax.tree.leaves(DOORS[door](masked(MEASURED))), jax.tree.leaves(DOORS[door](missing(MEASURED))), strict=True
    ):
        assert_array_equal(a, b)


class MaskedTensor:
    """As torch's: its mask is True where there is a cell, and numpy cannot read it."""

    def __init__(self, x):
        self.masked, self.shape = x, x.shape

    def get_data(self):
        return self.masked.data

    def get_mask(self):
        return ~np.ma.getmaskarray(self.masked)

    def __array__(self, *_, **__):
        raise TypeError("no implementation found for '__array__'")


def rows_with(nothing):
    return lambda x: np.where(np.ma.getmaskarray(x), nothing, x.data.astype(object)).tolist()


@pytest.mark.filterwarnings("ignore:EM did not converge")
@pytest.mark.parametrize("given", [MaskedTensor, *map(rows_with, (None, pd.NA, pd.NaT))])
@pytest.mark.parametrize("door", ["leave_one_out", "cross_validate", "fit_em", "temper", "the drop-in class"])
def test_a_masked_tensor_and_rows_of_python_have_missing_cells(door, given):
    found, expected = (jax.tree.leaves(DOORS[door](x)) for x in (given(masked(MEASURED)), missing(MEASURED)))
    for a, b in zip(found, expected, strict=True):
        assert_array_equal(a, b)


def test_a_masked_tensor_of_labels_or_weights_is_refused():
    y = MaskedTensor(np.ma.array(Y, mask=[0, 0, 1, 0, 0, 0]))
    for call in (lambda: nb.fit_mle(MODEL, MEASURED, y), lambda: nb.NaiveBayesClassifier().fit(MEASURED, y)):
        with pytest.raises(ValueError, match="y is a masked array with a masked cell in row 2"):
            call()
    with pytest.raises(ValueError, match="sample_weight is a masked array with a masked cell in row 2"):
        nb.fit_mle(MODEL, MEASURED, Y, sample_weight=y)


@pytest.mark.parametrize("x", [CODES, FLAGS])
def test_dependence_keeps_masked_codes_and_flags_as_categories(x):
    found = nb.dependence(masked(x), Y).log_bayes_factor
    assert_array_equal(found, nb.dependence(np.where(MASK, -1, x), Y).log_bayes_factor)


LABELS = np.ma.array(Y, mask=[0, 0, 1, 0, 0, 0])
WEIGHT = np.ma.array(np.ones(6), mask=[0, 0, 1, 0, 0, 0])
SOFT = np.ma.array(np.full((6, 2), 0.5), mask=np.arange(12).reshape(6, 2) == 4)


@pytest.mark.parametrize("y", [LABELS, SOFT], ids=["integers", "soft"])
@pytest.mark.parametrize(
    "fit",
    [
        lambda y: nb.fit_posterior(MODEL, MEASURED, y),
        lambda y: nb.fit_em(MODEL, MEASURED, y),
        lambda y: nb.cross_validate(MODEL, MEASURED, y, folds=2),
        lambda y: nb.dependence(MEASURED, y),
        lambda y: nb.stream(MODEL, [(MEASURED, y)], num_classes=2),
        lambda y: nb.NaiveBayesClassifier().fit(MEASURED, y),
        lambda y: drop_in.GaussianNB().fit(MEASURED, y),
    ],
)
def test_masked_labels_are_refused(fit, y):
    with pytest.raises(ValueError, match="y is a masked array with a masked cell in row 2: leave such rows out"):
        fit(y)


@pytest.mark.parametrize(
    "fit",
    [
        lambda weight: nb.fit_posterior(MODEL, MEASURED, Y, sample_weight=weight),
        lambda weight: nb.stream(MODEL, [(MEASURED, Y, weight)], num_classes=2),
        lambda weight: nb.NaiveBayesClassifier().fit(MEASURED, Y, sample_weight=weight),
        lambda weight: drop_in.GaussianNB().fit(MEASURED, Y, sample_weight=weight),
    ],
)
def test_masked_weights_are_refused(fit):
    with pytest.raises(ValueError, match="sample_weight is a masked array with a masked cell in row 2"):
        fit(WEIGHT)


def test_a_masked_hyperparameter_is_refused():
    with pytest.raises(ValueError, match="masked cell in row 0"):
        nb.Normal(loc=np.ma.array([1.0, 2.0], mask=[1, 0]))


def test_without_masked_cells_a_masked_array_is_as_a_plain_one():
    plain = nb.fit_posterior(MODEL, CODES, Y, sample_weight=np.arange(6.0))
    open_masks = (np.ma.array(CODES, mask=False), np.ma.array(Y), np.ma.array(np.arange(6.0)))
    found = nb.fit_posterior(MODEL, *open_masks[:2], sample_weight=open_masks[2])
    for a, b in zip(jax.tree.leaves(found.statistics), jax.tree.leaves(plain.statistics), strict=True):
        assert_array_equal(a, b)
    assert_array_equal(nb.dependence(open_masks[0], Y).log_bayes_factor, nb.dependence(CODES, Y).log_bayes_factor)
