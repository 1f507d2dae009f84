"""Spark, classic and by Spark Connect, through the same expressions; a session takes a minute."""

import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesnb as nb
from bayesnb.tables.files.engines._engine_counts import count_query
from bayesnb.tables.files.engines._engine_schema import describe_query
from tests.tables.files.engines.tables import LIKELIHOODS, assert_alike, make_table

OPTIONS = {"where": "engine", "dependence": False, "temper": False}
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", params=["classic", "Connect"])
def spark(request):
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    builder = pytest.importorskip("pyspark.sql", reason="pyspark is an extra").SparkSession.builder
    if request.param == "Connect":
        pytest.importorskip("grpc", reason="pyspark[connect] is an extra")
    options = {
        "ui.enabled": "false",
        "driver.memory": "1g",
        "sql.shuffle.partitions": "2",
        "pyspark.python": sys.executable,
    }
    builder = builder.master("local[2]") if request.param == "classic" else builder.remote("local[2]")
    for name, value in options.items():
        builder = builder.config(f"spark.{name}", value)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", sys.executable)  # with pyarrow
        session = builder.getOrCreate()
        yield session
        session.stop()


def test_statistics_and_predictions_are_those_in_memory(spark, tmp_path):
    table = make_table(400)
    pq.write_table(table, tmp_path / "rows.parquet")
    query = spark.read.parquet(str(tmp_path / "rows.parquet"))
    schema, queries = describe_query(query, "label", LIKELIHOODS, None)
    assert_alike(count_query(schema, queries).blocks, schema.count(table).blocks)
    clf = nb.fit_table(table, "label", LIKELIHOODS, dependence=False)
    found = nb.predict_table(clf, query, keep=["id"]).sort_by("id")
    rows = table.sort_by("id").drop_columns(["label"]).to_pandas()
    probs = np.column_stack([found[name] for name in ("p(a)", "p(bé)", "p(c')")])
    np.testing.assert_allclose(probs, clf.predict_proba(rows), rtol=0, atol=1e-9)
    assert found["prediction"].to_pylist() == clf.predict(rows).tolist()


def test_nan_null_and_an_empty_text_are_missing_and_an_infinite_number_is_refused(spark, tmp_path):
    x, text = [1.0, np.nan, None, 2.5] * 5, ["", None, "b", "c"] * 5
    table = pa.table({"x": x, "text": text, "y": ["a", "b", "b", "a"] * 5})
    pq.write_table(table, tmp_path / "cells.parquet")
    clf = nb.fit_table(spark.read.parquet(str(tmp_path / "cells.parquet")), "y", {"x": "normal"}, **OPTIONS)
    assert clf.schema_.columns[1].values == ("b", "c")
    assert clf.statistics_.blocks["numeric"].count.tolist() == [[10.0], [0.0]]
    pq.write_table(table.set_column(0, "x", [[1.0, np.inf, None, 2.5] * 5]), tmp_path / "infinite.parquet")
    with pytest.raises(ValueError, match="column 'x' holds an infinite number in"):
        nb.fit_table(spark.read.parquet(str(tmp_path / "infinite.parquet")), "y", {"x": "normal"}, **OPTIONS)


def test_texts_are_equal_if_their_bytes_are(spark, tmp_path):
    functions = pytest.importorskip("pyspark.sql.functions")
    if not hasattr(functions, "collate"):
        pytest.skip("this Spark has no collations")
    table = pa.table({"x": ["a", "A", "é", "É"] * 10, "y": ["u", "U", "u", "u"] * 10})
    pq.write_table(table, tmp_path / "texts.parquet")
    rows = spark.read.parquet(str(tmp_path / "texts.parquet"))
    rows = rows.select(*(functions.collate(name, "UNICODE_CI").alias(name) for name in ("x", "y")))
    found, wanted = nb.fit_table(rows, "y", **OPTIONS), nb.fit_table(table, "y", dependence=False, temper=False)
    assert found.schema_.columns[0].values == ("A", "a", "É", "é")
    assert found.class_count_.tolist() == [10.0, 30.0]
    assert_alike(found.statistics_.blocks, wanted.statistics_.blocks)
