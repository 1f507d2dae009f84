"""What pseudo-rows do to a cell's predictive: refits with weighted rows, and every way to cut bins."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays._compute import compute
from bayesnb.core.results._pseudo_rows import pseudo_counts, require_categories

CASES = {"bernoulli": (nb.Bernoulli(a=0.5, b=2.0), 2), "categorical": (nb.Categorical([3, 1, 2]), 3)}
X = np.array([[0, 0, 1], [1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 0]])
Y = np.array([0, 0, 1, 1, 1])


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_predictive_of_a_refit_with_such_rows(name):
    family, size = CASES[name]
    post = nb.fit_posterior(nb.NaiveBayes(family), X, Y)
    low, high = compute(pseudo_counts, post.model.families["x"], None).probs(1.5)
    rows = np.array([row for row in product(range(size), repeat=3) if all(np.less(row, family.category_sizes(3)))])
    refits = [  # 1.5 rows of each content more
        nb.fit_posterior(nb.NaiveBayes(family), [*X, row], [*Y, 0], sample_weight=[1] * 5 + [1.5]) for row in rows
    ]
    probs = [np.exp(fit.model.families["x"].log_predictive_terms(rows))[:, 0] for fit in refits]
    starts = np.cumsum([0, *family.category_sizes(3)])
    for d in range(3):
        for c in range(starts[d + 1] - starts[d]):
            of_cell = [p[rows[:, d] == c, d][0] for p in probs]
            assert_allclose([low[0, starts[d] + c], high[0, starts[d] + c]], [min(of_cell), max(of_cell)], rtol=1e-6)


def test_bins_are_averaged_over_all_cuts_with_their_posterior():
    """Segments of four bins by brute force: three possible cuts, one total."""
    rng = np.random.default_rng(0)
    edges, x, y = [0.0, 1.0, 2.0], rng.normal(1.0, 1.5, (40, 1)), rng.integers(0, 2, 40)
    model = nb.NaiveBayes(nb.Histogram(edges=edges, total=(2.0,)))
    family = nb.fit_posterior(model, x, y).model.families["x"]
    q, counts = np.asarray(family.mass)[0, 0], np.asarray(family.counts)[:, 0]
    shares = family._shares()[0, 0]
    low, high = compute(pseudo_counts, family, None).probs(3.0)
    for k, g in product(range(2), range(4)):
        expected = []
        for content in range(4):
            total = 0.0
            for i, j in product(range(4), repeat=2):
                if i <= g <= j:
                    own = slice(i, j + 1)
                    found = 2.0 * q[own].sum() + counts[k, own].sum() + 3.0 * (i <= content <= j)
                    total += shares[i, j] * found / (5.0 + counts[k].sum()) * q[g] / q[own].sum()
            expected.append(total)
        assert_allclose([low[k, g], high[k, g]], [min(expected), max(expected)], rtol=1e-6)
        assert np.argmax(expected) == g


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Categorical(2), nb.Histogram(edges=[0.5])], ids=str)
def test_counts_of_rows_alone_take_the_place_of_the_prior(family):
    rows = X[:, :1]
    post = nb.fit_posterior(nb.NaiveBayes(family), rows, Y)
    low, high = compute(pseudo_counts, post.model.families["x"], post.statistics.blocks["x"]).probs(1.0)
    ones = np.array([1, 2])  # of 2 and of 3 rows
    assert_allclose(low[:, 1], ones / [3, 4])
    assert_allclose(high[:, 1], (ones + 1) / [3, 4])


@pytest.mark.parametrize("family", [nb.Normal(), nb.Poisson(), nb.Views(nb.Normal(), nb.Histogram())], ids=str)
def test_other_families_have_no_counts(family):
    with pytest.raises(ValueError, match=rf"{type(family).__name__} has no counts"):
        pseudo_counts(family)
    with pytest.raises(ValueError, match=rf"block 'b': .* got {type(family).__name__}: nb\.prior_sensitivity"):
        require_categories(nb.NaiveBayes({"a": nb.Histogram(), "b": family}))
    require_categories(nb.NaiveBayes({"a": nb.Histogram(), "b": nb.Bernoulli(), "c": nb.Categorical(3)}))
