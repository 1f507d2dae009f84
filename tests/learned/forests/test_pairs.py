"""Statistics of all pairs of columns: they merge, stream in one pass, and go on where a stream stopped."""

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import laws
from tests.learned.forests import children
from tests.learned.forests.histograms import MODEL, K, N, X, Y, part


def test_pairs_are_counted_by_cell_and_merge(fit):
    prior = MODEL.resolve(X, Y)
    first, second = (nb.fit_forests(prior, part(rows), Y[rows]).statistics for rows in (slice(70), slice(70, None)))
    merged = nb.fit_forests(prior, statistics=nb.merge(first, second))
    laws.equal(merged.statistics, fit.statistics, rtol=1e-9)
    assert merged.segments == fit.segments
    assert_allclose(merged.log_joint(X), fit.log_joint(X), rtol=1e-9)
    other = nb.fit_forests(MODEL, part(slice(70)), Y[:70]).statistics
    with pytest.raises(ValueError, match="only if their edges are the same"):
        nb.merge(other, second)


@pytest.mark.parametrize("size", [30, 75, N])
def test_pairs_stream_in_one_pass(fit, size):
    blocks = [(part(slice(at, at + size)), Y[at : at + size]) for at in range(0, N, size)]
    streamed = nb.stream(MODEL, iter(blocks), num_classes=K, pairs=True)
    laws.equal(streamed, fit.statistics, rtol=1e-9)
    again = nb.fit_forests(MODEL, statistics=streamed)
    assert again.segments == fit.segments
    assert_allclose(again.log_joint(X), fit.log_joint(X), rtol=1e-9)
    assert_allclose(again.edge_probs, fit.edge_probs, atol=1e-9)


def test_parts_merge_and_stream_and_come_back_from_files(problem, tmp_path):
    prior, X = problem
    fit = nb.fit_forests(prior, X, children.Y)
    cuts = [({name: x[cut] for name, x in X.items()}, children.Y[cut]) for cut in (slice(9), slice(9, None))]
    streamed = nb.stream(prior, iter(cuts), num_classes=K, pairs=True)
    left = nb.subtract(streamed, nb.fit_forests(prior, *cuts[0]).statistics)
    again = nb.merge(left, nb.fit_forests(prior, *cuts[0]).statistics)
    for statistics in (streamed, again):
        assert_allclose(nb.fit_forests(prior, statistics=statistics).log_joint(X), fit.log_joint(X), rtol=1e-9)
    nb.save(fit, tmp_path / "forest")
    assert_array_equal(nb.load(tmp_path / "forest").log_joint(X), fit.log_joint(X))
