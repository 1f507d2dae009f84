"""Sources: cells that are missing are missing at every door; files that cannot be read to their end keep what was."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.tables.files._counting import stream
from bayesnb.tables.files.sources._source import StreamError
from bayesnb.tables.frames._values import MISSING
from tests.tables.files.stream_tables import NORMAL, TABLE, K, pq

pytestmark = pytest.mark.usefixtures("small_batches")

MARKS = [*sorted(MISSING), " NA ", "\tnull"]
COLOURS = pd.DataFrame({"colour": MARKS + ["red", "blue"] * 15, "kind": ([*"ab"] * 27)[:53]})
DOORS = {
    "csv": lambda place: _csv(place / "rows.csv"),
    "gz": lambda place: _csv(place / "rows.csv.gz"),
    "parquet": lambda place: COLOURS.to_parquet(place / "rows.parquet") or place / "rows.parquet",
    "pandas": lambda _: COLOURS,
    "categories": lambda _: COLOURS.astype("category"),
    "polars": lambda _: pl.from_pandas(COLOURS),
    "arrow": lambda _: pa.Table.from_pandas(COLOURS),
    "lazy": lambda _: pl.from_pandas(COLOURS).lazy(),
    "DuckDB": lambda _: duckdb.from_df(COLOURS),
}
PLAIN = {"temper": False}


def _csv(path):
    COLOURS.to_csv(path, index=False)
    return path


# cells that are missing


def of_nothing(clf):
    """The probabilities of a row of which nothing is known."""
    return clf.predict_proba([{"colour": None}])


@pytest.mark.filterwarnings("ignore:column 'colour' has 3 cells that say NA or None")
@pytest.mark.parametrize("door", DOORS)
def test_missing_cells_are_the_same_at_every_door(door, tmp_path):
    clf = nb.fit_table(DOORS[door](tmp_path), "kind", **PLAIN)
    assert clf.schema_.columns[0].values == ("blue", "red")
    assert clf.schema_.columns[0].missing == len(MARKS)
    new = pd.DataFrame({"colour": MARKS})
    new.to_csv(tmp_path / "new.csv", index=False)
    for rows in (new, pl.from_pandas(new), new.to_dict("records"), [{"colour": mark} for mark in MARKS[:3]]):
        assert_allclose(clf.predict_proba(rows), np.repeat(of_nothing(clf), len(rows), axis=0))
    found = nb.predict_table(clf, tmp_path / "new.csv").to_pandas()
    assert_allclose(found.filter(like="p("), np.repeat(of_nothing(clf), len(MARKS), axis=0))


def test_the_estimator_takes_a_frame_of_text_alike():
    with pytest.warns(UserWarning, match="column 'colour' has 3 cells that say NA or None, which are missing cells"):
        clf = nb.NaiveBayesClassifier().fit(COLOURS[["colour"]], COLOURS["kind"])
    assert clf.schema_.columns[0].values == ("blue", "red")
    mixed = pd.DataFrame({"age": [31.5, " n/a", 40.0, None] * 5})
    clf = nb.NaiveBayesClassifier().fit(mixed, [*"abab"] * 5)
    assert (clf.likelihoods_["age"], clf.schema_.columns[0].missing) == ("categorical", 10)


ROWS = pd.DataFrame({"age": ["unknown", *map(str, np.arange(39) // 3 + 0.5), "7"], "kind": [*"ab"] * 20 + ["a"]})


@pytest.mark.parametrize("engine", [None, "engine"])
def test_declared_cells_are_missing_and_are_so_in_predictions(engine, tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(
        UserWarning, match=r"'unknown' on line 2: if .* missing cell, .* na_values=\['unknown'\] \(--na-"
    ):
        nb.fit_table(tmp_path / "rows.csv", "kind", **PLAIN)
    rows = tmp_path / "rows.csv" if engine is None else pl.scan_csv(tmp_path / "rows.csv", null_values="unknown")
    clf = nb.fit_table(rows, "kind", na_values=["unknown", 7], where=engine, **PLAIN)
    nb.save(clf, tmp_path / "model")
    for fit in (clf, nb.load(tmp_path / "model")):
        assert (fit.likelihoods_["age"], fit.schema_.columns[0].missing) == ("normal", 2)
        nothing = fit.predict_proba([{"age": None}])
        for cell in ("unknown", 7, 7.0, "7 "):
            assert_allclose(fit.predict_proba([{"age": cell}]), nothing)
        assert_allclose(fit.predict_proba(pd.DataFrame({"age": [7.0]})), nothing)
        (tmp_path / "new.csv").write_text('age\nunknown\n7\n?\n""\n')
        assert_allclose(nb.predict_table(fit, tmp_path / "new.csv").to_pandas().filter(like="p("), [*nothing] * 4)
    with pytest.raises(
        ValueError, match="holds text, 'unknown', and the model was fitted to numbers in it: if it stands"
    ):
        nb.predict_table(clf, tmp_path / "new.csv", na_values="other")


def test_names_that_look_missing_can_be_kept(tmp_path):
    lands = pd.DataFrame({"land": ["NA", "DE", "FR", ""] * 10, "kind": ["None", "b"] * 20})
    lands.to_csv(tmp_path / "rows.csv", index=False)
    schema = nb.describe_table(tmp_path / "rows.csv", "kind", keep_default_na=False)
    clf = nb.fit_table(schema, statistics=schema.count(tmp_path / "rows.csv"), **PLAIN)
    with pytest.raises(ValueError, match="has one class only, 'b'"):
        nb.fit_table(tmp_path / "rows.csv", "kind", **PLAIN)
    words = (
        r"'land' has 10 cells that say NA or None, .*: if they are names, .* keep_default_na=False \(--no-default-na\)"
    )
    with pytest.warns(UserWarning, match=words):
        nb.fit_table(lands.assign(kind=["a", "b"] * 20), "kind", **PLAIN)
    assert (clf.classes_.tolist(), clf.schema_.columns[0].values) == (["None", "b"], ("DE", "FR", "NA"))
    again = type(schema).from_bytes(schema.to_bytes())
    assert again.asked.reading == schema.asked.reading == clf.schema_.reading
    assert clf.predict_proba([{"land": "NA"}])[0, 0] > 0.8 > clf.predict_proba([{"land": ""}])[0, 0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"na_value": "x"}, "no option 'na_value'; did you mean 'na_values'"),
        ({"decimal": ",,"}, "decimal and thousands must be three characters"),
        ({"sep": '"'}, "must be three characters of ASCII"),
        ({"sep": ",", "decimal": ","}, "got ',', ','"),
    ],
)
def test_options_that_no_file_could_have(options, words):
    with pytest.raises(ValueError, match=words):
        nb.fit_table(COLOURS, "kind", **options)


# what is wrong


def test_a_csv_that_changes_half_way(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n1,2,0\n1,2\n")
    with pytest.raises(StreamError, match=r"line 3 of '.*rows\.csv' has 2 cells where the header has 3"):
        stream(NORMAL, path, label="label", num_classes=2)
    path.write_text("a,b,label\n" + "1,2,0\n" * 3000 + "1,word,0\n")
    with pytest.raises(
        StreamError, match=r"rows\.csv', line 3,002: column 'b' holds 'word', which is not a number"
    ) as caught:
        stream(NORMAL, path, label="label", num_classes=2)
    assert caught.value.rows > 0


def test_paths_that_hold_nothing(tmp_path):
    with pytest.raises(StreamError, match=r"there is no file '.*nowhere'"):
        stream(NORMAL, tmp_path / "nowhere", label="label")
    with pytest.raises(StreamError, match=r"holds no files that end in \.parquet, \.csv or \.tsv"):
        stream(NORMAL, tmp_path, label="label")
    (tmp_path / "a.parquet").touch()
    with pytest.raises(StreamError, match=r"a\.parquet' cannot be read as Parquet: .*0 bytes"):
        stream(NORMAL, tmp_path, label="label")
    (tmp_path / "b.csv").touch()
    with pytest.raises(StreamError, match=r"holds csv and parquet files: give a folder with files of one kind"):
        stream(NORMAL, tmp_path, label="label")
    with pytest.raises(StreamError, match=r"b\.csv' is empty: give a file with a header line"):
        stream(NORMAL, tmp_path / "b.csv", label="label")
    (tmp_path / "c.txt").touch()
    with pytest.raises(StreamError, match=r"c\.txt' is empty: give a file with a header line"):
        stream(NORMAL, tmp_path / "c.txt", label="label")
    pq.write_table(TABLE[:0], tmp_path / "d.parquet")
    with pytest.raises(StreamError, match="has no rows"):
        stream(NORMAL, tmp_path / "d.parquet", label="species", num_classes=K)
    (tmp_path / "b.csv").write_text("a,label\n")
    with pytest.raises(StreamError, match="has no rows"):
        stream(NORMAL, tmp_path / "b.csv", label="label")
    (tmp_path / "b.csv").write_text("a,label\n1,\n2,\n")
    with pytest.raises(StreamError, match=r"b\.csv', line 2: the label in column 'label' is missing"):
        stream(NORMAL, tmp_path / "b.csv", label="label")
