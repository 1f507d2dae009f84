"""``bayesnb compare --model FILE``: the user's own program from a file to metrics, and a sentence for every mistake."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.studies.cli._options import load_program
from bayesnb.studies.comparison._own_program import recognise_table
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame
from bayesnb.tables.frames._series import DataError
from tests.command_line import prepare, run

MODELS = Path(__file__).parents[3] / "models"
RANDOM = np.random.default_rng(3)
LABELS = RANDOM.permutation(np.arange(60) % 2)
VISITS = RANDOM.poisson(2.0 + 3.0 * LABELS[:, None], (60, 3)).astype(float)
FRAME = pd.DataFrame(VISITS, columns=["north", "east", "south"]).assign(answer=np.where(LABELS, "yes", "no"))
FRAME.loc[4, "east"] = np.nan
FRAME.loc[:9, "south"] = np.arange(20, 30)  # more than ten values: numbers by default, and the others categories


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = prepare(tmp_path, monkeypatch)
    shutil.copytree(MODELS, folder / "models", ignore=shutil.ignore_patterns("__pycache__"))
    FRAME.to_csv(folder / "visits.csv", index=False)
    return folder


def table_of(frame, target="answer", kinds=None):
    return make_table(of_frame("visits", frame), target, kinds), list(frame.columns)


@pytest.fixture(scope="module")
def recognised():
    program = load_program(str(MODELS / "poisson.py"))
    return recognise_table(program, *table_of(FRAME), {"shape": 2.0, "rate": 0.5})


def test_the_program_gets_numbers_in_order_and_its_model_missing_cells(recognised):
    table, model = recognised
    assert [column.name for column in table.columns] == ["north", "east", "south"]
    assert_array_equal(table.X["x"], FRAME[["north", "east", "south"]])
    assert_allclose(model.families["x"].shape, 2.0, rtol=1e-12)
    assert_allclose(model.families["x"].rate, 0.5, rtol=1e-12)
    exact, own = nb.fit_posterior(model, *table.rows(np.arange(60))), nb.NaiveBayes(nb.Poisson(2.0, 0.5))
    cells = table.X["x"]
    assert_allclose(exact.predict_proba(table.X), nb.fit_posterior(own, cells, LABELS).predict_proba(cells), rtol=1e-6)


def test_a_comparison_of_the_program(place, monkeypatch, recognised):
    def once(program, table, names, given, codes):  # programs compile long
        assert (program.__name__, names, given, codes) == ("model", list(FRAME), {"shape": 2, "rate": 0.5}, [])
        assert_array_equal(table.y, LABELS)
        return recognised

    monkeypatch.setattr("bayesnb.studies.comparison._own_program.recognise_table", once)
    options = ["--sizes", "20", "--repeats", "2", "--no-nuts", "--model", "models/poisson.py"]
    result = run("visits.csv", *options, "--model-arg", "shape=2", "--model-arg", "rate=0.5")
    assert result.exit_code == 0, result.output
    assert "site 'x': Poisson, 3 columns" in result.stdout
    summary = json.loads((place / "bayesnb-report" / "visits" / "summary.json").read_text())
    assert summary["priors"] == {"MLE": "none", "MAP": "the program's", "full Bayes": "the program's"}
    assert [(column["name"], column["kind"]) for column in summary["data"]["columns"]] == [
        ("north", "poisson"), ("east", "poisson"), ("south", "poisson")
    ]  # fmt: skip
    assert "Poisson" in (place / "bayesnb-report" / "visits" / "report.html").read_text()


MIXED = """
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def model(table, classes, K=2):
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(K)))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0).expand([K]))
    many = numpyro.sample("many", dist.Beta(1.0, 2.0).expand([K]))
    seen = numpyro.sample("seen", dist.Dirichlet(jnp.ones(3)).expand([K]))
    with numpyro.plate("rows", len(table)):
        k = numpyro.sample("k", dist.Categorical(pi), obs=classes)
        numpyro.sample("visits", dist.Poisson(rate[k]), obs=table[:, 1])
        numpyro.sample("often", dist.Bernoulli(many[k]), obs=(table[:, 0] > 4).astype(int))
        numpyro.sample("colour", dist.Categorical(seen[k]), obs=table[:, 2].astype(int))
"""


@pytest.mark.slow
def test_columns_and_cells_that_the_program_computes(tmp_path):
    (tmp_path / "mixed.py").write_text(MIXED)
    colours = np.array(["blue", "green", "red"])[np.arange(60) % 3]
    frame = FRAME[["north", "east"]].assign(colour=colours, answer=FRAME["answer"])
    program = load_program(f"{tmp_path / 'mixed.py'}:model")
    with pytest.raises(DataError, match="site 'often' has cells that are no columns of 'visits', and some"):
        recognise_table(program, *table_of(frame), {})
    whole = frame.dropna()
    table, model = recognise_table(program, *table_of(whole), {})
    assert [(column.name, column.likelihood) for column in table.columns] == [
        ("east", "poisson"), ("often[0]", "bernoulli"), ("colour", "categorical")
    ]  # fmt: skip
    assert_array_equal(table.X["often"][:, 0], whole["north"] > 4)
    assert_array_equal(table.X["colour"][:, 0], (np.arange(60) % 3)[frame["east"].notna()])
    assert model.spelling.label == "k"


def test_numbers_as_categories():
    """``--as`` gives codes of numbers."""
    seen = {}

    def program(cells, y):  # noqa: ARG001
        seen["cells"] = cells
        raise KeyError("enough")

    frame = FRAME.assign(south=np.tile([2.0, 5.0, 7.0], 20))[["south", "north", "answer"]]
    for kinds, codes in (({}, [2, 5, 7]), ({"south": "categorical"}, [0, 1, 2])):
        with pytest.raises(nb.NotNaiveBayes, match="the program fails when it is called as fn"):
            recognise_table(program, *table_of(frame, kinds=kinds), {}, codes=list(kinds))
        assert set(np.unique(seen["cells"][:, 0])) == set(codes)


WINE = ["wine", "--no-nuts", "--sizes", "30"]
FILE = """
import numpyro
def first(X, y): numpyro.sample("y", numpyro.distributions.Bernoulli(0.5), obs=y)
def alone(X): pass
"""
MISTAKES = {
    "no such file": (["--model", "nosuch.py"], "there is no model file 'nosuch.py'"),
    "a folder": (["--model", "models"], "there is no model file 'models'"),
    "another file": (["--model", "good.csv"], "'good.csv' is not a model file: give a Python file"),
    "no program": (["--model", "none.py"], "'none.py' has no function"),
    "several programs": (["--model", "file.py"], "several functions: first, alone; give --model file.py:first"),
    "a mistyped program": (["--model", "file.py:frist"], "'file.py' has no function 'frist'; did you mean 'first'"),
    "a program without labels": (["--model", "file.py:alone"], "the program takes the arguments (X): the first must"),
    "a program without features": (["--model", "file.py:first"], "a regression of the label on them is another model"),
    "a file that fails": (["--model", "broken.py"], "running 'broken.py' failed: NameError: name 'nothing' is"),
    "a file that ends": (["--model", "ends.py"], "running 'ends.py' failed: SystemExit"),
    "a file that is no Python": (["--model", "wrong.py"], "SyntaxError: '(' was never closed (wrong.py, line 1)"),
    "a mistyped option": (["--modle", "x.py"], "--modle"),
    "an argument of no program": (["--model-arg", "a=1"], "name its file with --model FILE"),
    "no name": (["--model", "models/normal.py", "--model-arg", "0.5"], "'0.5' is not NAME=VALUE"),
    "no value": (["--model", "models/normal.py", "--model-arg", "strength="], "'strength=' is not NAME=VALUE"),
    "a value that is none": (["--model", "models/normal.py", "--model-arg", "strength=1.0.0"], "'1.0.0' in 'strength="),
    "a mistyped argument": (["--model", "models/normal.py", "--model-arg", "lco=1"], "did you mean 'loc'"),
    "the data's argument": (["--model", "models/normal.py", "--model-arg", "y=1"], "takes its values from the data"),
    "a missing argument": (["--model", "models/categorical.py"], "--model-arg num_categories=VALUE"),
    "arguments of columns": (["--model", "models/mixed.py"], "all columns are one array, the argument 'symptoms'"),
    "a value that does not fit": (
        ["--model", "models/normal.py", "--model-arg", "strength=flat"],
        "the program fails when it is called as fn(array[64, 13], array[64], 3, strength='flat'): TypeError",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(place, mistake):
    args, message = MISTAKES[mistake]
    for name, text in {
        "none.py": "x = 1", "file.py": FILE, "broken.py": "nothing", "ends.py": "exit()", "wrong.py": "def f("
    }.items():  # fmt: skip
        (place / name).write_text(text)
    result = run(*WINE, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    *notes, last = result.stderr.splitlines()
    assert last.startswith("bayesnb: ")
    assert message in last
    assert notes in ([], [f"Recognising {args[1]} ..."])
    assert not (place / "bayesnb-report").exists()


def test_files_beside_the_model_file(tmp_path):
    (tmp_path / "priors_of_mine.py").write_text("strength = 0.5")
    (tmp_path / "mine.py").write_text("from priors_of_mine import strength\ndef program(X, y): return strength")
    assert load_program(str(tmp_path / "mine.py"))(None, None) == 0.5


def test_help_says_that_a_model_file_runs():
    assert "code that runs" in " ".join(run("--help").stdout.split())
