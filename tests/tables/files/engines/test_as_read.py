"""Cells of a query are read as those in memory: what is missing, what is a number, and which texts are equal."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import bayesnb as nb
from tests.tables.files.engines.tables import ENGINES, QUIET, assert_alike, package, query

OPTIONS = {"dependence": False, "temper": False}
RNG = np.random.default_rng(4)
LABEL = RNG.choice(["a", "b"], 120)
NOISE = RNG.normal(size=120)


def decimals(cells, precision, scale):
    return pa.array([Decimal(str(cell)) for cell in cells], pa.decimal128(precision, scale))


def either(one, other):
    return np.where(LABEL == "a", one, other)


TABLES = {
    "integers that float64 rounds": {"x": NOISE, "y": either(2**60 + 1, 2**60 + 3)},
    "large integers that it does not": {"x": either(2**60, 2**61), "y": either(-(2**60), 2**60)},
    "a feature of integers": {"x": either(2**60 + 1, 7), "y": LABEL},
    "tiny numbers": {"x": RNG.random(120) * 1e-17 - 5e-18, "y": LABEL},
    "decimals": {"x": decimals(NOISE.round(1), 10, 3), "y": decimals(either("1.50", "2"), 5, 2)},
    "decimals that float64 rounds": {"x": decimals(either(2**60 + 1, 3), 25, 2), "y": LABEL},
    "decimals, one a row": {"x": decimals(np.arange(120) + 0.5, 10, 1), "y": LABEL},
    "labels that are NaN": {
        "x": [*LABEL[:60], *["only of NaN"] * 60],
        "y": np.where(np.arange(120) < 60, either(1.0, 2.0), np.nan),
    },
    "labels that are null": {
        "x": [*LABEL[:60], *["only of null"] * 60],
        "y": pa.array(either(1.0, 2.0), mask=np.arange(120) >= 60),
    },
    "two zeros": {"x": either(-0.0, 1.0) * (NOISE > 0), "y": either(-0.0, 0.0) + (NOISE > 0)},
}


def fit(source, **options):
    return nb.fit_table(source, "y", {"x": "categorical"} if options.pop("coded", False) else "auto", **options)


@pytest.mark.filterwarnings("ignore:column 'x' is read as text", "ignore:60 rows have no class")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TABLES)
def test_the_fit_is_that_in_memory(engine, name, tmp_path):
    table = pa.table({"z": NOISE, **TABLES[name]})
    for coded in (False, True):
        found = fit(query(engine, table, tmp_path), where="engine", coded=coded, **OPTIONS)
        wanted = fit(table, coded=coded, **OPTIONS)
        assert found.likelihoods_ == wanted.likelihoods_
        assert [column.values for column in found.schema_.columns] == [c.values for c in wanted.schema_.columns]
        assert found.classes_.tolist() == wanted.classes_.tolist()
        assert_alike(found.statistics_.blocks, wanted.statistics_.blocks)
        assert found.class_count_.tolist() == wanted.class_count_.tolist()


def duck(connection):
    return connection.sql("from collated")


def ibis(connection):
    return package("ibis").duckdb.from_connection(connection).table("collated")


def sqlframe(connection):
    base = package("sqlframe.base.session")._BaseSession
    with pytest.MonkeyPatch.context() as patched:  # there is one session in a process
        patched.setattr(base, "_instance", None)
        return package("sqlframe.duckdb").DuckDBSession(conn=connection).read.table("collated").select("x", "y")


SIMILAR = pytest.mark.filterwarnings("ignore:column .x. has the categories", "ignore:the labels .U. and .u. differ")
SLOW = [pytest.param(read, marks=[pytest.mark.slow, QUIET]) for read in (ibis, sqlframe)]


@SIMILAR
@pytest.mark.parametrize("read", [duck, *SLOW])
@pytest.mark.parametrize("collation", ["nocase", "noaccent", "default"])
def test_texts_are_equal_if_their_bytes_are(collation, read):
    cells = RNG.choice(["a", "A", "é", "É", "e", "it's"], 200)
    labels = np.where(RNG.random(200) < np.where(np.isin(cells, ["a", "É"]), 0.8, 0.2), "u", "U")
    table = pa.table({"x": cells, "y": labels})
    connection = package("duckdb").connect()
    collate = "" if collation == "default" else f"collate {collation}"
    connection.sql(f"create table collated (x varchar {collate}, y varchar {collate})")
    connection.register("given", table)
    connection.sql("insert into collated from given")
    if collation == "default":
        if read is ibis:
            pytest.skip("text that is made of bytes has the default collation, and Ibis writes no other")
        connection.sql("set default_collation = 'nocase'")
    found, wanted = fit(read(connection), where="engine", **OPTIONS), fit(table, **OPTIONS)
    assert found.schema_.columns[0].values == ("A", "a", "e", "it's", "É", "é")
    assert found.classes_.tolist() == ["U", "u"]
    rows = table.select(["x"])
    np.testing.assert_allclose(found.predict_proba(rows), wanted.predict_proba(rows), rtol=0, atol=1e-12)


@SIMILAR
def test_categories_of_an_engine_are_texts_by_their_bytes():
    connection = package("duckdb").connect()
    connection.sql(
        "create table given as select (if(i % 3 = 0, 'p', 'P'))::enum('p', 'P') as x, i % 2 as y "
        "from range(60) as rows(i)"
    )
    connection.sql("set default_collation = 'nocase'")
    clf = fit(connection.sql("from given"), where="engine", **OPTIONS)
    assert clf.schema_.columns[0].values == ("P", "p")


def test_tables_of_any_name_are_read():
    table = pa.table({"x": either("p", "q"), "y": LABEL})
    wanted = fit(table, **OPTIONS)
    for name in ("odds", "lazy", "native", "rows", "query", "table_of", "bayesnb_rows", "columns", "found", "source"):
        connection = package("duckdb").connect()
        connection.register(name, table)
        found = fit(connection.sql(f'from "{name}"'), where="engine", **OPTIONS)
        assert found.class_count_.tolist() == wanted.class_count_.tolist()
        assert fit(connection.table(name), where="engine", **OPTIONS).statistics_.class_counts.sum() == 120
