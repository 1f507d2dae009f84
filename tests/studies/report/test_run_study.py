"""Running a study: arguments, what is told, and folders: killed, loaded and merged studies are those of one run."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine

import bayesnb as nb
from bayesnb.tables.frames._series import DataError

X, Y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore:set 'iris'. 3 rows have no class")
def test_splits_are_positions_in_the_rows_that_were_given():
    y = np.where(np.arange(150) < 3, None, Y.astype(object))
    study = nb.experiment({"iris": (X, y)}, ["MLE"], sizes=[16], splits=2)
    (first, _) = study.splits("iris")
    assert_array_equal(np.sort(np.r_[first.train, first.test]), np.arange(3, 150))


def test_rows_that_repeat_are_warned_of():
    twice = np.tile(X[:60] + np.arange(4) * np.pi, (2, 1)), np.tile(Y[:60], 2)
    with pytest.warns(UserWarning, match="of the test rows are among the training rows too"):
        nb.experiment({"twice": twice}, ["MLE"], sizes=[16], splits=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metrics": ["logloss"]}, "no metric 'logloss' .*; did you mean 'log_loss'"),
        ({"metrics": []}, "a study needs at least one metric of log_loss"),
        ({"sizes": [16, 400]}, "set 'iris' has 105 rows to train on .* fewer than the size 400"),
        ({"splits": 0}, "splits must be a positive int"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"design": "crosed"}, "did you mean 'crossed'"),
        ({"groups": {"irs": Y}}, "groups are by set, and there is no set 'irs'"),
        ({"groups": Y}, "groups must be a dict by set, such as {'iris': patients}, got ndarray"),
        ({"groups": {"iris": Y}, "splits": nb.forward(3)}, "give groups= or splits=nb.forward"),
        ({"s": -1}, "s must be a number of pseudo-rows, finite and 0 or more, got -1"),
        ({"metrics": "u56"}, "no metric 'u56' .*; did you mean 'u65'"),
        ({"timeout": 0}, "timeout must be a positive number of seconds, got 0"),
        ({"methods": ["full bayes!"]}, "there is no method 'full bayes!'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_a_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        nb.experiment(**{"sets": {"iris": (X, Y)}, "methods": ["MLE"], **arguments})


SETS = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
SCRIPT = """
    import pathlib, sys, time
    from sklearn.datasets import load_iris, load_wine
    import bayesnb as nb

    def slow(model, X, y):
        with open(sys.argv[2], "a") as calls:
            calls.write(f"{len(y)}\\n")
        time.sleep(float(sys.argv[3]))
        while pathlib.Path(sys.argv[2] + ".hold").exists():
            time.sleep(0.01)
        return nb.fit_map(model, X, y)

    sets = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    study = nb.experiment(sets, ["MLE", "full Bayes", ("slow", slow)], [16, 32], 5, out=sys.argv[1])
    study.frame().to_parquet(sys.argv[1] + ".parquet")
"""


def same(a, b):
    pd.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.mark.slow
def test_a_killed_study_goes_on_where_it_was(tmp_path):
    """Killed twice and run again: the frame is that of one run, and no fit that was written ran twice."""
    script = tmp_path / "study.py"
    script.write_text(textwrap.dedent(SCRIPT))

    def start(name, pause):
        calls = tmp_path / f"{name}.calls"
        return subprocess.Popen([sys.executable, script, tmp_path / name, calls, str(pause)], stderr=subprocess.PIPE)

    def count(name):
        path = tmp_path / f"{name}.calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    start("whole", 0.0).communicate()
    for number in (3, 11):
        process = start("killed", 0.2)
        while count("killed") < number:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    hold = tmp_path / "killed.calls.hold"
    hold.touch()
    second = start("killed", 0.0)
    while not (tmp_path / "killed" / "lock").exists() or count("killed") < 12:
        time.sleep(0.01)
    third = start("killed", 0.0)  # while the second holds the folder
    assert f"in use by process {second.pid}" in third.communicate()[1].decode()
    assert third.returncode != 0
    hold.unlink()
    second.communicate()
    assert second.returncode == 0
    assert 20 <= count("killed") <= 22  # one in flight at each kill
    whole, killed = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("whole", "killed"))
    same(killed, whole)
    same(nb.load_experiment(tmp_path / "killed").frame(), whole)


def test_a_loaded_study_answers_as_the_one_that_ran(tmp_path):
    study = nb.experiment(SETS, ["MLE", "full Bayes"], sizes=[16, 70], splits=3, out=tmp_path / "study")
    loaded = nb.load_experiment(tmp_path / "study")
    same(loaded.frame(), study.frame())
    same(loaded.differences("MLE"), study.differences("MLE"))
    same(loaded.scores("brier"), study.scores("brier"))
    assert_array_equal(loaded.losses("wine", 70, "MLE"), study.losses("wine", 70, "MLE"))
    for size in (None, 16, 70):
        for one, other in zip(loaded.splits("wine", size), study.splits("wine", size), strict=True):
            assert_array_equal(one.train, other.train)
            assert_array_equal(one.test, other.test)
    with pytest.raises(DataError, match="leave-one-out needs the rows"):
        loaded.elpd("iris")


def test_cells_that_have_not_run_are_missing(tmp_path):
    def stop(model, X, y):
        if len(X["numeric"][0]) == 13 and len(cells()) == 9:
            raise KeyboardInterrupt
        return nb.fit_map(model, X, y)

    def cells():
        return (tmp_path / "study" / "cells.jsonl").read_text().splitlines()

    with pytest.raises(KeyboardInterrupt):
        nb.experiment(SETS, ["MLE", ("stop", stop)], sizes=[16], splits=3, out=tmp_path / "study")
    loaded = nb.load_experiment(tmp_path / "study")
    assert loaded.frame()["status"].value_counts().to_dict() == {"ok": 27, "missing": 9}
    assert loaded.scores().isna().to_numpy().tolist() == [[False, False], [True, True]]
    assert np.isnan(loaded.losses("wine", 16, "stop")).all(axis=1).tolist() == [False, True, True]


@pytest.mark.parametrize("times", [6, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kept", [4, 8])
def test_a_folder_that_was_altered_ends_in_the_same_numbers(tmp_path, kept, times):
    """Flips, cuts and lost files of a finished study and of one half done; merged, loaded and resumed."""

    def study(out=None):
        return nb.experiment({"iris": SETS["iris"]}, ["MLE", "full Bayes"], sizes=[16, 70], splits=2, out=out)

    whole, rng, folder = study(tmp_path / "whole"), np.random.default_rng(kept), tmp_path / "part"
    for number in range(times):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", folder)
        lines = (folder / "cells.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "cells.jsonl").write_bytes(b"".join(lines[:kept]))
        path = folder / ("cells.jsonl", "losses.bin", "study.json", "splits.npz")[number % 4]
        data, at = bytearray(path.read_bytes()), int(rng.integers(path.stat().st_size))
        data[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(data[:at] if rng.random() < 0.3 else data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = nb.merge_experiments(nb.load_experiment(folder))
            except DataError as error:
                assert path.suffix in (".json", ".npz"), error  # noqa: PT017
            else:
                frame = loaded.frame()
                done = frame["status"] == "ok"
                same(frame[done], whole.frame()[done])
            again = study(folder)
        same(again.frame(), whole.frame())
        same(again.differences("MLE"), whole.differences("MLE"))
        same(nb.load_experiment(folder).differences("MLE"), whole.differences("MLE"))


def test_the_warning_of_a_damaged_cell_is_at_the_line_that_asked(tmp_path):
    how = {"sets": {"iris": SETS["iris"]}, "methods": ["MLE"], "sizes": [16], "splits": 2, "out": tmp_path / "study"}
    nb.experiment(**how)
    os.truncate(tmp_path / "study" / "losses.bin", 100)
    for ask in (lambda: nb.load_experiment(how["out"]), lambda: nb.experiment(**how)):
        with pytest.warns(UserWarning, match="2 of the 2 cells in .* are cut or damaged") as said:
            ask()
        assert [warning.filename for warning in said] == [__file__]


def test_merged_studies_are_one_study():
    whole = nb.experiment(SETS, ["MLE", "MAP"], sizes=[16, 20], splits=2)
    a = nb.experiment(SETS, ["MLE"], sizes=[16, 20], splits=2)
    b = nb.experiment({"iris": SETS["iris"]}, ["MAP"], sizes=[16, 20], splits=2)
    c = nb.experiment({"wine": SETS["wine"]}, ["MAP", "MLE"], sizes=[16], splits=2)
    d = nb.experiment({"wine": SETS["wine"]}, ["MAP"], sizes=[20], splits=2)
    pd.testing.assert_frame_equal(nb.merge_experiments(a, b, c, d).frame(), whole.frame(), rtol=1e-12)
    part = nb.merge_experiments(a, b)
    assert part.scores().isna().to_numpy().tolist() == [[False, False], [False, True]]


def test_studies_of_other_rows_or_splits_do_not_merge():
    X, y = SETS["iris"]
    one = nb.experiment({"iris": (X, y)}, ["MLE"], sizes=[16], splits=2)
    for other, words in (
        (nb.experiment({"iris": (X + 1.0, y)}, ["MLE"], sizes=[16], splits=2), "other cells for 'MLE' on set 'iris'"),
        (nb.experiment({"iris": (X, y)}, ["MLE"], sizes=[16], splits=2, seed=1), "split set 'iris' in other ways"),
        (3, "give studies of nb.experiment"),
    ):
        with pytest.raises(DataError, match=words):
            nb.merge_experiments(one, other)


@pytest.mark.parametrize("design", ["crossed", "resplit"])
def test_groups_of_any_size_are_kept_in_a_folder(tmp_path, design):
    """Test parts of whole groups have other lengths in each split."""
    groups = np.repeat(np.arange(10), [5, 25, 10, 20, 15, 15, 20, 10, 25, 5])
    how = {"methods": ["MLE"], "sizes": [16, 60], "splits": 4, "groups": {"iris": groups}, "design": design}
    shuffled = np.random.default_rng(0).permutation(150)
    sets = {"iris": (X[shuffled], Y[shuffled])}
    study, kept = nb.experiment(sets, **how), nb.experiment(sets, **how, out=tmp_path / "study")
    same(kept.frame(), study.frame())
    loaded = nb.load_experiment(tmp_path / "study")
    same(loaded.frame(), study.frame())
    for size in (16, 60):
        lengths = [len(split.test) for split in study.splits("iris", size)]
        for one, other in zip(study.splits("iris", size), loaded.splits("iris", size), strict=True):
            assert_array_equal(one.train, other.train)
            assert_array_equal(one.test, other.test)
    assert len({*lengths}) > 1
