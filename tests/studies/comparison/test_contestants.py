"""What a user may give as a method, and what its answers follow from."""

import linecache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesnb as nb
from bayesnb.studies.comparison._contestants import read_methods
from bayesnb.studies.comparison._data_sets import read_sets
from bayesnb.tables.frames._series import DataError


def one(method):
    return read_methods([method])[0]


def test_names_and_identities_tell_settings_apart():
    found = read_methods(
        [
            "MLE",
            nb.methods("full Bayes", smoothing=[0.5, 2]),
            nb.methods(LogisticRegression(), C=[1.0, 2.0]),
            ("mine", nb.fit_map),
            *nb.methods(("other", nb.fit_map), version="2"),
            make_pipeline(StandardScaler(), LogisticRegression()),
        ]
    )
    assert [method.name for method in found] == [
        "MLE",
        "full Bayes, smoothing=0.5",
        "full Bayes, smoothing=2",
        "LogisticRegression, C=1.0",
        "LogisticRegression, C=2.0",
        "mine",
        "other",
        "StandardScaler + LogisticRegression",
    ]
    assert len({method.identity for method in found}) == len(found)
    assert [method.foreign for method in found] == [False] * 3 + [True] * 5


def test_one_method_needs_no_list():
    for given in ("MLE", LogisticRegression(), ("mine", nb.fit_map)):
        assert len(read_methods(given)) == 1
    assert [method.name for method in read_methods(("MLE", "MAP"))] == ["MLE", "MAP"]


def test_an_identity_follows_from_every_hyperparameter_and_a_version_alone():
    def pipeline(C):
        return make_pipeline(StandardScaler(), LogisticRegression(C=C))

    assert one(pipeline(1.0)).identity == one(pipeline(1.0)).identity != one(pipeline(2.0)).identity
    assert one(pipeline(1.0)).identity == one(("mine", pipeline(1.0))).identity
    first, second = (nb.methods(("mine", nb.fit_map), version=version)[0] for version in "12")
    assert first.identity != second.identity


def test_a_program_typed_into_a_session_is_known_by_its_code(monkeypatch):
    lines = ["def program(X, y):\n", "    return 0\n"]  # as of `python -c` in Python 3.13
    monkeypatch.setitem(linecache.cache, "<string>", (len("".join(lines)), None, lines, "<string>"))

    def typed(number):
        names = {}
        exec(f"def program(X, y):\n    return {number}", names)
        return one(names["program"]).identity

    assert typed(1) == typed(1) != typed(2)


def test_settings_reach_estimators_and_functions():
    (data,) = read_sets({"s": (np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2)}, 0)

    def fit(model, X, y, *, power, seed):
        assert seed == 5
        return nb.fit_posterior(model, X, y).with_powers(power)

    train, test = np.arange(20), np.arange(20, 30)
    (mine,), (forest,) = nb.methods(("mine", fit), power=0.5), nb.methods(LogisticRegression(), C=0.01)
    expected = nb.fit_posterior(data.bayes, *data.rows(train)).with_powers(0.5).predict_log_proba(data.rows(test)[0])
    np.testing.assert_array_equal(mine.fit(data, train, 5).log_proba(test), expected)
    x, y = data.given, data.table.y
    expected = LogisticRegression(C=0.01).fit(x[train], y[train]).predict_log_proba(x[test])
    np.testing.assert_array_equal(forest.fit(data, train, 5).log_proba(test), expected)


def test_classes_that_an_estimator_has_not_seen_are_impossible():
    (data,) = read_sets({"s": (np.arange(30.0)[:, None] % 7, np.arange(30) % 3)}, 0)
    train = np.flatnonzero(data.table.y != 1)
    table = one(LogisticRegression()).fit(data, train, 0).log_proba(np.arange(5))
    assert np.isneginf(table[:, 1]).all()
    np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0)
    ours = one(nb.NaiveBayesClassifier("categorical", method="posterior")).fit(data, train, 0)
    sets = ours.sets(np.arange(5), 1e6)
    assert sets.dtype == bool
    assert sets.sum(axis=0).tolist() == [5, 0, 5]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no method is given"),
        (["MLe"], "no method 'MLe' .*; did you mean 'MLE'"),
        (["fit_posterior"], "here it is called 'full Bayes'"),
        (["MLE", "MLE"], "two methods are called 'MLE'"),
        ([lambda *_: None], r"give \(name, function\)"),
        ([3], "a method must be a name"),
        ([Perceptron()], "Perceptron has no predict_proba"),
    ],
)
def test_what_is_no_method_is_refused_in_a_sentence(given, words):
    with pytest.raises(DataError, match=words):
        read_methods(given)


@pytest.mark.parametrize(
    ("method", "values", "words"),
    [
        ("MLE", {"smoothing": 1}, "'MLE' has no parameters"),
        ("MAP", {"alpha": 1}, "'MAP' takes smoothing, got 'alpha'"),
        ("MAP", {"smoothing": [1, -1]}, "smoothing must be a positive number, got -1"),
        (LogisticRegression(), {"c": 1}, "no parameter 'c'; did you mean 'C'"),
    ],
)
def test_settings_that_a_method_lacks_are_refused_in_a_sentence(method, values, words):
    with pytest.raises(DataError, match=words):
        nb.methods(method, **values)
