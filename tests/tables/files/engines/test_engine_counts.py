import numpy as np
import pytest

import bayesnb as nb
from bayesnb.tables.files.engines._engine_counts import count_query
from bayesnb.tables.files.engines._engine_schema import describe_query
from tests.tables.files.engines.tables import ENGINES, LIKELIHOODS, assert_alike, make_table, query


@pytest.mark.parametrize("engine", ENGINES)
def test_statistics_are_those_in_memory(engine, tmp_path):
    table = make_table(3000)
    schema, queries = describe_query(query(engine, table, tmp_path), "label", LIKELIHOODS, None)
    found = count_query(schema, queries)
    assert_alike(found.blocks, schema.count(table).blocks)
    assert_alike(found.blocks, nb.describe_table(table, "label", LIKELIHOODS).count(table).blocks)
    assert found.class_counts.sum() == schema.num_rows == table.num_rows - table["label"].null_count


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_more_rows_than_are_fetched_are_all_counted(engine, tmp_path):
    table = make_table(150_000)
    schema, queries = describe_query(query(engine, table, tmp_path), "label", LIKELIHOODS, None)
    assert schema.sample.rows.num_rows < 50_000
    assert_alike(count_query(schema, queries).blocks, schema.count(table).blocks)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_class_without_numbers_and_one_cell(engine, tmp_path):
    table = make_table(60).slice(0, 12)
    label = np.array(["a", "b", "c"] * 4)
    x = np.where(label == "c", np.nan, np.arange(12.0) * 1.5)
    table = table.set_column(table.num_columns - 1, "label", [label]).set_column(3, "nan", [x])
    schema, queries = describe_query(query(engine, table, tmp_path), "label", {"*": "skip", "nan": "normal"}, None)
    assert_alike(count_query(schema, queries).blocks, schema.count(table).blocks)


@pytest.mark.parametrize("engine", ENGINES)
def test_missing_cells_are_counted_for_flags(engine, tmp_path):
    table = make_table(300)
    schema, queries = describe_query(query(engine, table, tmp_path), "label", LIKELIHOODS, None, missing="informative")
    flags = schema.description.schema.names_by_block["missing"]
    assert flags == [f"{name} is missing" for name in schema.asked.names if table[name].null_count or name == "nan"]
    counted = nb.describe_table(table, "label", LIKELIHOODS, missing="informative").count(table)
    assert_alike(count_query(schema, queries).blocks["missing"], counted.blocks["missing"])


@pytest.mark.parametrize("family", [nb.MultivariateNormal(), nb.Multinomial()])
def test_other_families_are_refused_by_name(family, tmp_path):
    table = make_table(200)
    chosen = {"*": "skip", "events": family}
    schema, queries = describe_query(query("polars", table, tmp_path), "label", chosen, None)
    with pytest.raises(ValueError, match=rf"columns of {type(family).__name__}, such as 'events', are not counted in"):
        count_query(schema, queries)


def test_a_likelihood_needs_rows():
    import polars as pl

    frame = pl.DataFrame({"wait": np.random.default_rng(0).gamma(2.0, size=40), "y": np.arange(40) % 2})
    with pytest.raises(
        ValueError, match=r"columns of Gamma, such as 'wait', are not counted in an engine.*schema\.count"
    ):
        nb.fit_table(frame.lazy(), "y", {"wait": "gamma"}, method="posterior", where="engine")
    found = nb.fit_table(frame.lazy(), "y", {"wait": "gamma"}, method="posterior")  # its rows come here
    clf = nb.NaiveBayesClassifier({"wait": "gamma"}, method="posterior").fit(frame[["wait"]], frame["y"])
    np.testing.assert_allclose(found.predict_proba(frame[["wait"]]), clf.predict_proba(frame[["wait"]]), rtol=1e-9)
