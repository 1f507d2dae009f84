"""Code of other authors that raises, hangs, ends its process, or prints."""

import os
import sys
import time

import joblib
import pytest

from bayesnb.studies.comparison._foreign import Failed, Worker, attempt, attempt_all


def plain(kind):
    """One way in which a method may go wrong."""
    if kind == "raise":
        raise ValueError("two\nlines")
    if kind == "hang":
        time.sleep(60)
    if kind == "end":
        os._exit(3)
    if kind == "print":
        print("in the way of the answer", flush=True)
    return kind


def test_an_exception_becomes_a_reason_of_one_line():
    assert attempt(plain, "raise").value == Failed("ValueError: two lines")
    assert attempt(plain, "fine").value == "fine"


def test_tasks_run_side_by_side_where_joblib_says_so():
    tasks = [(number, ("fine",)) for number in range(3)]
    with joblib.parallel_config("threading", n_jobs=2):
        batches = [[(name, found.value) for name, found in batch] for batch in attempt_all(plain, tasks)]
    assert batches == [[(0, "fine"), (1, "fine")], [(2, "fine")]]


@pytest.mark.slow
def test_a_process_of_its_own_ends_what_hangs_and_goes_on():
    kinds = ["fine", "print", "hang", "raise", "end", "fine"]
    with Worker(2.0) as worker:
        batches = [*attempt_all(plain, [(kind, (kind,)) for kind in kinds], worker)]
    found = [one.value for ((_, one),) in batches]
    assert found[4].reason.startswith("its process ended: ")
    assert "EXIT(3)" in found[4].reason
    assert found[:4] + found[5:] == [
        "fine",
        "print",
        Failed("it took longer than timeout=2 seconds, and was ended"),
        Failed("ValueError: two lines"),
        "fine",
    ]


@pytest.mark.slow
def test_what_cannot_be_sent_is_a_reason():
    with Worker(5.0) as worker:
        ((_, found),) = next(attempt_all(plain, [("frame", (sys._getframe(),))], worker))
    assert isinstance(found.value, Failed)
    assert "pickle" in found.value.reason
