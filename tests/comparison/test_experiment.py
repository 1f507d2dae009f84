"""The splits of a comparison: stratified, growing, kept where repeats are added, and shared by all methods."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesnb.comparison._compare import compare
from bayesnb.comparison._experiment import (
    Experiment,
    choose_sizes,
    default_repeats,
    growing_sizes,
    make_splits,
    num_test_rows,
    stratified_split,
)
from bayesnb.frames._series import DataError
from tests.comparisons import QUICK, synthetic


@pytest.mark.parametrize("seed", range(5))
def test_every_prefix_and_the_test_set_are_stratified(seed):
    y = np.random.default_rng(seed).choice(4, size=301, p=[0.55, 0.3, 0.1, 0.05])
    split = stratified_split(y, np.random.default_rng(seed + 100))
    assert_array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(301))
    assert len(split.test) == num_test_rows(301) == 90
    share = np.bincount(y, minlength=4) / 301
    running = np.cumsum(np.eye(4)[y[split.train]], axis=0)
    gaps = np.abs(running - np.arange(1, 212)[:, None] * share)
    # a class is within one row of its share of the time, and the number of rows within K of its own
    assert np.all(gaps <= 1 + 4 * share)
    assert np.all(np.abs(np.bincount(y[split.test], minlength=4) - 90 * share) <= 1 + 4 * share)


def test_a_class_of_one_row_is_held_out_in_three_of_ten_splits():
    y = np.array([0] * 60 + [1] * 39 + [2])
    held_out = [99 in stratified_split(y, np.random.default_rng(seed)).test for seed in range(1000)]
    assert abs(np.mean(held_out) - 0.3) < 5 * np.sqrt(0.21 / 1000)


def test_more_repeats_keep_the_splits_of_fewer_and_another_seed_has_others():
    table = synthetic("b")
    three, five = make_splits(table, 3, seed=7), make_splits(table, 5, seed=7)
    for a, b in zip(three, five, strict=False):
        assert_array_equal(a.train, b.train)
    assert not np.array_equal(three[0].train, three[1].train)
    other = make_splits(table, 1, seed=8)[0].train
    assert not any(np.array_equal(split.train, other) for split in five)


@pytest.mark.parametrize(
    ("num_train", "num_classes", "sizes"),
    [
        (398, 2, (20, 50, 100, 200, 398)),
        (105, 3, (20, 50, 105)),
        (1258, 60, (100, 200, 500, 1000, 1258)),
        (22793, 2, (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 22793)),
        (14, 2, (14,)),
    ],
)
def test_growing_sizes(num_train, num_classes, sizes):
    assert growing_sizes(num_train, num_classes) == sizes


def test_sizes_are_sorted_or_refused():
    table = synthetic("b")
    assert choose_sizes(table) == (20, 50, 84)
    assert choose_sizes(table, (84, 10, 10)) == (10, 84)
    with pytest.raises(DataError, match="training size of 85 is more than the 84 training rows"):
        choose_sizes(table, (10, 85))
    with pytest.raises(DataError, match="training size of 1 is too small"):
        choose_sizes(table, (1, 20))
    with pytest.raises(DataError, match="no training size is given"):
        choose_sizes(table, ())
    with pytest.raises(DataError, match="no training size is given"):
        choose_sizes(table, np.array([], int))


def test_large_tables_have_fewer_splits_and_score_some_of_the_held_out_rows():
    assert [default_repeats(rows) for rows in (150, 50_000, 100_000, 494_000)] == [20, 20, 10, 5]
    table = synthetic("b")
    experiment = Experiment(table, (20,), 2, 5, most_test=10)
    assert experiment.num_test == 10
    for part, whole in zip(experiment.splits, make_splits(table, 2, 5), strict=True):
        assert_array_equal(part.test, whole.test[:10])
        assert_array_equal(part.train, whole.train)
    assert compare(experiment, methods=QUICK).of(20, "MLE")[0].bins.count.sum() == 10


def test_splits_and_models_are_made_once_and_shared():
    experiment = Experiment(synthetic("bn"), (10, 84), 2, 5)
    assert experiment.splits is experiment.splits
    assert experiment.bayes is experiment.bayes
    split = make_splits(experiment.table, 1, seed=5)[0]
    for rows, index in zip(experiment.first, split, strict=True):
        X, y = experiment.table.rows(index)
        assert_array_equal(rows[1], y)
        assert rows[0].keys() == X.keys()
        for block, cells in X.items():
            assert_array_equal(rows[0][block], cells)
