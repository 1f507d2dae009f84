"""The splits of a study: nested, kept where more are added, whole groups, and the order of time."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.studies.comparison._designs import (
    default_repeats,
    growing_sizes,
    half_octaves,
    make_design,
    num_test_rows,
    stratified_split,
)
from bayesnb.tables.frames._series import DataError

Y = np.random.default_rng(0).choice(3, size=200, p=[0.6, 0.3, 0.1])
FIRST = [[7, 2, 5, 4, 3, 0, 6], [6, 3, 0, 7, 2, 5, 4]]
FIRST_TEST = [9, 8, 1]


def test_a_crossed_design_has_one_test_part_and_other_orders_of_the_rest():
    design = make_design("s", "crossed", Y, 4, 0)
    first = design.nested[0]
    for split in design.nested:
        assert_array_equal(np.sort(np.r_[split.train, split.test]), np.arange(200))
        assert_array_equal(split.test, first.test)
        for size in design.sizes:  # prefixes keep the shares of the classes
            assert np.abs(np.bincount(Y[split.train[:size]], minlength=3) - size * np.bincount(Y) / 200).max() < 2.5
    assert not np.array_equal(design.nested[1].train, first.train)
    assert design.pool == 140
    assert design.sizes == (16, 23, 32, 45, 64)


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


def test_more_splits_keep_the_earlier_ones():
    three, five = (make_design("s", "crossed", Y, splits, 7) for splits in (3, 5))
    for a, b in zip(three.nested + three.redrawn, five.nested[:3] + five.redrawn[:3], strict=True):
        assert_array_equal(a.train, b.train)
        assert_array_equal(a.test, b.test)


def test_splits_are_those_of_the_first_version():
    """A study of an older version can be paired with a new one."""
    design = make_design("s", "crossed", np.arange(10) % 2, 2, 0)
    assert [split.train.tolist() for split in design.nested] == FIRST
    assert design.nested[0].test.tolist() == FIRST_TEST


def test_sizes_that_are_most_of_the_pool_have_test_rows_of_their_own():
    design = make_design("s", "crossed", Y, 3, 0, [50, 130])
    assert (design.of(50), design.of(130)) == ("crossed", "resplit")
    assert not np.array_equal(*(np.sort(split.test) for split in design.splits(130)[:2]))
    assert design.splits(50) is design.nested


@pytest.mark.parametrize("name", ["crossed", "resplit"])
def test_a_group_trains_or_tests_as_a_whole(name):
    groups = np.repeat(np.arange(40), 5)
    design = make_design("s", name, Y, 3, 0, None, groups)
    for split in design.nested:
        assert not {*groups[split.train]} & {*groups[split.test]}
        assert len(split.test) == 60
    same = [np.array_equal(split.test, design.nested[0].test) for split in design.nested]
    assert all(same) == (name == "crossed")


def test_forward_trains_on_the_rows_just_before():
    design = make_design("s", "crossed", Y, nb.forward(3, test_rows=20), 0, [10, 140])
    assert [split.test[0] for split in design.nested] == [140, 160, 180]
    for split in design.nested:
        assert_array_equal(np.sort(split.train[:10]), split.test[0] - 10 + np.arange(10))
    assert design.of(140) == "forward"


@pytest.mark.parametrize(
    ("num_train", "num_classes", "sizes"),
    [
        (398, 2, (20, 50, 100, 200, 398)),
        (105, 3, (20, 50, 105)),
        (1258, 60, (100, 200, 500, 1000, 1258)),
        (22793, 2, (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 22793)),
        (345815, 23, (50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 345815)),
        (14, 2, (14,)),
    ],
)
def test_growing_sizes(num_train, num_classes, sizes):
    assert growing_sizes(num_train, num_classes) == sizes


def test_large_tables_have_fewer_splits_and_score_some_of_the_held_out_rows():
    assert [default_repeats(rows) for rows in (150, 50_000, 100_000, 494_000)] == [20, 20, 10, 3]
    some, whole = (make_design("s", "crossed", Y, 2, 5, [20, 130], most_test=most) for most in (10, 200))
    for part, all_rows in zip(some.nested + some.redrawn, whole.nested + whole.redrawn, strict=True):
        assert_array_equal(part.test, all_rows.test[:10])
        assert_array_equal(part.train, all_rows.train)


def test_half_octaves():
    assert half_octaves(1000, 0.8)[:6] == (16, 23, 32, 45, 64, 91)
    assert half_octaves(1000, 0.8)[-1] == 724
    assert half_octaves(10, 0.8) == (8,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_design("s", "crossed", Y, 3, 0, [141]), "has 140 rows to train on .* fewer than the size 141"),
        (
            lambda: make_design("s", "crossed", Y, 3, 0, None, np.arange(200) % 2),
            "has 2 groups, too few .*: give a column of three or more",
        ),
        (lambda: make_design("s", "crossed", Y, nb.forward(3, test_rows=70), 0), "too few for 3 test parts of 70"),
    ],
)
def test_what_cannot_be_split_is_refused_in_a_sentence(call, words):
    with pytest.raises(DataError, match=words):
        call()
