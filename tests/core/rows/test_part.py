"""The part of many rows: by their cells alone, whatever their order, batches and copies."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.rows._labelled_rows import LabelledRows
from bayesnb.core.rows._part import choose_part, hash_rows, number_rows, part_of_classes, part_size

N, K = 300, 3
MOST = np.array([20, 30, 200])


def rows_of(arrays, y, weight=None):
    return LabelledRows({}, arrays, Labels(y, weight), K)


@pytest.fixture(params=["dense", "sparse"])
def rows(request, rng):
    """Distinct rows of two blocks, with missing cells; class 2 has fewer rows than its part may have."""
    y = np.repeat([0, 1, 2], [150, 100, 50])[rng.permutation(N)]
    numbers, words = rng.normal(size=(N, 3)), rng.poisson(0.4, (N, 6)).astype(float)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    words = scipy.sparse.csr_matrix(words) if request.param == "sparse" else words
    return rows_of({"numbers": numbers, "words": words}, y, rng.gamma(2.0, 0.5, N))


def cells_of(rows):
    words = rows.arrays["words"]
    words = words.toarray() if scipy.sparse.issparse(words) else words
    return np.c_[rows.arrays["numbers"], words, rows.labels.y, rows.weight()]


def test_each_class_has_its_quota_and_rarer_ones_have_all(rows):
    part = choose_part(rows, MOST)
    assert_array_equal(np.bincount(part.labels.y), [20, 30, 50])
    found, whole = ({row.tobytes() for row in cells_of(one)} for one in (part, rows))
    assert len(found) == 100
    assert found < whole
    assert choose_part(rows, None) is rows


def test_the_part_does_not_depend_on_the_order(rows, rng):
    expected = choose_part(rows, MOST)
    for _ in range(3):
        assert_array_equal(cells_of(choose_part(rows.select(rng.permutation(N)), MOST)), cells_of(expected))


def test_a_part_of_parts_is_the_part_of_the_whole(rows):
    """Also where copies of a row are in several of them."""
    whole = rows.above(rows.select(slice(0, N, 3)))
    parts = [choose_part(whole.select(slice(start, start + 90)), MOST) for start in range(0, whole.num_rows, 90)]
    joined = parts[0]
    for part in parts[1:]:
        joined = choose_part(joined.above(part), MOST)
    assert_allclose(cells_of(joined), cells_of(choose_part(whole, MOST)), rtol=1e-13)


def test_repeated_rows_are_one_with_their_weights(rows, rng):
    once = replace(rows, labels=rows.labels._replace(weight=None))
    times = rng.integers(1, 4, N)
    repeated = choose_part(once.select(np.repeat(np.arange(N), times)), MOST)
    weighted = choose_part(replace(once, labels=once.labels._replace(weight=times.astype(float))), MOST)
    assert_array_equal(cells_of(repeated), cells_of(weighted))


def test_the_chosen_rows_are_spread_evenly(rng):
    """The mean of a class's part is that of the class, and a block's place and its cells' both count."""
    x = rng.normal(size=(20_000, 2))
    y = np.zeros(20_000, int)
    part = choose_part(rows_of({"x": x}, y), np.array([2000, 0, 0]))
    assert np.abs(part.arrays["x"].mean(axis=0)).max() < 4.0 / np.sqrt(2000)
    swapped = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0], [-0.0, 3.0]])
    two = {"a": swapped[:, :1], "b": swapped[:, 1:]}
    for arrays in ({"x": swapped}, two, {"x": scipy.sparse.csr_matrix(swapped)}):
        assert choose_part(rows_of(arrays, y[:4]), np.full(3, 4)).num_rows == 3


def test_stored_zeros_are_no_cells():
    dense = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
    stored = scipy.sparse.csr_matrix((np.array([-0.0, 1.0, 1.0, 2.0]), [0, 1, 1, 0], [0, 2, 3, 4]), shape=(3, 2))
    assert_array_equal(stored.toarray(), dense)
    part = choose_part(rows_of({"x": stored}, np.zeros(3, int)), np.full(3, 3))
    assert_array_equal(np.sort(part.weight()), [1.0, 2.0])


def test_hashes_are_those_of_pandas(rng):
    """And depend on the numbers alone, not on how they lie in memory."""
    pd = pytest.importorskip("pandas")
    x = np.r_[rng.normal(size=50) * 1e9, np.inf, -np.inf, 5e-324, 0.0]
    y = np.zeros(len(x), int)
    expected = pd.util.hash_array(x)
    for given in (x, x.astype(">f8"), np.repeat(x, 2)[::2], -0.0 + np.where(x == 0, -0.0, x)):
        assert_array_equal(hash_rows(rows_of({"x": given[:, None]}, y)), expected)
    of_sign = np.array([np.nan, -np.nan, np.float64(np.uint64(0x7FF8000000000123).view(np.float64))])
    assert len(set(hash_rows(rows_of({"x": of_sign[:, None]}, y[:3])))) == 1


def test_equal_rows_are_numbered(rows, rng):
    times = rng.integers(1, 4, N)
    found = number_rows(rows.select(np.repeat(np.arange(N), times)))
    assert len({one.tobytes() for one in found}) == times.sum()
    assert_array_equal(found["f3"], np.concatenate([np.arange(time) for time in times]))
    assert np.isin(number_rows(rows), found).all()
    assert np.isin(found, number_rows(rows)).sum() == N


def test_how_many_rows():
    """All where N (K - 1) F is small; 250 a power and 1,000 where it is large, and 50 of each class."""
    assert part_of_classes(10_000, np.array([5000.0, 5000.0]), 4) is None
    many = 10_000_000
    assert part_size(many, 2, 4) == limits.LEARNED_RATIOS // 4
    assert part_size(many, 2, 400) == limits.ROWS_A_POWER * 400
    most = part_of_classes(many, np.array([many - 10.0, 10.0]), 400)
    assert most.tolist() == [part_size(many, 2, 400), limits.FEWEST_OF_CLASS]
    assert 4 * part_size(many, 20, 3000) * 19 * 3000 <= limits.LEARNED_BYTES
