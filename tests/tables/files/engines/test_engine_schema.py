import re
from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files.engines._engine_schema import describe_query
from tests.tables.files.engines.tables import ENGINES, LIKELIHOODS, make_table, query

OPTIONS = {"where": "engine", "dependence": False}


def refusal(fit):
    with pytest.raises(ValueError) as caught:
        fit()
    return str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_are_described_as_in_memory(engine, tmp_path):
    table = make_table(500)
    found, _ = describe_query(query(engine, table, tmp_path), "label", LIKELIHOODS, None)
    wanted = nb.describe_table(table, "label", LIKELIHOODS)
    ours, theirs = found.description, wanted.description
    assert ours.description() == theirs.description()
    assert (ours.num_rows, ours.num_unlabelled) == (theirs.num_rows, theirs.num_unlabelled)
    assert ours.left_out == theirs.left_out
    for one, other in zip(ours.schema.columns, theirs.schema.columns, strict=True):
        assert (one.span, one.missing, one.reason) == (other.span, other.missing, other.reason)
    # warnings differ only where memory names the row
    assert [re.sub("in row .*|in some row.*", "", one) for one in ours.warnings] == [
        re.sub("in row .*|in some row.*", "", one) for one in theirs.warnings
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_of_many_rows_some_of_each_class_are_fetched(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "KEPT_ROWS", 100)
    monkeypatch.setattr(limits, "FETCHED_ROWS", 300)
    table = make_table(2000)
    found, _ = describe_query(query(engine, table, tmp_path), "label", LIKELIHOODS, None)
    labels = found.sample.rows["label"].to_numpy(zero_copy_only=False)
    assert [*np.unique(labels, return_counts=True)[1]] == [100, 100, 100]
    assert found.sample.weight.sum() == pytest.approx(found.num_rows)
    # the values of all rows, and not of the sample alone
    assert found.description.description() == nb.describe_table(table, "label", LIKELIHOODS).description.description()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("cells", "chosen"),
    [
        ([1.0, np.inf, 2.0, 3.0], "auto"),
        ([1.0, -np.inf, np.nan, None], "auto"),
        ([1.0, 1e200, 2.0, 3.0], "normal"),
        ([1.0, 2.5, 2.0, 3.0], "poisson"),
        ([0.0, 1.0, 2.0, 1.0], "bernoulli"),
        (["a", "b", "", None], "normal"),
    ],
)
def test_what_memory_refuses_is_refused(engine, cells, chosen, tmp_path):
    table = pa.table({"x": pa.array(cells), "z": [1.5, 2.5, 3.5, 3.0], "y": ["a", "b", "a", "b"]})
    given = {} if chosen == "auto" else {"x": chosen}
    wanted = refusal(lambda: nb.fit_table(table, "y", given))
    found = refusal(lambda: nb.fit_table(query(engine, table, tmp_path), "y", given, **OPTIONS))
    place = r"('.?' )?in (row \d+|some row)( of the (data frame|query))?"
    assert re.sub(place, "PLACE", found) == re.sub(place, "PLACE", wanted)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sentence_names_the_same_cell_in_whatever_order_groups_come(engine, tmp_path):
    cells = [f"t{place:02d}" for place in range(40)]
    table = pa.table({"x": np.random.default_rng(0).permutation(cells), "y": ["a", "b"] * 20})
    assert "'t00'" in refusal(lambda: nb.fit_table(query(engine, table, tmp_path), "y", {"x": "normal"}, **OPTIONS))


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_null_and_texts_of_missing_cells_are_missing(engine, tmp_path):
    x, text = [1.0, np.nan, None, 2.5] * 5, [" N/A ", None, "b", "c"] * 5
    table = pa.table({"x": pa.array(x), "text": text, "y": ["a", "b", "b", "a"] * 5})
    clf = nb.fit_table(query(engine, table, tmp_path), "y", {"x": "normal"}, **OPTIONS)
    assert clf.schema_.columns[1].values == ("b", "c")
    assert clf.statistics_.blocks["numeric"].count.tolist() == [[10.0], [0.0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_sample_has_rows_of_each_label_of_any_type(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "KEPT_ROWS", 10)
    monkeypatch.setattr(limits, "FETCHED_ROWS", 20)
    kinds = [
        pa.array([Decimal("0.10"), Decimal("-2.30")] * 30, pa.decimal128(10, 2)),
        pa.array([Decimal(0), Decimal("3.07")] * 30, pa.decimal128(20, 9)),
        [0.1, 1.5] * 30,
        pa.array([0.1, 1.5] * 30, pa.float32()),
        [2**60 + 1, 5] * 30,
    ]
    for labels in kinds:
        table = pa.table({"x": [*range(60)], "y": labels})
        schema, _ = describe_query(query(engine, table, tmp_path), "y", {"x": "normal"}, None)
        assert schema.sample.rows["y"].value_counts().field("counts").to_pylist() == [10, 10]
        assert schema.description.classes == nb.describe_table(table, "y", {"x": "normal"}).description.classes


def test_whole_numbers_that_float64_rounds_are_text_if_the_sample_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "KEPT_ROWS", 10)
    monkeypatch.setattr(limits, "FETCHED_ROWS", 20)
    table = pa.table({"x": [*[2, 4] * 50, 2**53 + 1], "y": [*["a", "b"] * 50, "a"]})
    with pytest.warns(UserWarning, match="'x' is read as text because of '9007199254740993' in some row of the query"):
        clf = nb.fit_table(query("polars", table, tmp_path), "y", **OPTIONS)
    assert clf.schema_.columns[0].values == ("2", "4", "9007199254740993")


def test_dates_are_left_out_unless_they_are_chosen():
    days = pl.LazyFrame({"x": [1.5, 2.0, 3.0, 9.0], "y": ["a", "b", "a", "b"]}).with_columns(
        day=pl.lit("2020-01-01").str.to_date()
    )
    with pytest.warns(UserWarning, match="column 'day' has dates or times and is left out|one value only"):
        nb.fit_table(days, "y", **OPTIONS)
    with pytest.raises(ValueError, match="column 'day' holds Date, which engines write in many ways"):
        nb.fit_table(days, "y", {"day": "categorical"}, **OPTIONS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"source": pl.DataFrame({"x": [1]})},
            "where='engine' takes a query of an engine, such as polars.scan",
        ),
        ({"source": "rows.parquet"}, r"where='engine' takes a query of an engine, .* got a str: leave where out"),
        ({"target": "label"}, "the query has no column 'label'; its columns are 'x', 'y'"),
        ({"weight": "x"}, "rows are not weighted in an engine"),
        ({"where": "Engine"}, "where is 'engine' or None, got 'Engine'"),
        ({"dependence": "forest"}, "no dependence"),
        ({"where": None, "sample": pl.DataFrame({"x": [1]})}, "a sample goes with where='engine'"),
        ({"sample": pl.DataFrame({"x": [1.5]})}, "the sample must have the columns of the query"),
    ],
)
def test_what_is_mistyped_is_said(given, message):
    options = {"source": pl.LazyFrame({"x": [1.5, 2.0], "y": ["a", "b"]}), "target": "y", **OPTIONS} | given
    with pytest.raises(ValueError, match=message):
        nb.fit_table(**options)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_fit_is_that_of_the_rows_in_memory(engine, tmp_path):
    table = make_table(2000)
    with pytest.warns(UserWarning, match="column"):
        found = nb.fit_table(query(engine, table, tmp_path), "label", LIKELIHOODS, **OPTIONS)
    with pytest.warns(UserWarning, match="column"):
        wanted = nb.fit_table(table, "label", LIKELIHOODS, dependence=False)
    assert found.learned_.summary == wanted.learned_.summary
    rows = table.drop_columns(["label"])
    np.testing.assert_allclose(found.predict_proba(rows), wanted.predict_proba(rows), rtol=0, atol=1e-9)


def test_that_dependence_is_not_learned_is_said():
    rows = pl.LazyFrame({"x": [1.5, 2.0, 2.5, 3.0] * 3, "y": ["a", "b", "a", "b"] * 3})
    with pytest.warns(UserWarning, match="engines do not count pairs of columns"):
        clf = nb.fit_table(rows, "y", where="engine")
    assert "dependence" not in clf.learned_.summary
    sample = pl.DataFrame({"x": [1.0, 9.0], "y": ["a", "b"]})
    clf = nb.fit_table(rows, "y", sample=sample, **OPTIONS)
    assert clf.class_count_.tolist() == [6.0, 6.0]
    assert "powers learned on 2 of 12 rows" in clf.learned_.summary
