"""scikit-learn's classifiers beside ours: what a rival never saw has probability zero."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesnb.studies.comparison._methods import RIVALS
from bayesnb.studies.comparison._rivals import fit_rival


@pytest.mark.parametrize("method", RIVALS)
def test_a_rival_gives_a_class_it_never_saw_probability_zero(method):
    X = {"categorical": np.array([[0], [1], [-1], [1]]), "numeric": np.array([[1.0], [np.nan], [3.0], [2.0]])}
    log_proba = fit_rival(method, X, np.array([0, 2, 0, 2]), num_classes=3, seed=0).predict_log_proba(X)
    assert_array_equal(log_proba[:, 1], -np.inf)
    assert_array_equal(log_proba.argmax(axis=1), [0, 2, 0, 2])
    for block, cells in X.items():  # tables of one kind of column
        only = fit_rival(method, {block: cells}, np.array([0, 2, 0, 2]), num_classes=3, seed=0)
        assert_array_equal(only.predict_log_proba({block: cells})[:, 1], -np.inf)
    # one class alone, an empty column of numbers, and a category that was not there in training
    X["numeric"][:] = np.nan
    alone = fit_rival(method, X, np.full(4, 2), num_classes=3, seed=0)
    assert_array_equal(alone.predict_log_proba(X | {"categorical": np.full((4, 1), 7)}), [[-np.inf, -np.inf, 0.0]] * 4)
