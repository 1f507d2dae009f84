"""The journal: cells come back as they were, or not at all: altered files, full disks and second processes."""

import os
import resource
import shutil
import socket
import subprocess
import sys
import textwrap
import warnings
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesnb.core.storage import _whole_file as files
from bayesnb.studies.comparison import _journal as journals
from bayesnb.studies.comparison._designs import Design, Split
from bayesnb.studies.comparison._journal import Journal, read_study
from bayesnb.studies.comparison._scored_cells import Cell, Place
from bayesnb.tables.frames._series import DataError

ABOUT = {"seed": 0, "sets": {"s": {"design": "crossed", "sizes": [3]}}}
SPLITS = [Split(np.arange(5), np.array([5, 6])), Split(np.arange(5)[::-1], np.array([5, 6]))]
DESIGNS = {"s": Design("crossed", (3,), SPLITS, [])}
LOSSES = np.array([[0.25, 1e-8], [0.5, 2.0], [0.0, 1.0]])
CELL = Cell({"log_loss": 0.1 + 0.2}, {"auc": "why"}, "", 0.5, 1, 0.7, -12.5, 0.01)


def entry(number):
    return f"{number:032x}", Place("s", number, 16, "MLE"), CELL, LOSSES + 0 * number


def open_journal(folder, about=ABOUT):
    return journals.open_journal(folder, about, DESIGNS)


def about_of(folder):
    about, _ = read_study(folder)
    return {name: value for name, value in about.items() if name != "splits"}


def test_cells_of_a_folder_come_back_bit_for_bit(tmp_path):
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([entry(0), entry(1)])
        journal.append([entry(2)])
    again = Journal(tmp_path)
    for number in range(3):
        key = f"{number:032x}"
        assert again[key] == CELL
        assert_array_equal(again.losses(key), LOSSES.astype(np.float32))
        assert_array_equal(again.losses(key), journal.losses(key))
    assert about_of(tmp_path) == ABOUT
    assert not (tmp_path / "lock").exists()


def test_losses_of_sets_come_back_beside_those_without(tmp_path):
    of_sets = np.vstack([LOSSES, [[0.0, 1.0], [0.35, 1.0], [0.2, 1.0]]])
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([(*entry(0)[:3], of_sets), entry(1)])
        journal.append([(*entry(2)[:3], of_sets)])
    for found in (journal, Journal(tmp_path)):
        for number, losses in enumerate((of_sets, LOSSES, of_sets)):
            assert_array_equal(found.losses(f"{number:032x}"), losses.astype(np.float32))


def test_a_cell_takes_at_most_300_bytes_and_9_a_test_row(tmp_path):
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([entry(0)])
    assert (tmp_path / "cells.jsonl").stat().st_size <= 300
    assert (tmp_path / "losses.bin").stat().st_size == 18


@pytest.mark.parametrize("kept", range(1, 200, 37))
def test_a_line_that_a_kill_cut_is_dropped_and_the_next_is_whole(tmp_path, kept):
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([entry(0)])
        size = (tmp_path / "cells.jsonl").stat().st_size
        journal.append([entry(1)])
    os.truncate(tmp_path / "cells.jsonl", size + kept)
    said = pytest.warns(UserWarning, match="1 of the 2 cells in .* are cut or damaged, and left out")
    with said, open_journal(tmp_path, ABOUT) as journal:
        assert [f"{number:032x}" in journal for number in range(2)] == [True, False]
        journal.append([entry(2)])
    again = Journal(tmp_path)
    assert_array_equal(again.losses(f"{2:032x}"), LOSSES.astype(np.float32))


def test_a_full_disk_is_said_once_and_the_cells_stay_in_memory(tmp_path, monkeypatch):
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([entry(0)])

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(journals.Path, "open", full)
        with pytest.warns(UserWarning, match=r"No space left on device .*in memory only"):
            journal.append([entry(1)])
        journal.append([entry(2)])
        monkeypatch.undo()
        assert_array_equal(journal.losses(f"{2:032x}"), LOSSES.astype(np.float32))
    assert journal.broken
    assert f"{2:032x}" not in Journal(tmp_path)


def test_a_second_process_is_told_who_holds_the_folder(tmp_path):
    with open_journal(tmp_path, ABOUT):
        enter = open_journal(tmp_path, ABOUT).__enter__
        with pytest.raises(DataError, match=f"in use by process {os.getpid()} on"):
            enter()
    with open_journal(tmp_path, ABOUT):
        pass


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path):
    lock = {"pid": 2**22 + 1, "host": socket.gethostname(), "since": "then"}
    for left in (journals._seal(lock), b""):  # a full disk, or a kill, leaves an empty one
        (tmp_path / "lock").write_bytes(left)
        said = pytest.warns(UserWarning, match="a process that held .* ended before its study; the cells .* are kept")
        with said, open_journal(tmp_path, ABOUT) as journal:
            journal.append([entry(0)])
    (tmp_path / "lock").write_bytes(journals._seal(lock | {"host": "elsewhere"}))
    with pytest.raises(DataError, match="on elsewhere since then: wait"), open_journal(tmp_path, ABOUT):
        pass


def test_a_folder_of_another_study_is_refused_saying_what_differs(tmp_path):
    with open_journal(tmp_path, ABOUT):
        pass
    other = {"seed": 1, "sets": {"t": {"design": "crossed", "sizes": [3]}}}
    enter = open_journal(tmp_path, other).__enter__
    with pytest.raises(DataError, match=r"another study \(seed=0, now 1; its sets are s, now t\)"):
        enter()
    assert about_of(tmp_path) == ABOUT


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(DataError, match="other files than those of a study"), open_journal(tmp_path, ABOUT):
        pass
    with pytest.raises(DataError, match=r"no folder of a study: .* give the out="):
        read_study(tmp_path)


@contextmanager
def quiet():
    """The warnings that are given."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield said


def alterations(data, step):
    """A bit of each byte, cuts at each length, the end lost to zeros, a line break put in; at every ``step``."""
    for at in range(0, len(data), step):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        yield f"flipped at {at}", bytes(flipped)
        yield f"cut at {at}", data[:at]
        yield f"zeros from {at}", data[:at] + bytes(len(data) - at)
        yield f"broken at {at}", data[:at] + b"\n" + data[at:]


def assert_same(study, other):
    (about, designs), (same, others) = study, other
    assert about == same
    for split, another in zip(designs["s"].nested, others["s"].nested, strict=True):
        assert_array_equal(split.train, another.train)
        assert_array_equal(split.test, another.test)


@pytest.mark.parametrize("step", [67, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["cells.jsonl", "losses.bin", "study.json", "splits.npz"])
def test_what_is_altered_is_left_out_said_and_written_again(tmp_path, monkeypatch, name, step):
    """Whatever is altered, each cell, its losses and the splits are what they were, or not there; and then resumed."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # which is slow
    whole, part = tmp_path / "whole", tmp_path / "part"
    with open_journal(whole) as journal:
        for number in range(3):
            journal.append([entry(number)])
    keys, whole_study = [f"{number:032x}" for number in range(3)], read_study(whole)
    data = (whole / name).read_bytes()
    for how, altered in alterations(data, min(step, len(data) // 4)):
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(whole, part)
        (part / name).write_bytes(altered)
        for resume in (False, True, True):
            with quiet() as said:
                journal = Journal(part)
                kept = [key for key in keys if key in journal]
                # where whole lines are missing at the end there is nothing to say
                assert kept == keys or (not resume and (said or altered == data[: len(altered)])), how
                for key in kept:
                    assert journal[key] == CELL, how
                    assert_array_equal(journal.losses(key), LOSSES.astype(np.float32))
                if resume or name not in ("study.json", "splits.npz"):
                    assert_same(read_study(part), whole_study)
                else:
                    with suppress(DataError):  # or it says the same in other bytes
                        assert_same(read_study(part), whole_study)
            with quiet() as said, open_journal(part) as journal:
                journal.append([entry(number) for number, key in enumerate(keys) if key not in journal])
            assert not (resume and said), how
        assert (part / "cells.jsonl").read_bytes().count(b"\n") == 3, how


@pytest.mark.parametrize("name", ["study.json", "splits.npz", "losses.bin"])
def test_a_file_that_is_lost_is_said_and_written_again(tmp_path, name):
    with open_journal(tmp_path) as journal:
        journal.append([entry(0)])
    (tmp_path / name).unlink()
    with pytest.warns(UserWarning, match="is not whole, and is written anew|1 of the 1 cells"), open_journal(tmp_path):
        pass
    assert about_of(tmp_path) == ABOUT
    assert (f"{0:032x}" in Journal(tmp_path)) == (name != "losses.bin")


def test_losses_that_change_while_they_are_read_are_refused(tmp_path):
    with open_journal(tmp_path) as journal:
        journal.append([entry(0)])
    study = Journal(tmp_path)
    os.truncate(tmp_path / "losses.bin", 17)
    with pytest.raises(DataError, match="has been changed since it was read"):
        study.losses(f"{0:032x}")


def test_a_disk_that_is_full_at_the_start_leaves_what_the_next_run_begins_with(tmp_path):
    """A limit on the size of files is a disk that is full at this byte."""
    _, most = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    answers, sizes = [], range(0, 2000, 40)
    for size in sizes:
        folder = tmp_path / str(size)
        with quiet() as said:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
            try:
                with open_journal(folder):
                    pass
            except DataError as error:
                answers.append(str(error).replace(str(folder), ""))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            assert not said
            assert {path.name for path in folder.iterdir()} <= {"study.json", "splits.npz"}
            with open_journal(folder) as journal:
                journal.append([entry(0)])
        assert f"{0:032x}" in Journal(folder)
    assert {*answers} == {"out='' cannot be written (File too large): give another folder"}
    assert 10 < len(answers) < len(sizes)


RUSH = """
    import os, socket, sys, time, warnings
    from pathlib import Path
    from bayesnb.studies.comparison._journal import LOCK, _hold, _seal
    from bayesnb.tables.frames._series import DataError

    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])

    def start(gate):
        os.read(gate, 1)  # ends when the parent opens the gate
        try:
            with _hold(folder):
                os.close(os.open(folder / "inside", os.O_CREAT | os.O_EXCL))  # fails if another is inside
                time.sleep(0.002)
                os.unlink(folder / "inside")
        except DataError:
            return 1
        return 0

    codes = []
    for number in range(50):
        dead = {"pid": 2**22 + 1, "host": socket.gethostname(), "since": "then"}
        (folder / LOCK).write_bytes(_seal(dead) if number % 2 else b"")
        children, (gate, opener) = [], os.pipe()
        for _ in range(8):
            child = os.fork()
            if not child:
                code = 2
                try:
                    os.close(opener)
                    code = start(gate)
                finally:
                    os._exit(code)
            children.append(child)
        os.close(opener)
        codes.append([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
        os.close(gate)
    print(sum(0 not in some for some in codes), sum(2 in some for some in codes))
"""


@pytest.mark.slow
@pytest.mark.skipif(files.fcntl is None, reason="this system has no locks")
def test_of_many_that_start_at_once_after_a_kill_one_holds_the_folder(tmp_path):
    rush = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(RUSH), tmp_path]
    assert subprocess.run(rush, capture_output=True, text=True, check=False).stdout == "0 0\n"
    assert not [*tmp_path.iterdir()]


def test_the_lock_holds_while_its_process_runs_though_its_file_is_removed(tmp_path):
    with open_journal(tmp_path):
        (tmp_path / "lock").unlink()
        with pytest.raises(DataError, match="in use by another process"), open_journal(tmp_path):
            pass


@pytest.mark.filterwarnings("ignore:.*fork", "ignore:.*multi-threaded")
def test_a_process_that_was_forked_meanwhile_does_not_hold_the_folder(tmp_path):
    gate, opener = os.pipe()
    with open_journal(tmp_path):
        child = os.fork()
        if not child:
            os.close(opener)
            os.read(gate, 1)
            os._exit(0)
    with open_journal(tmp_path):
        pass
    os.close(opener)
    os.waitpid(child, 0)


def test_where_the_kernel_has_no_locks_the_file_is_the_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    with open_journal(tmp_path):
        with pytest.raises(DataError, match=f"in use by process {os.getpid()} on"), open_journal(tmp_path):
            pass
        assert (tmp_path / "lock").exists()
    with open_journal(tmp_path):
        pass


@pytest.mark.parametrize("name", ["lock", "study.json", "splits.npz", "cells.jsonl", "losses.bin"])
def test_files_of_these_names_that_are_others_stay_as_they_are(tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(DataError, match=r"other files than those of a study|in use by another"), open_journal(tmp_path):
        pass
    assert (tmp_path / name).read_text() == "{}"
