"""CSV files broken in one place, through the commands: a prediction a row, or one sentence."""

import csv
import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
import numpy as np
from hypothesis import strategies as st

from bayesnb.studies.cli import main
from tests.fuzz.sentences import Refused, is_sentence

ROWS = [["size", "kind", "flag", "class"]] + [
    [f"{n * 1.5:g}", "abc"[n % 3], ("yes", "no")[n % 2], ("first", "second")[n // 2 % 2]] for n in range(8)
]
CELLS = (
    "", " ", "NA", "?", "nan", "inf", "-inf", "1e400", "1e-400", "1,5", "1.5.2", "0x10", "1_000", "9007199254740993",
    "2020-01-01", "=1+1", "@x", "a\nb", 'a"b', "é", "\u202e", "x" * 500, "True", "-1", "None", "\x00",
)  # fmt: skip
PIECES = ('"', ",", ";", "\t", "\n", "\r", "\x00", "\ufeff", "'", "\\", "#")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1")


def written(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


@st.composite
def broken(draw: st.DrawFn) -> bytes:
    """The file, with something in it that is wrong or odd."""
    rows = [list(row) for row in ROWS]
    row = draw(st.integers(0, len(rows) - 1))
    column = draw(st.integers(0, len(rows[0]) - 1))
    match draw(st.sampled_from(["cell", "column", "short", "long", "piece", "cut", "encoding"])):
        case "cell":
            rows[row][column] = draw(st.sampled_from(CELLS))
        case "column":
            odd = draw(st.sampled_from(CELLS))
            for cells in rows[1:]:
                cells[column] = odd
        case "short":
            del rows[row][column]
        case "long":
            rows[row].insert(column, "more")
        case "piece":
            text = written(rows)
            place = draw(st.integers(0, len(text)))
            return (text[:place] + draw(st.sampled_from(PIECES)) + text[place:]).encode()
        case "cut":
            return written(rows).encode()[: draw(st.integers(0, 120))]
        case "encoding":
            rows[row][column] += "é"
            return written(rows).encode(draw(st.sampled_from(ENCODINGS)))
    return written(rows).encode()


def command(*arguments: str) -> None:
    """Runs a command in this process; ``Refused`` where it answers with its one sentence."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            main(list(arguments), standalone_mode=False)
        except click.ClickException as error:
            cause = error.__cause__
            if cause is not None and not isinstance(cause, OSError) and not is_sentence(cause):
                raise
            raise Refused(error.format_message()) from error


def fit_and_predict(content: bytes, folder: Path) -> None:
    """Fits the rows of a file by the command, and predicts them by what it saved."""
    data, saved, out = folder / "data.csv", folder / "saved", folder / "predictions.csv"
    data.write_bytes(content)
    command("fit", str(data), "--target", "class", "--save", str(saved))
    command("predict", str(saved), str(data), "--out", str(out))
    with out.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert rows
    proba = np.array([row[1:] for row in rows], float)
    assert proba.shape == (len(rows), len(header) - 1)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-5)
