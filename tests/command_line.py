"""The command line in a folder with one good file."""

from click.testing import CliRunner

from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.cli import main
from bayesnb.studies.comparison._first_split import Evidence, Inclusion
from bayesnb.studies.comparison._methods import NAIVE_BAYES

HEADER = "flag,colour,height,label"
ROWS = [
    f"{'no' if (i * 7) % 3 else 'yes'},{('red', 'green', 'blue')[i * 5 % 3]},{i * 0.37 % 3:.2f},{'ab'[i % 5 < 2]}"
    for i in range(40)
]
GOOD = "\n".join([HEADER, *ROWS]) + "\n"


def prepare(folder, monkeypatch):
    """Go to a folder with a file; the methods that take long to compile are left to the run from a shell."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("bayesnb.studies.comparison._methods.NAIVE_BAYES", NAIVE_BAYES[:3])
    monkeypatch.setattr(limits, "PAUSE", float("inf"))  # no lines on a slow machine

    def made_up(data, split):
        columns = [Inclusion(column.name, 0.75, 1.1) for column in data.table.columns]
        return Evidence(len(split.train), -5.0, -4.0, tuple(columns))

    monkeypatch.setattr("bayesnb.studies.comparison._first_split.compute_evidence", made_up)
    (folder / "good.csv").write_text(GOOD)
    return folder


def run(*args):
    """The result of `bayesnb compare`."""
    return CliRunner().invoke(main, ["compare", *args])
