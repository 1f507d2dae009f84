"""Where methods stand: scores, ranks and words, against the numbers that the study itself answers with."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import bayesnb as nb
from bayesnb.studies.comparison._differences import difference_of
from bayesnb.studies.comparison._standings import best_method, standings, word

X, Y = load_iris(return_X_y=True)
METHODS = ["MLE", "MAP", "full Bayes"]


def odd(model, X, y):
    if len(y) == 32:
        raise ValueError("too many rows")
    return nb.fit_map(model, X, y)


@pytest.fixture(scope="module")
def study():
    one = nb.experiment({"iris": (X, Y)}, [*METHODS, ("odd", odd)], sizes=[16, 32], splits=4)
    return nb.merge_experiments(one, nb.experiment({"three": (X[:, :3], Y)}, METHODS, sizes=[16], splits=4))


@pytest.mark.parametrize("metric", ["log_loss", "accuracy"])
def test_numbers_are_those_of_the_study(study, metric):
    table = standings(study, metric, "MAP", 0.01).set_index(["data_set", "size", "method"]).sort_index()
    of_iris = table.loc["iris", 32].loc[study.methods]
    assert_allclose(of_iris["mean"], study.scores(metric, 32).loc["iris"], rtol=1e-5)  # losses are kept in float32
    assert_allclose(of_iris["rank"], study.ranks(metric, 32).loc["iris"])
    apart = study.differences("MAP", 0.01, metric, 16).set_index(["data_set", "method"])
    for name in ("iris", "three", "all sets"):
        own, found = table.loc[name, 16].loc["full Bayes"], apart.loc[name, "full Bayes"]
        same = ["low", "high", "p_worse", "p_equal", "p_better", "posterior_mean"]
        assert_allclose(own[same].astype(float), found[same].astype(float))
        assert own["minus_reference"] == found["mean"]
    half = difference_of(study, "three", 16, "MLE", None, metric)[0].half
    assert table.loc[("three", 16, "MLE"), "half_interval"] == half


def test_failures_have_no_mean_the_last_rank_and_a_word(study):
    table = standings(study, "log_loss", "full Bayes", 0.01).set_index(["data_set", "size", "method"])
    failed = table.loc["iris", 32, "odd"]
    assert np.isnan(failed["mean"])
    assert (failed["rank"], failed["failed"], failed["best"], failed["settled"]) == (4, 4, 0, 0)
    assert failed["than_best"] == failed["than_reference"] == "no value"
    assert table.loc["iris", 32, "full Bayes"]["than_reference"] == "reference"


def test_all_sets_add_up(study):
    table = standings(study, "log_loss", "full Bayes", 0.01)
    together = table[table["data_set"] == "all sets"].set_index(["size", "method"])
    parts = table[(table["data_set"] != "all sets") & (table["size"] == 16)].groupby("method")
    for name in METHODS:
        row, rest = together.loc[16, name], parts.get_group(name)
        for count in ("best", "settled", "splits", "failed", "seconds"):
            assert row[count] == pytest.approx(rest[count].sum())
        assert row["rank"] == rest["rank"].mean()
    assert together.loc[32, "MLE"]["than_reference"] == ""  # of one set there is nothing to add
    cost = study.cost().set_index(["data_set", "method"])["seconds"]
    own = table[table["data_set"] != "all sets"].groupby(["data_set", "method"])["seconds"].sum()
    assert_allclose(own.loc["iris"][METHODS], cost.loc["iris"][METHODS])


def test_the_largest_sizes_of_all_sets_stand_together(study):
    table = standings(study, "log_loss", "full Bayes", 0.01, "largest")
    sets = table[["data_set", "size"]].drop_duplicates().to_numpy().tolist()
    assert sets == [["iris", 32], ["three", 16], ["all sets", 0]]
    together = table[table["size"] == 0].set_index("method")
    means = [study.scores(size=size).loc[name, "MLE"] for name, size in (("iris", 32), ("three", 16))]
    assert_allclose(together.loc["MLE", "mean"], np.mean(means), rtol=1e-5)
    found = study.differences("full Bayes", size="largest").query("data_set == 'all sets'").set_index("method")
    assert found.loc["MLE", "size"] == 0
    assert together.loc["MLE", "p_worse"] == found.loc["MLE", "p_worse"]


def test_a_word_is_what_is_more_probable_than_95_percent():
    assert word((0.96, 0.04, 0.0)) == "worse"
    assert word((0.0, 0.04, 0.96)) == "better"
    assert word((0.02, 0.96, 0.02)) == "equal"
    assert word((0.95, 0.05, 0.0)) == word((np.nan,) * 3) == "not settled"


def test_the_first_on_a_set_is_settled_if_all_others_are_worse_or_equal(study):
    table = standings(study, "log_loss", "MLE", 0.01)
    for _, part in table[table["data_set"] != "all sets"].groupby(["data_set", "size"]):
        first = part[part["best"] == 1]
        assert first["mean"].tolist() == [part["mean"].min()]
        others = {*part.loc[part["best"] == 0, "than_best"]}
        assert first["settled"].item() == int("not settled" not in others)
    # a region of equivalence that holds every difference settles everything
    wide = standings(study, "log_loss", "MLE", 1e6)
    assert {*wide.loc[wide["best"] == 0, "than_best"].dropna()} <= {"equal", "no value"}
    assert (wide.loc[wide["best"] == 1, "settled"] == 1).all()


def test_the_best_method_has_the_lowest_mean_rank_and_of_equals_it_is_full_bayes():
    scores = pd.DataFrame({"a": [0.1, 0.5, 0.9], "full Bayes": [0.2, 0.4, 0.8], "c": [0.3, np.nan, 0.8 + 1e-9]})
    assert best_method(scores, higher_is_better=False) == "full Bayes"
    assert best_method(scores[["a", "c"]], higher_is_better=True) == "a"
    assert best_method(scores[["c", "full Bayes"]].iloc[2:], higher_is_better=False) == "full Bayes"
