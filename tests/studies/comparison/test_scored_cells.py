"""The scores of one fit against scikit-learn's, and values that are no probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from bayesnb.studies.comparison._metrics import auc
from bayesnb.studies.comparison._scored_cells import score

RNG = np.random.default_rng(0)
PROBA = RNG.dirichlet([0.5, 1.0, 2.0], size=50)
Y = np.array([RNG.choice(3, p=p) for p in PROBA])


def test_scores_are_those_of_scikit_learn():
    ((cell, losses),) = score(np.log(PROBA)[None], Y, 3)
    expected = log_loss(Y, PROBA), accuracy_score(Y, PROBA.argmax(1)), roc_auc_score(Y, PROBA, multi_class="ovr")
    assert_allclose([cell.values[name] for name in ("log_loss", "accuracy", "auc")], expected)
    assert_allclose(cell.values["brier"], np.square(PROBA - np.eye(3)[Y]).sum(axis=1).mean())
    assert_allclose(losses.mean(axis=1), [cell.values["log_loss"], cell.values["brier"], 1 - cell.values["accuracy"]])
    assert 0 < cell.values["ece"] < 0.5


def test_the_auc_counts_ties_half():
    ties = np.round(PROBA, 1) + 1e-3
    ties /= ties.sum(axis=1, keepdims=True)
    assert_allclose(auc(ties, Y), roc_auc_score(Y, ties, multi_class="ovr"), rtol=1e-12)
    assert_allclose(auc(ties[:, :2], Y % 2), np.mean([roc_auc_score(k == Y % 2, ties[:, k]) for k in (0, 1)]))


def test_a_class_without_test_rows_leaves_the_log_loss_and_not_the_auc():
    some = Y != 0
    ((cell, _),) = score(np.log(PROBA[some])[None], Y[some], 3)
    assert np.isfinite(cell.values["log_loss"])
    assert "auc" not in cell.values
    assert cell.undefined == {"auc": "1 of the 3 classes have no test row"}


def test_a_probability_of_zero_costs_what_the_smallest_does():
    ((cell, _),) = score(np.log([[[1.0, 1e-300], [0.5, 0.5]]]), np.array([1, 1]), 2)
    assert cell.impossible == 0.5
    assert_allclose(cell.values["log_loss"], (87.336544 + np.log(2)) / 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("log_proba", "words"),
    [
        (np.log(PROBA[:, :2]), r"shape \(50, 2\), expected \(50, 3\): a column for each class"),
        (
            np.where(np.arange(50)[:, None] < 5, np.nan, np.log(PROBA)),
            "10.0% of the test rows have the probability",
        ),
        (PROBA, "sum to .* expected 1"),
    ],
)
def test_what_is_no_probability_is_a_reason(log_proba, words):
    ((cell, losses),) = score(log_proba[None], Y, 3)
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(cell.failed)
    assert cell.values == {}
    assert np.isnan(losses).all()


def test_fits_that_are_scored_together_have_the_scores_of_each_alone():
    several = np.stack([np.log(PROBA), np.full_like(PROBA, np.nan), np.log(np.round(PROBA, 1) + 0.1 / 3) - np.log(1.1)])
    several[2] -= np.log(np.exp(several[2]).sum(axis=1, keepdims=True))
    together = score(several, Y, 3)
    assert [bool(cell.failed) for cell, _ in together] == [False, True, False]
    for one, (cell, losses) in zip(several, together, strict=True):
        ((alone, own),) = score(one[None], Y, 3)
        assert cell == alone
        np.testing.assert_array_equal(losses, own)
