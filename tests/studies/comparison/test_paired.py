"""Intervals and probabilities of one set: against baycomp, scipy, ArviZ and analysis of variance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from bayesnb.studies.comparison._paired import Difference, corrected, crossed
from tests.fuzz.settings import SEED
from tests.studies.comparison import coverage


@pytest.fixture
def rows():
    """Differences [R, T] with effects of training sets and of test rows."""
    rng = np.random.default_rng(0)
    return 0.3 + rng.normal(0, 0.2, (12, 1)) + rng.normal(0, 0.5, 40) + rng.normal(0, 1.0, (12, 40))


@pytest.mark.parametrize("rope", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("case", ["random", "equal", "shifted"])
def test_the_corrected_t_is_baycomps(rope, runs, case):
    baycomp = pytest.importorskip("baycomp", reason="baycomp is the oracle of this test")
    a, b = np.random.default_rng(1).normal(0.8, 0.05, (2, 30))
    b = {"random": b, "equal": a, "shifted": a + 0.125}[case]
    found = corrected(b - a, 1 / (30 / runs - 1)).regions(rope)
    expected = baycomp.two_on_single(a, b, rope=rope, runs=runs)
    left, within, right = expected if rope else (expected[0], 0.0, expected[1])
    assert_allclose(found, (left, within, right), rtol=0, atol=1e-12)


def test_the_corrected_t_is_scipys_paired_t_shrunk():
    a, b = np.random.default_rng(2).normal(size=(2, 20))
    found, expected = corrected(a - b, 0.25), stats.ttest_rel(a, b)
    assert_allclose(found.mean / found.error, expected.statistic / np.sqrt(1 + 20 * 0.25), rtol=1e-12)
    assert_allclose(corrected(a - b, 0.0).interval(0.9), expected.confidence_interval(0.9), rtol=1e-12)


def test_regions_are_the_t_beyond_the_rope():
    d = Difference(0.02, 0.03, 7.0, "")
    expected = stats.t(7.0, 0.02, 0.03)
    assert_allclose(d.regions(0.01), [expected.cdf(-0.01), np.diff(expected.cdf([-0.01, 0.01]))[0], expected.sf(0.01)])


@pytest.mark.parametrize(
    ("mean", "rope", "expected"), [(0.0, 0.0, (0.5, 0, 0.5)), (0.1, 0.1, (0, 1, 0)), (-0.2, 0.1, (1, 0, 0))]
)
def test_a_difference_without_error_has_one_place(mean, rope, expected):
    assert_allclose(Difference(mean, 0.0, 3.0, "").regions(rope), expected)


def test_crossed_has_the_mean_squares_of_two_way_analysis_of_variance(rows):
    """With a long formula written from sums of squares, Satterthwaite's degrees of freedom by the same."""
    (r, t), q = rows.shape, 20 / 80
    total = np.sum((rows - rows.mean()) ** 2)
    between = t * np.sum((rows.mean(1) - rows.mean()) ** 2), r * np.sum((rows.mean(0) - rows.mean()) ** 2)
    train, test = between[0] / (r - 1), between[1] / (t - 1)
    error = (total - sum(between)) / ((r - 1) * (t - 1))
    s_a, s_e = (train - error) / t, error
    parts = s_a * (1 / r + q), test / (r * t)
    found = crossed(rows, 20, 100, skewed=False)
    assert_allclose(found.error**2, sum(parts), rtol=1e-12)
    assert_allclose(found.freedom, sum(parts) ** 2 / (parts[0] ** 2 / (r - 1) + parts[1] ** 2 / (t - 1)), rtol=1e-12)
    s_b = (test - error) / r
    expected = s_a * (1 / r + q) + s_b / t + s_e * (1 / r + q) / t
    assert_allclose(crossed(rows, 20, 100, skewed=True).error ** 2, expected, rtol=1e-12)


def test_crossed_with_one_effect_alone_is_the_t_of_that_effect():
    effect = np.random.default_rng(3).normal(size=25)
    of_rows = crossed(np.tile(effect, (9, 1)), 10, 10**9, skewed=False)
    assert_allclose(of_rows.interval(), stats.ttest_1samp(effect, 0).confidence_interval(), rtol=1e-9)
    of_sets = crossed(np.tile(effect[:, None], 30), 10, 10**9, skewed=False)
    assert_allclose(of_sets.interval(), stats.ttest_1samp(effect, 0).confidence_interval(), rtol=1e-6)


def test_crossed_covers_a_linear_statistic_whose_variance_is_known():
    """Differences that are means of training rows: the variance of the mean is known, pool and all."""
    size, pool, splits, tests, repeats = 30, 60, 20, 25, 4000
    rng = np.random.default_rng(4)
    train, test = rng.normal(size=(repeats, pool)), rng.normal(0, 0.5, (repeats, tests))
    order = rng.permuted(np.tile(np.arange(pool), (repeats, splits, 1)), axis=-1)[..., :size]
    effects = np.take_along_axis(train[:, None, :], order, axis=-1).mean(axis=-1)
    found = [crossed(a[:, None] + b, size, pool, skewed=False) for a, b in zip(effects, test, strict=True)]
    low, high = np.array([d.interval() for d in found]).T
    assert abs(np.mean((low < 0) & (high > 0)) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / repeats)
    means = np.array([d.mean for d in found])
    assert_allclose(np.mean([d.error**2 for d in found]), np.var(means), rtol=0.1)


def test_one_split_has_a_mean_and_no_interval(rows):
    for found in (crossed(rows[:1], 5, 50, skewed=True), corrected([0.2], 0.5)):
        assert np.isnan([*found.interval(), *found.regions(0.1)]).all()
        assert np.isfinite(found.mean)
        assert found.estimator == "no interval: one split"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: corrected([0.1, np.nan], 0.5), "leave out the splits that failed"),
        (lambda: crossed([0.1, 0.2], 5, 50, skewed=True), "2 dimensions"),
        (lambda: Difference(0.1, 0.1, 3.0, "").regions(-0.1), "number of 0 or more, got -0.1"),
        (lambda: Difference(0.1, 0.1, 3.0, "").interval(95), "level"),
    ],
)
def test_bad_input_is_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("few rows: 200", 64), ("many rows: 2,000", 256)])
def test_intervals_of_studies_cover_where_naive_ones_do_not(name, size):
    """Two settings of the simulation in the theory page on differences, where training and test rows both matter."""
    repeats = 300
    for metric, found in coverage.simulate(name, size, repeats=repeats, seed=1, worse=nb.fit_mle).items():
        assert found.estimator == "crossed"
        assert found.default >= coverage.least(repeats), metric
    log_loss = coverage.simulate(name, size, repeats=100, seed=2, worse=nb.fit_map)["log_loss"]
    assert log_loss.naive < 0.6
    assert log_loss.textbook_width > log_loss.width


BELOW = {("rare classes: 600, of 90, 7 and 3 %", 210), ("heavy tails: 400, t with 2 degrees", 140)}
"""Where the theory page says that the interval of the log loss is too short; flags with an MLE of zeros are so beyond
64 rows."""


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("name", "size"), [(name, size) for name, problem in coverage.PROBLEMS.items() for size in problem.sizes]
)
def test_intervals_cover_in_every_setting_that_the_theory_page_does_not_name(name, size):
    found = coverage.simulate(name, size, repeats=400, seed=SEED, worse=nb.fit_mle)
    short = (name, size) in BELOW or (name.startswith("flags") and size > 64)
    for metric, of in found.items():
        if not (short and metric == "log_loss"):
            assert of.default >= coverage.least(400), metric
