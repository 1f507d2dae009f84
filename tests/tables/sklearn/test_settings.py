"""What the estimator's default decides: which numbers are seen by several views, and which features share powers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.families._views import shares
from bayesnb.core.rows._sufficient_statistics import from_host
from bayesnb.learned.validation._temper import temper_fitted
from bayesnb.studies.comparison._method_fits import FIT_OF
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import open_data
from tests import cases
from tests.benchmarks.ways import count_calls
from tests.comparisons import data_of

RNG = np.random.default_rng(8)
Y = np.arange(120) % 3
X = RNG.normal(Y[:, None], 1.0, (120, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]])
FRAME = pd.DataFrame(X, columns=[*"ab"])
VIEWS = nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram())


def views(clf):
    return any(len(shares(family)[0]) > 1 for family in clf.fit_.model.families.values())


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
    clf = nb.NaiveBayesClassifier(dependence=False).fit(FRAME, Y)
    again = nb.temper(clf, FRAME, Y, per_feature=True)
    assert_allclose(again.predict_proba(FRAME), clf.predict_proba(FRAME), rtol=1e-9)
    one = nb.temper(clf, FRAME, Y)
    for fit in (again, one):
        nb.save(fit, tmp_path / "fit")
        assert_array_equal(nb.load(tmp_path / "fit").predict_proba(FRAME), fit.predict_proba(FRAME))
    assert_allclose(clone(again).fit(FRAME, Y).predict_proba(FRAME), clf.predict_proba(FRAME), rtol=1e-9)
    averaged = nb.NaiveBayesClassifier().fit(FRAME, Y)
    for whole in (alone := nb.temper(averaged, FRAME, Y, per_feature=True), clone(alone).fit(FRAME, Y)):
        assert_allclose(whole.predict_proba(FRAME), clf.predict_proba(FRAME), rtol=1e-9)
    with pytest.raises(ValueError, match=r"temper its first part, fit.alone, or fit with method='posterior'"):
        nb.temper(averaged.fit_, averaged.encoded(FRAME), np.unique(Y, return_inverse=True)[1])


MIXED = FRAME.assign(c=RNG.choice([*"pqr"], 120), d=RNG.choice([*"uv"], 120))


@pytest.mark.parametrize(("most_powers", "own"), [(8, (2, 6)), (7, (2, 1)), (3, (2, 1)), (2, (1, 1)), (1, (1, 1))])
def test_what_would_take_long_shares_powers_of_the_widest_blocks(most_powers, own, monkeypatch):
    """No block goes without, and none loses its views, or its dependence."""
    monkeypatch.setattr(limits, "MOST_PRODUCTS", 120 * 2 * most_powers**2)
    clf = nb.NaiveBayesClassifier().fit(MIXED, Y)
    assert views(clf)
    assert clf.fit_.parts == ("columns", "best", "aode", *(("lda", "qda") if most_powers > 2 else ()))
    assert {block: len(power) for block, power in clf.fit_.powers.items()} == dict(
        zip(("categorical", "numeric"), own, strict=True)
    )


def test_every_class_counts():
    y = np.arange(120) % 30
    clf = nb.NaiveBayesClassifier().fit(X + y[:, None], y)
    assert views(clf)
    assert clf.learned_.summary == "3 views of 2 numbers, dependence, powers learned on 120 of 120 rows"


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds", cases.by_default(["auto", {"a": "normal", "b": "normal", "c": "categorical", "d": "categorical"}], "auto")
)
def test_of_many_rows_powers_are_learned_on_a_part_whatever_their_order(kinds, monkeypatch):
    limited = {"LEARNED_RATIOS": 1, "ROWS_A_POWER": 1, "FEWEST_LEARNED": 60, "FEWEST_OF_CLASS": 5}
    for name, number in limited.items():
        monkeypatch.setattr(limits, name, number)
    clf, order = nb.NaiveBayesClassifier(kinds).fit(MIXED, Y), RNG.permutation(120)
    assert clf.learned_.summary.endswith("powers learned on 60 of 120 rows")
    other = nb.NaiveBayesClassifier(kinds).fit(MIXED.iloc[order], Y[order])
    parts = nb.NaiveBayesClassifier(kinds)
    for rows in np.split(order, [30, 31, 100]):
        parts.partial_fit(MIXED.iloc[rows], Y[rows])
    for one in (other, parts):
        assert_allclose(one.predict_log_proba(MIXED), clf.predict_log_proba(MIXED), rtol=1e-9, atol=1e-9)
    monkeypatch.undo()
    whole = nb.NaiveBayesClassifier(kinds).fit(MIXED, Y)
    assert np.abs(whole.predict_log_proba(MIXED) - clf.predict_log_proba(MIXED)).max() > 1e-3


@pytest.mark.parametrize("temper", [None, True, "per_feature"])
def test_a_fit_counts_its_rows_once(temper):
    calls = count_calls(lambda: nb.NaiveBayesClassifier(temper=temper).fit(FRAME, Y))
    counted = sum(times for code, times in calls.items() if code is from_host.__code__)
    assert counted == (2 if temper is None else 1)  # and once more for covariances


def test_the_estimator_files_and_comparisons_ask_one_rule(monkeypatch, tmp_path):
    path = tmp_path / "rows.csv"
    FRAME.assign(label=[f"class {k}" for k in Y]).to_csv(path, index=False)
    table = make_table(open_data(str(path)), "label")
    for most, size in ((limits.MOST_PRODUCTS, 6), (1, 1)):
        monkeypatch.setattr(limits, "MOST_PRODUCTS", most)
        estimator, file = nb.NaiveBayesClassifier().fit(FRAME, Y), nb.fit_file(str(path), "label", progress_bar=False)
        compared = FIT_OF["default"](data_of(table), table.X, table.y).fit
        found = [np.asarray(one.powers["numeric"]) for one in (estimator.fit_, file.fit_, compared)]
        assert found[0].shape == (size,)
        assert_allclose(found[1:], [found[0]] * 2, rtol=1e-6)


@pytest.mark.parametrize("kind", ["bernoulli", pytest.param("multinomial", marks=pytest.mark.slow)])
def test_a_sparse_block_has_one_power_and_the_others_as_ever(kind):
    flags = scipy.sparse.csr_matrix(RNG.random((120, 3)) < 0.4)
    blocks = {"flags": flags, "numbers": X}
    clf = nb.NaiveBayesClassifier({"flags": kind}).fit(blocks, Y)
    families = {"flags": nb.Bernoulli() if kind == "bernoulli" else nb.Multinomial(), "numbers": VIEWS}
    exact = nb.fit_posterior(nb.NaiveBayes(families), blocks, Y)
    expected, _ = temper_fitted(exact, blocks, Y, per_feature={"numbers"})
    assert {block: len(power) for block, power in clf.fit_.powers.items()} == {"flags": 1, "numbers": 6}
    alone = clf.fit_.alone.predict_log_proba(clf.encoded(blocks))
    assert_allclose(alone, expected.predict_log_proba(blocks), rtol=1e-9)


def test_the_size_of_the_first_batch_makes_no_difference():
    whole = nb.NaiveBayesClassifier().fit(X, Y).predict_log_proba(X)
    for first in (1, 7):
        parts = nb.NaiveBayesClassifier().partial_fit(X[:first], Y[:first]).partial_fit(X[first:], Y[first:])
        assert_allclose(parts.predict_log_proba(X), whole, rtol=1e-9)


def test_parameters_that_are_set_later_count_while_rows_are_kept():
    exact = nb.NaiveBayesClassifier(temper=False).fit(X[5:], Y[5:])
    for before, after in ((None, False), (False, None)):
        clf = nb.NaiveBayesClassifier(temper=before).partial_fit(X[:90], Y[:90])
        clf.set_params(temper=after).partial_fit(X[90:], Y[90:]).forget(X[:5], Y[:5])
        assert_allclose(clf.predict_log_proba(X), exact.predict_log_proba(X), rtol=1e-9)


def test_statistics_of_other_bins_do_not_merge():
    one, two = (nb.NaiveBayesClassifier().fit(X[rows], Y[rows]) for rows in (slice(60), slice(60, 120)))
    with pytest.raises(
        ValueError, match="only if their bins are the same, and each fit finds its own: fit with method='posterior'"
    ):
        nb.merge(one.statistics_, two.statistics_)


def test_rows_of_many_classes_are_forgotten():
    words = scipy.sparse.random(200, 60, density=0.05, random_state=0, format="csr")
    words.data = np.ceil(3 * words.data)
    y = np.arange(200) % 70
    clf = nb.NaiveBayesClassifier("multinomial").partial_fit(words, y).forget(words[:5], y[:5])
    rest = nb.NaiveBayesClassifier("multinomial").partial_fit(words[5:], y[5:], classes=np.arange(70))
    assert_allclose(clf.predict_proba(words), rest.predict_proba(words), rtol=1e-9)
