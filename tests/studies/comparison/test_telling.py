"""What is told of cells while they run, by a made-up clock."""

import subprocess
import sys

import pytest

from bayesnb.studies.comparison._scored_cells import Place
from bayesnb.studies.comparison._telling import telling

PLACES = [Place("a", split, 20, method) for split in range(5) for method in ("MLE", "NUTS")]


def tell_of(places, planned, seconds=9.0, ends=None):
    """Cells that take so long each; before one of them all ends."""
    now = 0.0
    with telling(places, planned, clock=lambda: now) as tell:
        for number, place in enumerate(places):
            if number == ends:
                raise KeyboardInterrupt
            now += seconds
            tell(place, seconds)


def test_lines_at_the_start_each_half_minute_and_at_the_end(capsys):
    tell_of(PLACES, 10)
    assert capsys.readouterr() == (
        "",
        "Cells to run: 10\n"
        "36 s: a, n = 20, NUTS: 4 of 10 cells; about 54 s left\n"
        "72 s: a, n = 20, NUTS: 8 of 10 cells; about 18 s left\n"
        "90 s: 10 of 10 cells have run\n",
    )


def test_what_has_run_before_is_not_told_again(capsys):
    tell_of(PLACES[:3], 10, seconds=1.0)
    assert capsys.readouterr().err == (
        "Cells to run: 3 of 10; the others have run before\n3 s: 3 of 3 cells have run\n"
    )
    tell_of([], 10)
    assert capsys.readouterr().err == ""


def test_what_is_stopped_says_how_far_it_came(capsys):
    with pytest.raises(KeyboardInterrupt):
        tell_of(PLACES, 10, ends=2)
    assert capsys.readouterr().err.endswith("\n18 s: 2 of 10 cells have run\n")


def test_a_terminal_has_a_bar_in_place_of_lines(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    tell_of(PLACES, 10)
    shown = capsys.readouterr().err
    assert "10 cells" in shown
    assert "100%" in shown
    assert "\n" not in shown


SCRIPT = """
import sys
from bayesnb.studies.comparison._scored_cells import Place
from bayesnb.studies.comparison._telling import telling

sys.stdin.readline()
with telling([Place("a", 0, 20, "MLE")], 1) as tell:
    tell(Place("a", 0, 20, "MLE"), 1.0)
print("done")
"""


@pytest.mark.slow
def test_where_nobody_reads_lines_any_more_cells_run_on():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], text=True, **pipes)
    process.stderr.close()
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.read() == "done\n"
    assert process.wait() == 0
    process.stdin.close()
    process.stdout.close()
