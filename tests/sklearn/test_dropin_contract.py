"""The drop-in classes as scikit-learn estimators: its checks, pickles, grids, routing; attributes that are replaced."""

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
X, Y = load_iris(return_X_y=True)


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
    fit = NB().fit(X[::2], Y[::2])
    expected = fit.predict_proba(X)
    copies = pickle.loads(pickle.dumps(fit)), copy.deepcopy(fit)
    whole = NB().fit(X, Y).predict_proba(X)
    for other in copies:
        assert_array_equal(other.predict_proba(X), expected)
        assert_allclose(other.partial_fit(X[1::2], Y[1::2]).predict_proba(X), whole, rtol=1e-9, atol=1e-12)
    assert_array_equal(fit.predict_proba(X), expected)


@pytest.mark.parametrize("NB", ALL)
def test_copies_of_unfitted_classifiers_are_unfitted(NB):
    with pytest.raises(NotFittedError):
        copy.deepcopy(NB()).predict(X)


@pytest.mark.parametrize("NB", ALL)
def test_predictions_follow_replaced_attributes(NB):
    fit, other = NB().fit(X, Y), NB().fit(X[::7], Y[::7])
    expected, before = other.predict_proba(X), fit.predict_proba(X)
    assert np.abs(expected - before).max() > 0.01
    names = ("class_prior_", "theta_", "var_") if NB is GaussianNB else ("class_log_prior_", "feature_log_prob_")
    kept = {name: getattr(fit, name) for name in names}
    for name in names:
        setattr(fit, name, getattr(other, name))
    assert_allclose(fit.predict_proba(X), expected, rtol=1e-6, atol=1e-12)
    for name in names:
        setattr(fit, name, kept[name])
    assert_array_equal(fit.predict_proba(X), before)


@pytest.mark.parametrize("NB", ALL)
def test_attributes_that_determine_predictions_are_read_only(NB):
    for fit in (NB().fit(X, Y), pickle.loads(pickle.dumps(NB().fit(X, Y)))):
        table = fit.theta_ if NB is GaussianNB else fit.feature_log_prob_
        with pytest.raises(ValueError, match="read-only"):
            (table[0] if isinstance(table, list) else table)[0, 0] = 1.0


@pytest.mark.parametrize("rows", [X, scipy.sparse.csr_array(X)], ids=["dense", "sparse"])
def test_a_threshold_set_after_the_fit_applies_at_once_as_in_scikit_learn(rows):
    ours, theirs = (
        NB(binarize=3.0).fit(rows, Y).set_params(binarize=1.0) for NB in (BernoulliNB, naive_bayes.BernoulliNB)
    )
    assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), rtol=1e-9)


def test_after_a_fit_with_an_invalid_parameter_the_classifier_is_unfitted():
    fit = MultinomialNB().fit(X, Y).set_params(class_prior=[0.5, 0.5])
    with pytest.raises(ValueError, match="Number of priors"):
        fit.fit(X, Y)
    with pytest.raises(NotFittedError):
        fit.predict(X)


@pytest.mark.parametrize("NB", ALL)
def test_a_fit_of_invalid_rows_leaves_the_earlier_fit(NB):
    fit = NB().fit(X, Y)
    expected = fit.predict_proba(X)
    for rows in (np.where(X > 7.5, np.inf, X), np.full((len(Y), 2), np.inf)):
        with pytest.raises(ValueError, match="infinity"):
            fit.fit(rows, Y)
        assert_array_equal(fit.predict_proba(X), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_attributes_have_the_precision_of_the_rows_and_predictions_double(dtype):
    fit = GaussianNB().fit(X.astype(dtype), Y)
    assert {fit.theta_.dtype, fit.var_.dtype, fit.class_prior_.dtype} == {np.dtype(dtype)}
    assert fit.class_count_.dtype == fit.predict_proba(X).dtype == np.float64
    third = GaussianNB().fit(X.astype(dtype)[:75], Y[:75]).predict_joint_log_proba(np.full((1, 4), np.nan))
    assert_allclose(third, np.log([[2 / 3, 1 / 3]]), rtol=1e-12)


def test_grids_and_routed_weights():
    weight = np.linspace(0.0, 2.0, len(Y))
    with sklearn.config_context(enable_metadata_routing=True):
        nb = GaussianNB().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        grid = GridSearchCV(nb, {"var_smoothing": [1e-9, 1e-2]}).fit(X, Y, sample_weight=weight)
    assert grid.best_score_ > 0.9
    assert_allclose(grid.best_estimator_.class_count_, np.bincount(Y, weights=weight))


def test_pipelines_and_calibration():
    calibrated = CalibratedClassifierCV(make_pipeline(StandardScaler(), GaussianNB()), ensemble=False).fit(X, Y)
    assert calibrated.score(X, Y) > 0.9
