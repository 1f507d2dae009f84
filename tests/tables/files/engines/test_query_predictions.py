import gc
from functools import cache
from itertools import product
from math import inf, nan

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import softmax
from scipy.stats import norm

import bayesnb as nb
from bayesnb.tables.files.engines._queries import as_lazy, run
from tests.tables.files.engines.tables import ENGINES, FAST, OTHERS, QUIET, make_table, query

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of columns that are left out

LIKELIHOODS = {"id": "skip", "constant": "skip", "number": "skip", "events": "poisson", "level": "categorical"}
NAMES = ["p(a)", "p(bé)", "p(c')"]


def fit(table, chosen=LIKELIHOODS, **options):
    return nb.fit_table(table, "label", chosen, **{"dependence": False} | options)


@pytest.fixture(scope="module")
def table():
    return make_table(1500)


@pytest.fixture(scope="module")
def new():
    """Rows with missing cells, unknown categories and booleans in other spellings."""
    rows = make_table(800, seed=2)
    some = rows["text"].to_pylist()
    some[:4] = ["TRUE", "FALSE", "new", "It's"]
    many = ["unknown", *rows["many"].to_pylist()[1:]]
    place = rows.column_names.index
    rows = rows.set_column(place("text"), "text", [some]).set_column(place("many"), "many", [many])
    return rows.set_column(place("id"), "id", [range(800)])


def answers(clf, rows, engine, folder, **options):
    found = nb.predict_table(clf, query(engine, rows, folder), keep=["id"], **options)
    gc.collect()  # what the query needs lives as long as it does
    return run(as_lazy(found)).sort_by("id")


CHOICES = [
    (LIKELIHOODS | {"gaps": "histogram", "chosen": "normal"}, {"temper": "per_feature"}),
    (LIKELIHOODS, {}),
    (LIKELIHOODS | {"gaps": "histogram", "chosen": "normal"}, {"temper": False}),
    (LIKELIHOODS, {"temper": True, "class_prior": {"a": 0.2, "bé": 0.3, "c'": 0.5}}),
    ({"*": "skip", "events": nb.Poisson()}, {"method": "empirical"}),
]


@pytest.fixture(scope="module")
def chosen_fit(table):
    """The fit of a choice, once for all engines."""
    return cache(lambda number, **left_out: fit(table, CHOICES[number][0] | left_out, **CHOICES[number][1]))


def choices():
    """Each choice in each engine. SQLFrame and Dask take seconds for each: all but the first run with ``-m fuzz``."""
    for engine, number in product(FAST, range(len(CHOICES))):
        yield pytest.param(engine, number, marks=[] if number == 0 or engine == "polars" else pytest.mark.slow)
    for engine, number in product(OTHERS, range(len(CHOICES))):
        rare = number > 0 and engine in ("SQLFrame", "Dask")
        yield pytest.param(engine, number, marks=[pytest.mark.fuzz if rare else pytest.mark.slow, QUIET])


@pytest.mark.parametrize(("engine", "number"), list(choices()))
def test_predictions_are_those_in_memory(engine, number, chosen_fit, new, tmp_path):
    clf = chosen_fit(number, many="skip") if engine == "Dask" else chosen_fit(number)
    found = answers(clf, new, engine, tmp_path)
    assert found.column_names[: 2 + len(NAMES)] == ["id", "prediction", *NAMES]  # Dask's have an index
    rows = new.select([name for name in new.column_names if name != "label"]).to_pandas()
    wanted = clf.predict_proba(rows)
    np.testing.assert_allclose(np.column_stack([found[name] for name in NAMES]), wanted, rtol=0, atol=1e-9)
    assert found["prediction"].to_pylist() == clf.predict(rows).tolist()


@pytest.mark.parametrize(
    "engine",
    ["polars", *(pytest.param(one, marks=[pytest.mark.slow, QUIET]) for one in ("DuckDB", "SQLFrame", "Dask"))],
)
def test_known_variances_are_predicted_in_float64(engine, table, new, tmp_path):
    chosen = {"*": "skip", "single": nb.NormalKnownVariance(2.0), "chosen": nb.NormalKnownVariance(0.5)}
    clf = fit(table, chosen, temper=False)
    found = answers(clf, new, engine, tmp_path)
    logs = np.log(np.asarray(clf.fit_.model.class_mean(), float))
    for block, columns in clf.schema_.blocks.items():
        family, x = clf.fit_.model.families[block], np.column_stack([new[column.name] for column in columns])
        spread = np.sqrt(np.asarray(family.variance, float) + np.asarray(family.scale, float) ** 2)
        logs = logs + norm.logpdf(x[:, None].astype(float), np.asarray(family.loc, float), spread).sum(axis=2)
    np.testing.assert_allclose(np.column_stack([found[name] for name in NAMES]), softmax(logs, axis=1), atol=1e-9)
    tempered = fit(table, chosen, temper="per_feature")
    found = answers(tempered, new, engine, tmp_path)
    wanted = tempered.predict_proba(new.drop_columns(["label"]).to_pandas())  # in float32
    np.testing.assert_allclose(np.column_stack([found[name] for name in NAMES]), wanted, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_costs_decide(engine, table, new, tmp_path):
    clf, costs = fit(table, {"*": "skip", "events": "poisson"}), {"a": {"bé": 9.0}, "c'": {"a": 5.0}}
    found = answers(clf, new, engine, tmp_path, costs=costs)
    rows = new.select([name for name in new.column_names if name != "label"]).to_pandas()
    assert found["prediction"].to_pylist() == clf.predict(rows, costs=costs).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_memory_refuses_have_nulls(engine, tmp_path):
    table = pa.table({"x": [1.0, 2.0, 2.5, 7.0] * 3, "n": [1, 2, 0, 5] * 3, "label": ["a", "a", "b", "b"] * 3})
    clf = fit(table, {"x": "normal", "n": "poisson"})
    x, n = [1.0, inf, nan, None, -inf, 1e200, 2.0, 2.0], [1.0, 1.0, 2.0, 1.0, 1.0, 1.0, -1.0, 0.5]
    found = answers(clf, pa.table({"x": x, "n": n, "id": range(8)}), engine, tmp_path)
    seen = [True, False, True, True, False, False, False, False]
    assert found["p(a)"].is_valid().to_pylist() == found["prediction"].is_valid().to_pylist() == seen
    wanted = clf.predict_proba(pa.table({"x": [1.0, nan, None], "n": [1, 2, 1]}).to_pandas())[:, 0]
    np.testing.assert_allclose(found["p(a)"].drop_null().to_numpy(), wanted, atol=1e-9)


@pytest.mark.slow
@QUIET
def test_joins_of_dask_are_refused(table, new, tmp_path):
    with pytest.raises(ValueError, match="columns of more than 32 categories are not joined in dask: read the rows"):
        answers(fit(table), new, "Dask", tmp_path)


def test_numbers_and_booleans_are_classes_and_a_single_class_has_all():
    rows = pl.LazyFrame({"x": [1.0, 2.0, 5.0, 6.0] * 3, "label": [0, 0, 1, 1] * 3})
    found = nb.predict_table(fit(rows, {"x": "normal"}), rows).collect()
    assert found.columns == ["prediction", "p(0)", "p(1)"]
    assert found["prediction"].to_list() == [0, 0, 1, 1] * 3


@pytest.mark.parametrize(
    ("chosen", "options", "message"),
    [
        (
            LIKELIHOODS,
            {"dependence": None},
            "dependence between columns has no expression in an engine: fit",
        ),
        ({"*": "skip", "large": nb.MultivariateNormal()}, {}, "MultivariateNormal, as of 'large', has no expression"),
        ({"*": "skip", "many": "words"}, {}, "Multinomial, as of 'many', has no expression in an engine: read the row"),
        ({"*": "skip", "events": "multinomial"}, {}, "Multinomial, as of 'events', has no expression in an engine"),
        ({"*": "skip", "large": "normal"}, {"method": "map"}, "a fit that is a PointEstimate has no expression"),
    ],
)
def test_what_has_no_expression_is_refused_by_name_and_read_if_asked(chosen, options, message, table):
    clf = fit(table, chosen, **options)
    rows = pl.from_arrow(table).lazy().drop("label")
    with pytest.raises(ValueError, match=message):
        nb.predict_table(clf, rows)
    found = nb.predict_table(clf, rows, where="here")
    assert found.num_rows == table.num_rows


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"x": ["1", "2"], "t": ["u", "v"]}, {}, "'x' holds text, and the model was fitted to numbers in it"),
        ({"x": [1.0, 2.0], "t": [1, 2]}, {}, "'t' holds numbers, and the model was fitted to text in it"),
        ({"x": [1.0, 2.0]}, {}, "the rows have no column 't'"),
        (
            {"x": [1.0, 2.0], "t": ["u", "v"]},
            {"keep": ["key"]},
            "keep names the column 'key', which the query",
        ),
        (
            {"x": [1.0], "t": ["u"], "prediction": [1]},
            {"keep": "prediction"},
            "as a column of the predictions is call",
        ),
        ({"x": [1.0, 2.0], "t": ["u", "v"]}, {"where": "engine"}, "where is 'here' to read the rows of a query"),
    ],
)
def test_what_does_not_fit_is_said(columns, options, message):
    rows = pl.DataFrame({"x": [1.0, 2.0, 4.0, 5.0], "t": ["u", "v", "u", "v"], "label": ["a", "a", "b", "b"]})
    clf = fit(rows, {"x": "normal", "t": "categorical"})
    with pytest.raises(ValueError, match=message):
        nb.predict_table(clf, pl.LazyFrame(columns), **options)
