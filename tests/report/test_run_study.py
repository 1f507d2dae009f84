"""How a study runs: cells that are counted, splits of the rows as given, and arguments that do not fit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

import bayesnb as nb

X, Y = load_iris(return_X_y=True)
SETS = {"iris": (X, Y), "three": (X[::-1, :3], Y[::-1])}


def test_cells_are_counted_down():
    told = []
    nb.experiment(
        {"iris": (X, Y)}, ["MLE"], sizes=[16], splits=2, on_cell=lambda place, left: told.append((*place, left))
    )
    assert told == [("iris", 0, 16, "MLE", 1), ("iris", 1, 16, "MLE", 0)]


def test_splits_are_positions_in_the_rows_that_were_given():
    y = np.where(np.arange(150) < 3, None, Y.astype(object))
    study = nb.experiment({"iris": (X, y)}, ["MLE"], sizes=[16], splits=2)
    (first, _) = study.splits("iris")
    assert_array_equal(np.sort(np.r_[first.train, first.test]), np.arange(3, 150))


def test_rows_that_repeat_are_warned_of():
    twice = np.tile(X[:60] + np.arange(4) * np.pi, (2, 1)), np.tile(Y[:60], 2)
    with pytest.warns(UserWarning, match="of the test rows are among the training rows too"):
        nb.experiment({"twice": twice}, ["MLE"], sizes=[16], splits=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metrics": ["logloss"]}, "no metric 'logloss' .*; did you mean 'log_loss'"),
        ({"metrics": []}, "no metric ''"),
        ({"sizes": [16, 400]}, "set 'iris' has 105 rows to train on .* fewer than the size 400"),
        ({"splits": 0}, "splits must be a positive int"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"design": "crosed"}, "did you mean 'crossed'"),
        ({"groups": {"irs": Y}}, "groups are by set, and there is no set 'irs'"),
        ({"methods": ["full bayes!"]}, "there is no method 'full bayes!'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_a_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        nb.experiment(**{"sets": {"iris": (X, Y)}, "methods": ["MLE"], **arguments})
