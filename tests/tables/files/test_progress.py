"""What long work says of its progress: messages of the logger `bayesnb`, none without a handler of the user's."""

import logging
import re

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files._progress import progress
from tests.tables.files.streams import Stop, random_blocks, stopping

MODEL = nb.NaiveBayes(nb.Normal(), num_classes=2)
FRAME = pd.DataFrame({"size": np.arange(60) % 7 / 3.0, "kind": ["u", "v", "v"] * 20})


@pytest.fixture
def messages(caplog, monkeypatch):
    """The messages so far, without their times."""
    monkeypatch.setattr(limits, "LOG_SECONDS", 0.0)
    caplog.set_level(logging.INFO, "bayesnb")
    return lambda: [re.sub(r" in [\d.]+ s, [\d,]+ rows/s", "", record.message) for record in caplog.records]


def test_rows_and_their_rate(messages, caplog):
    with progress("reading 'x'", 4.0, wanted=False) as advance:
        advance(1.0, 1_010)
        advance(4.0, 4_010)
    assert messages() == ["reading 'x': 1,010 rows, 25%", "reading 'x': 4,010 rows, 100%",
                          "reading 'x': 4,010 rows; done"]  # fmt: skip
    rates = [float(re.search(r"([\d,]+) rows/s", record.message)[1].replace(",", "")) for record in caplog.records]
    assert min(rates) > 1000
    assert {record.name for record in caplog.records} == {"bayesnb"}


def test_few_messages_a_minute(messages, monkeypatch):
    monkeypatch.setattr(limits, "LOG_SECONDS", 60.0)
    with progress("reading", None, wanted=False) as advance:
        for rows in range(1000):
            advance(0.0, rows)
    assert messages() == ["reading: 999 rows; done"]


def test_a_stream_tells_where_it_stopped(messages):
    with pytest.raises(Stop):
        nb.stream(MODEL, stopping(random_blocks(4), 2))
    assert messages()[-1] == "counting: 100 rows; stopped"
    nb.stream(MODEL, random_blocks(4))
    assert messages()[-1] == "counting: 200 rows; done"


def test_files_are_named(messages, tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    clf = nb.fit_file(tmp_path / "rows.csv", "kind", method="posterior")
    nb.predict_table(clf, FRAME[["size"]])
    said = messages()
    assert f"describing '{tmp_path / 'rows.csv'}': 60 rows; done" in said
    assert said[-1] == "predicting the data frame: 60 rows; done"


def test_a_second_reading_is_told(messages, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 200)
    code = [*range(90), *["x"] * 10]
    pd.DataFrame({"code": code, "kind": ["u", "v"] * 50}).to_csv(tmp_path / "rows.csv", index=False)
    nb.fit_file(tmp_path / "rows.csv", "kind", {"code": "categorical"}, method="posterior")
    assert f"reading '{tmp_path / 'rows.csv'}' again: a column of numbers has text further on" in messages()


def test_nothing_is_printed_and_no_handler_is_set(capsys, tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    nb.fit_file(tmp_path / "rows.csv", "kind", method="posterior")
    assert capsys.readouterr() == ("", "")
    assert (logging.getLogger("bayesnb").handlers, logging.getLogger("bayesnb").level) == ([], logging.NOTSET)
