"""One table in whatever holds it: files, folders, frames, queries and streams give one answer."""

from contextlib import ExitStack

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files.sources._source import DataError
from bayesnb.tables.files.sources._tables import open_table
from tests.tables.files.streams import assert_same

ROWS = 90
OPENED = ExitStack()


@pytest.fixture(autouse=True)
def _closed():
    yield
    OPENED.close()


def frame():
    rng = np.random.default_rng(5)
    label = rng.choice(["bee", "ant", "fly"], ROWS)
    size = rng.normal(size=ROWS).round(2) + (label == "bee")
    size[::7] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "colour": np.where(rng.random(ROWS) < 0.5, label, rng.choice(["red", 'ö, "q"', None], ROWS)),
            "legs": rng.poisson(4.0, ROWS),
            "wings": rng.random(ROWS) < 0.4,
            "kind": label,
        }
    )


def table():
    return pa.Table.from_pandas(frame(), preserve_index=False)


def of_folder(place):
    (place / "rows" / "part=1").mkdir(parents=True)
    for number in range(3):
        pq.write_table(table()[number * 30 : number * 30 + 30], place / "rows" / f"{number}.parquet")
    return place / "rows"


def of_csv(place):
    frame().to_csv(place / "rows.csv", index=False)
    return place / "rows.csv"


def of_parquet(place):
    pq.write_table(table(), place / "rows.parquet", row_group_size=20)
    return str(place / "rows.parquet")


def duck(place):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    return connection.sql(f"select * from read_parquet('{of_parquet(place)}')")  # it keeps its connection


def ibis_table(place):
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    pytest.importorskip("pyarrow_hotfix", reason="Ibis needs it")
    return ibis.polars.connect({"rows": pl.read_parquet(of_parquet(place))}).table("rows")


def adbc(place, *, cursor):
    sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="ADBC's driver is not installed")
    connection = OPENED.enter_context(sqlite.connect(str(place / "rows.db")))
    opened = OPENED.enter_context(connection.cursor())
    opened.adbc_ingest("rows", table().set_column(3, "wings", pa.array(frame()["wings"].astype(int))), mode="replace")
    opened.execute("select * from rows order by rowid")
    return opened if cursor else opened.fetch_arrow()


def executing(connection):
    """A function that executes a query each time, and returns the cursor."""

    def opened():
        cursor = connection.cursor()
        cursor.execute("select * from rows order by rowid")
        return cursor

    return opened


SOURCES = {
    "csv": of_csv,
    "parquet": of_parquet,
    "folder": of_folder,
    "dataset": lambda place: ds.dataset(of_folder(place)),
    "filtered dataset": lambda _: ds.dataset(table()).filter(ds.field("legs") >= 0),
    "pandas": lambda _: frame(),
    "pandas with an index": lambda _: frame().set_index(pd.Index(range(ROWS, 0, -1), name="row")),
    "polars": lambda _: pl.from_pandas(frame()),
    "polars categories": lambda _: pl.from_pandas(frame()).with_columns(pl.col("colour").cast(pl.Categorical)),
    "pyarrow": lambda _: table(),
    "polars lazy": lambda place: pl.scan_parquet(of_parquet(place)),
    "duckdb": duck,
    "ibis": ibis_table,
    "adbc cursor": lambda place: adbc(place, cursor=True),
    "adbc stream": lambda place: adbc(place, cursor=False),
    "function of adbc": lambda place: executing(adbc(place, cursor=True).connection),
    "reader": lambda _: table().to_reader(7),
    "function": lambda _: lambda: table().to_reader(7),
    "views": lambda _: views(),
    "list of paths": lambda place: sorted(of_folder(place).glob("*.parquet")),
    "list of frames": lambda _: [pl.from_pandas(frame())[:40], table()[40:60], table()[60:].to_reader(7)],
}


def views():
    """Types that other writers use."""
    made = table()
    text = made["colour"].cast(pa.string_view())
    made = made.set_column(1, "colour", text).set_column(2, "legs", made["legs"].cast(pa.decimal128(20, 1)))
    return made.set_column(4, "kind", made["kind"].cast(pa.large_string()).dictionary_encode())


@pytest.fixture(scope="module")
def wanted():
    X = frame().drop(columns="kind")
    return nb.NaiveBayesClassifier(temper=False).fit(X, frame()["kind"])


@pytest.mark.filterwarnings("ignore:column 'wings'")
@pytest.mark.parametrize("kept", [limits.KEPT_BYTES, 0], ids=["kept", "read again"])
@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_one_answer(name, kept, wanted, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "KEPT_BYTES", kept)
    monkeypatch.setattr(limits, "BATCH_BYTES", 8 * 5 * 16)  # so many rows
    source = SOURCES[name](tmp_path)
    if kept == 0 and (name in ("reader", "list of frames") or name.startswith("adbc")):
        with pytest.raises(DataError, match="can be read once only, and has more than the 0 bytes"):
            nb.fit_table(source, "kind", temper=False, progress_bar=False)
        return
    found = nb.fit_table(source, "kind", temper=False, progress_bar=False)
    X = frame().drop(columns="kind")
    assert found.classes_.tolist() == wanted.classes_.tolist()
    assert dict(found.likelihoods_) == dict(wanted.likelihoods_)
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_streams(name, tmp_path):
    model = nb.NaiveBayes(nb.Poisson())
    codes = np.unique(frame()["kind"], return_inverse=True)[1]
    X = frame()[["legs", "wings"]].to_numpy(float)
    found = nb.stream(
        model, SOURCES[name](tmp_path), label="kind", columns=["legs", "wings"], classes=["ant", "bee", "fly"]
    )
    assert_same(found, nb.sufficient_statistics(model, X, codes, classes=["ant", "bee", "fly"]))


@pytest.mark.slow
def test_weights_are_a_column():
    weight = np.arange(ROWS) % 4 / 2.0
    weighted = frame().assign(weight=weight)
    weighted.loc[weight == 0, "kind"] = "no class of the fit"
    found = nb.fit_table(pl.from_pandas(weighted), "kind", {"legs": "poisson"}, "weight", method="posterior")
    X = frame().drop(columns="kind")
    wanted = nb.NaiveBayesClassifier({"legs": "poisson"}, method="posterior").fit(X, frame()["kind"], weight)
    assert found.classes_.tolist() == ["ant", "bee", "fly"]
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-9)
    learned = nb.fit_table(pa.Table.from_pandas(weighted), "kind", weight="weight")
    assert_allclose(
        learned.predict_proba(X), nb.NaiveBayesClassifier().fit(X, frame()["kind"], weight).predict_proba(X), rtol=1e-6
    )


def test_a_weight_that_is_none_names_its_row():
    bad = frame().assign(weight=np.where(np.arange(ROWS) == 41, -1.0, 1.0))
    with pytest.raises(nb.StreamError, match=r"the data frame, row 42: .*not negative.* got -1"):
        nb.fit_table(bad, "kind", weight="weight", temper=False)
    with pytest.raises(DataError, match=r"the column of weights, 'colour', holds .*expected numbers from 0 on"):
        nb.fit_table(bad, "kind", weight="colour")


def test_types_may_differ_between_parts(wanted):
    whole = table()
    parts = [whole[:30], whole[30:60], views()[60:]]
    parts[1] = parts[1].set_column(2, "legs", parts[1]["legs"].cast(pa.float32()))
    parts[1] = parts[1].set_column(1, "colour", parts[1]["colour"].dictionary_encode())
    found = nb.fit_table(parts, "kind", temper=False)
    X = frame().drop(columns="kind")
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-9)


def test_a_column_of_text_in_one_part_and_of_fractions_in_another_is_refused():
    text = table().set_column(0, "size", pa.array(frame()["size"].astype(str)))
    with pytest.raises(DataError, match="'size' holds large_string in row 1 of the data frame 1, and numbers before"):
        nb.fit_table([table(), text], "kind")
    codes = [pd.DataFrame({"code": column, "kind": [*"abab"]}) for column in ([1, 2, 1, 2], ["1", "x", "1", "x"])]
    found = nb.fit_table(codes, "kind", {"code": "categorical"})
    assert found.schema_.value_names["code"] == ["1", "2", "x"]


def test_the_part_and_the_row_of_what_is_wrong():
    infinite = frame()
    infinite.loc[50, "size"] = np.inf
    with pytest.raises(DataError, match="'size' holds an infinite number in row 11 of the data frame 1: leave out"):
        nb.fit_table([infinite[:40], infinite[40:]], "kind")
    with pytest.raises(DataError, match="the data frame 1 has no column 'legs'; its columns are 'size'"):
        nb.fit_table([frame(), frame().drop(columns="legs")], "kind")


class Broken:
    """A reader that fails in the middle, and knows whether it was closed."""

    def __init__(self):
        self.closed = False

    def batches(self):
        try:
            for start in range(0, ROWS, 10):
                if start == 50:
                    raise OSError("the connection was lost")
                yield table().schema and table()[start : start + 10].combine_chunks().to_batches()[0]
        finally:
            self.closed = True

    def open(self):
        return pa.RecordBatchReader.from_batches(table().schema, self.batches())


def test_a_reader_that_fails_is_closed_and_says_where():
    broken = Broken()
    with pytest.raises(DataError, match="the stream cannot be read after row 50: the connection was lost"):
        nb.fit_table(broken.open, "kind")
    assert broken.closed


def test_a_stream_that_fails_has_the_rows_before():
    model, keywords = nb.NaiveBayes(nb.Poisson()), {"label": "kind", "columns": ["legs"], "progress_bar": False}
    keywords |= {"classes": ["ant", "bee", "fly"]}
    with pytest.raises(nb.StreamError, match="after row 50") as caught:
        nb.stream(model, Broken().open, **keywords)
    assert caught.value.rows == 50
    rest = nb.stream(model, lambda: table()[50:].to_reader(10), **keywords)
    assert_same(nb.merge(caught.value.statistics, rest), nb.stream(model, table(), **keywords))


def test_a_query_is_closed_when_the_fit_fails():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    connection = duckdb.connect()
    query = connection.sql("select range as a, 1e400 * range as b, range % 2 as y from range(300000)")
    with pytest.raises(ValueError):
        nb.fit_table(query, "y", temper=False)
    assert connection.sql("select 1").fetchall() == [(1,)]


def test_rows_that_change_between_the_readings_are_refused(monkeypatch):
    monkeypatch.setattr(limits, "KEPT_BYTES", 0)
    sizes = iter([90, 80])
    with pytest.raises(nb.StreamError, match="had 90 rows with a class when it was described, and 80 when"):
        nb.fit_table(lambda: table()[: next(sizes)].to_reader(), "kind", dependence=False)


def test_a_folder_that_is_being_written(tmp_path):
    source = open_table(of_folder(tmp_path))
    pq.write_table(table(), tmp_path / "rows" / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet' has changed while the files were read: read them when all are"):
        list(source.batches(["legs"]))
    (tmp_path / "rows" / "1.parquet").unlink()
    with pytest.raises(DataError, match=r"1\.parquet' cannot be read: No such file"):
        list(source.batches(["legs"]))
    (tmp_path / "rows" / "2.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"2\.parquet' cannot be read as Parquet"):
        list(open_table(tmp_path / "rows").batches(["legs"]))


@pytest.mark.parametrize("source", [frame()[:0], table()[:0], table()[:0].to_reader(), [frame()[:0], table()[:0]]])
def test_no_rows(source):
    with pytest.raises(DataError, match=r"(the (data frame|stream)|and 1 more) has no rows"):
        nb.fit_table(source, "kind")


def test_an_empty_part_among_others(wanted):
    found = nb.fit_table([frame()[:50], frame()[:0], frame()[50:], table()[:0].to_reader()], "kind", temper=False)
    X = frame().drop(columns="kind")
    assert_allclose(found.predict_proba(X), wanted.predict_proba(X), rtol=1e-9)


def test_large_whole_numbers_are_text():
    source = open_table(pa.table({"id": [2**53 + 1, 1], "other": [1, 2]}))
    (batch,) = source.batches(["id", "other"])
    assert batch.rows.schema.types == [pa.string(), pa.int64()]
