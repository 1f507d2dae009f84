"""The table of scores: the best, ties by their probability, names that LaTeX would misread, and failures."""

import re

import numpy as np
import pytest

from bayesnb.comparison._differences import difference_of
from bayesnb.report._score_table import score_table
from tests.comparison.studies import random_study


@pytest.fixture
def study():
    return random_study()


def test_the_best_is_bold_and_ties_are_marked(study):
    near = study.losses("b", 64, "MLE", "log_loss")
    study.losses("b", 64, "MAP", "log_loss")[:] = near + 0.001
    for row in study.frame().itertuples():
        if (row.data_set, row.size, row.method, row.metric) == ("b", 64, "MAP", "log_loss"):
            study.frame().loc[row.Index, "value"] = (near + 0.001)[row.split].mean()
    found = score_table(study, rope=0.01)
    assert found.best.tolist() == [[True, False, False]] * 3
    assert found.tied.tolist() == [[False] * 3, [False, True, False], [False] * 3]
    expected, _ = difference_of(study, "b", 64, "MAP", "MLE", "log_loss", None)
    assert expected.regions(0.01).within > 0.5
    first, second, third = re.findall(r"^b .*$", found.latex(), flags=re.M)[0].removesuffix(r" \\").split(" & ")[2:]
    assert first.startswith(r"\textbf{")
    assert second.endswith(r"$^\ast$")
    assert third == f"{study.scores().loc['b', 'full Bayes']:.3f}"
    assert "<b>" in found.html()
    assert "corrected resampled t" in found.note


def test_the_highest_accuracy_is_the_best(study):
    assert score_table(study, "accuracy").best[:, 2].all()
    assert score_table(study, "accuracy").ranks[2] == "1.00"


def test_a_failure_is_a_word_and_ranks_last(study):
    found = score_table(study, size=16)
    assert found.rows[0][2][1] == "failed"
    assert float(found.ranks[1]) == pytest.approx(7 / 3, abs=0.01)


def test_names_are_escaped(study):
    study.sets[0] = "a_1 & 50%"
    scores = study.scores
    study.scores = lambda *of: scores(*of).rename(index={"a": "a_1 & 50%"}, columns={"MLE": "m^2"}).iloc[:1]
    study.losses = lambda *_: np.zeros((6, 25))
    found = score_table(study)
    assert r"a\_1 \& 50\%" in found.latex()
    assert r"m\textasciicircum{}2" in found.latex()
    assert "a_1 &amp; 50%" in found.html()


def test_the_latex_balances(study):
    text = score_table(study).latex()
    assert text.count(r"\begin") == text.count(r"\end") == 1
    assert text.count("{") == text.count("}")
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in rows} == {4}
