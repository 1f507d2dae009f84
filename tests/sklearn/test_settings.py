"""What the estimator's default decides: when numbers are seen by several views, and when powers are learned."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import bayesnb as nb
from bayesnb.arrays import _limits as limits
from bayesnb.comparison._experiment import Experiment
from bayesnb.comparison._methods import COMPARED
from bayesnb.families._views import shares
from bayesnb.files._description import make_table
from bayesnb.files.sources._paths import open_data
from bayesnb.rows._sufficient_statistics import from_host
from bayesnb.sklearn import _settings as settings
from tests.benchmarks.ways import count_calls

RNG = np.random.default_rng(8)
Y = np.arange(120) % 3
X = RNG.normal(Y[:, None], 1.0, (120, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
FRAME = pd.DataFrame(X, columns=[*"ab"])


def views(clf):
    return any(len(shares(family)[0]) > 1 for family in clf.fit_.model.families.values())


def learned(clf):
    return settings.has_powers(clf.fit_)


def test_powers_do_not_depend_on_the_population():
    """They are learned under the class shares of the rows; zeros are no reason to ignore the columns."""
    prior = [0.9, 0.1, 0.0]
    clf = nb.NaiveBayesClassifier(class_prior=prior).fit(X, Y)
    moved = nb.NaiveBayesClassifier().fit(X, Y).with_class_prior(prior)
    assert_allclose(clf.predict_proba(X), moved.predict_proba(X), rtol=1e-12)
    assert_allclose(clf.predict_proba(X, class_prior="uniform").sum(axis=1), 1.0)
    assert clf.predict_proba(X)[:, 1].std() > 0.05
    for how in (True, "per_feature"):
        tempered = nb.NaiveBayesClassifier(class_prior=prior, temper=how).fit(X, Y)
        plain = nb.NaiveBayesClassifier(temper=how).fit(X, Y).with_class_prior(prior)
        assert_allclose(tempered.predict_proba(X), plain.predict_proba(X), rtol=1e-12)


def test_temper_of_a_default_fit_is_that_fit(tmp_path):
    clf = nb.NaiveBayesClassifier().fit(FRAME, Y)
    again = nb.temper(clf, FRAME, Y, per_feature=True)
    assert_allclose(again.predict_proba(FRAME), clf.predict_proba(FRAME), rtol=1e-9)
    one = nb.temper(clf, FRAME, Y)
    for fit in (again, one):
        nb.save(fit, tmp_path / "fit")
        assert_array_equal(nb.load(tmp_path / "fit").predict_proba(FRAME), fit.predict_proba(FRAME))
    assert_allclose(clone(again).fit(FRAME, Y).predict_proba(FRAME), clf.predict_proba(FRAME), rtol=1e-9)


@pytest.mark.parametrize(("name", "most"), [("MOST_CELLS", 100 * 2 * 6), ("MOST_PRODUCTS", 100 * 2 * 6 * 6)])
def test_what_would_take_long_is_the_exact_posterior(name, most, monkeypatch):
    monkeypatch.setattr(settings, name, most)
    some, all_ = (nb.NaiveBayesClassifier().fit(X[:n], Y[:n]) for n in (100, 120))
    assert views(some)
    assert learned(some)
    exact = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, Y)
    assert_array_equal(all_.predict_proba(X), exact.predict_proba(X))


def test_of_many_rows_only_some_count(monkeypatch):
    monkeypatch.setattr(settings, "MOST_CELLS", 60 * 2 * 6)
    assert not views(nb.NaiveBayesClassifier().fit(X, Y))
    monkeypatch.setattr("bayesnb.validation._leave_one_out.MOST_ROWS", 60)
    assert views(nb.NaiveBayesClassifier().fit(X, Y))


@pytest.mark.parametrize("temper", [None, True, "per_feature"])
def test_a_fit_counts_its_rows_once(temper):
    calls = count_calls(lambda: nb.NaiveBayesClassifier(temper=temper).fit(FRAME, Y))
    assert sum(times for code, times in calls.items() if code is from_host.__code__) == 1


def test_the_estimator_files_and_comparisons_ask_one_rule(monkeypatch, tmp_path):
    path = tmp_path / "rows.csv"
    FRAME.assign(label=[f"class {k}" for k in Y]).to_csv(path, index=False)
    monkeypatch.setattr(settings, "MOST_CLASSES", 2)  # there are three
    estimator, file = nb.NaiveBayesClassifier().fit(FRAME, Y), nb.fit_file(str(path), "label", progress_bar=False)
    table = make_table(open_data(str(path)), "label")
    compared = COMPARED["default"].fit(Experiment(table, (100,), 1, 0), table.X, table.y)
    assert not any(views(clf) or learned(clf) for clf in (estimator, file))
    assert compared.powers is None


def test_numbers_beside_sparse_flags_are_normal():
    flags = scipy.sparse.csr_matrix(RNG.random((120, 3)) < 0.4)
    blocks = {"flags": flags, "numbers": X}
    clf = nb.NaiveBayesClassifier({"flags": "bernoulli"}).fit(blocks, Y)
    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "numbers": nb.Normal()})
    assert_allclose(clf.predict_proba(blocks), nb.fit_posterior(model, blocks, Y).predict_proba(blocks), rtol=1e-12)
    counts = nb.NaiveBayesClassifier({"flags": "multinomial"}).fit(blocks, Y)  # one feature, with one power
    assert views(counts)
    assert learned(counts)


def test_a_small_first_batch_has_no_cells():
    first = settings.FEWEST_ROWS
    small = (
        nb.NaiveBayesClassifier()
        .partial_fit(X[: first - 1], Y[: first - 1])
        .partial_fit(X[first - 1 :], Y[first - 1 :])
    )
    assert_allclose(small.predict_proba(X), nb.NaiveBayesClassifier("normal").fit(X, Y).predict_proba(X), rtol=1e-9)
    assert views(nb.NaiveBayesClassifier().partial_fit(X[:first], Y[:first]))


def test_more_rows_leave_powers_out_with_a_warning():
    clf = nb.NaiveBayesClassifier().fit(X, Y)
    with pytest.warns(UserWarning, match="the powers that fit learned need all rows, and are left out from now on"):
        clf.partial_fit(X[:9], Y[:9])
    assert views(clf)
    assert not learned(clf)


def test_parameters_that_are_set_later_leave_the_likelihoods_alone():
    for before, after in ((None, False), (False, None)):
        clf = nb.NaiveBayesClassifier(temper=before).partial_fit(X[:90], Y[:90])
        seen = views(clf)
        clf.set_params(temper=after).partial_fit(X[90:], Y[90:]).forget(X[:5], Y[:5])
        assert views(clf) == seen == (before is None)


def test_statistics_of_other_bins_do_not_merge():
    one, two = (nb.NaiveBayesClassifier().fit(X[rows], Y[rows]) for rows in (slice(60), slice(60, 120)))
    with pytest.raises(
        ValueError, match="only if their bins are the same, and each fit finds its own: fit with temper"
    ):
        nb.merge(one.statistics_, two.statistics_)


def test_rows_of_many_classes_are_forgotten(monkeypatch):
    monkeypatch.setattr(limits, "MOST_DENSE_CELLS", 50)
    words = scipy.sparse.random(200, 60, density=0.05, random_state=0, format="csr")
    words.data = np.ceil(3 * words.data)
    y = np.arange(200) % 70
    clf = nb.NaiveBayesClassifier("multinomial").partial_fit(words, y).forget(words[:5], y[:5])
    rest = nb.NaiveBayesClassifier("multinomial").partial_fit(words[5:], y[5:], classes=np.arange(70))
    assert_allclose(clf.predict_proba(words), rest.predict_proba(words), rtol=1e-9)
