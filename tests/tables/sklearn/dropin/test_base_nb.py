"""The drop-in classes as scikit-learn estimators: its checks, pickles, grids, routing; what is invalid is said."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from bayesnb.sklearn import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

ALL = [GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB, ComplementNB]
IRIS, SPECIES = load_iris(return_X_y=True)


def checks():
    """As in ``parametrize_with_checks``, which gives a warning with pytest 9 and scikit-learn 1.7."""
    for NB in ALL:
        for estimator, check in estimator_checks_generator(NB()):
            yield pytest.param(estimator, check, id=f"{NB.__name__}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("NB", ALL)
def test_each_is_a_classifier_of_scikit_learns_class_with_its_parameters(NB):
    theirs = getattr(naive_bayes, NB.__name__)
    assert isinstance(NB(), theirs)
    assert NB().get_params() == theirs().get_params()


def test_the_tags_allow_missing_cells_if_single_cells_may_be_missing():
    declared = {NB.__name__ for NB in ALL if get_tags(NB()).input_tags.allow_nan}
    assert declared == {"GaussianNB", "BernoulliNB", "CategoricalNB"}


def test_joblib_keeps_the_precision_of_the_fit(tmp_path):
    """It does not keep the identity of arrays; the attributes are rounded."""
    fit = BernoulliNB(alpha=1e-20).fit(np.r_[np.ones((3, 1)), np.zeros((3, 1))], [0, 0, 0, 1, 1, 1])
    joblib.dump(fit, tmp_path / "fit")
    again = joblib.load(tmp_path / "fit")
    assert_array_equal(again.predict_joint_log_proba([[0.0], [1.0]]), fit.predict_joint_log_proba([[0.0], [1.0]]))
    with pytest.raises(ValueError, match="read-only"):
        again.feature_log_prob_[0, 0] = 0.0


@pytest.mark.parametrize("NB", ALL)
def test_pickles_and_copies_predict_and_go_on_learning(NB):
    fit = NB().fit(IRIS[::2], SPECIES[::2])
    expected = fit.predict_proba(IRIS)
    copies = pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)
    whole = NB().fit(IRIS, SPECIES).predict_proba(IRIS)
    for other in copies:
        assert_array_equal(other.predict_proba(IRIS), expected)
        assert_allclose(other.partial_fit(IRIS[1::2], SPECIES[1::2]).predict_proba(IRIS), whole, rtol=1e-9, atol=1e-12)
    assert_array_equal(fit.predict_proba(IRIS), expected)


@pytest.mark.parametrize("NB", ALL)
def test_copies_of_unfitted_classifiers_are_unfitted(NB):
    with pytest.raises(NotFittedError):
        copy.deepcopy(NB()).predict(IRIS)


@pytest.mark.parametrize("NB", ALL)
def test_predictions_follow_replaced_attributes(NB):
    fit, other = NB().fit(IRIS, SPECIES), NB().fit(IRIS[::7], SPECIES[::7])
    expected, before = other.predict_proba(IRIS), fit.predict_proba(IRIS)
    assert np.abs(expected - before).max() > 0.01
    names = ("class_prior_", "theta_", "var_") if NB is GaussianNB else ("class_log_prior_", "feature_log_prob_")
    kept = {name: getattr(fit, name) for name in names}
    for name in names:
        setattr(fit, name, getattr(other, name))
    assert_allclose(fit.predict_proba(IRIS), expected, rtol=1e-6, atol=1e-12)
    for name in names:
        setattr(fit, name, kept[name])
    assert_array_equal(fit.predict_proba(IRIS), before)


@pytest.mark.parametrize("NB", ALL)
def test_attributes_that_determine_predictions_are_read_only(NB):
    for fit in (NB().fit(IRIS, SPECIES), pickle.loads(pickle.dumps(NB().fit(IRIS, SPECIES)))):
        table = fit.theta_ if NB is GaussianNB else fit.feature_log_prob_
        with pytest.raises(ValueError, match="read-only"):
            (table[0] if isinstance(table, list) else table)[0, 0] = 1.0


@pytest.mark.parametrize("rows", [IRIS, scipy.sparse.csr_array(IRIS)], ids=["dense", "sparse"])
def test_a_threshold_set_after_the_fit_applies_at_once_as_in_scikit_learn(rows):
    ours, theirs = (
        NB(binarize=3.0).fit(rows, SPECIES).set_params(binarize=1.0) for NB in (BernoulliNB, naive_bayes.BernoulliNB)
    )
    assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), rtol=1e-9)


def test_after_a_fit_with_an_invalid_parameter_the_classifier_is_unfitted():
    fit = MultinomialNB().fit(IRIS, SPECIES).set_params(class_prior=[0.5, 0.5])
    with pytest.raises(ValueError, match="Number of priors"):
        fit.fit(IRIS, SPECIES)
    with pytest.raises(NotFittedError):
        fit.predict(IRIS)


@pytest.mark.parametrize("NB", ALL)
def test_a_fit_of_invalid_rows_leaves_the_earlier_fit(NB):
    fit = NB().fit(IRIS, SPECIES)
    expected = fit.predict_proba(IRIS)
    for rows in (np.where(IRIS > 7.5, np.inf, IRIS), np.full((len(SPECIES), 2), np.inf)):
        with pytest.raises(ValueError, match="infinity"):
            fit.fit(rows, SPECIES)
        assert_array_equal(fit.predict_proba(IRIS), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_attributes_have_the_precision_of_the_rows_and_predictions_double(dtype):
    fit = GaussianNB().fit(IRIS.astype(dtype), SPECIES)
    assert {fit.theta_.dtype, fit.var_.dtype, fit.class_prior_.dtype} == {np.dtype(dtype)}
    assert fit.class_count_.dtype == fit.predict_proba(IRIS).dtype == np.float64
    third = GaussianNB().fit(IRIS.astype(dtype)[:75], SPECIES[:75]).predict_joint_log_proba(np.full((1, 4), np.nan))
    assert_allclose(third, np.log([[2 / 3, 1 / 3]]), rtol=1e-12)


def test_grids_and_routed_weights():
    weight = np.linspace(0.0, 2.0, len(SPECIES))
    with sklearn.config_context(enable_metadata_routing=True):
        nb = GaussianNB().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        grid = GridSearchCV(nb, {"var_smoothing": [1e-9, 1e-2]}).fit(IRIS, SPECIES, sample_weight=weight)
    assert grid.best_score_ > 0.9
    assert_allclose(grid.best_estimator_.class_count_, np.bincount(SPECIES, weights=weight))


def test_pipelines_and_calibration():
    calibrated = CalibratedClassifierCV(make_pipeline(StandardScaler(), GaussianNB()), ensemble=False).fit(
        IRIS, SPECIES
    )
    assert calibrated.score(IRIS, SPECIES) > 0.9


# invalid rows, labels, weights and parameters of the drop-in classes; each error message says what was wrong


COUNTED = [MultinomialNB, ComplementNB]
X, Y = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])


def with_cell(value):
    rows = X.copy()
    rows[2, 1] = value
    return rows


@pytest.mark.parametrize("NB", [*COUNTED, CategoricalNB])
@pytest.mark.parametrize("rows", [with_cell(-1), with_cell(-1).astype(int), with_cell(-1).astype(np.float32)])
def test_negative_counts_and_codes(NB, rows):
    words = rf"Negative values in data passed to {NB.__name__} \(input X\)"
    with pytest.raises(ValueError, match=words):
        NB().fit(rows, Y)
    fit = NB().fit(X, Y)
    with pytest.raises(ValueError, match=words):
        fit.predict(rows)
    with pytest.raises(ValueError, match=words):
        fit.partial_fit(rows, Y)


@pytest.mark.parametrize("NB", COUNTED)
def test_counts_partly_missing(NB):
    with pytest.raises(ValueError, match="NaN beside counts has an unknown total"):
        NB().fit(with_cell(np.nan), Y)


@pytest.mark.parametrize("NB", [*COUNTED, BernoulliNB])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_sparse_cells_that_are_not_finite(NB, value):
    rows, fit = scipy.sparse.csr_array(with_cell(value)), NB().fit(X, Y)
    for method in (lambda: fit.fit(rows, Y), lambda: fit.predict(rows)):
        with pytest.raises(ValueError, match=r"Input X contains (infinity|NaN)"):
            method()


@pytest.mark.parametrize("NB", [GaussianNB, CategoricalNB])
def test_sparse_rows_of_measurements_and_codes(NB):
    with pytest.raises(TypeError, match=r"[Ss]parse data was passed"):
        NB().fit(scipy.sparse.csr_array(X), Y)


@pytest.mark.parametrize("NB", ALL)
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, 1, 1], "sample_weight"),
        ([1, -1, 1, 1], "Negative values in data passed to `sample_weight`"),
        ([0, 0, 0, 0], "zero"),
        ([1, np.nan, 1, 1], "NaN"),
    ],
)
def test_invalid_weights(NB, weight, words):
    with pytest.raises(ValueError, match=words):
        NB().fit(X, Y, weight)


@pytest.mark.parametrize("NB", ALL)
def test_invalid_labels(NB):
    with pytest.raises(ValueError, match="Unknown label type"):
        NB().fit(X, [0.5, 1.5, 2.5, 3.5])
    with pytest.raises(ValueError, match="y contains NaN"):
        NB().fit(X, [0.0, np.nan, 1.0, 1.0])
    with pytest.raises(ValueError, match="requires y to be passed"):
        NB().fit(X, None)
    for y in (["a", "b", "a", "b"], [0, 0, 1, 2]):
        with pytest.raises(ValueError, match=r"The target label.* in y do not exist in the initial classes \[0, 1\]"):
            NB().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes holds labels of several types, 'int', 'str'"):
        NB().partial_fit(X, Y, classes=[0, 1, "a"])


@pytest.mark.parametrize("NB", ALL[1:])
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"alpha": np.inf}, "'alpha' parameter"),
        ({"class_prior": [0.5, 0.25, 0.25]}, "Number of priors must match number of classes"),
        ({"class_prior": [-0.5, 1.5]}, "Priors must be non-negative"),
        ({"class_prior": [0.0, 0.0]}, "not all zero"),
    ],
)
def test_invalid_parameters(NB, parameters, words):
    with pytest.raises(ValueError, match=words):
        NB(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("alpha", "words"),
    [([1.0, np.inf], "alpha must be finite"), ([1.0, -1.0], "alpha"), ([1.0] * 3, "Got 3 elements instead of 2")],
)
@pytest.mark.parametrize("NB", [*COUNTED, BernoulliNB])
def test_invalid_pseudo_counts(NB, alpha, words):
    with pytest.raises(ValueError, match=words):
        NB(alpha=alpha).fit(X, Y)


def test_invalid_flags():
    with pytest.raises(ValueError, match="a Bernoulli cell is 0, 1 or NaN"):
        BernoulliNB(binarize=None).fit(X, Y)
    fit = BernoulliNB(binarize=None).fit(X > 0, Y)
    with pytest.raises(ValueError, match="a Bernoulli cell is 0, 1 or NaN"):
        fit.predict(X)


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_codes_that_are_too_large(dtype):
    with pytest.raises(ValueError, match="column 1 of X would have 4000000001 categories"):
        CategoricalNB().fit(with_cell(4e9).astype(dtype), Y)
    with pytest.raises(ValueError, match="'min_categories' should have integral type"):
        CategoricalNB(min_categories=[2.5, 3.0]).fit(X, Y)


@pytest.mark.parametrize("NB", ALL)
def test_an_invalid_batch_changes_nothing(NB):
    fit = NB().fit(X, Y)
    before = fit.predict_proba(X)
    with pytest.raises(ValueError, match="infinity"):
        fit.partial_fit(with_cell(np.inf), Y)
    np.testing.assert_array_equal(fit.predict_proba(X), before)
    np.testing.assert_array_equal(fit.class_count_, [2, 2])
