"""Explanations add up to the predictions that they explain; their intervals are those of the parameters' draws."""

import jax
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special, stats

import bayesnb as nb
from bayesnb.compute.arrays import _memory as memory
from bayesnb.core.results._draws import Draws
from bayesnb.inspection._explain import explain
from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier
from tests import cases

FLAGS = np.array([[1, 1], [1, 0], [0, 1], [1, 1], [0, 0], [0, 1], [0, 0], [1, 0]])
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
FIT = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.3, 0.7]), FLAGS, Y)


def predicted(fit, X, against):
    """The log odds of the prediction, [N, K]; NaN where both classes are impossible."""
    log_proba = np.asarray(fit.predict_log_proba(X))
    other = log_proba[:, [against]]
    never = np.isneginf(log_proba) & np.isneginf(other)
    return np.where(never, np.nan, log_proba - np.where(never, 0.0, other))


def assert_adds_up(fit, X, against=1):
    told = explain(fit, X, against=against)
    expected = predicted(fit, X, against)
    known = ~np.isnan(expected)
    assert known[:, against].any()
    assert_allclose(told.log_odds[known], expected[known], rtol=1e-9, atol=1e-9)
    assert_allclose(told.prior + told.contributions.sum(axis=2), told.log_odds, rtol=1e-12)
    assert_array_equal(told.contributions[:, against], 0)
    assert len(told.feature_names) == len(set(told.feature_names)) == told.contributions.shape[2]
    assert told.values.shape == (told.contributions.shape[0], told.contributions.shape[2])


@pytest.mark.parametrize("fit", [nb.fit_mle, pytest.param(nb.fit_map, marks=pytest.mark.slow), nb.fit_posterior])
@pytest.mark.parametrize("name", cases.SEVERAL)
def test_contributions_add_up_to_the_prediction(name, fit):
    case = cases.make(name)
    assert_adds_up(fit(case.model, case.X, case.y), case.X)


@pytest.mark.parametrize(
    "name",
    cases.by_default(
        ["trials", "categorical", "multinomial", "normal", "covariance"], "trials", "multinomial", "normal"
    ),
)
def test_averages_over_subsets_add_up(name):
    case = cases.make(name)
    model = nb.NaiveBayes(nb.Categorical(3) if name == "categorical" else case.model.families["x"], num_classes=3)
    if name == "multinomial":
        model = nb.NaiveBayes(nb.Multinomial(), num_classes=3)
    fit = nb.fit_averaged(model, case.X, case.y)
    assert_adds_up(fit, case.X)
    if name == "multinomial":
        assert explain(fit, case.X).feature_names == ("x",)


@pytest.mark.slow
def test_powers_of_words_and_of_the_class_prior_are_part_of_the_contributions(rng, key):
    y = np.arange(30) % 3
    X = {"words": rng.poisson(1.0 + (np.arange(3) == y[:, None])).astype(float), "number": rng.normal(size=(30, 1))}
    X["words"][4] = np.nan
    fit = nb.fit_posterior(nb.NaiveBayes({"words": nb.Multinomial(), "number": nb.Normal()}), X, y)
    raised = fit.with_powers(0.8, length_exponents=0.5, class_power=0.6).with_class_probs([0.2, 0.2, 0.6])
    assert_adds_up(raised, X)
    assert_adds_up(nb.temper(fit, X, y, per_feature=True), X)
    told, plain = explain(raised, X), explain(fit, X)
    by_row = np.minimum(1.0, 0.8 * (1.0 + np.nan_to_num(X["words"]).sum(axis=1)) ** -0.5)
    own = told.blocks["words"]
    assert told.feature_names[own] == ("words[0]", "words[1]", "words[2]", "length of words")
    expected = by_row[:, None, None] * plain.contributions[:, :, own]
    assert_allclose(told.contributions[:, :, own], expected, atol=1e-12)
    raised, ends = fit.with_powers(0.8, length_exponents=0.5, class_power=0.6), [0.05, 0.95]
    draws, counts = raised.sample(key, 200), np.nan_to_num(X["words"])
    logs = by_row[:, None] * np.einsum("nd,skd->snk", counts, np.log(draws["words_probs"]))
    found = raised.contribution_interval(X, key=key, num_draws=200)["words"]
    assert_allclose(found, np.quantile(logs - logs[..., :1], ends, axis=0, method="nearest")[..., None], atol=1e-9)
    found, prior = explain(raised, X, key=key, num_draws=200).intervals.prior, 0.6 * np.log(draws["class_probs"])
    assert_allclose(found, np.quantile(prior - prior[:, :1], ends, axis=0, method="nearest"), atol=1e-9)
    loc, scale = draws["number_loc"][:, None, :, 0], np.sqrt(draws["number_variance"])[:, None, :, 0]
    numbers = stats.norm.logpdf(X["number"][None], loc, scale)
    logs = logs + prior[:, None] + 0.8 * numbers
    probs = np.quantile(special.softmax(logs, axis=2), ends, axis=0, method="nearest")
    assert_allclose(raised.predict_interval(X, key=key, num_draws=200), probs, atol=1e-9)
    sure = nb.fit_posterior(fit.prior, X, y, sample_weight=1e8 * (1.0 + y)).with_powers(
        0.8, length_exponents=0.5, class_power=0.6
    )
    for end in explain(sure, X, key=key, num_draws=10).intervals.log_odds:
        assert_allclose(end, predicted(sure, X, 0), atol=5e-3)


def test_words_and_length_by_hand():
    """log Gamma(a + x) - log Gamma(a) - x log A, and log Gamma(A) - log Gamma(A + n) + n log A."""
    rows = np.array([[3, 0, 1], [0, 2, 0], [1, 0, 0], [0, 0, 0]])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial(0.5)), rows, [0, 1, 0, 1])
    told = explain(fit, rows, feature_names=["a", "b", "c"])
    a = np.array([[4.5, 0.5, 1.5], [0.5, 2.5, 0.5]])
    total, length = a.sum(axis=1), rows.sum(axis=1)[:, None]
    words = special.gammaln(a + rows[:, None]) - special.gammaln(a) - rows[:, None] * np.log(total)[:, None]
    rest = special.gammaln(total) - special.gammaln(total + length) + length * np.log(total)
    assert told.feature_names == ("a", "b", "c", "length")
    assert_allclose(told.contributions[:, 1, :3], words[:, 1] - words[:, 0], atol=1e-12)
    assert_allclose(told.contributions[:, 1, 3], rest[:, 1] - rest[:, 0], atol=1e-12)
    assert_array_equal(told.values, np.c_[rows, length])
    # one word alone adds the log ratio of its means, and the length nothing
    assert_allclose(told.contributions[2, 1, 0], np.log(0.5 / 3.5) - np.log(4.5 / 6.5))
    assert_allclose(told.contributions[2:, 1, 3], 0, atol=1e-12)
    plugged = explain(nb.fit_map(nb.NaiveBayes(nb.Multinomial.laplace(0.5)), rows, [0, 1, 0, 1]), rows)
    assert_array_equal(plugged.contributions[:, :, 3], 0)
    assert_allclose(plugged.contributions[0, 1, 0], 3 * (np.log(0.5 / 3.5) - np.log(3.5 + 1) + np.log(6.5)))


def test_sparse_rows_are_explained_as_dense_ones(rng):
    rows = rng.poisson(0.3, (6, 40))
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), rows, np.arange(6) % 2)
    dense, sparse = explain(fit, rows), explain(fit, scipy.sparse.csr_array(rows))
    assert_array_equal(dense.contributions, sparse.contributions)
    assert_array_equal(dense.values, sparse.values)
    assert (dense.contributions[:, 1, :-1][rows == 0] == 0).all()


def test_impossible_events_are_infinite_only_where_one_class_has_more_of_them():
    probs = {"class_probs": [0.5, 0.5], "x_probs": [[0.0, 0.5, 0.5, 0.9], [0.5, 0.0, 0.0, 0.3]]}
    fit = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), probs)
    rows = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 1]])
    told = explain(fit, rows)
    log = np.log
    infinite = [
        [np.inf, log(2), log(2), log(1 / 3)],  # impossible in class 0
        [log(0.5), log(2), log(2), log(1 / 3)],  # one in each: they cancel, as in the prediction
        [log(0.5), -np.inf, -np.inf, log(1 / 3)],  # two in class 1
        [log(0.5), log(2), log(2), log(1 / 3)],
    ]
    assert_allclose(told.contributions[:, 1], infinite)
    assert_array_equal(told.log_odds[[0, 2], 1], [np.inf, -np.inf])
    assert_allclose(told.log_odds[[1, 3], 1], predicted(fit, rows, 0)[[1, 3], 1])


def test_a_class_of_probability_zero_stays_impossible():
    fit = FIT.with_class_probs([0.0, 1.0])
    told = explain(fit, FLAGS)
    assert_array_equal(told.prior, [0, np.inf])
    assert_array_equal(explain(fit, FLAGS, against=1).log_odds[:, 0], -np.inf)
    assert np.isfinite(told.contributions).all()


def test_a_missing_cell_adds_nothing():
    case = cases.make("normal")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    told, missing = explain(fit, case.X), np.isnan(case.X)
    assert missing.any()
    assert (told.contributions.transpose(0, 2, 1)[missing] == 0).all()
    assert_array_equal(np.isnan(told.values), missing)


def test_the_other_way_round_has_the_other_sign():
    case = cases.make("mixed")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    one, other = explain(fit, case.X, against=0), explain(fit, case.X, against=2)
    assert_allclose(one.contributions[:, 2], -other.contributions[:, 0], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "ragged"])
def test_intervals_are_quantiles_over_draws(name, key):
    """Of the sum they are those of the probability, which is a growing function of it."""
    case = cases.make(name)
    two = case.y < 2
    X, model = case.X[two], nb.NaiveBayes(nb.Normal() if name == "normal" else nb.Categorical((2, 5, 3)))
    fit = nb.temper(nb.fit_posterior(model, X, case.y[two]), X, case.y[two], per_feature=True)
    told = explain(fit, X, level=0.8, key=key, num_draws=50)
    for found, expected in zip(
        told.intervals.log_odds, fit.predict_interval(X, 0.8, key=key, num_draws=50), strict=True
    ):
        assert_allclose(special.expit(found[:, 1]), expected[:, 1], rtol=1e-9)
    for found, expected in zip(
        told.intervals.contributions, fit.contribution_interval(X, 0.8, key=key, num_draws=50), strict=True
    ):
        assert_allclose(found, expected, rtol=1e-9)
    probs = fit.sample(key, 50)["class_probs"]
    ends = np.quantile(np.log(probs[:, 1] / probs[:, 0]), [0.1, 0.9], method="nearest")
    assert_allclose([end[1] for end in told.intervals.prior], ends)


def test_intervals_close_on_the_contributions_as_rows_pile_up(key):
    many = nb.fit_posterior(FIT.prior, statistics=jax.tree.map(lambda a: 1e8 * a, FIT.statistics))
    told = explain(many, FLAGS, key=key, num_draws=100)
    for end in told.intervals.contributions:
        assert_allclose(end, told.contributions, atol=1e-3)


def test_the_strongest_come_first_and_the_parts_add_up():
    case = cases.make("mixed")
    told = explain(nb.fit_posterior(case.model, case.X, case.y), case.X, class_names=list("abc"))
    parts = told.top(3, 5, of="b")
    sizes = [abs(part.log_odds) for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == np.abs(told.contributions[3, 1]).max()
    for part in parts:
        f = told.feature_names.index(part.name)
        assert_array_equal([part.log_odds, part.value], [told.contributions[3, 1, f], told.values[3, f]])
    for count in (0, 5, 100):
        assert_allclose(sum(part.log_odds for part in told.parts(3, count)), told.total(3).log_odds)
    assert told.of_row(3) == 1 + told.log_odds[3, 1:].argmax()
    assert repr(told).startswith("Explanation(24 rows, 3 classes, 19 features)\n")
    table = told.table(3, 5, of="b")
    assert table.splitlines()[0] == "b against a, row 3 [nats]"
    assert f"P(b) of the two = {special.expit(told.log_odds[3, 1]):.4g}" in table


def test_names_tell_blocks_apart():
    X = {"first": np.array([[0.0, 1.0], [1.0, 2.0]]), "words": np.array([[1, 2], [3, 0]])}
    fit = nb.fit_posterior(nb.NaiveBayes({"first": nb.Normal(), "words": nb.Multinomial()}), X, [0, 1])
    names = {"first": ["a", "b"], "words": ["b", "c"]}
    told = explain(fit, X, against="no", class_names=["no", "yes"], feature_names=names)
    assert told.feature_names == ("a", "first: b", "words: b", "c", "length of words")
    assert explain(fit, X, feature_names={"words": ["b", "c"]}).feature_names[:3] == ("first[0]", "first[1]", "b")


def test_an_estimator_names_classes_and_columns():
    rows = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.5, 5.0, 6.0], "colour": list("rgrbgb")})
    classifier = NaiveBayesClassifier().fit(rows, ["no", "no", "yes", "no", "yes", "yes"])
    told = explain(classifier, rows, against="no")
    log_proba = classifier.predict_log_proba(rows)
    assert_allclose(told.log_odds[:, 1], log_proba[:, 1] - log_proba[:, 0])
    assert set(told.feature_names) == {"size", "colour", "dependence"}
    assert told.class_names == ("no", "yes")
    assert explain(classifier, rows, class_names=["a", "b"]).class_names == ("a", "b")


def test_no_rows_and_one_class():
    assert explain(FIT, FLAGS[:0]).contributions.shape == (0, 2, 2)
    alone = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), FLAGS, np.zeros(8, int))
    assert_array_equal(explain(alone, FLAGS).log_odds, 0)
    assert [*explain(alone, FLAGS).table().split("\n")][::3] == ["0, the only class, row 0 [nats]", "  P(0) = 1"]
    assert explain(FIT, FLAGS[:0]).to_frame().shape == explain(alone, FLAGS).to_frame().shape == (0, 8)
    assert explain(FIT, FLAGS[:0])._repr_html_().startswith("<pre>Explanation(0 rows, 2 classes, 2 features)</pre>")
    assert "log odds" in explain(alone, FLAGS)._repr_html_()


def test_what_is_refused(key, monkeypatch):
    draws = Draws(FIT.model, FIT.sample(key, 4), {}, 1)
    with pytest.raises(ValueError, match="Draws average products over draws, which are not sums over features"):
        explain(draws, FLAGS)
    with pytest.raises(ValueError, match="explain takes a fit such as fit_posterior returns, got NaiveBayes"):
        explain(FIT.prior, FLAGS)
    with pytest.raises(ValueError, match="a point estimate has no posterior uncertainty: leave out key"):
        explain(nb.fit_map(FIT.prior, FLAGS, Y), FLAGS, key=key)
    with pytest.raises(ValueError, match="inside a JAX transformation"):
        jax.jit(lambda rows: explain(FIT, rows).log_odds)(FLAGS)
    with pytest.raises(ValueError, match="against must be a class, a number from 0 to 1 or one of 'a', 'b', got 'c'"):
        explain(FIT, FLAGS, against="c", class_names=["a", "b"])
    with pytest.raises(ValueError, match="feature_names of block 'x' must be a list of 2 names, got 1"):
        explain(FIT, FLAGS, feature_names=["a"])
    with pytest.raises(ValueError, match="must differ from each other, got 'a' more than once"):
        explain(FIT, FLAGS, feature_names=["a", "a"])
    with pytest.raises(ValueError, match="level must be a probability"):
        explain(FIT, FLAGS, level=90, key=key)
    with pytest.raises(ValueError, match="row must be a number below 8, got 8"):
        explain(FIT, FLAGS).top(8)
    monkeypatch.setattr(memory, "available", lambda: 1 << 31)
    with pytest.raises(ValueError, match="a table of 500,000,000 draws, 2 classes and 3 features would take"):
        explain(FIT, FLAGS, key=key, num_draws=500_000_000)
    rows = scipy.sparse.csr_array((70_000_000, 2))
    with pytest.raises(ValueError, match=r"at least 2\.09 GiB of memory; 2 GiB is available: give fewer rows at"):
        explain(FIT, rows)


def test_categories_go_by_their_names():
    """A frame's text, its booleans and given names of codes; a missing cell has none."""
    rows = pd.DataFrame({"colour": ["red", "blue", None, "red"], "old": [True, False, False, True]})
    classifier = NaiveBayesClassifier(method="posterior").fit(rows, ["no", "yes", "yes", "no"])
    told = explain(classifier, rows)
    assert {part.label for part in told.top(0)} == {"colour = red", "old = True"}
    assert {part.label for part in told.top(2)} == {"old = False"}
    assert "colour = blue" in told.table(1)
    top = nb.top_features(classifier)
    assert {part.name for part in top["no"]} == {"colour = blue", "colour = red", "old"}
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(2)), FLAGS, Y)
    given = {"feature_names": ["a", "b"], "value_names": {"b": ["few", "many"]}}
    assert {part.label for part in explain(fit, FLAGS[1:2], **given).top()} == {"a = 1", "b = few"}
    assert {part.name for part in nb.top_features(fit, **given)["0"]} == {"a = 0", "a = 1", "b = few", "b = many"}


def test_names_of_values_go_by_the_names_that_are_shown():
    model = nb.NaiveBayes({"a": nb.Categorical(2), "b": nb.Categorical(2), "n": nb.Normal()})
    rows = {"a": FLAGS[:, :1], "b": FLAGS[:, 1:], "n": FLAGS[:, :1] + 0.5}
    fit = nb.fit_posterior(model, rows, Y)
    columns = {"a": ["colour"], "b": ["colour"], "n": ["size"]}
    both = {"feature_names": columns, "value_names": {"colour": ["red", "blue"]}}
    assert {part.name for part in nb.top_features(fit, 3, **both)["0"]} <= {
        *(f"{block}: colour = {value}" for block in "ab" for value in ("red", "blue")),
        "size",
    }
    assert "a: colour = blue" in {part.label for part in explain(fit, rows, **both).top(1)}
    one = {"feature_names": columns, "value_names": {"b: colour": ["red", "blue"]}}
    assert {"a: colour = 1", "b: colour = red"} <= {part.label for part in explain(fit, rows, **one).top(1)}


@pytest.mark.parametrize("function", [lambda fit, **names: explain(fit, FLAGS, **names), nb.top_features])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x[0]": ["none"]}, r"value_names\['x\[0\]'\] must be a list of 2 names, got 1"),
        ({"x[0]": "ab"}, r"value_names\['x\[0\]'\] must be a list of 2 names, got 'ab'"),
        ({"x[7]": ["a", "b"]}, "value_names has 'x.7.', but no feature with codes 0, 1, ... has that name"),
        ([["a", "b"]], "value_names must be a dict of lists by the feature's name, got a list"),
    ],
)
def test_names_of_values_that_do_not_fit(function, given, message):
    with pytest.raises(ValueError, match=message):
        function(FIT, value_names=given)


def test_other_names_of_features_are_not_taken_for_those_of_the_frame():
    rows = pd.DataFrame({"c": list("xyzx"), "code": list("3453")})
    classifier = NaiveBayesClassifier(method="posterior").fit(rows, [0, 1, 1, 0])
    assert {part.label for part in explain(classifier, rows, feature_names={"categorical": ["code", "c"]}).top(1)} <= {
        "code = 1",
        "c = 1",
    }


@pytest.mark.parametrize("dependence", [None, "forest", "aode"])
@pytest.mark.parametrize("class_prior", cases.by_default([None, [0.0, 0.3, 0.7], [0.5, 0.5, 0.0]], [0.0, 0.3, 0.7]))
def test_dependence_is_what_is_left_of_the_prediction(rng, dependence, class_prior):
    """Also where a class is impossible, and beside a column and a block of the same name."""
    y = np.arange(120) % 3
    number = rng.normal(size=120) + y
    kind = np.where(rng.random(120) < 0.3 + 0.4 * (number > 1.0), "a", "b")
    rows = pd.DataFrame({"dependence": number, "twice": number + 0.2 * rng.normal(size=120), "kind": kind})
    rows.iloc[::7, 1] = np.nan
    classifier = NaiveBayesClassifier(dependence=dependence, missing=None).fit(rows, y)
    classifier = classifier if class_prior is None else classifier.with_class_prior(class_prior)
    told = explain(classifier, rows, against=1)
    assert told.contributions.shape == (120, 3, 4)
    assert not np.isnan(told.contributions).any()
    log_proba = classifier.predict_log_proba(rows)
    assert_allclose(told.log_odds, log_proba - log_proba[:, [1]], rtol=1e-9, atol=1e-9)
    alone = NaiveBayesClassifier(dependence=False, class_prior=class_prior, missing=None).fit(rows, y)
    alone = explain(alone, rows, against=1)
    if dependence is None:
        assert_allclose(told.contributions[:, :, :3], alone.contributions, rtol=1e-9, atol=1e-9)
    assert np.abs(told.contributions[:, :, 3]).max() > 0.1
    model = nb.NaiveBayes({"dependence": nb.Normal(), "flags": nb.Bernoulli()})
    X = {"dependence": rows[["dependence", "dependence"]].to_numpy(), "flags": rows[["kind"]].to_numpy() == "a"}
    fit = nb.fit_forests(model, X, y)
    told = explain(fit, X)
    assert {*told.blocks} > {*model.families}
    log_proba = fit.predict_log_proba(X)
    assert_allclose(told.log_odds, log_proba - log_proba[:, [0]], rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match=r"has no intervals: leave out key, or fit without, dependence=False"):
        explain(fit, X, key=jax.random.key(0))
