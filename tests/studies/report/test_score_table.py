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
        halves = [difference_of(study, name, 64, method, None, "log_loss")[0].half for method in METHODS]
        one, two, three = (rf" $\pm$ {half:.3f}" for half in halves)
        star = r"$^\ast$" if name == "b" else ""
        assert row(text, name) == [name, "64", rf"\textbf{{{mle}}}{one}", map_ + two + star, full + three]
    assert text.count("corrected resampled t") == 1
    html = score_table(study, latex=False)
    assert (html.count("<b>"), html.count("*</td>"), html.count(" ± ")) == (3, 1, 10)  # and in the note


def test_the_highest_accuracy_is_the_best(study):
    text = score_table(study, "accuracy")
    assert all(row(text, name)[4].startswith(r"\textbf") for name in "abc")
    assert row(text, "mean rank")[4] == "1.00"


def test_a_failure_is_a_word_and_ranks_last(study):
    text = score_table(study, size=16)
    assert row(text, "a")[3] == "failed"
    assert float(row(text, "mean rank")[3]) == pytest.approx(7 / 3, abs=0.01)


def large_study(methods, sets):
    """Many methods on many sets, of which each has the losses of one of the random study."""
    study = random_study()
    scores, losses = study.scores, study.losses
    study.scores = lambda *args: (
        scores(*args)
        .iloc[np.arange(len(sets)) % 3, np.arange(len(methods)) % 3]
        .set_axis(methods, axis=1)
        .set_axis(sets)
    )
    study.losses = lambda name, size, method, metric: losses(
        "abc"[sets.index(name) % 3], size, METHODS[methods.index(method) % 3], metric
    )
    study.methods, study.sets = methods, sets
    return study


def test_many_methods_are_rows_of_tables_that_fit_a_line():
    methods, sets = [f"method {k}" for k in range(12)], [f"set {k}" for k in range(8)]
    text = score_table(large_study(methods, sets))
    tables = text.split(r"\begin{tabular}")[1:]
    assert len(tables) > 1
    shown = [row(table, "method") for table in tables]
    assert [name for _, *names in shown for name in names] == [*sets, "mean rank"]
    for table in tables:
        assert len(re.findall(r"^method \d", table, flags=re.M)) == 12
    assert row(score_table(large_study(methods[:3], sets)), "data set")[2:] == methods[:3]
    best = f"{random_study().scores().loc['b', 'MLE']:.3f}"
    assert row(tables[0], "method 3")[2].startswith(rf"\textbf{{{best}}}")


@pytest.mark.usefixtures("latex")
@pytest.mark.parametrize("methods", [4, 12])
def test_no_line_of_latex_is_overfull(tmp_path, methods):
    long = [f"logistic regression of {k} columns & their squares" for k in range(methods)]
    text = score_table(large_study(long, ["two overlapping normal classes", "WINE_AND_MORE", *"abcdef"]))
    short = score_table(large_study([f"METHOD {k}" for k in range(methods)], [f"set_{k}" for k in range(8)]))
    typeset(f"{text}\n\n{short}", tmp_path)


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


@pytest.fixture
def latex():
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    if subprocess.run(["kpsewhich", "booktabs.sty"], stdout=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("LaTeX's package booktabs is not installed")


@pytest.mark.usefixtures("latex")
def test_latex_typesets_the_table(tmp_path):
    study = random_study()
    study.methods = [r"50 % \of {K}_a & #1", "~^$", "<full>"]
    scores = study.scores
    study.scores = lambda *args: scores(*args).set_axis(study.methods, axis=1)
    study.losses = lambda name, size, method, metric: random_study().losses(
        name, size, METHODS[study.methods.index(method)], metric
    )
    typeset(score_table(study), tmp_path)


def typeset(text, folder):
    document = r"\documentclass{article}\usepackage{booktabs}\begin{document}%s\end{document}"
    (folder / "table.tex").write_text(document % text, encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-halt-on-error", "table.tex"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert (folder / "table.pdf").stat().st_size > 1000
    assert "Overfull" not in run.stdout
