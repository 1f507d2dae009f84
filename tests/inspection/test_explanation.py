"""Explanations as frames and as HTML hold all parts."""

import pickle
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.inspection._explain import explain
from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier

NAMED = pd.DataFrame({"<b>": list("xyz<") * 5, "n": [None, *np.linspace(0.0, 1.0, 19)]})


@pytest.mark.parametrize("keyed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_frame_holds_all_parts_and_adds_up(keyed, key):
    clf = NaiveBayesClassifier(temper=False).fit(NAMED, ["a&b", "c", "d<", "c"] * 5)
    found = explain(clf, NAMED[:3], key=key if keyed else None, against="c")
    frame = found.to_frame()
    assert [*frame] == ["row", "class", *nb.results.Contribution._fields]
    for n, row in enumerate(found.log_odds):
        for k, name in enumerate(found.class_names):
            own = frame[(frame["row"] == n) & (frame["class"] == name)]
            assert_allclose(own["log_odds"].sum(), row[k], atol=1e-12)
            parts = found.parts(n, of=name) if k != found.against else []
            assert [*own["name"]] == [part.name for part in parts]
            assert_array_equal(own["log_odds"], [part.log_odds for part in parts])
            assert_array_equal(own["low"], [part.low for part in parts])
    first = frame.iloc[:3].set_index("name")
    assert first.loc["<b>", "value_name"] == "x"
    assert first["low"].notna().all() == keyed


def test_html_is_escaped_and_holds_the_parts():
    clf = NaiveBayesClassifier(temper=False).fit(NAMED, ["a&b", "c", "d<", "c"] * 5)
    found = explain(clf, NAMED[3:5])
    text = found._repr_html_()
    cells = [cell.text for cell in ElementTree.fromstring(f"<div>{text}</div>").iter("td")]
    shown = [*found.parts(count=5), found.total()]
    assert cells == [cell for part in shown for cell in (part.label, f"{part.log_odds:+.3f}")]
    assert "&lt;b&gt; = &lt;" in text


RNG = np.random.default_rng(1)
LABELS = np.repeat([0, 1], [40, 5])
CELLS = (RNG.random((45, 4)) < np.where(LABELS, 0.7, 0.3)[:, None]) * 1.0
FLAGS = nb.NaiveBayes(nb.Bernoulli(a=4.0, b=1.0))


@pytest.mark.slow
def test_what_is_told_changes_the_decision():
    """A refit with the rows of the sentence makes two classes equally probable."""
    found = explain(nb.fit_posterior(FLAGS, CELLS, LABELS), CELLS, class_names=["well", "ill"])
    shares = set()
    for row, cells in enumerate(CELLS):
        words = re.fullmatch(r"([\d.]+) more rows would make (\w+) as probable as (\w+): (.*)", found.change(row))
        s, (rival, one) = float(words[1]), (found.class_names.index(words[k]) for k in (2, 3))
        told = {
            label: 1.0 if part == "all" else float(part[:-2]) / 100
            for part, label in re.findall(r"(all|\d+ %) labelled (\w+)", words[4])
        }
        share = told.get(words[2], 0.0)
        more = np.stack([cells, 1.0 - cells])
        weights = np.append(np.ones(45), [share * s, (1.0 - share) * s])
        refit = nb.fit_posterior(
            FLAGS, np.vstack([CELLS, more]), np.append(LABELS, [rival, one]), sample_weight=weights
        )
        assert_allclose(refit.predict_proba(cells[None]), [[0.5, 0.5]], atol=0.01)
        shares.add(share)
        assert sum(f"x[{d}] = {cells[d]:g}" in words[4] for d in range(4)) == 3
        assert "and the other cells of this row" in words[4]
    assert len(shares) > 1


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (
            nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.1, 0.9]), CELLS, LABELS),
            r"no number of further rows, .* a class other than ill win; rows labelled well .*",
        ),
        (nb.fit_posterior(nb.NaiveBayes(nb.Normal()), CELLS, LABELS), ""),
        (nb.fit_map(FLAGS, CELLS, LABELS), ""),
        (nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal()), CELLS, LABELS), ""),
    ],
)
def test_decisions_that_nothing_changes_and_fits_that_do_not_say(fit, words):
    rows = CELLS[-2:] * np.where(words, np.nan, 1.0)
    found = pickle.loads(pickle.dumps(explain(fit, rows, class_names=["well", "ill"])))
    assert re.fullmatch(words, found.change(-1))
    assert found.change(0) in found.table()
    assert found.change(0) in found._repr_html_()
    told = re.search("(more|further) rows", found.table()) is not None
    assert told == ("<p>" in found._repr_html_()) == bool(words)


def test_shares_of_a_row_that_round_to_none():
    found = explain(nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), CELLS, LABELS), CELLS[:1])
    near = replace(found.robustness(0), s_star=np.array([0.004]))
    told = replace(found, robustness=lambda _: near).change()
    assert told.startswith("less than 0.01 more rows would make 1 as probable as 0: ")


def test_dependence_is_said_to_be_left_out():
    clf = NaiveBayesClassifier("categorical").fit(CELLS, LABELS)
    found = explain(clf, CELLS[:1])
    assert found.change().startswith("without dependence, ")
    assert f"<p>{found.change()}</p>" in found._repr_html_()
    apart = explain(NaiveBayesClassifier("categorical", dependence="aode").fit(CELLS, LABELS), CELLS[:1])
    assert apart.change() == ""
