"""The command line of experiments: files, answers of nb.experiment, and one sentence for every mistake."""

import gc
import html
import re
import signal
import time

import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.studies.cli import main
from bayesnb.studies.cli._options import load_program
from tests.command_line import GOOD

FILES = ["cells.csv", "cells.jsonl", "curves.png", "forest.png", "losses.bin", "report.html", "scores.csv"]
FILES += ["splits.npz", "study.json", "table.tex"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(GOOD)
    return tmp_path


def run(*args):
    return CliRunner().invoke(main, ["experiment", *args])


def test_several_sets_have_the_answers_of_the_function(place):
    options = ["--methods", "MLE,full Bayes", "--sizes", "10", "--splits", "3", "--out", "here", "--seed", "2"]
    result = run("iris", "good.csv:label", *options)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"Cells to run: 12\n\d+ s: 12 of 12 cells have run\n", result.stderr)
    assert sorted(path.name for path in (place / "here").iterdir()) == FILES
    frame = pd.read_csv(place / "here" / "cells.csv", keep_default_na=False, na_values=[""])
    own = nb.experiment(["iris", "good.csv:label"], ["MLE", "full Bayes"], [10], 3, seed=2).frame()
    columns = ["data_set", "split", "method", "value", "key"]
    pd.testing.assert_frame_equal(frame[columns], own[columns])
    page = (place / "here" / "report.html").read_text()
    assert "all sets" in page
    assert "data:image/png;base64" in page
    assert "full Bayes" in result.stdout
    cells = (place / "here" / "cells.jsonl").read_bytes()
    again = run("iris", "good.csv:label", *options)
    assert (again.exit_code, again.stderr) == (0, "")
    assert (place / "here" / "cells.jsonl").read_bytes() == cells


def test_what_is_left_out_is_said_on_the_screen_and_on_the_page(place):
    frame = pd.read_csv(place / "good.csv").assign(name=lambda rows: "n" + rows.index.astype(str))
    frame.to_csv(place / "named.csv", index=False)
    result = run("named.csv:label", "--methods", "MLE", "--sizes", "10", "--splits", "2", "--out", "here")
    sentence = "set 'named': column 'name' has a different text in nearly every row and is left out"
    assert f"warning: {sentence}\n" in result.stderr
    page = (place / "here" / "report.html").read_text()
    assert sentence in html.unescape(page)
    assert "1 warning about the data" in page


def test_groups_and_timeout_are_those_of_the_function(place):
    frame = pd.read_csv(place / "good.csv").assign(who=lambda rows: rows.index // 4)
    frame.to_csv(place / "visits.csv", index=False)
    options = ["--methods", "MLE", "--sizes", "10", "--splits", "2", "--out", "here", "--timeout", "60"]
    result = run("visits.csv:label", *options, "--groups", "visits=who")
    assert result.exit_code == 0, result.output
    study, groups = nb.load_experiment(place / "here"), frame["who"].to_numpy()
    for split in study.splits("visits"):
        assert not {*groups[split.train]} & {*groups[split.test]}
    own = nb.experiment({"visits": (frame, "label")}, ["MLE"], [10], 2, groups={"visits": "who"})
    assert_allclose(own.frame()["value"], study.frame()["value"], rtol=1e-12)


def test_the_column_that_is_taken_without_one_is_named():
    result = run("good.csv", "iris", "iris:class", "--methods", "MLE", "--sizes", "10", "--splits", "2")
    assert result.exit_code == 2
    assert "'iris' and 'iris:class' would both be set 'iris'" in result.stderr
    result = run("good.csv", "iris", "--methods", "MLE", "--sizes", "10", "--splits", "2")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("'good.csv' has no :COLUMN, so its last, 'label', is the target\n")
    assert "'iris'" not in result.stdout


@pytest.mark.slow
def test_sets_of_classes_are_scored_where_asked(place):
    rows = [f"{'xyz'[i % 3]},{'uv'[i * 7 % 5 % 2]},{'ab'[i % 5 < 2]}" for i in range(80)]
    (place / "codes.csv").write_text("\n".join(["one,two,label", *rows]))
    options = ["--sizes", "20", "--splits", "2", "--out", "here"]
    sets = ["--metrics", "u65,determinacy", "--pseudo-rows", "0.1"]
    result = run("codes.csv", "--methods", "MLE,full Bayes", *options, *sets)
    assert result.exit_code == 0, result.output
    own = nb.experiment("codes.csv", ["MLE", "full Bayes"], [20], 2, ("u65", "determinacy"), s=0.1)
    pd.testing.assert_frame_equal(nb.load_experiment(place / "here").frame(), own.frame())
    page = (place / "here" / "report.html").read_text()
    assert "U65 (s = 0.1)" in page
    assert "only an exact posterior says" in page


def test_ctrl_c_says_how_to_go_on(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bayesnb.studies.report._study_page.write_study", stop)
    result = run("iris", "--methods", "MLE", "--sizes", "16", "--splits", "2", "--out", "here")
    assert result.exit_code == 130
    assert "the same command goes on with the cells in 'here'" in result.stderr


def test_ctrl_c_that_comes_in_a_callback_is_not_lost(monkeypatch):
    """As in JAX's callback of the garbage collector, where Python drops what is raised."""

    def press(*_):
        gc.callbacks.remove(press)
        signal.raise_signal(signal.SIGINT)

    def wait(*_, **__):
        gc.callbacks.append(press)
        gc.collect()
        for _ in range(600):
            time.sleep(0.1)
        pytest.fail("nobody was stopped")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr("bayesnb.studies.report._study_page.write_study", wait)
    result = run("iris", "--methods", "MLE", "--sizes", "16", "--splits", "2", "--out", "here")
    signal.signal(signal.SIGINT, before)
    assert result.exit_code == 130
    assert "the same command goes on" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["irs"], "there is no file 'irs'; did you mean 'iris'?"),
        (["iris", "--methods", "MLe"], "there is no method 'MLe'"),
        (["iris", "--reference", "MAPP"], "the reference 'MAPP' is none of the methods"),
        (["iris", "--sizes", "900"], "set 'iris' has 105 rows to train on"),
        (["iris", "--metrics", "acuracy"], "no metric 'acuracy'"),
        (["good.csv:lable"], "has no column 'lable'"),
        (["iris", "--groups", "who"], "'who' is not NAME=COLUMN"),
        (["iris", "--groups", "irs=who"], "there is no set 'irs'; did you mean 'iris'?"),
        (["iris", "--groups", "iris=who"], "who"),
        (["iris", "--timeout", "0"], "--timeout"),
    ],
)
def test_a_mistake_gets_one_sentence_and_status_2(options, words):
    result = run(*options, "--out", "here")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


FILE = "def first(X, y): pass\ndef alone(X): pass\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nosuch.py", "there is no model file 'nosuch.py': give the path"),
        ("folder", "there is no model file 'folder'"),
        ("good.csv", "'good.csv' is not a model file: give a Python file"),
        ("none.py", "'none.py' has no function"),
        ("file.py", "several functions: first, alone; give --model file.py:first"),
        ("file.py:frist", "'file.py' has no function 'frist'; did you mean 'first'"),
        (
            "broken.py",
            "running 'broken.py' failed: NameError: name 'nothing' is not defined; 'python broken.py' shows where",
        ),
        ("ends.py", "running 'ends.py' failed: SystemExit"),
        ("wrong.py", "SyntaxError: '(' was never closed (wrong.py, line 1)"),
    ],
)
def test_a_mistaken_model_file_gets_one_sentence(place, name, words):
    texts = {"none": "x = 1", "file": FILE, "broken": "nothing", "ends": "exit()", "wrong": "def f("}
    for stem, text in texts.items():
        (place / f"{stem}.py").write_text(text)
    (place / "folder").mkdir()
    result = run("iris", "--model", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("bayesnb: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (place / "bayesnb-report").exists()


def test_files_beside_the_model_file(place):
    (place / "priors_of_mine.py").write_text("strength = 0.5")
    (place / "mine.py").write_text("from priors_of_mine import strength\ndef program(X, y): return strength")
    assert load_program("mine.py")(None, None) == 0.5


def test_a_file_runs_as_the_program_of_a_method(place):
    """Beside others, named like its function."""
    (place / "coins.py").write_text(COINS)
    result = run("good.csv:label", "--methods", "MLE", "--model", "coins.py", "--sizes", "20", "--splits", "2")
    assert result.exit_code == 0, result.output
    assert "biased" in result.stdout
    study = nb.load_experiment(place / "bayesnb-report" / "experiment")
    assert study.failures().empty


COINS = """
import numpyro, numpyro.distributions as dist


def biased(X, y):
    theta = numpyro.sample("theta", dist.Beta(2.0, 2.0).expand([2]))
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X[:, 0])
"""
