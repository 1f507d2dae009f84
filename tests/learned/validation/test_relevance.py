"""Relevance of columns: Bayes factors without a row by refits, and what wide tables gain from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.families._views import with_views
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.learned.validation import _default
from bayesnb.learned.validation._ratio_table import left_out_log_ratios
from bayesnb.learned.validation._relevance import _log_bayes_factors, is_wide, judge_relevance

Y = np.arange(24) % 3
FAMILIES = {
    "numbers": with_views(nb.Normal()),
    "shared": nb.Normal(variance="shared"),
    "kinds": nb.Categorical(3),
    "flags": nb.Bernoulli(),
    "words": nb.Multinomial(),
    "apart": nb.Normal(loc=np.arange(3.0)[:, None]),
}


def learn(weight=None):
    """An exact posterior, its rows and their table; a number is missing."""
    rng = np.random.default_rng(4)
    X = {
        "numbers": rng.normal(size=(24, 5)) + Y[:, None] * [1.0, 0.5, 0.0, 0.0, 0.0],
        "shared": rng.normal(size=(24, 2)),
        "kinds": rng.integers(0, 3, (24, 2)),
        "flags": rng.integers(0, 2, (24, 2)),
        "words": rng.integers(0, 4, (24, 6)),
        "apart": rng.normal(size=(24, 2)),
    }
    X["numbers"][2, 1] = np.nan
    fit = nb.fit_posterior(nb.NaiveBayes(FAMILIES), X, Y, sample_weight=weight)
    rows = label_rows(fit.model, X, Y, weight)
    return fit, rows, left_out_log_ratios(fit, rows, by_feature={*FAMILIES} - {"words"})


@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(24) % 3], ids=["each", "weighted"])
def test_bayes_factors_without_a_row_are_those_of_the_other_rows(weight):
    fit, rows, table = learn(weight)
    without, factors = _log_bayes_factors(fit, rows, table.sizes)
    places = dict(
        zip(table.sizes, np.split(np.arange(len(factors)), np.cumsum([*table.sizes.values()])[:-1]), strict=True)
    )
    prior = fit.prior.with_hyperparameters(
        {**fit.prior.families, "numbers": fit.prior.families["numbers"].normal}, fit.prior.class_concentration
    )
    same = {name: prior.families[name] for name in ("numbers", "shared", "kinds", "flags")}
    model = nb.NaiveBayes(same, num_classes=3)
    some = {name: rows.arrays[name] for name in same}
    for n in (0, 2, 23):
        left = np.ones(24) if weight is None else weight.copy()
        left[n] -= 1.0
        by_hand = nb.feature_inclusion(model, some, Y, sample_weight=left).log_bayes_factor
        for name in same:
            found = without[n, places[name]].reshape(-1, len(by_hand[name]))
            assert_allclose(found, np.broadcast_to(by_hand[name], found.shape), atol=2e-4)
    whole = nb.feature_inclusion(model, some, Y, sample_weight=weight).log_bayes_factor
    assert_allclose(factors[places["kinds"]], whole["kinds"], atol=1e-5)
    assert np.isinf(factors[places["apart"]]).all()  # no set of parameters for all classes has its prior


def test_judged_probabilities_are_those_of_the_powers():
    """A column has the powers of its probability, in each of its views; the row's own Bayes factor leaves it out."""
    fit, rows, table = learn()
    judged = judge_relevance(fit, rows, table)
    without, factors = _log_bayes_factors(fit, rows, table.sizes)
    most = judged.powers[np.isinf(factors)].max()
    share = judged.powers[:5] / most
    log_odds = np.log(share / (1.0 - share)) - factors[:5]
    assert_allclose(log_odds, np.round(log_odds[0]), atol=1e-6)
    powers = most / (1.0 + np.exp(-(without + log_odds[0])))
    joint = table.prior + np.einsum("nkf,nf->nk", table.ratios, powers)
    assert_allclose(judged.nats, np.log1p(np.exp(joint).sum(axis=1)), rtol=1e-6)


def test_only_tables_with_more_features_than_rows_are_wide():
    assert not is_wide({"a": 20, "b": 1}, 20)
    assert is_wide({"a": 20, "b": 2}, 20)


@pytest.mark.parametrize(("weight", "calls"), [(1.0, 1), (2.0, 0)])
def test_rows_of_a_weight_are_so_many_rows(weight, calls, monkeypatch):
    """78 features are more than 40 rows, and not more than 80."""
    asked = []
    monkeypatch.setattr(_default, "judge_relevance", lambda *given: asked.append(1) or judge_relevance(*given))
    X, y = np.random.default_rng(0).normal(size=(40, 26)), np.arange(40) % 2
    nb.NaiveBayesClassifier(dependence=False).fit(X, y, sample_weight=np.full(40, weight))
    assert len(asked) == calls


def expression(seed, columns=600, rows=60):
    """Rows of two classes whose means differ in ten columns, at places that the seed draws, and 500 rows more."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows + 500) % 2
    X = rng.normal(size=(len(y), columns))
    X[:, rng.choice(columns, 10, replace=False)] += 1.2 * y[:, None]
    return (X[:rows], y[:rows]), (X[rows:], y[rows:])


@pytest.mark.parametrize("limit", ["seconds", "none"])
def test_columns_that_say_nothing_cost_little(limit, monkeypatch):
    """With a power of each in reach or not; one power for all columns has .6 nats a row here, and noise alone .69."""
    if limit == "none":
        monkeypatch.setattr("bayesnb.compute.arrays._limits.MOST_PRODUCTS", 1)
    train, (X, y) = expression(1)
    clf = nb.NaiveBayesClassifier(dependence=False).fit(*train)
    probs = clf.predict_proba(X)[np.arange(len(y)), y]
    assert -np.log(probs).mean() < 0.3
    rng = np.random.default_rng(2)
    noise = nb.NaiveBayesClassifier(dependence=False).fit(rng.normal(size=(40, 300)), np.arange(40) % 2)
    probs = noise.predict_proba(rng.normal(size=(500, 300)))[np.arange(500), np.arange(500) % 2]
    assert -np.log(probs).mean() < 0.75


def test_columns_in_another_order_and_unit_have_the_same_powers():
    (X, y), _ = expression(3, 200)
    order = np.random.default_rng(0).permutation(200)
    one, other = (nb.NaiveBayesClassifier(dependence=False).fit(rows, y).fit_ for rows in (X, 1e3 * X[:, order] - 7.0))
    powers = [next(iter(fit.powers.values())).reshape(3, 200) for fit in (one, other)]
    assert_allclose(powers[0][:, order], powers[1], rtol=1e-4, atol=1e-6)
    assert (powers[0].sum(axis=0) > 0.1).sum() < 60
