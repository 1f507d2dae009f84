"""The journal: cells come back as they were, through cut lines, full disks and second processes."""

import json
import os
import socket

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesnb.comparison import _journal as journals
from bayesnb.comparison._journal import Journal, open_journal, read_about
from bayesnb.comparison._scored_cells import Cell, Place
from bayesnb.frames._series import DataError

ABOUT = {"seed": 0, "sets": {"s": {"design": "crossed"}}}
LOSSES = np.array([[0.25, 1e-8], [0.5, 2.0], [0.0, 1.0]])
CELL = Cell({"log_loss": 0.1 + 0.2}, {"auc": "why"}, "", 0.5, 1, 0.7, -12.5, 0.01)


def entry(number):
    return f"{number:032x}", Place("s", number, 16, "MLE"), CELL, LOSSES + 0 * number


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
    assert read_about(tmp_path) == ABOUT
    assert not (tmp_path / "lock").exists()


def test_losses_of_sets_come_back_beside_those_without(tmp_path):
    of_sets = np.vstack([LOSSES, [[0.0, 1.0], [0.35, 1.0], [0.2, 1.0]]])
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([(*entry(0)[:3], of_sets), entry(1)])
        journal.append([(*entry(2)[:3], of_sets)])
    for found in (journal, Journal(tmp_path)):
        for number, losses in enumerate((of_sets, LOSSES, of_sets)):
            assert_array_equal(found.losses(f"{number:032x}"), losses.astype(np.float32))


def test_a_line_without_the_number_of_losses_has_three(tmp_path):
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([entry(0)])
    lines = (tmp_path / "cells.jsonl").read_text()
    assert '"losses":[0,2,3]' in lines
    (tmp_path / "cells.jsonl").write_text(lines.replace("[0,2,3]", "[0,2]"))
    assert_array_equal(Journal(tmp_path).losses(f"{0:032x}"), LOSSES.astype(np.float32))


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
    with open_journal(tmp_path, ABOUT) as journal:
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
    (tmp_path / "lock").write_text(json.dumps(lock))
    with open_journal(tmp_path, ABOUT) as journal:
        journal.append([entry(0)])
    (tmp_path / "lock").write_text(json.dumps(lock | {"host": "elsewhere"}))
    with pytest.raises(DataError, match="on elsewhere since then: wait"), open_journal(tmp_path, ABOUT):
        pass


def test_a_folder_of_another_study_is_refused_saying_what_differs(tmp_path):
    with open_journal(tmp_path, ABOUT):
        pass
    other = {"seed": 1, "sets": {"t": {"design": "crossed"}}}
    enter = open_journal(tmp_path, other).__enter__
    with pytest.raises(DataError, match=r"another study \(seed=0, now 1; its sets are s, now t\)"):
        enter()
    assert read_about(tmp_path) == ABOUT


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(DataError, match="other files than those of a study"), open_journal(tmp_path, ABOUT):
        pass
    with pytest.raises(DataError, match="no folder of a study"):
        read_about(tmp_path)
