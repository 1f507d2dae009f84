"""Rows are checked once at the boundary, by whatever function they enter."""

import sys
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.core.rows._labelled_rows import label_rows

MODEL = nb.NaiveBayes({"flags": nb.Bernoulli(), "reals": nb.Normal()})
N = 24
Y = np.arange(N) % 2
WEIGHT = np.where(np.arange(N) % 5 == 0, 0.0, 1.5)


@pytest.fixture
def rows(rng):
    return {"flags": rng.random((N, 3)) < 0.4, "reals": rng.normal(Y[:, None], 1.0, (N, 2))}


@pytest.fixture
def calls(monkeypatch):
    """The number of calls of each check, wherever it is used."""
    found: Counter[str] = Counter()
    for name in ("check_shapes", "check_labels"):
        for module in [m for key, m in sys.modules.items() if key.startswith("bayesnb.") and hasattr(m, name)]:
            check = getattr(module, name)

            def count(*args, _name=name, _check=check, **options):
                found[_name] += 1
                return _check(*args, **options)

            monkeypatch.setattr(module, name, count)
    return found


ENTRIES = {
    "fit_mle": lambda X, y: nb.fit_mle(MODEL, X, y),
    "fit_posterior": lambda X, y: nb.fit_posterior(MODEL, X, y, sample_weight=WEIGHT),
    "leave_one_out": lambda X, y: nb.leave_one_out(MODEL, X, y),
    "cross_validate": lambda X, y: nb.cross_validate(MODEL, X, y, folds=3),
    "fit_em": lambda X, y: nb.fit_em(MODEL, X, np.where(np.arange(N) < 12, y, -1), max_iterations=3, tolerance=1.0),
    "dependence": lambda X, y: nb.dependence({"reals": X["reals"]}, y),
    "feature_inclusion": lambda X, y: nb.feature_inclusion(MODEL, X, y),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_rows_and_labels_are_checked_once(entry, rows, calls):
    ENTRIES[entry](rows, Y)
    assert calls == {"check_shapes": 1, "check_labels": 1}


def test_temper_checks_its_rows_once(rows, calls):
    posterior = nb.fit_posterior(MODEL, rows, Y)
    calls.clear()
    nb.temper(posterior, rows, Y)
    assert calls == {"check_shapes": 1, "check_labels": 1}


def test_rows_of_weight_zero_are_left_out(rows):
    counted = label_rows(MODEL, rows, Y, WEIGHT).drop_unused()
    assert counted.num_rows == int((WEIGHT > 0).sum())
    assert_array_equal(counted.arrays["reals"], rows["reals"][WEIGHT > 0])
    assert_array_equal(counted.weight(), WEIGHT[WEIGHT > 0])
    soft = label_rows(MODEL, rows, np.eye(2)[Y], WEIGHT)
    assert_array_equal(soft.weight(), WEIGHT)
    assert soft.drop_unused().num_rows == counted.num_rows


def test_selected_rows_keep_their_labels_and_weights(rows):
    some = label_rows(MODEL, rows, Y, WEIGHT).select(np.arange(N) % 3 == 1)
    assert_array_equal(some.labels.y, Y[1::3])
    assert_array_equal(some.weight(), WEIGHT[1::3])
    assert_array_equal(some.arrays["flags"], rows["flags"][1::3])
