"""The command line: the main job from end to end, and one clear sentence for every mistake."""

import csv
import json
import re
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from bayesnb.studies.cli import main
from bayesnb.studies.comparison._first_split import NutsCheck
from bayesnb.studies.comparison._journal import Journal
from bayesnb.studies.comparison._methods import NAIVE_BAYES, RIVALS
from tests.command_line import GOOD, HEADER, ROWS, prepare, run

CELLS = ["cells.jsonl", "losses.bin", "splits.npz", "study.json"]
PICTURES = ["dependence.png", "differences.png", "learning_curve.png", "reliability.png"]
FILES = sorted([*CELLS, *PICTURES, "report.html", "results.csv", "summary.json"])


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C stops the tests' commands where a shell lets jobs in the background ignore it, too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def place(tmp_path, monkeypatch):
    return prepare(tmp_path, monkeypatch)


def results(folder):
    with (folder / "results.csv").open(newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_main_job_from_a_file(place):
    result = run("good.csv", "--sizes", "10,20", "--repeats", "2", "--no-nuts", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "No --target is given, so the last column, 'label', is the target" in result.stdout
    assert "Written to bayesnb-report/good" in result.stdout
    assert re.fullmatch(r"Cells to run: 12\nThe first split, .*\n\d+ s: 12 of 12 cells have run\n", result.stderr)
    out = place / "bayesnb-report" / "good"
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert len(results(out)) == 2 * 2 * 3
    summary = json.loads((out / "summary.json").read_text())
    assert summary["splits"] == {
        "sizes": [10, 20], "repeats": 2, "test_rows": 12, "held_out_rows": 12, "seed": 3, "stopped": None
    }  # fmt: skip
    assert summary["nuts"] is None
    assert summary["sentences"]["robustness"] is None
    assert summary["evidence"]["size"] == 20  # the largest
    assert "height 0.750 1.1" in " ".join(result.stdout.split())
    assert {c["name"]: c["kind"] for c in summary["data"]["columns"]} == {
        "flag": "categorical", "colour": "categorical", "height": "normal"
    }  # fmt: skip


def shown(page):
    """The text of a page without its tags, such as links of words."""
    return re.sub(r"<[^>]*>", "", page.read_text()).replace("\u00a0", " ")


@pytest.mark.slow
def test_how_robust_decisions_are_is_said_of_categories(place):
    options = ["--sizes", "20", "--repeats", "1", "--no-nuts", "--out", "here", "--robustness"]
    result = run("good.csv", *options, "--as", "height=skip")
    assert result.exit_code == 0, result.output
    said = json.loads((place / "here" / "summary.json").read_text())["sentences"]["robustness"]
    assert "pseudo-rows of any content are added" in said
    assert said in " ".join(result.stdout.split())
    assert said in shown(place / "here" / "report.html")


@pytest.mark.slow
def test_overrides_target_and_a_second_run_into_the_same_place(place):
    options = ["--sizes", "20", "--repeats", "1", "--no-nuts", "--out", "here"]
    assert run("good.csv", *options, "--target", "label", "--as", "height=skip").exit_code == 0
    result = run("good.csv", *options, "--target", "flag", "--as", "height=skip")
    assert result.exit_code == 0
    assert "No --target" not in result.stdout
    assert "MAP with Laplace 1 and full Bayes" in result.stdout
    assert sorted(path.name for path in (place / "here").iterdir()) == FILES
    assert json.loads((place / "here" / "summary.json").read_text())["data"]["target"] == "flag"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_scores(place):
    def metrics(out, seed):
        run("good.csv", "--sizes", "10", "--repeats", "2", "--no-nuts", "--out", out, "--seed", seed)
        return [{k: v for k, v in row.items() if not k.endswith("_ms")} for row in results(place / out)]

    assert metrics("a", "1") == metrics("b", "1")
    assert metrics("a", "1") != metrics("c", "2")
    result = run("good.csv", "--no-nuts", "--out", "a", "--seed", "2")
    assert "'a' has another study (seed=1, now 2): give another folder" in result.stderr


@pytest.mark.slow
def test_a_data_set_of_scikit_learn_with_the_nuts_check(place, monkeypatch):
    calls = []

    def check(data, split, progress_bar):  # the sampler itself is tested with the comparison
        calls.append((data.table.name, len(split.train), data.seed, progress_bar))
        return NutsCheck(30, 45, 0.004, 0.001, 1.001, 2000.0, 0, 4000, 4, 1.5, ("take more draws",))

    monkeypatch.setattr("bayesnb.studies.comparison._first_split.check_with_nuts", check)
    result = run("iris", "--sizes", "20,30", "--repeats", "2", "--seed", "4", "--nuts")
    assert result.exit_code == 0, result.output
    assert calls == [("iris", 30, 4, False)]  # at the largest size; no bar where stderr is no terminal
    assert "No --target" not in result.stdout
    assert "At n = 30, 4 chains drew 4,000 samples" in result.stdout
    assert "warning: take more draws" in result.stdout
    assert result.stderr.endswith("\nSampling with NUTS at n = 30 to check the exact posterior ...\n")
    summary = json.loads((place / "bayesnb-report" / "iris" / "summary.json").read_text())
    assert summary["nuts"]["max_difference"] == 0.004
    monkeypatch.setattr("bayesnb.studies.comparison._first_split.too_long_for_nuts", lambda *_: None)
    result = run("iris", "--sizes", "20", "--repeats", "2", "--seed", "4")
    assert "4,000 samples" in result.stdout
    assert "take more draws" not in result.stdout  # a warning is for those who asked for the check
    reason = "It would take too long."
    monkeypatch.setattr("bayesnb.studies.comparison._first_split.too_long_for_nuts", lambda *_: reason)
    result = run("iris", "--sizes", "20", "--repeats", "2", "--seed", "4")
    assert reason in result.stdout
    assert reason in (place / "bayesnb-report" / "iris" / "report.html").read_text()
    assert len(calls) == 2


def test_faults_of_the_data_are_warned_about_and_survived(place):
    rows = [f"{row.rsplit(',', 1)[0]},,n{i},{'' if i == 7 else row[-1]}" for i, row in enumerate(ROWS)]
    (place / "holes.csv").write_text("\n".join(["flag,colour,height,void,name,label", *rows]))
    result = run("holes.csv", "--sizes", "20", "--repeats", "1", "--no-nuts")
    assert result.exit_code == 0, result.output
    void, name, *others = result.stderr.splitlines()
    assert void == "warning: column 'void' has nothing in it and is left out"
    assert name.endswith(
        "text in nearly every row and is left out; to keep it, write --as name=categorical"
    )  # no words
    assert others[0] == "Cells to run: 3"
    assert len(others) == 3
    assert "Rows left out because 'label' is missing: 1" in result.stdout


MISTAKES = {
    "no such file": (None, ["nosuch.csv"], "there is no file 'nosuch.csv'"),
    "a mistyped name": (None, ["irsi"], "did you mean 'iris'"),
    "a program": (
        None,
        ["good.csv", "--model", "x.py"],
        "--model has left compare: 'bayesnb experiment DATA --model FILE'",
    ),
    "its argument": (None, ["good.csv", "--model-arg", "a=1"], "--model-arg has left compare"),
    "an empty file": ("", ["bad.csv"], "'bad.csv' is empty"),
    "a header only": (HEADER, ["bad.csv"], "has a header and no rows: give one with rows"),
    "a short row": (GOOD + "yes,red,1\n", ["bad.csv"], "line 42 of 'bad.csv' has 3 cells where the header has 4: mend"),
    "a long row": (GOOD + "yes,red,1,a,b\n", ["bad.csv"], "line 42 of 'bad.csv' has 5 cells"),
    "the same name twice": (GOOD.replace("colour", "flag"), ["bad.csv"], "more than one column named 'flag'"),
    "another encoding": (GOOD.replace("red", "r\u00f6d").encode("latin-1"), ["bad.csv"], "is not UTF-8 text"),
    "an infinite number": (GOOD.replace("0.37", "inf"), ["bad.csv"], "infinite number on line 3"),
    "an unknown target": (None, ["good.csv", "--target", "lable"], "did you mean 'label'"),
    "one class": ("x,y\n1,a\n2,a\n3,a\n", ["bad.csv"], "has one class only, 'a': choose another"),
    "more classes than rows": (
        "x,y\n1,a\n2,b\n3,c\n",
        ["bad.csv"],
        "3 classes in 3 rows; most would be seen once: choose",
    ),
    "a measurement": (
        None,
        ["good.csv", "--target", "height"],
        "classification needs classes: choose another, target=..., --target or FILE:COLUMN, or put",
    ),
    "a size too large": (
        None,
        ["good.csv", "--sizes", "10,29"],
        "has 28 rows to train on (of 40; the others",
    ),
    "a size too small": (None, ["good.csv", "--sizes", "0"], "size of 0 is too small"),
    "sizes that are words": (None, ["good.csv", "--sizes", "ten"], "'ten' is not a list of whole numbers"),
    "no sizes": (None, ["good.csv", "--sizes", ","], "sizes must be whole numbers of training rows"),
    "no repeats": (None, ["good.csv", "--repeats", "0"], "0 is not in the range"),
    "an unknown column": (None, ["good.csv", "--as", "hight=normal"], "did you mean 'height'"),
    "another column": (None, ["good.csv", "--as", "zz=normal"], "the columns are 'flag', 'colour', 'height'"),
    "an unknown kind": (None, ["good.csv", "--as", "height=gauss"], "one of bernoulli, categorical, normal"),
    "words as numbers": (None, ["good.csv", "--as", "colour=normal"], "'red' on line 2 is not a number"),
    "three values as two": (
        None,
        ["good.csv", "--as", "colour=bernoulli"],
        "cannot be bernoulli: make it categorical",
    ),
    "a file in the way": (None, ["good.csv", "--out", "good.csv"], "out='good.csv' cannot be written (File exists)"),
    "a file on the way": (None, ["good.csv", "--out", "good.csv/out"], "cannot be written (Not a directory)"),
    "a long name": (None, ["good.csv", "--out", "x" * 300], "cannot be written (File name too long): give another"),
    "a mistyped option": (None, ["good.csv", "--repeets", "3"], "--repeats"),
    "a method of another name": (None, ["good.csv", "--methods", "posterior"], "here it is called 'full Bayes'"),
    "no method": (None, ["good.csv", "--methods", ","], "the methods must include 'full Bayes'"),
    "no data": (None, [], "Missing argument 'DATA'"),
    "an empty name": (None, [""], "the name of the data is empty: give a file or a folder"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence_and_status_2_and_nothing_is_written(place, mistake):
    text, args, message = MISTAKES[mistake]
    if text is not None:
        (place / "bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    before = sorted(path.name for path in place.rglob("*"))
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("bayesnb: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert sorted(path.name for path in place.rglob("*")) == before


def test_a_place_that_refuses_writing(place, monkeypatch):  # noqa: ARG001
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("bayesnb.studies.comparison._journal._hold", refuse)
    result = run("good.csv", "--no-nuts")
    assert result.exit_code == 2
    assert "out='bayesnb-report/good' cannot be written (Permission denied)" in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_data_and_the_files_of_others_are_not_written_over(place, monkeypatch):
    """Given as the folder, as a link to it, and by the name of the data."""
    (place / "results.csv").write_text(GOOD)
    (place / "link").symlink_to(".")
    (place / "...csv").write_text(GOOD)  # whose name, without its ending, is that of the folder above
    monkeypatch.setattr("bayesnb.studies.report._comparison.compare", lambda *_, **__: pytest.fail("the work began"))
    for args in (["results.csv", "--out", "."], ["results.csv", "--out", "link"], ["...csv"]):
        result = run(*args, "--target", "label", "--no-nuts")
        assert result.exit_code == 2, result.output
        assert "has other files than those of a study" in result.stderr
        assert result.stderr.count("\n") == 1
    assert (place / "results.csv").read_text() == GOOD


@pytest.mark.slow
def test_a_second_run_has_nothing_to_fit_unless_columns_are_seen_in_another_way(place, monkeypatch):
    options = ["good.csv", "--no-nuts", "--sizes", "10", "--repeats", "2", "--out", "o"]
    run(*options)
    first, cells = results(place / "o"), (place / "o" / "cells.jsonl").read_bytes()
    with monkeypatch.context() as context:
        context.setattr(Journal, "append", lambda *_: pytest.fail("a cell ran again"))
        assert run(*options).exit_code == 0
    assert (results(place / "o"), (place / "o" / "cells.jsonl").read_bytes()) == (first, cells)
    result = run(*options, "--methods", "MLE,full Bayes", "--as", "height=categorical")
    assert result.exit_code == 0, result.output
    assert (place / "o" / "cells.jsonl").read_bytes().count(b"\n") == 6 + 4


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopping_after_a_split_leaves_a_report_of_it(place, monkeypatch, stop):
    """A run that is stopped before leaves cells; the next goes on."""

    def interrupt(self, found):
        added(self, found)
        if found[0][1].split == at:
            signal.raise_signal(stop)

    options = ["good.csv", "--no-nuts", "--sizes", "10,20", "--repeats", "3", "--out", "o"]
    added = Journal.append
    monkeypatch.setattr(Journal, "append", interrupt)
    at = 0
    result = run(*options)
    assert result.exit_code == 130
    assert "stopped; the same command goes on with the cells in 'o'" in result.stderr
    assert sorted(path.name for path in (place / "o").iterdir()) == CELLS
    at = 1
    result = run(*options)
    assert result.exit_code == 130
    assert "The comparison was stopped after 1 split (interrupted); others are missing: the same" in result.stderr
    assert sorted(path.name for path in (place / "o").iterdir()) == FILES
    summary = json.loads((place / "o" / "summary.json").read_text())
    assert (summary["splits"]["repeats"], summary["splits"]["stopped"]) == (1, "interrupted")
    assert {row["repeat"] for row in results(place / "o")} == {"0"}
    assert "was stopped after 1 split" in shown(place / "o" / "report.html")
    monkeypatch.setattr(Journal, "append", added)
    assert run(*options).exit_code == 0
    assert {row["repeat"] for row in results(place / "o")} == {"0", "1", "2"}
    assert (place / "o" / "cells.jsonl").read_bytes().count(b"\n") == 3 * 3 * 2


def test_a_process_that_is_killed_leaves_its_cells(place, monkeypatch):

    def fail(*_):
        raise RuntimeError("killed")

    monkeypatch.setattr("bayesnb.studies.comparison._first_split.dependent_columns", fail)
    options = ["good.csv", "--no-nuts", "--sizes", "10,20", "--repeats", "2", "--out", "o"]
    assert isinstance(run(*options).exception, RuntimeError)
    assert sorted(path.name for path in (place / "o").iterdir()) == CELLS
    assert (place / "o" / "cells.jsonl").read_bytes().count(b"\n") == 2 * 2 * 3


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("times", [1, 2])
def test_stopping_while_the_report_is_written(place, monkeypatch, stop, times):
    def interrupt(*_):
        for _ in range(times):
            signal.raise_signal(stop)
        return ()

    monkeypatch.setattr("bayesnb.studies.report._page.draw_figures", lambda *_: interrupt() or {})
    result = run("good.csv", "--no-nuts", "--sizes", "10", "--repeats", "2", "--out", "o")
    assert "The report is being written; Ctrl-C once more gives it up" in result.stderr
    names = sorted(path.name for path in (place / "o").iterdir())
    if times == 1:
        assert (result.exit_code, names) == (0, sorted([*CELLS, "report.html", "results.csv", "summary.json"]))
    else:
        assert (result.exit_code, names) == (130, CELLS)
        assert "the same command goes on with the cells in 'o'" in result.stderr


STOPPED = """
import signal, sys
from bayesnb.studies.cli import main
from bayesnb.studies.comparison._journal import Journal

added = Journal.append
Journal.append = lambda self, found: added(self, found) or found[0][1].split == 1 and signal.raise_signal(signal.SIGINT)
sys.argv[1:] = ["compare", "good.csv", "--methods", "MLE,full Bayes", "--no-nuts", "--sizes", "10,20", "--out", "o"]
main()
"""


@pytest.mark.slow
def test_ctrl_c_in_a_pipe_whose_reader_it_ends_too(place):
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
    )
    process.stdout.close()
    assert process.wait() == 130
    assert sorted(path.name for path in (place / "o").iterdir()) == FILES
    assert json.loads((place / "o" / "summary.json").read_text())["splits"]["repeats"] == 1


@pytest.mark.slow
def test_a_log_has_the_first_numbers(place):
    lines = run("good.csv", "--no-nuts", "--sizes", "10", "--repeats", "2").stderr.splitlines()
    (first,) = (line for line in lines if line.startswith("The first split"))
    assert first.startswith("The first split, log loss at n = 10: ")
    cells = map(json.loads, (place / "bayesnb-report" / "good" / "cells.jsonl").read_text().splitlines())
    losses = {cell["method"]: f"{cell['values']['log_loss']:.3f}" for cell in cells if cell["split"] == 0}
    assert dict(part.rsplit(" ", 1) for part in first.partition(": ")[2].split(", ")) == losses
    assert lines.index(first) < len(lines) - 1  # the last says that all have run


def test_help_names_every_option_and_shows_examples():
    text = run("--help").stdout
    for word in (
        "--target",
        "--sizes",
        "--repeats",
        "--test-rows",
        "--methods",
        "--as",
        "--out",
        "--seed",
        "--no-nuts",
        "--rivals",
        "bayesnb compare breast_cancer",
    ):
        assert word in text
    alone = CliRunner().invoke(main, [])
    assert alone.exit_code == 0
    assert "compare" in alone.stdout


SHELL = [sys.executable, "-c", "from bayesnb.studies.cli import main; main()", "compare", "good.csv"]


@pytest.mark.slow
def test_from_a_shell(place):
    done = subprocess.run(
        [*SHELL, "--sizes", "20", "--repeats", "1", "--no-nuts", "--rivals"],
        capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0
    assert all(re.match(r"Cells to run: 10|The first split, |\d+ s: ", line) for line in done.stderr.splitlines())
    assert max(map(len, done.stdout.splitlines())) <= 80
    out = place / "bayesnb-report" / "good"
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert [row["method"] for row in results(out)] == [*NAIVE_BAYES, *RIVALS]
    assert len(json.loads((out / "summary.json").read_text())["evidence"]["columns"]) == 3


@pytest.mark.slow
def test_refused_from_a_shell(place):  # noqa: ARG001
    refused = subprocess.run([*SHELL, "--target", "x"], capture_output=True, text=True, encoding="utf-8")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.count("\n") == 1
