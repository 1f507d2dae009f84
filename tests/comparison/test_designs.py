"""The splits of a study: nested, kept where more are added, whole groups, and the order of time."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.comparison._designs import check_sizes, half_octaves, make_design
from bayesnb.frames._series import DataError

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


def test_half_octaves():
    assert half_octaves(1000, 0.8)[:6] == (16, 23, 32, 45, 64, 91)
    assert half_octaves(1000, 0.8)[-1] == 724
    assert half_octaves(10, 0.8) == (8,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_sizes([]), "whole numbers of training rows"),
        (lambda: check_sizes([1.5]), "whole numbers of training rows"),
        (lambda: check_sizes([1]), "the smallest is 2"),
        (lambda: make_design("s", "crossed", Y, 3, 0, [141]), "has 140 rows to train on .* fewer than the size 141"),
        (lambda: make_design("s", "crossed", Y, 3, 0, None, np.arange(7)), "groups of set 's' must be one for each"),
        (lambda: make_design("s", "crossed", Y, 3, 0, None, np.arange(200) % 2), "has 2 groups, too few"),
        (lambda: make_design("s", "crossed", Y, nb.forward(3, test_rows=70), 0), "too few for 3 test parts of 70"),
    ],
)
def test_what_cannot_be_split_is_refused_in_a_sentence(call, words):
    with pytest.raises(DataError, match=words):
        call()
