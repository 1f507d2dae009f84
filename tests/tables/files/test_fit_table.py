"""`nb.fit_table` of files: what `bayesnb fit` does, from Python; frames in `nb.stream`; rows not computed yet."""

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files import _summarise_table as summarise_table
from bayesnb.tables.files.sources._paths import open_data

ROWS = 60


def mixed():
    rng = np.random.default_rng(3)
    label = np.where(rng.random(ROWS) < 0.4, "yes", "no")
    return pd.DataFrame(
        {
            "colour": np.where(rng.random(ROWS) < 0.5, label, rng.choice(["red", "blue"], ROWS)),
            "flag": rng.random(ROWS) < 0.3,
            "height": rng.normal(size=ROWS).round(2) + (label == "yes"),
            "visits": rng.poisson(4.0, ROWS),
            "name": [f"row {i}" for i in range(ROWS)],
            "bought": label,
        }
    )


@pytest.fixture(scope="module", params=["csv", "parquet"])
def path(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / f"rows.{request.param}"
    mixed().to_csv(path, index=False) if request.param == "csv" else mixed().to_parquet(path)
    return path


@pytest.mark.filterwarnings("ignore:column 'name'")
@pytest.mark.parametrize(
    "likelihoods",
    [
        "auto",
        {"vis*": nb.Poisson(2.0, 0.5)},
        pytest.param({"visits": "poisson", "flag": "skip"}, marks=pytest.mark.slow),
    ],
    ids=["auto", "family", "kinds"],
)
def test_the_same_as_the_estimator(path, likelihoods):
    frame = mixed()
    X, y = frame.drop(columns="bought"), frame["bought"]
    fitted = nb.fit_file(path, "bought", likelihoods, smoothing=2.0)
    asked = nb.NaiveBayesClassifier(likelihoods, smoothing=2.0).fit(X, y)
    assert fitted.likelihoods_ == asked.likelihoods_
    assert_array_equal(fitted.classes_, asked.classes_)
    assert_allclose(fitted.predict_proba(X), asked.predict_proba(X), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:column 'name'")
def test_a_small_file_is_read_once_with_the_same_result(path, monkeypatch):
    opened, fits = [], []
    kind = type(open_data(str(path)).parts[0].open())
    read = kind.batches
    monkeypatch.setattr(kind, "batches", lambda file, *given: opened.append(file) or read(file, *given))
    for kept, times in ((1 << 20, 1), (0, 4)):  # once more for the powers of the default
        monkeypatch.setattr(limits, "KEPT_BYTES", kept)
        fits.append(nb.fit_file(path))
        assert len(opened) == times
    assert_array_equal(*(fit.predict_proba(mixed().drop(columns="bought")) for fit in fits))


@pytest.mark.filterwarnings("ignore:column 'code' is read as text")
@pytest.mark.parametrize("cells", [["red", "5"], ["5", "red"], ["", "red", "5"]])
def test_text_and_numbers_in_different_batches_are_text(cells, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 60)  # ten rows of red
    monkeypatch.setattr(summarise_table, "read_ahead", lambda batches: [*batches])  # as far ahead as can be
    frame = pd.DataFrame({"code": np.repeat(cells, 10), "label": [*"ab"] * (5 * len(cells))})
    file = tmp_path / "codes.csv"
    frame.to_csv(file, index=False)
    fitted = nb.fit_file(file)
    assert fitted.schema_.value_names["code"] == ["5", "red"]
    assert fitted.statistics_.class_counts.sum() == len(frame)


def test_one_family_for_all_columns(path):
    family = nb.MultivariateNormal()
    frame = mixed()[["height", "visits", "bought"]]
    file = path.with_name("numbers.parquet")
    frame.to_parquet(file)
    fitted = nb.fit_file(file, "bought", family)
    rows = frame.drop(columns="bought")
    asked = nb.NaiveBayesClassifier(family).fit(rows, frame["bought"])
    assert_allclose(fitted.predict_proba(rows), asked.predict_proba(rows), rtol=1e-9)


def test_warnings_say_what_to_write_in_python(path):
    with pytest.warns(UserWarning, match="to keep it, write likelihoods={'name': 'categorical'}"):
        nb.fit_file(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "bougth"}, "has no column 'bougth'; did you mean 'bought'"),
        ({"likelihoods": {"bought": "normal"}}, "'bought' is the target"),
        ({"likelihoods": {"flga": "normal"}}, "no column 'flga'.*did you mean 'flag'"),
        ({"likelihoods": "gaussian"}, "'gaussian' is not a likelihood"),
        ({"likelihoods": {"colour": "normal"}}, "'colour' holds text, which cannot be normal"),
        ({"method": "mpa"}, "method must be one of"),
        (
            {"target": pd.Series([0, 1])},
            "target must be the name of a column, got Series; estimators take",
        ),
    ],
)
def test_mistakes(path, options, message):
    with pytest.raises(ValueError, match=message):
        nb.fit_file(path, **options)


NO_TABLES = {"a list of nothing": [], "a list of DataFrame, int": (pd.DataFrame({"a": [1]}), 3),
             "a ndarray": np.ones((2, 2)), "a module": nb}  # fmt: skip


@pytest.mark.parametrize("got", NO_TABLES)
def test_arrays_are_no_table(got):
    with pytest.raises(ValueError, match=rf"expected a path, a data frame, .* got {got}: .* NaiveBayesClassifier"):
        nb.fit_table(NO_TABLES[got], "bought")


@pytest.mark.parametrize("source", [pd.Series([1.0], name="a"), lambda: 3])
def test_a_column_is_no_table(source):
    with pytest.raises(ValueError, match=r"a (Series|int) is no stream of rows with columns: "):
        nb.fit_table(source, "bought")


NUMBERS = pd.DataFrame({"a": [1.0, 2.0, 4.0, 8.0], "b": [0, 3, 5, 1], "label": ["x", "y", "x", "z"]})


@pytest.mark.parametrize(
    "frame",
    [NUMBERS, NUMBERS.set_index([[4, 2, 1, 0]]), pl.from_pandas(NUMBERS), pa.Table.from_pandas(NUMBERS),
     pl.from_pandas(NUMBERS).with_columns(pl.col("label").cast(pl.Categorical))],
    ids=["pandas", "pandas with an index", "polars", "pyarrow", "polars categories"],
)  # fmt: skip
def test_frames_are_read_twice_so_their_classes_need_not_be_declared(frame):
    model = nb.NaiveBayes(nb.Normal())
    found = nb.stream(model, frame, label="label", columns=["a", "b"], progress_bar=False)
    wanted = nb.sufficient_statistics(model, NUMBERS[["a", "b"]].to_numpy(float), np.array([0, 1, 0, 2]))
    assert_array_equal(found.class_counts, wanted.class_counts)
    assert_allclose(found.blocks["x"].mean, wanted.blocks["x"].mean)


class Query:
    """Stands in for a query of DuckDB."""

    def fetch_record_batch(self):
        """Read batches of rows."""


Query.__module__, Query.__name__ = "_duckdb", "DuckDBPyRelation"
TAKES_ROWS = {
    "fit": lambda rows: nb.fit_posterior(nb.NaiveBayes(nb.Normal()), rows, np.array([0, 1, 0, 1])),
    "estimator": lambda rows: nb.NaiveBayesClassifier().fit(rows, [0, 1, 0, 1]),
    "labels": lambda rows: nb.NaiveBayesClassifier().fit(np.ones((4, 1)), rows),
    "inference": nb.infer_likelihoods,
    "stream": lambda rows: nb.stream(nb.NaiveBayes(nb.Normal()), rows, label="label"),
    "stream of blocks": lambda rows: nb.stream(nb.NaiveBayes(nb.Normal()), [(rows, rows)], num_classes=2),
}


@pytest.mark.parametrize("door", TAKES_ROWS)
@pytest.mark.parametrize(
    ("module", "name", "methods"),
    [
        ("dask.dataframe.dask_expr._collection", "DataFrame", [r"\.compute\(\)", r"in \w+( \w+)?\.partitions"]),
        ("dask.array.core", "Array", [r"\.compute\(\)", r"\.blocks\.ravel\(\)"]),
        ("dask.bag.core", "Bag", [r"\.compute\(\)", r"\.to_delayed\(\)"]),
        ("duckdb", "DuckDBPyRelation", [r"\.df\(\)", r"\.to_arrow_reader\(\) to nb.stream"]),
    ],
)
def test_rows_that_are_not_computed_are_refused_with_their_own_methods(door, module, name, methods):
    kind = type(name, (), {"__module__": module, "__array__": lambda *_: pytest.fail("all rows were computed")})
    with pytest.raises(ValueError) as refused:
        TAKES_ROWS[door](kind())
    for method in methods:
        assert refused.match(method)


def test_an_older_query_names_its_older_method():
    with pytest.raises(ValueError, match=r"X\.fetch_record_batch\(\) to nb.stream"):
        nb.NaiveBayesClassifier().fit(Query(), [0, 1])


def test_the_methods_are_those_of_dask():
    array, bag = pytest.importorskip("dask.array"), pytest.importorskip("dask.bag")
    frame = pytest.importorskip("dask.dataframe").from_pandas(NUMBERS, npartitions=2)
    assert sum(len(part.compute()) for part in frame.partitions) == 4
    assert sum(len(part.compute()) for part in array.ones((4, 2), chunks=2).blocks.ravel()) == 4
    assert sum(len(part.compute()) for part in bag.from_sequence(range(4)).to_delayed()) == 4
    with pytest.raises(ValueError, match=r"X is a Dask DataFrame.*X\.partitions"):
        nb.NaiveBayesClassifier().fit(frame, NUMBERS["label"])


def test_a_query_that_gives_batches_is_streamed():
    table = pa.Table.from_pandas(NUMBERS)
    streams = {
        "__module__": "_duckdb",
        "__arrow_c_stream__": lambda _, schema=None: table.__arrow_c_stream__(schema),
    }
    query = type("DuckDBPyRelation", (), streams)()
    found = nb.stream(nb.NaiveBayes(nb.Normal()), query, label="label", columns=["a"], classes=["x", "y", "z"])
    assert_array_equal(found.class_counts, [2, 1, 1])


@pytest.mark.filterwarnings("ignore:column 'name'")
@pytest.mark.parametrize(
    "options", [{"temper": True}, {"temper": "per_feature"}, {"dependence": False}, {"dependence": "forest"}]
)
def test_what_is_asked_for_is_learned_as_by_the_estimator(path, options):
    frame = mixed()
    X, y = frame.drop(columns="bought"), frame["bought"]
    fitted, asked = nb.fit_file(path, "bought", **options), nb.NaiveBayesClassifier(**options).fit(X, y)
    assert_allclose(fitted.predict_proba(X), asked.predict_proba(X), rtol=1e-9)
    assert fitted.learned_.powers.keys() == asked.learned_.powers.keys() != set()


@pytest.mark.parametrize(
    ("options", "num_learned"),
    [
        ({"temper": True}, 62),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [({}, 32), ({"temper": "per_feature"}, 42)]),
    ],
)
def test_of_a_large_file_the_powers_are_learned_on_the_rows_that_fit_takes(options, num_learned, tmp_path, monkeypatch):
    """Those of each class with the lowest hashes; pairs are those of all rows."""
    limited = {"LEARNED_RATIOS": 240, "ROWS_A_POWER": 1, "FEWEST_LEARNED": 30, "FEWEST_OF_CLASS": 5}
    for name, number in {**limited, "CSV_BLOCK_BYTES": 500}.items():
        monkeypatch.setattr(limits, name, number)
    rng, y = np.random.default_rng(3), np.arange(173) % 3
    frame = pd.DataFrame({"a": rng.normal(y), "b": rng.gamma(1.0 + y), "kind": rng.choice([*"xyz"], 173)})
    labels = np.array([*"pqr"])[y]
    frame.assign(label=labels).to_csv(tmp_path / "rows.csv", index=False)
    fit = nb.NaiveBayesClassifier(**options).fit(frame, labels)
    assert fit.learned_.summary.endswith(f"powers learned on {num_learned} of 173 rows")
    same = nb.fit_file(tmp_path / "rows.csv", **options)
    assert_allclose(same.predict_proba(frame), fit.predict_proba(frame), rtol=1e-9)
    monkeypatch.setattr(limits, "EDGE_ROWS", 172)  # one fewer than there are
    large = nb.fit_file(tmp_path / "rows.csv", "label", {"a": "normal", "b": "normal"}, **options)
    fit = nb.NaiveBayesClassifier({"a": "normal", "b": "normal"}, **options).fit(frame, labels)
    assert large.learned_.powers.keys() == fit.learned_.powers.keys()
    for name, power in large.learned_.powers.items():
        assert_allclose(power, fit.learned_.powers[name], rtol=1e-6)
    assert_allclose(large.predict_proba(frame), fit.predict_proba(frame), rtol=1e-6)


def test_cells_of_rows_without_a_class_do_not_matter(tmp_path):
    rows = pd.DataFrame({"a": [1.0, 2.0, np.inf, 4.0, 3.0], "label": ["x", "y", None, "x", "y"]})
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.dropna().to_parquet(tmp_path / "labelled.parquet", index=False)
    with pytest.warns(UserWarning, match="one row has no class in column 'label', and does not count"):
        found = nb.fit_file(tmp_path / "rows.parquet", temper=False)
    wanted = nb.fit_file(tmp_path / "labelled.parquet", temper=False)
    jax.tree.map(assert_array_equal, found.statistics_, wanted.statistics_)


WRITTEN = {"u": ["u", "u ", "\tu", '"u\n"', "u\u00a0"], "=u": ["=u", "'=u"], "True": ["true", "TRUE ", "True"]}
"""Cells that are one text once they are read."""


def written_alike(how, text, folder):
    """Rows whose categories and labels are written in several ways, as one table, and as they are read."""
    rng = np.random.default_rng(5)
    cells, y = rng.choice([text, "v", "w"], 120, p=[0.5, 0.3, 0.2]), rng.random(120)
    label = np.where(y < np.where(cells == text, 0.8, 0.2), text, "b")
    plain = pd.DataFrame({"x": cells, "label": label})
    if how == "csv":
        several = {text: WRITTEN[text]}
        lines = ["x,label", *(",".join(rng.choice(several.get(one, [one])) for one in row) for row in plain.to_numpy())]
        (folder / "rows.csv").write_text("\n".join(lines) + "\n")
        return folder / "rows.csv", plain
    places = {text: 0, "v": 1, "w": 2, "b": 3}
    codes = {name: [places[one] + 4 * rng.integers(2) for one in plain[name]] for name in plain}
    table = pa.table({n: pa.DictionaryArray.from_arrays(own, pa.array([*places] * 2)) for n, own in codes.items()})
    return (table if how == "arrow" else pa.RecordBatchReader.from_batches(table.schema, table.to_batches())), plain


@pytest.mark.parametrize("options", [{}, {"temper": False, "dependence": False}])  # the second counts in one pass
@pytest.mark.parametrize(("how", "text"), [*(("csv", text) for text in WRITTEN), ("arrow", "u"), ("stream", "u")])
def test_texts_that_become_equal_once_they_are_read_are_one(how, text, options, tmp_path):
    rows, plain = written_alike(how, text, tmp_path)
    found, wanted = nb.fit_table(rows, **options), nb.fit_table(plain, **options)
    assert found.schema_.columns[0].values == wanted.schema_.columns[0].values == tuple(sorted([text, "v", "w"]))
    assert found.classes_.tolist() == wanted.classes_.tolist() == sorted([text, "b"])
    assert_array_equal(found.class_count_, wanted.class_count_)
    assert_allclose(found.predict_proba(plain[["x"]]), wanted.predict_proba(plain[["x"]]), rtol=1e-12)
    if how != "stream":
        schema = nb.merge(nb.describe_table(rows), nb.describe_table(plain))
        both = nb.fit_table(schema, statistics=nb.merge(schema.count(rows), schema.count(plain)), **options)
        assert both.classes_.tolist() == wanted.classes_.tolist()
        assert_array_equal(both.class_count_, 2 * wanted.class_count_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_that_become_equal_are_one(library):
    cells, y = ["true", "TRUE", "v", "true", "v", "TRUE"] * 10, ["a", "a", "b", "b", "b", "a"] * 10
    coded = pd.Series(pd.Categorical(cells)) if library == "pandas" else pl.Series(cells, dtype=pl.Categorical)
    frame = (pd if library == "pandas" else pl).DataFrame({"x": coded, "y": y})
    plain = pd.DataFrame({"x": ["v" if cell == "v" else "True" for cell in cells], "y": y})
    found, wanted = nb.fit_table(frame, "y"), nb.fit_table(plain, "y")
    assert found.schema_.columns[0].values == ("True", "v")
    assert_allclose(found.predict_proba(frame[["x"]]), wanted.predict_proba(plain[["x"]]), rtol=1e-12)


def test_categories_of_several_types_that_become_equal_are_one():
    categories = pd.Index([1, "1", "b", "c", "d"], dtype=object)
    mixed = pd.DataFrame({"x": pd.Categorical.from_codes([0, 1, 2, 3, 4] * 12, categories)})
    clf = nb.NaiveBayesClassifier().fit(mixed, [0, 1, 1, 0, 1] * 12)
    assert clf.schema_.columns[0].values == ("1", "b", "c", "d")


def test_files_take_families_of_mapped_cells(tmp_path):
    """As the estimator does with frames; a cell outside of the support is named by its column."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"])[np.arange(40) % 2]
    size = np.exp(rng.normal(size=40))
    frame = pd.DataFrame({"size": size, "income": np.where(rng.random(40) < 0.3, 0.0, size[::-1]), "kind": y})
    frame.loc[3, "income"] = np.nan
    likelihoods = {"size": nb.LogNormal(), "income": nb.Hurdle(nb.LogNormal(), at=(0.0, np.nan))}
    frame.to_csv(tmp_path / "rows.csv", index=False)
    X = frame[["size", "income"]]
    found = nb.fit_table(tmp_path / "rows.csv", "kind", likelihoods=likelihoods, method="posterior")
    own = nb.NaiveBayesClassifier(likelihoods, method="posterior").fit(X, y)
    assert_allclose(found.predict_proba(X), own.predict_proba(X), rtol=1e-9)
    nb.save(found, tmp_path / "fit.bayesnb")
    assert_allclose(nb.load(tmp_path / "fit.bayesnb").predict_proba(X), found.predict_proba(X), rtol=1e-12)
    parts = (
        nb.NaiveBayesClassifier(likelihoods, method="posterior").partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    )
    assert_allclose(parts.predict_proba(X), own.predict_proba(X), rtol=1e-9)
    frame.assign(size=frame["size"].where(frame.index != 6, 0.0)).to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match="column 'size' cannot be LogNormal: a cell is a number above 0"):
        nb.fit_table(tmp_path / "bad.csv", "kind", likelihoods=likelihoods)
