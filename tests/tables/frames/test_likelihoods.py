"""The kind that is inferred for each column, and why: the same from every library, at every door."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.cli import main
from bayesnb.tables.files._description import describe, make_table
from bayesnb.tables.files.sources._paths import open_data
from bayesnb.tables.frames._inferred import infer
from bayesnb.tables.frames._likelihoods import schema_of
from bayesnb.tables.frames._series import as_frame
from bayesnb.tables.frames._summaries import summarise_column

pytestmark = pytest.mark.filterwarnings("ignore:column")


NAMES = [f"name {i}" for i in range(30)]


def test_many_values_are_not_kept(monkeypatch):
    monkeypatch.setattr(limits, "MOST_VALUES", 25)
    for cells, kind in ((NAMES, "skip"), (list(range(30)), "skip"), ([*range(29), 40], "normal")):
        summary = summarise_column(as_frame(pd.DataFrame({"c": cells}))["c"])
        assert summary.values is None
        assert infer(summary).kind == kind


def test_too_many_texts_are_left_out_unless_they_are_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_VALUES", 25)
    frame = pd.DataFrame(
        {"c": [f"user {n % 40}" for n in range(400)], "x": np.arange(400) % 7 / 4, "y": ["a", "b"] * 200}
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    doors = (
        lambda **chosen: nb.NaiveBayesClassifier(**chosen).fit(frame[["c", "x"]], frame["y"]),
        lambda **chosen: nb.fit_file(tmp_path / "rows.csv", "y", progress_bar=False, **chosen),
    )
    for fit in doors:
        with pytest.warns(UserWarning, match="different texts and is left out; to keep it, write .*'c': 'categorical'"):
            assert fit().schema_.columns[0].kind == "skip"
        assert fit(likelihoods={"c": "categorical"}).schema_.columns[0].values == tuple(sorted({*frame["c"]}))


# `compare`, `bayesnb fit`, the estimator and `infer_likelihoods` choose one likelihood for each column of a table


SMALL = ("balance-scale", "haberman", "ionosphere", "tic-tac-toe", "glass", "processed.cleveland")


def passengers(rows=891):
    rng = np.random.default_rng(1912)
    sex = rng.choice(["male", "female"], rows, p=[0.65, 0.35])
    return pd.DataFrame(
        {
            "id": np.arange(1, rows + 1),
            "name": [f"{['Mr', 'Mrs'][i % 2]} {i * 7919 % 9973}" for i in range(rows)],
            "class": rng.choice([1, 2, 3], rows, p=[0.24, 0.21, 0.55]),
            "sex": sex,
            "age": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(1, 80, rows)),
            "siblings": np.minimum(rng.poisson(0.5, rows), 8),
            "parents": np.minimum(rng.poisson(0.4, rows), 6),
            "fare": rng.lognormal(3, 1, rows).round(2),
            "ship": "one",
            "born": [f"18{i % 90 + 10}-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(rows)],
            "crew": rng.random(rows) < 0.1,
            "married": rng.integers(0, 2, rows),
            "survived": np.where(rng.random(rows) < 0.2 + 0.5 * (sex == "female"), "yes", "no"),
        }
    )


PASSENGERS = {
    "id": "skip", "name": "skip", "class": "categorical", "sex": "categorical", "age": "normal",
    "siblings": "categorical", "parents": "categorical", "fare": "normal", "ship": "skip", "born": "skip",
    "crew": "bernoulli", "married": "bernoulli",
}  # fmt: skip


def table(name, request):
    """A table with its target as the last column."""
    if name == "passengers":
        return passengers()
    data = request.getfixturevalue("data")
    if name == "penguins":
        frame = pd.read_csv(data / "penguins.csv")
        return frame[[*frame.columns.drop("species"), "species"]]
    if name == "adult":
        return pd.read_csv(data / "adult" / "adult.data", header=None, nrows=4000, skipinitialspace=True, na_values="?")
    if name == "mushroom":
        frame = pd.read_csv(data / "mushroom" / "agaricus-lepiota.data", header=None, na_values="?")
        return frame[[*range(1, 23), 0]]
    frame = pd.read_csv(data / "small" / f"{name}.data", header=None, na_values="?")
    return frame[[*frame.columns[1:], 0]] if name == "balance-scale" else frame


@pytest.mark.parametrize("name", ["passengers", "penguins", "adult", "mushroom", *SMALL])
def test_all_agree_on_every_column(name, request, tmp_path):
    frame = table(name, request).rename(columns="column {}".format if name not in ("passengers", "penguins") else str)
    features, target = frame.iloc[:, :-1], frame.columns[-1]
    expected = nb.infer_likelihoods(features)
    if name == "passengers":
        assert expected == PASSENGERS
    for one in (pl.from_pandas(features), pa.table(features), features.convert_dtypes()):
        assert nb.infer_likelihoods(one).choices == expected.choices
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    for path in (str(tmp_path / "rows.csv"), str(tmp_path / "rows.parquet")):
        fitted = describe(open_data(path)).schema
        assert dict(zip(fitted.names, fitted.kinds, strict=True)) == expected
        compared = make_table(open_data(path), target)
        assert {column.name: column.kind for column in compared.columns} | dict.fromkeys(
            dict(compared.left_out), "skip"
        ) == expected
    for one in (features, pl.from_pandas(features)):
        schema, _ = schema_of(as_frame(one), "auto")  # what the estimator fits
        assert dict(zip(schema.names, schema.kinds, strict=True)) == expected
        values = {column.name: column.values for column in schema.columns}
        assert values == {column.name: column.values for column in fitted.columns}


@pytest.mark.slow
def test_the_estimator_and_the_command_make_one_model(tmp_path):
    frame = passengers()
    features, target = frame.drop(columns="survived"), frame["survived"]
    clf = nb.NaiveBayesClassifier().fit(features, target)
    assert clf.likelihoods_ == PASSENGERS
    columns = "4 categorical, 2 normal, 2 bernoulli, 4 left out"
    learned = "3 views of 2 numbers, dependence, powers learned on 891 of 891 rows"
    assert repr(clf) == f"NaiveBayesClassifier(): {columns}; {learned}"
    again = nb.NaiveBayesClassifier(nb.infer_likelihoods(features), method="posterior").fit(features, target)
    as_chosen = nb.NaiveBayesClassifier(method="posterior").fit(features, target).predict_proba(features)
    assert_allclose(again.predict_proba(pa.table(features)), as_chosen, rtol=1e-9)
    proba = clf.predict_proba(features)
    for name in ("rows.csv", "rows.parquet"):
        path = tmp_path / name
        frame.to_csv(path, index=False) if name.endswith("csv") else frame.to_parquet(path)
        result = CliRunner().invoke(main, ["fit", str(path), "--save", str(tmp_path / "a.model")])
        assert result.exit_code == 0, result.output
        assert re.search(r"class +categorical +3 whole numbers: 1, 2, 3 +0 +normal, histogram, ordered", result.output)
        assert re.search(r"name +skip +a different text in nearly every row +0 +categorical", result.output)
        assert "to keep it, write --as name=categorical" in result.output
        loaded = nb.load(tmp_path / "a.model")
        assert loaded.likelihoods_ == PASSENGERS
        assert repr(loaded).endswith(f"): {columns}; {learned}")
        assert_allclose(loaded.predict_proba(features), proba, rtol=1e-9)


ANSWERS = ["true", "False", "TRUE", "false", None, "True"] * 5
READ = {
    "objects": lambda cells: pd.DataFrame({"c": pd.Series(cells, dtype=object)}),
    "polars": lambda cells: pl.DataFrame({"c": cells}),
    "pyarrow": lambda cells: pa.table({"c": cells}),
    "booleans": lambda cells: pl.DataFrame({"c": [c if c is None else c.casefold() == "true" for c in cells]}),
    "pandas booleans": lambda cells: READ["booleans"](cells).to_pandas(),
    "numbers": lambda cells: READ["booleans"](cells).cast(pl.Int64),
}


def test_booleans_are_one_value_however_they_are_written(tmp_path):
    y = np.arange(30) % 3 % 2
    models = {name: nb.NaiveBayesClassifier().fit(make(ANSWERS), y) for name, make in READ.items()}
    rows = pd.DataFrame({"c": ANSWERS, "label": y})
    rows.to_csv(tmp_path / "text.csv", index=False)
    READ["pandas booleans"](ANSWERS).assign(label=y).to_parquet(tmp_path / "flags.parquet")
    for name in ("text.csv", "flags.parquet"):
        args = ["fit", str(tmp_path / name), "--save", str(tmp_path / "a.model")]
        assert CliRunner().invoke(main, args).exit_code == 0
        models[name] = nb.load(tmp_path / "a.model")
    expected = models["booleans"].predict_proba(READ["booleans"](ANSWERS))
    assert len(np.unique(expected.round(6))) == 6  # true, false and missing differ
    for clf in models.values():
        assert clf.likelihoods_ == {"c": "bernoulli"}
        for make in READ.values():
            assert_allclose(clf.predict_proba(make(ANSWERS)), expected, rtol=1e-9)


def test_booleans_among_text_are_text():
    cells = ["true", "maybe", "False"] * 4
    clf = nb.NaiveBayesClassifier().fit(pd.DataFrame({"c": cells}), [0, 1, 0] * 4)
    assert clf.schema_.columns[0].values == ("False", "True", "maybe")
    proba = clf.predict_proba(pd.DataFrame({"c": ["TRUE", "false"]}))
    assert_allclose(clf.predict_proba(pd.DataFrame({"c": [True, False]})), proba, rtol=1e-12)


def test_a_row_of_weight_three_is_three_rows_at_every_door(rng):
    """And one of weight 0 is absent, one of weight .5 a row: of weights that sum to 1 no category would be left."""
    weight, y = np.r_[0, 0, rng.integers(1, 9, 22)], np.tile(["a", "b"], 12)
    frame = pd.DataFrame(
        {
            "text": [f"n{row % 21}" for row in range(24)],
            "row": np.arange(24) + 5,
            "whole": np.r_[3, 3, np.arange(22) % 3],
            "two": np.r_[9.5, 8.5, np.tile([1.5, 2.5], 11)],
            "flag": np.r_[1, 2, np.arange(22) // 3 % 2],
        }
    )
    again = np.repeat(np.arange(24), weight)
    expected = nb.NaiveBayesClassifier().fit(frame.iloc[again], y[again])
    kinds, probs = {**expected.likelihoods_}, expected.predict_proba(frame)
    alone = nb.NaiveBayesClassifier().fit(frame[2:], y[2:])
    assert [*kinds.values()] == ["categorical", "normal", "categorical", "categorical", "bernoulli"]
    assert [*alone.likelihoods_.values()] == ["skip", "skip", "categorical", "categorical", "bernoulli"]
    halves = nb.infer_likelihoods(frame[2:], np.full(22, 0.5))
    assert dict(halves) == {**alone.likelihoods_}
    assert dict(nb.infer_likelihoods(frame, weight)) == kinds
    with pytest.raises(ValueError, match="not negative"):
        nb.infer_likelihoods(frame, -weight)
    given = frame.assign(weight=weight, y=y)[[*frame, "weight", "y"]]
    schema = nb.merge(*(nb.describe_table(given[some], "y", weight="weight") for some in (slice(6), slice(6, 24))))
    assert [c.kind for c in schema.description.schema.columns] == [*kinds.values()]
    for clf in (
        nb.NaiveBayesClassifier().fit(frame, y, sample_weight=weight),
        nb.NaiveBayesClassifier().partial_fit(frame, y, sample_weight=weight),
        nb.fit_table(given, "y", weight="weight"),
        nb.NaiveBayesClassifier().fit({"x": frame}, y, sample_weight=weight),
    ):
        assert [*clf.likelihoods_.values()] == [*kinds.values()]
        found = clf.predict_proba({"x": frame} if "x" in getattr(clf.schema_, "parts", ()) else frame)
        assert_allclose(found, probs, atol=1e-9)
    X, flags = np.array([[0, 1], [1, 0], [1, 1], [0, 1]]), [0, 1, 0, 1]
    with pytest.warns(UserWarning, match="zeros and ones"):
        clf = nb.NaiveBayesClassifier().fit(X, flags, sample_weight=[3, 3, 3, 3])
    assert [*clf.likelihoods_.values()] == ["bernoulli", "bernoulli"]
