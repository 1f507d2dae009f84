"""Multinomial words against scipy's densities and conjugacy worked out on paper."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from tests.core.families.count_rows import RANDOM


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_many_documents_of_few_words_are_looked_up(dtype):
    """The predictive of a document is Dirichlet-multinomial; a row that is missing says nothing."""
    x, y = np.minimum(RANDOM.poisson(0.4, (300, 6)), 1 if dtype is bool else 5).astype(dtype), np.arange(300) % 3
    model = nb.NaiveBayes(nb.Multinomial([0.3, 1.0, 2.0, 1.0, 0.5, 4.0]), class_probs=[0.2, 0.3, 0.5])
    fit = nb.fit_posterior(model, x, y)
    counts = x.astype(int)
    concentration = np.stack([model.families["x"].concentration + counts[k == y].sum(axis=0) for k in range(3)])
    law = stats.dirichlet_multinomial(concentration[None], counts.sum(axis=1)[:, None])
    expected = law.logpmf(counts[:, None]) + np.log(model.class_probs)
    assert_allclose(fit.log_joint(x), expected, rtol=1e-10)
    if dtype is np.float32:
        with np.errstate(all="raise"):
            assert np.isfinite(fit.log_joint(x * np.float32(1e20))).all()
        x[7] = np.nan
        assert_allclose(fit.log_joint(x), np.where(np.arange(300)[:, None] == 7, np.log(model.class_probs), expected))


@pytest.mark.parametrize("layout", [np.asarray, scipy.sparse.csr_array])
def test_odds_of_enormous_counts_keep_their_digits(layout):
    """Gamma(p + x) / Gamma(q + x) of whole p - q is a product of few factors, which is the oracle."""
    counts, y = np.array([[2, 5, 1], [3, 1, 4], [1, 2, 2], [4, 4, 9]]), np.array([0, 0, 1, 1])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), counts, y)
    a, rows = (
        np.asarray(fit.model.families["x"].concentration),
        np.array([[1e9, 2, 3], [1e9, 1e9, 1e9], [5e9, 1e9, 0.5]]),
    )

    def ratio(p, q, x):  # log of Gamma(p + x) Gamma(q) / (Gamma(q + x) Gamma(p))
        return np.sign(p - q) * sum(np.log1p(x / j) for j in range(int(min(p, q)), int(max(p, q))))

    for row, found in zip(rows, fit.log_joint(layout(rows)), strict=True):
        words = sum(ratio(a[0, d], a[1, d], row[d]) for d in range(3))
        expected = words - ratio(a[0].sum(), a[1].sum(), row.sum())
        assert_allclose(found[0] - found[1], expected, atol=3e-6)
