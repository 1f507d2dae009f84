"""`bayesnb predict` for another population and under costs, as in Python; what `bayesnb --help` says, and warnings."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
import bayesnb.__main__
from bayesnb.studies.cli import main
from bayesnb.studies.cli._options import warnings_as_sentences
from bayesnb.tables.files._progress import progress

RNG = np.random.default_rng(4)
Y = np.array(["a,b=c", "ham", "spam"])[np.arange(45) % 3]
FRAME = pd.DataFrame({"size": RNG.normal(np.arange(45) % 3, 1.5), "colour": RNG.choice(["red", "blue"], 45)})
COSTS = 'class,spam,ham,"a,b=c"\nspam,0,1,2\nham,20,-0.5,1\n'
BY_LABEL = {"spam": {"spam": 0, "ham": 1, "a,b=c": 2}, "ham": {"spam": 20, "ham": -0.5, "a,b=c": 1}}
PRIOR = {"a,b=c": 0.05, "ham": 0.9, "spam": 0.05}
CLF = nb.NaiveBayesClassifier({"size": "normal", "colour": "categorical"})


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("new.csv", index=False)
    (tmp_path / "costs.csv").write_text(COSTS)
    nb.save(CLF.fit(FRAME, Y), "model")


def run(*args):
    return CliRunner().invoke(main, ["predict", "model", "new.csv", *map(str, args)])


@pytest.mark.parametrize("costs", [None, BY_LABEL])
@pytest.mark.parametrize("prior", [None, "uniform", PRIOR])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_the_decisions_are_those_of_python(prior, costs, out):
    text = prior if isinstance(prior, str) else ",".join(f"{name}={p}" for name, p in (prior or {}).items())
    result = run("--out", out, *["--class-prior", text] * (prior is not None), *["--costs", "costs.csv"] * bool(costs))
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out) if out == "out.csv" else pyarrow.parquet.read_table(out).to_pandas()
    assert_allclose(found.iloc[:, 1:].to_numpy(), CLF.predict_proba(FRAME, class_prior=prior), rtol=1e-9)
    clf = CLF if prior is None else CLF.with_class_prior(prior)
    assert_array_equal(found["prediction"], clf.predict(FRAME, costs=costs))


def test_labels_may_be_numbers():
    nb.save(nb.NaiveBayesClassifier({"size": "normal", "colour": "categorical"}).fit(FRAME, np.arange(45) % 3), "model")
    result = run("--class-prior", "0=.2,1=.3,2=5e-1")
    assert result.exit_code == 0
    expected = nb.load("model").predict_proba(FRAME, class_prior={0: 0.2, 1: 0.3, 2: 0.5})
    assert_allclose([[*map(float, row.split(",")[1:])] for row in result.stdout.split()[1:]], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("ham=.9,spam=.1", "class_prior must have a probability for each of the labels"),
        ("ham=.9,spam=.2,a,b=c=.1", "non-negative and sum to 1, got [0.1, 0.9, 0.2] with sum 1.2"),
        ("ham=1.1,spam=-.2,a,b=c=.1", "non-negative and sum to 1"),
        ("hma=.9,spam=.1", "a probability for each of the labels ['a,b=c', 'ham', 'spam'], got ['hma', 'spam']"),
        ("ham=.4,spam=.1,ham=.5", "with each class once, got 'ham=.4,spam=.1,ham=.5'"),
        ("ham", "--class-prior must be uniform, or such as ham=.9,spam=.1 with each class once, got 'ham'"),
        ("ham=nan", "got 'ham=nan'"),
        ("ham=.9,spam", "got 'ham=.9,spam'"),
        ("ham=1e", "got 'ham=1e'"),
        ("", "--class-prior must be uniform"),
    ],
)
def test_a_class_prior_that_is_none_is_refused_in_a_sentence(prior, words):
    result = run("--class-prior", prior, "--out", "out.csv")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "'c.csv' has no costs (No columns to parse from file): give a CSV file with a column for each decision"),
        (b"\xff\xfe\x00", "'c.csv' has no costs ("),
        (b"class,ham,ham\nham,0,1\n", "costs name 'ham' and 'ham.1', and the labels are"),
        (b"class,ham\nham,0\nham,0\n", "'c.csv' has no costs (DataFrame index must be unique"),
        (b"class,hma\nham,0\n", "costs name 'ham' and 'hma', and the labels are"),
        (b"class,ham\nspam,much\n", "'c.csv' has no costs (Unable to parse string"),
        (b"class,ham,spam\nspam,1\n", "costs of 'spam' must be finite numbers, got nan for 'spam'"),
        (b"class,ham\nspam,inf\n", "costs of 'spam' must be finite numbers, got inf"),
    ],
)
def test_a_file_that_holds_no_costs_is_refused_in_a_sentence(content, words, tmp_path):
    (tmp_path / "c.csv").write_bytes(content)
    result = run("--costs", "c.csv", "--out", "out.csv")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()
    assert "'--costs': File 'absent.csv' does not exist" in run("--costs", "absent.csv").stderr


@pytest.mark.parametrize("width", [40, 80])
def test_the_help_cuts_no_summary(width):
    text = CliRunner().invoke(main, ["--help"], terminal_width=width, max_content_width=width).output
    assert text.count("...") == 1  # [ARGS]...
    words = " ".join(text.split())
    assert "Learn to predict a column of a table from the others" in words
    assert "predict Predict the class of every row of DATA with MODEL, a file that `bayesnb fit` wrote." in words


def test_commands_declare_how_cells_are_read_and_models_remember_it():
    rows = [f"{'unknown' if i == 3 else f'{i % 7},5'}|{['NA', 'DE', 'FR'][i % 3]}|{'ab'[i % 2]}" for i in range(42)]
    Path("rows.csv").write_text("\n".join(["age|land|kind", *rows]))
    options = ["--sep", "|", "--decimal", ",", "--na-values", "unknown", "--na-values", "-9", "--no-default-na"]
    result = CliRunner().invoke(main, ["fit", "rows.csv", "--save", "model", "--no-temper", *options])
    assert re.search(r"age +normal +numbers: 0.5 to 6.5 +1 ", result.output), result.output
    assert re.search(r"land +categorical +text with 3 values: DE, FR, NA +0 ", result.output)
    Path("new.csv").write_text("age|land\n1,5|NA\n-9|DE\n")
    found = CliRunner().invoke(main, ["predict", "model", "new.csv"])
    assert (found.exit_code, found.stderr) == (0, "2 rows predicted\n")
    Path("other.csv").write_text("age;land\n1.5;NA\n-9;DE\n")
    again = CliRunner().invoke(main, ["predict", "model", "other.csv", "--sep", ";", "--decimal", "."])
    assert (again.stdout, again.exit_code) == (found.stdout, 0)
    for command in (
        ["compare", "rows.csv", "--no-nuts", "--repeats", "1"],
        ["experiment", "rows.csv:kind", "--splits", "2"],
    ):
        result = CliRunner().invoke(
            main, [*command, "--methods", "MLE,full Bayes", "--sizes", "16", "--out", "out" + command[0], *options]
        )
        assert result.exit_code == 0, result.output


FAST = ["--methods", "MLE,full Bayes", "--sizes", "16"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fit", "void.csv", "--save", "other", "--no-temper"], "column 'void' has nothing in it"),
        (["predict", "model", "void.csv"], "columns that the fit did not have, which are left out: 'void', 'kind'"),
        (["explain", "model", "void.csv", "--row", "2"], "columns that the fit did not have"),
        (["compare", "void.csv", "--no-nuts", "--repeats", "1", *FAST], "column 'void' has nothing in it"),
        (["experiment", "twice.csv:kind", "--splits", "1", *FAST], "set 'twice': 78% of the test rows are among the"),
    ],
)
def test_every_command_says_a_warning_once_in_a_sentence(args, words):
    table = FRAME.assign(void=np.nan, kind=Y)
    table.to_csv("void.csv", index=False)
    pd.concat([table[["size", "kind"]]] * 2).to_csv("twice.csv", index=False)
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 0, result.output
    first, *others = result.stderr.splitlines()
    assert first.startswith("warning: ")
    assert words in first
    assert not any("arning" in line for line in others)


class ForProgrammers(UserWarning):
    """As scikit-learn's ConvergenceWarning."""


def test_warnings_are_said_at_once_and_only_those_for_users(capsys):
    with warnings_as_sentences():
        for message, category in (
            ("one", UserWarning),
            ("one", UserWarning),
            ("two", UserWarning),
            ("3", ForProgrammers),
        ):
            warnings.warn(message, category, stacklevel=1)
        assert capsys.readouterr().err == "warning: one\nwarning: two\n"


def test_a_warning_stands_above_a_progress_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with warnings_as_sentences(), progress("reading", 2.0, wanted=True) as advance:
        advance(1.0, 100)
        warnings.warn("one", UserWarning, stacklevel=1)
    assert re.search(r"\r *\r(\x1b\[33m)?warning: one", capsys.readouterr().err)


def test_ctrl_c_while_commands_are_loaded_is_a_sentence(monkeypatch, capsys):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr("bayesnb.studies.cli.main", stop)
    with pytest.raises(SystemExit) as ended:
        bayesnb.__main__.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, "\nbayesnb: stopped; nothing was written\n")


def test_the_collector_does_not_look_at_all_objects_when_a_command_ends():
    code = """if True:
        import atexit, gc, sys
        atexit.register(lambda: print(gc.get_freeze_count() > 0))
        from bayesnb.__main__ import main
        sys.argv[1:] = ["--version"]
        main()
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("\nTrue\n")
