"""NaiveBayesClassifier: scikit-learn's checks, pipelines, grids, ensembles, and each method."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import bayesnb as nb

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 4, (150, 3)) * (Y[:, None] + 1) % 5


VIEWS = nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram())


COUNTS = nb.NaiveBayesClassifier(likelihoods="multinomial", method="posterior")
LONG = {"check_class_weight_classifiers", "check_estimators_partial_fit_n_features", "check_pipeline_consistency"} | {
    *("check_classifiers_classes", "check_classifiers_one_label_sample_weights", "check_classifiers_train"),
    *("check_dtype_object", "check_estimators_dtypes", "check_sample_weight_equivalence_on_dense_data"),
}
"""Checks that fit the whole default often: of counts, where it learns less, they run by default."""


def checks():
    """As in ``parametrize_with_checks``; one gives negative numbers to counts, whatever the estimator's tags say.

    Another wants columns in another order to be refused: frames match by name.
    """
    others = (nb.NaiveBayesClassifier(method=method) for method in ("mle", "averaged", "empirical"))
    for clf in (COUNTS, nb.NaiveBayesClassifier(), *others):
        for estimator, check in estimator_checks_generator(clf):
            name = check.func.__name__
            quick = clf is COUNTS or (clf.method == "default" and name not in LONG)
            refused = name == "check_dataframe_column_names_consistency"
            refused |= clf is COUNTS and name == "check_class_weight_classifiers"
            marks = [pytest.mark.xfail(strict=True)] * refused + [pytest.mark.slow] * (not quick)
            yield pytest.param(estimator, check, marks=marks, id=f"{clf!r}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:the evidence rises beyond")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("params", "family", "per_feature"),
    [
        ({"dependence": False}, VIEWS, True),
        ({"likelihoods": "normal", "dependence": False}, nb.Normal(), True),
        ({"method": "posterior"}, nb.Normal(), None),
        ({"temper": False}, nb.Normal(), None),
        ({"temper": True}, nb.Normal(), False),
        ({"temper": "per_feature"}, nb.Normal(), True),
    ],
)
def test_the_fit_of_numbers(params, family, per_feature):
    """Powers of each column and of each of three views, where nobody chose; or the exact posterior of a Normal."""
    clf = nb.NaiveBayesClassifier(**params).fit(X, NAMES[Y])
    post = nb.fit_posterior(nb.NaiveBayes(family), X, Y)
    post = post if per_feature is None else nb.temper(post, X, Y, per_feature=per_feature)
    assert clf.likelihoods_ == {f"x{d}": "normal" for d in range(4)}
    assert_array_equal(clf.predict_log_proba(X), post.predict_log_proba(X))
    assert_array_equal(clf.predict_joint_log_proba(X), post.log_joint(X))
    assert_array_equal(clf.predict(X), NAMES[post.predict(X)])
    assert_array_equal(clf.classes_, NAMES)
    assert_array_equal(clf.class_count_, [50, 50, 50])
    assert clf.score(X, NAMES[Y]) == np.mean(post.predict(X) == Y)


def test_the_maximum_likelihood_estimate_is_scikit_learns():
    clf = nb.NaiveBayesClassifier(method="mle").fit(X, Y)
    assert_allclose(clf.predict_log_proba(X), GaussianNB(var_smoothing=0).fit(X, Y).predict_log_proba(X), atol=1e-9)


@pytest.mark.parametrize(("kind", "rival"), [("multinomial", MultinomialNB), ("categorical", CategoricalNB)])
@pytest.mark.parametrize("smoothing", [0.5, 1.0])
def test_the_map_is_scikit_learns_smoothing(kind, rival, smoothing):
    clf = nb.NaiveBayesClassifier(likelihoods=kind, method="map", smoothing=smoothing, class_prior=[0.2, 0.3, 0.5])
    theirs = rival(alpha=smoothing, class_prior=[0.2, 0.3, 0.5]).fit(CODES, Y)
    assert_allclose(clf.fit(CODES, Y).predict_log_proba(CODES), theirs.predict_log_proba(CODES), atol=1e-12)


@pytest.mark.filterwarnings("ignore:the evidence rises beyond the bounds")
@pytest.mark.parametrize("method", ["empirical", "averaged"])
def test_each_method_is_the_fit_of_the_same_name(method):
    rows, labels = load_wine(return_X_y=True)
    clf = nb.NaiveBayesClassifier(method=method).fit(rows, labels)
    model = nb.NaiveBayes(nb.Normal())
    fit = nb.fit_empirical(model, rows, labels) if method == "empirical" else nb.fit_averaged(model, rows, labels)
    assert_allclose(clf.predict_log_proba(rows), fit.predict_log_proba(rows), atol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws yet")
def test_nuts_is_seeded_by_the_random_state():
    X_few, y_few = X[::10, :1], Y[::10]
    one, two, other = (
        nb.NaiveBayesClassifier(method="nuts", random_state=seed, num_samples=200).fit(X_few, y_few)
        for seed in (0, 0, 1)
    )
    assert_array_equal(one.predict_proba(X_few), two.predict_proba(X_few))
    assert not np.array_equal(one.predict_proba(X_few), other.predict_proba(X_few))
    exact = nb.NaiveBayesClassifier("normal", method="posterior").fit(X_few, y_few).predict_proba(X_few)
    assert_allclose(one.predict_proba(X_few), exact, atol=0.05)


def test_batches_without_their_rows_have_the_powers_and_the_edges_of_the_first():
    order = RNG.permutation(150)
    parts = nb.NaiveBayesClassifier(dependence=False, keep_rows=False)
    for rows in np.split(order, [90]):
        parts.partial_fit(X[rows], Y[rows])
    model = nb.NaiveBayes(VIEWS)
    first, second = order[:90], order[90:]
    before = nb.fit_posterior(model, X[first], Y[first])
    more = nb.sufficient_statistics(model.resolve(X[first], Y[first]), X[second], Y[second])
    exact = nb.fit_posterior(model, statistics=nb.merge(before.statistics, more))
    expected = exact.with_powers(nb.temper(before, X[first], Y[first], per_feature=True).powers)
    assert_allclose(parts.predict_log_proba(X), expected.predict_log_proba(X), rtol=1e-9, atol=1e-9)


def test_a_chosen_likelihood_has_one_view_and_changes_nothing_for_the_others():
    frame = pd.DataFrame(X, columns=[*"abcd"])
    clf = nb.NaiveBayesClassifier({"a": "normal"}, dependence=False).fit(frame, Y)
    by_block = {"numeric": X[:, 1:], "numeric_chosen": X[:, :1]}
    model = nb.NaiveBayes({"numeric": VIEWS, "numeric_chosen": nb.Normal()})
    post = nb.temper(nb.fit_posterior(model, by_block, Y), by_block, Y, per_feature=True)
    assert_allclose(clf.predict_log_proba(frame), post.predict_log_proba(by_block), rtol=1e-12)
    clf = nb.NaiveBayesClassifier(dict.fromkeys("abcd", "normal")).fit(frame, Y)
    assert_array_equal(clf.predict_proba(frame), nb.NaiveBayesClassifier("normal").fit(frame, Y).predict_proba(frame))
    clf = nb.NaiveBayesClassifier({"a": "skip"}).fit(frame, Y)
    alone = nb.NaiveBayesClassifier().fit(frame[[*"bcd"]], Y)
    assert_allclose(clf.predict_proba(frame), alone.predict_proba(frame[[*"bcd"]]), rtol=1e-9)
    blocks = {"one": X[:, :2], "two": X[:, 2:]}
    clf = nb.NaiveBayesClassifier({"one": "normal"}, dependence=False).fit(blocks, Y)
    families = {"one": nb.Normal(), "two": VIEWS}
    post = nb.temper(nb.fit_posterior(nb.NaiveBayes(families), blocks, Y), blocks, Y, per_feature=True)
    assert_array_equal(clf.predict_log_proba(blocks), post.predict_log_proba(blocks))


def test_temper_takes_a_fitted_classifier():
    clf, names = nb.NaiveBayesClassifier(temper=False).fit(X, NAMES[Y]), NAMES[Y]
    before = clf.predict_log_proba(X)
    for how, per_feature in ((True, False), ("per_feature", True)):
        tempered = nb.temper(clf, X, names, per_feature=per_feature)
        assert tempered.temper == how
        assert_array_equal(
            tempered.predict_log_proba(X), nb.NaiveBayesClassifier(temper=how).fit(X, names).predict_log_proba(X)
        )
    assert_array_equal(clf.predict_log_proba(X), before)
    with pytest.raises(ValueError, match="a NaiveBayesClassifier needs method 'posterior' or 'empirical'"):
        nb.temper(nb.NaiveBayesClassifier(method="map").fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="tempering is an argument of NaiveBayesClassifier"):
        nb.NaiveBayesClassifier(method="tempered").fit(X, Y)


def test_class_prior_by_word_and_by_label(tmp_path):
    few, names = X[:120], NAMES[Y[:120]]  # 50, 50 and 20 rows
    expected = nb.NaiveBayesClassifier(class_prior=[1 / 3] * 3).fit(few, names).predict_log_proba(X)
    assert_allclose(nb.NaiveBayesClassifier(class_prior="uniform").fit(few, names).predict_log_proba(X), expected)
    by_label = {"virginica": 0.5, "setosa": 0.2, "versicolor": 0.3}
    ordered = nb.NaiveBayesClassifier(class_prior=[0.2, 0.3, 0.5]).fit(few, names).predict_log_proba(X)
    clf = nb.NaiveBayesClassifier(class_prior=by_label).fit(few, names)
    assert_array_equal(clf.predict_log_proba(X), ordered)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_log_proba(X), ordered)
    for later in (None, "uniform", [0.2, 0.2, 0.6]):
        with pytest.raises(ValueError, match=r"class_prior was set to .* after the fit, .*fit again"):
            clf.set_params(class_prior=later).predict(X)
        with pytest.raises(nb.StorageError, match=r"class_prior was set to .* after the fit, .*fit again"):
            nb.save(clf, tmp_path / "model")
    assert_array_equal(clf.set_params(class_prior=dict(by_label)).predict_log_proba(X), ordered)
    by_number = nb.NaiveBayesClassifier(class_prior={2: 0.5, 0: 0.2, np.int64(1): 0.3}).fit(few, Y[:120])
    nb.save(by_number, tmp_path / "model")
    again = nb.load(tmp_path / "model")
    assert again.class_prior == by_number.class_prior
    assert_array_equal(again.predict_log_proba(X), ordered)
    with pytest.raises(ValueError, match="class_prior was set to None after the fit"):
        again.set_params(class_prior=None).predict(X)
    series = pd.Series(by_label)
    assert_array_equal(nb.NaiveBayesClassifier(class_prior=series).fit(few, names).predict_log_proba(X), ordered)
    for given, words in (
        ("flat", "class_prior must be None, 'uniform'"),
        ({"setosa": 1.0}, "for each of the labels"),
        ([0.5, 0.5, 0.5], "class_prior must be non-negative and sum to 1"),
    ):
        with pytest.raises(ValueError, match=words):
            nb.NaiveBayesClassifier(class_prior=given).fit(few, names)


def test_weights_are_repeated_rows_and_rows_of_weight_zero_are_absent():
    weight = RNG.integers(0, 3, 150) * (Y != 1)
    clf = nb.NaiveBayesClassifier().fit(X, Y, sample_weight=weight)
    again = nb.NaiveBayesClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert_array_equal(clf.classes_, [0, 2])
    assert_allclose(clf.predict_log_proba(X), again.predict_log_proba(X), atol=1e-9)


def test_missing_cells_and_unseen_codes_drop_their_factor():
    clf = nb.NaiveBayesClassifier(likelihoods=["categorical", "normal"], method="posterior")
    clf.fit(np.column_stack([CODES[:, 0], X[:, 0]]), Y)
    alone = nb.NaiveBayesClassifier("normal", method="posterior").fit(X[:, :1], Y)
    rows = np.array([[np.nan, 5.0], [99.0, 5.0], [-1.0, 5.0]])
    assert_allclose(clf.predict_proba(rows), alone.predict_proba([[5.0]] * 3), atol=1e-12)


def test_how_robust_labels_are_and_which_are_left():
    """XOR: the class depends on a pair of columns, and the part without dependence has other labels for some rows."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 2))
    names = NAMES[np.where(rng.random(60) < 0.1, 1 - (rows[:, 0] ^ rows[:, 1]), rows[:, 0] ^ rows[:, 1])]
    clf = nb.NaiveBayesClassifier("categorical").fit(rows, names)
    found, own = nb.robustness(clf, rows), clf.classes_[np.asarray(nb.robustness(clf, rows).labels)]
    assert found.ignores_dependence
    agree = own == clf.predict(rows)
    assert 0 < agree.mean() < 1
    assert_array_equal(clf.robustness(rows), np.where(agree, found.s_star, 0.0))
    for s in (0.0, 0.2, 1e6):
        sets = clf.predict_set(rows, s)
        for labels in (own, clf.predict(rows)):
            assert all(label in some for label, some in zip(labels, sets, strict=True))
        assert_array_equal([len(some) == 1 for some in sets], clf.robustness(rows) > s)
    with pytest.raises(ValueError, match=r"only an exact posterior says: .* got ForestPosterior"):
        nb.NaiveBayesClassifier("categorical", dependence="forest").fit(rows, names).predict_set(rows)


@pytest.mark.slow
def test_pipelines_grids_ensembles_and_calibration():
    grid = GridSearchCV(
        make_pipeline(StandardScaler(), nb.NaiveBayesClassifier()), {"naivebayesclassifier__smoothing": [0.1, 1.0]}
    ).fit(X, Y)
    assert grid.best_score_ > 0.9
    votes = VotingClassifier([("ours", nb.NaiveBayesClassifier()), ("theirs", GaussianNB())], voting="soft").fit(X, Y)
    assert votes.score(X, Y) > 0.9
    assert CalibratedClassifierCV(nb.NaiveBayesClassifier(), cv=3).fit(X, Y).score(X, Y) > 0.9
    frame = pd.DataFrame({"a": list("uvw") * 50, "b": X[:, 0]})
    columns = make_column_transformer((OrdinalEncoder(), ["a"]), (StandardScaler(), ["b"]))
    mixed = make_pipeline(
        columns.set_output(transform="pandas"),
        nb.NaiveBayesClassifier(likelihoods={"ordinalencoder__*": "categorical"}),
    ).fit(frame, Y)
    assert mixed[-1].likelihoods_ == {"ordinalencoder__a": "categorical", "standardscaler__b": "normal"}
    assert mixed.score(frame, Y) > 0.6


def test_a_batch_without_weight_changes_nothing():
    clf = nb.NaiveBayesClassifier().partial_fit(X, Y, classes=[0, 1, 2])
    before = clf.predict_proba(X)
    clf.partial_fit(X[:5] + 1, Y[:5], sample_weight=np.zeros(5))
    assert_allclose(clf.predict_proba(X), before, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "params", "weight", "words"),
    [
        (X * 1e153, {}, None, "a finite number below"),
        (X, {"smoothing": 1e200}, None, r"smoothing must be a number from 1e-100 to 1e\+15"),
        (X, {}, np.full(150, 1e308), "at most 1e"),
        (np.where(CODES == 1, np.inf, CODES), {"likelihoods": "categorical"}, None, "inf"),
    ],
)
def test_numbers_that_are_too_large_are_refused(rows, params, weight, words):
    with pytest.raises(ValueError, match=words):
        nb.NaiveBayesClassifier(**params).fit(rows, Y, sample_weight=weight)


@pytest.mark.slow
def test_metadata_routing_passes_the_weights():
    weight = np.where(Y == 2, 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = nb.NaiveBayesClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_validate(clf, X, Y, params={"sample_weight": weight}, return_estimator=True)
    counts = np.sum([fitted.class_count_ for fitted in scores["estimator"]], axis=0)
    assert_allclose(counts, [200, 200, 600])  # each row is in four of five folds


def test_sparse_words():
    words = ["free offer now", "meeting at noon", "free free prize", "noon lunch meeting"]
    spam = np.array(["spam", "ham", "spam", "ham"])
    clf = make_pipeline(CountVectorizer(), nb.NaiveBayesClassifier(likelihoods="multinomial")).fit(words, spam)
    assert clf.predict(["free lunch prize"]) == ["spam"]
    counts = CountVectorizer().fit_transform(words)
    dense = nb.NaiveBayesClassifier(likelihoods="multinomial").fit(counts.toarray(), spam)
    assert_allclose(clf.predict_proba(words), dense.predict_proba(counts.toarray()), atol=1e-12)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        nb.NaiveBayesClassifier().fit(scipy.sparse.csr_array(X), Y)


def test_pickling_and_representations():
    clf = nb.NaiveBayesClassifier(method="map").fit(X, Y)
    again = pickle.loads(pickle.dumps(clf))
    assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert "NaiveBayesClassifier" in clf._repr_html_()
    assert repr(nb.NaiveBayesClassifier(method="map")) == "NaiveBayesClassifier(method='map')"
    assert repr(clf) == "NaiveBayesClassifier(method='map'): 4 normal"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"method": "bayes"}, "method must be one of default, posterior, map, .* got 'bayes'"),
        ({"method": "maps"}, "did you mean 'map'"),
        ({"smoothing": 0}, "smoothing must be a number from 1e-100 to 1e\\+15 for method 'default', got 0"),
        ({"smoothing": "much"}, "smoothing must be a number"),
        ({"likelihoods": "gaussian"}, "'gaussian' is not a likelihood of a column: expected one of bernoulli"),
        ({"likelihoods": ["normal"]}, "likelihoods has 1 entries, and X has 13 columns: give one per column"),
        ({"likelihoods": {"alcohol": "normal"}}, "X is an array, whose columns have no names: give a data frame"),
        ({"likelihoods": 3}, "likelihoods must be 'auto', one of bernoulli"),
        ({"likelihoods": "bernoulli"}, "Bernoulli"),
        ({"class_prior": [0.5, 0.5]}, "class_prior must be one probability per class"),
        ({"class_prior": [0.5, 0.5, 0.5]}, "sum to 1"),
        ({"temper": "all"}, "temper must be True, False, 'per_feature' or None, got 'all'"),
        ({"temper": True, "method": "map"}, "temper needs method 'default', 'posterior' or 'empirical', got 'map'"),
        ({"dependence": "tree"}, "dependence must be None, False, 'forest' or 'aode', got 'tree'"),
        ({"dependence": "aode", "method": "posterior"}, "dependence='aode' is learned by method 'default'"),
        ({"dependence": "forest", "temper": False}, "with temper=None, got temper=False"),
        ({"method": "feature weights"}, "tempering is an argument of NaiveBayesClassifier, temper=True"),
        ({"method": "learned prior"}, "here it is called 'empirical'"),
        ({"method": ["map"]}, "got \\['map'\\]$"),
        ({"likelihoods": "categorical"}, "whole code"),
    ],
)
def test_an_invalid_parameter_is_refused_with_a_reason(params, words):
    rows, labels = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        nb.NaiveBayesClassifier(**params).fit(rows, labels)


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        ([["a", "b"]] * 4, [0, 1, 0, 1], "[Cc]onvert your data to numeric"),
        ([[1.0, np.inf]] * 4, [0, 1, 0, 1], "inf"),
        ([[1.0, 2.0]] * 4, [0, 1, 0], "inconsistent numbers of samples"),
        (np.zeros((0, 2)), [], "0 sample"),
        ([1.0, 2.0], [0, 1], "Expected 2D array, got 1D array"),
        ([[1.0, 2.0]] * 4, [0.5, 1.2, 0.1, 7.7], "Unknown label type"),
        ([[1.0, 2.0]] * 4, None, "requires y to be passed"),
    ],
)
def test_invalid_rows_are_refused_with_a_reason(rows, labels, words):
    with pytest.raises(ValueError, match=words):
        nb.NaiveBayesClassifier().fit(rows, labels)


def test_an_invalid_batch_leaves_the_fit_unchanged():
    clf = nb.NaiveBayesClassifier().partial_fit(X, Y, classes=[0, 1, 2])
    before = clf.predict_log_proba(X)
    for rows, labels, words in [
        (X, Y + 1, "do not exist in the initial classes"),
        (X[:, :2], Y, "features"),
        (X * np.inf, Y, "inf|NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            clf.partial_fit(rows, labels)
    assert_array_equal(clf.predict_log_proba(X), before)
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit, was: \\[0, 1, 2\\]"):
        clf.partial_fit(X, Y, classes=[0, 1])
