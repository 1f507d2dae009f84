"""Whole numbers above 2^53 stay distinct or are refused: they are never silently rounded into each other."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.cli import main
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import open_data
from bayesnb.tables.frames._series import DataError
from tests.reading import frame_of

EVEN, ODD = 2**53, 2**53 + 1
SMALL = [0.5, 0.7, 0.6, 0.8, 9.1, 9.2, 9.4, 9.3]
LABELS = [EVEN] * 4 + [ODD] * 4
TYPES = {
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "decimal": pa.decimal128(20, 0),
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args):
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result


def write(name, **columns):
    frame = pd.DataFrame(columns)
    if name.endswith(".csv"):
        frame.to_csv(name, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), name)


def of_type(values, kind):
    return pa.array(map(Decimal, values) if kind == "decimal" else values, TYPES[kind])


def test_labels_of_a_csv_file_are_exact_and_written_back():
    write("rows.csv", x=SMALL, label=LABELS)
    run("fit", "rows.csv", "--save", "a.model")
    result = run("predict", "a.model", "rows.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == f"prediction,p({EVEN}),p({ODD})"
    assert [line.split(",")[0] for line in lines[1:]] == [str(label) for label in LABELS]


@pytest.mark.parametrize("kind", TYPES)
def test_labels_of_a_parquet_file_are_exact_and_written_back(kind):
    pq.write_table(pa.table({"x": SMALL, "label": of_type(LABELS, kind)}), "rows.parquet")
    run("fit", "rows.parquet", "--save", "a.model")
    run("predict", "a.model", "rows.parquet", "--out", "out.parquet")
    assert pq.read_table("out.parquet")["prediction"].to_pylist() == [str(label) for label in LABELS]


@pytest.mark.parametrize("kind", TYPES)
def test_categories_of_a_parquet_file_are_exact_even_if_those_to_predict_are_small(kind):
    codes = [EVEN, ODD] * 4
    pq.write_table(pa.table({"code": of_type(codes, kind), "label": list("abababab")}), "rows.parquet")
    run("fit", "rows.parquet", "--save", "a.model", "--as", "code=categorical")
    pq.write_table(pa.table({"code": of_type([EVEN, 5], kind)}), "new.parquet")
    best, unknown = run("predict", "a.model", "new.parquet").stdout.splitlines()[1:]
    assert float(best.split(",")[1]) > 0.8
    assert float(unknown.split(",")[1]) == 0.5


def test_compare_reads_such_numbers_as_text_with_a_warning():
    write("rows.csv", code=[1, 2, 3, ODD] * 2, x=SMALL, label=list("abababab"))
    table = make_table(open_data("rows.csv"))
    columns = {column.name: column for column in table.columns}
    assert columns["code"].values == ("1", "2", "3", str(ODD))
    assert table.warnings == (
        f"column 'code' is read as text because of '{ODD}' on line 5, which would be rounded to {EVEN} as a number: "
        "round it in the file, or leave it as text if it is a name or a code",
    )
    with pytest.raises(DataError, match=f"cannot be normal: '{ODD}' on line 5 would be rounded to {EVEN} as a number"):
        make_table(open_data("rows.csv"), overrides={"code": "normal"})


def test_numbers_that_floats_hold_stay_numbers():
    write("rows.csv", code=[2**60, 2**60 + 256, -EVEN, 10**15] * 2, label=list("abababab"))
    assert_array_equal(frame_of("rows.csv")["code"][:4], [2.0**60, 2.0**60 + 256, -(2.0**53), 1e15])
    (column,) = make_table(open_data("rows.csv")).columns
    assert not column.text


def test_a_later_block_with_such_a_number_makes_the_column_text(monkeypatch):
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 50)
    monkeypatch.setattr(limits, "BATCH_BYTES", 8 * 2 * 2)
    pq.write_table(pa.table({"x": SMALL, "label": pa.array(LABELS, pa.int64())}), "rows.parquet")
    write("rows.csv", x=SMALL, label=LABELS)
    assert frame_of("rows.parquet")["label"].tolist() == [str(label) for label in LABELS]
    for name in ("rows.parquet", "rows.csv"):
        run("fit", name, "--save", "a.model")
        assert nb.load("a.model").classes_.tolist() == [str(EVEN), str(ODD)]


def test_rows_to_predict_with_such_a_number_are_refused():
    write("rows.csv", x=[1, 2, 3, 4, 10.5, 11, 12, 13], label=list("aaaabbbb"))
    run("fit", "rows.csv", "--save", "a.model")
    write("new.csv", x=[ODD])
    result = CliRunner().invoke(main, ["predict", "a.model", "new.csv"])
    assert result.exit_code != 0
    assert f"'{ODD}' would be rounded to {EVEN} as a number" in result.output


FRAMES = {
    "pandas": lambda: pd.DataFrame({"code": LABELS}),
    "nullable": lambda: pd.DataFrame({"code": pd.array(LABELS, "UInt64")}),
    "arrow": lambda: pa.table({"code": pa.array(LABELS, pa.uint64())}),
    "decimal": lambda: pa.table({"code": of_type(LABELS, "decimal")}),
}


@pytest.mark.parametrize("kind", ["auto", "categorical"])
@pytest.mark.parametrize("frame", FRAMES)
def test_the_estimator_refuses_them_in_frames(frame, kind):
    with pytest.raises(ValueError, match=f"column 'code' holds {ODD}, which floating point would round to {EVEN}"):
        nb.NaiveBayesClassifier(kind).fit(FRAMES[frame](), list("aaaabbbb"))


def test_the_estimators_labels_are_exact():
    rows = np.array(SMALL)[:, None]
    for y in (LABELS, np.array(LABELS, np.uint64), pd.Series(LABELS, dtype="Int64"), pa.chunked_array([LABELS])):
        assert nb.NaiveBayesClassifier().fit(rows, y).predict(rows).tolist() == LABELS
