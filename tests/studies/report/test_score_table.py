"""The table of scores: the best, ties by their probability, names that LaTeX would misread, and failures."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from bayesnb.studies.comparison._differences import difference_of
from bayesnb.studies.report._score_table import score_table
from tests.studies.comparison.studies import METHODS, random_study


@pytest.fixture
def study():
    return random_study()


def row(text, name):
    """The cells of a row of LaTeX."""
    return re.findall(rf"^{name} .*$", text, flags=re.M)[0].removesuffix(r" \\").split(" & ")


def test_the_best_is_bold_and_ties_are_marked(study):
    near = study.losses("b", 64, "MLE", "log_loss")
    study.losses("b", 64, "MAP", "log_loss")[:] = near + 0.001
    for cell in study.frame().itertuples():
        if (cell.data_set, cell.size, cell.method, cell.metric) == ("b", 64, "MAP", "log_loss"):
            study.frame().loc[cell.Index, "value"] = (near + 0.001)[cell.split].mean()
    text = score_table(study, rope=0.01)
    expected, _ = difference_of(study, "b", 64, "MAP", "MLE", "log_loss")
    assert expected.regions(0.01).within > 0.5
    values = study.scores().map("{:.3f}".format)
    for name in "abc":
        mle, map_, full = values.loc[name]
        star = r"$^\ast$" if name == "b" else ""
        assert row(text, name) == [name, "64", rf"\textbf{{{mle}}}", map_ + star, full]
    assert text.count("corrected resampled t") == 1
    html = score_table(study, latex=False)
    assert (html.count("<b>"), html.count("*</td>")) == (3, 1)


def test_the_highest_accuracy_is_the_best(study):
    text = score_table(study, "accuracy")
    assert all(row(text, name)[4].startswith(r"\textbf") for name in "abc")
    assert row(text, "mean rank")[4] == "1.00"


def test_a_failure_is_a_word_and_ranks_last(study):
    text = score_table(study, size=16)
    assert row(text, "a")[3] == "failed"
    assert float(row(text, "mean rank")[3]) == pytest.approx(7 / 3, abs=0.01)


def test_names_are_escaped(study):
    study.sets[0] = "a_1 & 50%"
    scores = study.scores
    study.scores = lambda *of: scores(*of).rename(index={"a": "a_1 & 50%"}, columns={"MLE": "m^2"}).iloc[:1]
    study.losses = lambda *_: np.zeros((6, 25))
    assert r"a\_1 \& 50\% & 64" in score_table(study)
    assert r"m\textasciicircum{}2" in score_table(study)
    assert "a_1 &amp; 50%" in score_table(study, latex=False)


def test_the_latex_balances(study):
    text = score_table(study)
    assert text.count(r"\begin") == text.count(r"\end") == 1
    assert text.count("{") == text.count("}")
    assert [text.count(rf"\{rule}") for rule in ("toprule", "midrule", "bottomrule")] == [1, 2, 1]
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in rows} == {4}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_typesets_the_table(tmp_path):
    if subprocess.run(["kpsewhich", "booktabs.sty"], stdout=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("LaTeX's package booktabs is not installed")
    study = random_study()
    study.methods = [r"50 % \of {K}_a & #1", "~^$", "<full>"]
    scores = study.scores
    study.scores = lambda *args: scores(*args).set_axis(study.methods, axis=1)
    study.losses = lambda name, size, method, metric: random_study().losses(
        name, size, METHODS[study.methods.index(method)], metric
    )
    document = r"\documentclass{article}\usepackage{booktabs}\begin{document}%s\end{document}"
    (tmp_path / "table.tex").write_text(document % score_table(study), encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-halt-on-error", "table.tex"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 1000
