"""What an estimator holds is the same with and without scikit-learn's class."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import bayesnb as nb
from bayesnb.core.storage import _tensors as tensors
from bayesnb.core.storage._results import read_result
from bayesnb.tables.sklearn._held import Held
from bayesnb.tables.sklearn._settings import Parameters

FRAME = pd.DataFrame({"leaf": [1.0, 1.2, 3.0, 3.1, np.nan], "kind": ["rose", "rose", "lily", "lily", "lily"]})
CLF = nb.fit_table(FRAME, "kind", method="posterior", smoothing=2.0, progress_bar=False)


def test_the_parameters_are_those_of_the_constructor():
    assert Parameters()._asdict() == nb.NaiveBayesClassifier().get_params(deep=False)
    assert CLF.get_params(deep=False)["smoothing"] == 2.0


def test_a_file_is_read_as_what_an_estimator_holds_and_written_from_it(tmp_path):
    nb.save(CLF, tmp_path / "one")
    held = read_result(tmp_path / "one")
    assert type(held) is Held
    nb.save(held, tmp_path / "two")
    assert tensors.read(tmp_path / "one")[0] == tensors.read(tmp_path / "two")[0]
    loaded = nb.load(tmp_path / "two")
    assert type(loaded) is nb.NaiveBayesClassifier
    assert {*vars(loaded)} == {*vars(held)}
    moved = [one.with_class_prior("uniform") for one in (held, CLF)]
    answers = [nb.predict_table(one, FRAME, progress_bar=False) for one in moved]
    assert_array_equal(*answers)


def test_an_estimator_that_was_not_fitted_says_so():
    for ask in (lambda clf: nb.predict_table(clf, FRAME), lambda clf: clf.learned_):
        with pytest.raises(NotFittedError, match="is not fitted"):
            ask(nb.NaiveBayesClassifier())
