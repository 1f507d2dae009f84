"""Two methods over many sets: against baycomp, scipy, statsmodels, printed numbers, and integration on a grid."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesnb.studies.comparison import _over_sets as over_sets
from bayesnb.studies.comparison._over_sets import friedman, hierarchical, holm, signed_rank, wilcoxon
from bayesnb.studies.comparison._paired import Difference


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    table = rng.normal(0.5, 0.2, (14, 1)) + rng.normal([0.0, 0.05, 0.2, 0.2], 0.1, (14, 4))
    return pd.DataFrame(table, columns=["a", "b", "c", "d"])


@pytest.mark.parametrize("rope", [0.0, 0.03])
def test_the_signed_rank_is_baycomps(scores, rope):
    baycomp = pytest.importorskip("baycomp", reason="baycomp is the oracle of this test")
    a, b = scores["a"].to_numpy(), scores["b"].to_numpy()
    found = signed_rank(b - a, rope, seed=1).regions
    expected = baycomp.two_on_multiple(a, b, rope=rope, nsamples=10_000, random_state=2)
    expected = expected[0], 1 - expected[0] - expected[-1], expected[-1]
    assert_allclose(found, expected, atol=5 * np.sqrt(0.25 / 10_000))


def test_the_signed_rank_has_its_expectation():
    """The average difference is that of the sets and of half an observation at 0; signs change sides."""
    z = np.array([-0.4, 0.1, 0.2, 0.5])
    found = signed_rank(z, 0.1, seed=3)
    assert_allclose(found.mean, z.sum() / 4.5, atol=5 * np.std(z) / np.sqrt(over_sets.NUM_DRAWS))
    assert found.low < found.mean < found.high
    assert signed_rank(z, 0.1, seed=3) == found
    flipped = signed_rank(-z, 0.1, seed=3)
    assert_allclose(flipped.regions, found.regions[::-1])


def sets(means, error=0.05, freedom=20.0):
    return [Difference(float(m), error, freedom, "crossed") for m in means]


@pytest.mark.slow
def test_the_hierarchical_model_is_its_integral_on_a_grid():
    """The posterior of average and spread by quadrature; tails and true differences are integrated out as well."""
    means, error, freedom = np.array([-0.1, 0.3, 0.45]), 0.12, 9.0
    found = hierarchical([Difference(m, error, freedom, "") for m in means], 0.05, seed=0, draws=10_000)
    unit = np.sqrt(np.mean(means**2 + error**2))
    m, e = means / unit, error / unit
    bound, scale = np.max(np.abs(m) + 3 * e), np.std(m)
    average, spread = np.linspace(-bound, bound, 81), np.geomspace(1e-3, 60, 40) * scale
    rng, points = np.random.default_rng(1), (np.arange(200) + 0.5) / 200
    total = np.zeros((len(average), len(spread)))
    for nu in 1 + rng.gamma(rng.uniform(0.5, 5, 40), 1 / rng.uniform(0.05, 0.15, 40)):
        apart = stats.t.ppf(points, nu)
        per_set = [
            np.mean(stats.t.pdf(x - average[:, None, None] - spread[:, None] * apart, freedom, scale=e), axis=-1)
            for x in m
        ]
        total += np.prod(per_set, axis=0)
    weight = total * stats.halfcauchy.pdf(spread, scale=scale) * np.gradient(spread)
    weight /= weight.sum()
    mean = np.sum(weight.sum(1) * average)
    sd = np.sqrt(np.sum(weight.sum(1) * average**2) - mean**2)
    assert_allclose(found.mean / unit, mean, atol=0.06 * sd)
    cdf = np.cumsum(weight.sum(1))
    assert_allclose([found.low / unit, found.high / unit], np.interp([0.025, 0.975], cdf, average), atol=0.15 * sd)


@pytest.mark.slow
def test_the_hierarchical_model_pools_sets_and_says_where_most_lie():
    rng = np.random.default_rng(2)
    found = hierarchical(sets(rng.normal(0.2, 0.02, 8)), 0.01, seed=0, draws=1000)
    assert found.regions.above > 0.99
    assert 0.1 < found.low < found.mean < found.high < 0.3
    scaled = hierarchical(
        [Difference(1e-6 * d.mean, 1e-6 * d.error, 20, "") for d in sets([0.2] * 8)], 1e-8, seed=0, draws=1000
    )
    assert scaled.regions.above > 0.99
    equal = hierarchical([Difference(0.0, 0.0, 20, "")] * 8, 0.01, seed=0, draws=1000)
    assert equal.regions.within > 0.95


def test_wilcoxon_is_scipys_with_holms_correction(scores):
    found = wilcoxon(scores)
    assert len(found) == 6
    for row in found.itertuples():
        assert_allclose(row.p, stats.wilcoxon(scores[row.method], scores[row.other]).pvalue)
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is the oracle of this test")
    assert_allclose(found["p_holm"], multitest.multipletests(found["p"], method="holm")[1], rtol=1e-12)


def test_holm_by_hand():
    """Holm (1979), with numbers as R's p.adjust prints them: p.adjust(c(.01, .02, .03, .04), "holm")."""
    assert_allclose(holm(np.array([0.04, 0.01, 0.03, 0.02])), [0.06, 0.04, 0.06, 0.06])


def test_equal_methods_have_p_1(scores):
    twin = scores.assign(b=scores["a"])
    assert wilcoxon(twin).iloc[0][["sets", "p"]].tolist() == [0, 1.0]


def test_friedman_is_scipys_with_mean_ranks(scores):
    found = friedman(scores)
    expected = stats.friedmanchisquare(*scores.to_numpy().T)
    assert_allclose(found[:2], expected)
    assert_allclose(found.ranks, stats.rankdata(scores, axis=1).mean(axis=0))
    assert_allclose(friedman(scores, higher_is_better=True).ranks, 5 - found.ranks)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: wilcoxon(s.iloc[:1]), "two sets or more that are complete"),
        (lambda s: friedman(s[["a", "b"]]), "3 methods or more"),
        (lambda _: signed_rank([0.1, np.nan], seed=0), "finite numbers"),
        (lambda _: signed_rank([0.1], -1.0, seed=0), "rope"),
        (lambda _: hierarchical([Difference(0.1, np.nan, 3, "")] * 3, seed=0), "leave out sets with one split"),
        (lambda _: hierarchical([Difference(0.1, 0.1, 3, "")], seed=0), "two sets or more"),
    ],
)
def test_bad_input_is_a_sentence(scores, call, message):
    with pytest.raises(ValueError, match=message):
        call(scores)
