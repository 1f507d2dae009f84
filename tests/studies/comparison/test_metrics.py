"""The metrics, by hand on small tables and against scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as oracle

import bayesnb as nb
from bayesnb.studies.comparison._metrics import (
    LOG_SMALLEST,
    accuracy,
    brier,
    calibration_error,
    log_loss,
    losses_by_row,
    reliability_bins,
    set_scores,
)
from tests.inspection.sensitivity.credal_sets import read


@pytest.fixture(params=[2, 3, 7])
def predictions(request):
    rng = np.random.default_rng(request.param)
    proba = rng.dirichlet(np.ones(request.param), size=400)
    y = np.array([rng.choice(request.param, p=p) for p in proba])
    return np.log(proba), y


def test_log_loss_is_scikit_learns(predictions):
    log_proba, y = predictions
    assert_allclose(log_loss(log_proba, y), oracle.log_loss(y, np.exp(log_proba)), rtol=1e-12)


def test_brier_is_scikit_learns(predictions):
    log_proba, y = predictions
    expected = oracle.brier_score_loss(y, np.exp(log_proba), scale_by_half=False, labels=np.arange(log_proba.shape[1]))
    assert_allclose(brier(log_proba, y), expected, rtol=1e-12)


def test_accuracy_is_scikit_learns(predictions):
    log_proba, y = predictions
    assert_allclose(accuracy(log_proba, y), oracle.accuracy_score(y, log_proba.argmax(axis=1)))


def test_no_row_counts_more_than_the_smallest_normal_float32():
    """A zero, 1e-300 and exp(-5000) cost the same: there is one scale."""
    log_proba = np.array([[-np.inf, 0.0], [0.0, np.log(1e-300)], [-np.log(2)] * 2, [-5000.0, 0.0], [-87.0, 0.0]])
    y = np.array([0, 1, 1, 0, 0])
    assert_allclose(LOG_SMALLEST, np.log(1.1754944e-38), rtol=1e-6)
    expected = (3 * 87.33654 + np.log(2) + 87.0) / 5, (4 * 2.0 + 0.5) / 5, 1.0
    assert_allclose(losses_by_row(log_proba, y).mean(axis=1), expected, rtol=1e-6)


def test_calibration_error_by_hand():
    # bin (.9, 1]: confidences .95 and 1, one of two right; bin (.4, .5]: .5 three times, all right
    proba = np.array([[0.95, 0.05, 0.0], [1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.5, 0.25]])
    with np.errstate(divide="ignore"):
        bins = reliability_bins(np.log(proba), np.array([0, 1, 0, 1, 1]))
    assert_allclose(bins.count, [0, 0, 0, 0, 3, 0, 0, 0, 0, 2])
    assert_allclose(bins.correct, [0, 0, 0, 0, 3, 0, 0, 0, 0, 1])
    assert_allclose(bins.confidence, [0, 0, 0, 0, 1.5, 0, 0, 0, 0, 1.95])
    assert_allclose(calibration_error(bins), 0.4 * abs(0.5 - 0.975) + 0.6 * abs(1.0 - 0.5))


def test_calibration_error_vanishes_for_calibrated_and_equals_the_gap_for_overconfident_predictions():
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=100_000) < 0.7).astype(int)
    calibrated = np.tile(np.log([0.3, 0.7]), (len(y), 1))
    sure = np.tile([-np.inf, 0.0], (len(y), 1))
    five_errors = 5 * np.sqrt(0.21 / len(y))
    assert calibration_error(reliability_bins(calibrated, y)) < five_errors
    assert_allclose(calibration_error(reliability_bins(sure, y)), 0.3, atol=five_errors)


@pytest.mark.parametrize(
    ("name", "num_classes", "printed"),
    [("contact-lenses", 3, (25.00, 100.00, 100.00, 2.3)), ("iris", 3, (98.67, 95.95, 100.00, 2.0)),
     ("glass", 7, (51.40, 74.55, 90.38, 4.0))],
)  # fmt: skip
def test_sets_score_as_jncc2_printed(data, name, num_classes, printed):
    """Corani and Zaffalon, JNCC2 (2008): determinacy, single and set accuracy in percent, and the mean set size."""
    post, rows, y = read(data, name, num_classes)
    found = set_scores(nb.decide_set(post, rows, s=1.0, prior="vacuous").sets, y)
    shares = [round(100 * found[metric], 2) for metric in ("determinacy", "single_accuracy", "set_accuracy")]
    assert (*shares, round(found["set_size"], 1)) == printed


def test_utilities_of_sets():
    """Their names: .65 and .8 for one of two classes; 1.6/3 - .6/9 and 2.2/3 - 1.2/9 for one of three."""
    sets = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 1]], bool)
    found = set_scores(sets, np.array([0, 0, 0, 0, 0]))
    assert_allclose([found["u65"], found["u80"]], [(1.65 + 4.2 / 9) / 5, (1.8 + 5.4 / 9) / 5])
    assert (found["determinacy"], found["single_accuracy"], found["set_size"]) == (0.4, 0.5, 7 / 3)
    assert found["set_accuracy"] == 2 / 3
    for some, missing in ((sets[:2], {"set_accuracy", "set_size"}), (sets[2:], {"single_accuracy"})):
        scores = set_scores(some, np.zeros(len(some), int))
        assert {name for name, value in scores.items() if np.isnan(value)} == missing
