"""What a user may give as a data set, and the hash of its contents."""

import re

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bayesnb as nb
from bayesnb.studies.comparison._data_sets import read_sets
from bayesnb.tables.frames._series import DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.arange(40) % 2


def read(**given):
    return read_sets(given, seed=0)[0]


def test_a_frame_and_its_numpy_twin_have_one_hash_and_one_table():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    twins = read(s=(X, Y)), read(s=(frame, Y)), read(s=(pl.from_pandas(frame), Y)), read(s=(frame.assign(y=Y), "y"))
    assert len({one.fingerprint for one in twins}) == 1
    for one in twins:
        assert_array_equal(one.table.X["numeric"], X)
        assert_array_equal(one.table.y, Y)


def test_one_changed_cell_label_or_prior_is_another_hash():
    changed, labels = X.copy(), Y.copy()
    changed[7, 1] += 1e-9
    labels[7] = 1 - labels[7]
    model = nb.NaiveBayes(nb.Normal())
    hashes = [read(s=one).fingerprint for one in ((X, Y), (changed, Y), (X, labels), (model, X, Y))]
    hashes.append(read(s=(nb.NaiveBayes(nb.Normal(strength=2.0)), X, Y)).fingerprint)
    assert len({*hashes}) == 5


def test_rows_without_a_class_are_left_out_and_the_places_of_the_others_kept():
    y = pd.Series(np.where(np.arange(40) == 3, None, np.where(Y, "yes", "no")))
    with pytest.warns(UserWarning, match="^set 's': one row has no class"):
        data = read(s=(X, y))
    assert_array_equal(data.places, np.delete(np.arange(40), 3))
    assert data.table.classes == ("no", "yes")
    assert_array_equal(data.given_rows(np.array([3])), X[[4]])


def messy(**others):
    """Columns that are left out or read as text, and three rows without a class."""
    names = [f"R{number:03}" for number in range(40)]
    days = pd.date_range("2024-01-01", periods=40).astype(str)
    income = [*map(str, range(1000, 1039)), "unknown"]
    y = np.where(np.arange(40) < 3, None, np.where(Y, "yes", "no"))
    return pd.DataFrame({"name": names, "day": days, "income": income, "x": X[:, 0], **others, "y": y})


def test_what_is_left_out_or_read_as_text_is_said_of_each_set(tmp_path):
    """As of a table that is fitted; there is no option to choose a likelihood, so none is named."""
    messy().to_csv(tmp_path / "s.csv", index=False)
    for given in ((messy(), "y"), (messy().drop(columns="y"), messy()["y"]), str(tmp_path / "s.csv")):
        with pytest.warns(UserWarning, match="^set 's': ") as caught:
            data = read(s=given)
        said = [str(warning.message) for warning in caught]
        assert len(said) == 4
        assert said[0].startswith("set 's': 3 rows have no class")
        assert said[1].startswith("set 's': column 'income' is read as text because of 'unknown' ")
        assert said[2] == "set 's': columns 'name', 'income' have a different text in nearly every row and are left out"
        assert said[3].startswith("set 's': column 'day' has dates or times and is left out")
        assert not re.search("--as|likelihoods=", " ".join(said))
        assert said == [*data.table.warnings]


def test_a_refusal_names_the_set():
    with pytest.raises(DataError, match=r"^set 'other': the target '\w+' has one class only, '1'"):
        read_sets({"s": (X, Y), "other": (X, np.ones(40, int))}, seed=0)


@pytest.mark.filterwarnings("ignore:set 's'")
def test_labels_and_cells_that_say_missing_are_missing_in_a_frame_and_in_a_file(tmp_path):
    y = np.array(["u", "v", " NA ", "none"] * 10, object)
    frame = pd.DataFrame(X, columns=[*"abc"]).assign(word=["red", "?", "blue", "n/a", "off"] * 8, y=y)
    frame.to_csv(tmp_path / "s.csv", index=False)
    kept = np.flatnonzero((y == "u") | (y == "v"))
    for given in ((frame, "y"), (frame.drop(columns="y"), y), str(tmp_path / "s.csv")):
        one = read_sets({"s": given}, seed=0, reading={"na_values": ["none", "off"]})[0]
        assert len(one.table.y) == len(one.given) == len(kept)
        assert_array_equal(one.table.X["numeric"], X[kept])
        assert one.given["word"].isna().sum() == frame["word"][kept].isin(["?", "n/a", "off"]).sum()


def test_a_file_names_its_classes_after_a_colon(tmp_path):
    path = tmp_path / "small.csv"
    pd.DataFrame({"kind": np.where(Y, "b", "a"), "size": X[:, 0], "town": np.where(X[:, 1] > 0, "x", "y")}).to_csv(
        path, index=False
    )
    (data,) = read_sets([f"{path}:kind"], seed=0)
    assert (data.name, data.table.classes, data.names) == ("small", ("a", "b"), ("size", "town"))
    assert [*data.given_rows(np.arange(2)).columns] == ["size", "town"]


def mixed_columns():
    """Columns of all types, with gaps, and one that differs in each row, which our own methods leave out."""
    places = np.arange(40)
    frame = pd.DataFrame({
        "kind": np.where(Y, "b", "a"), "id": [f"i{n}" for n in range(40)], "size": X[:, 0], "rank": places % 7,
        "single": X[:, 1].astype(np.float32), "on": places % 3 == 0, "empty": [None] * 40,
        "count": pd.array([None if n % 5 == 0 else n % 3 for n in range(40)], "Int64"),
        "flag": pd.array([None if n % 6 == 0 else n % 2 == 0 for n in range(40)], "boolean"),
        "town": [None if n % 4 == 0 else "uvw"[n % 3] for n in range(40)],
        "grade": pd.Categorical(["low" if n % 3 else "high" for n in range(40)], ["low", "middle", "high"]),
        "day": pd.date_range("2020-01-01", periods=40),
    })  # fmt: skip
    frame.loc[3, "grade"], frame.loc[5, "day"], frame.loc[7, "size"] = None, pd.NaT, np.nan
    return frame


@pytest.mark.filterwarnings("ignore:set 's'")
def test_code_of_other_authors_gets_one_frame_from_a_file_and_from_every_frame(tmp_path):
    frame, csv, parquet = mixed_columns(), tmp_path / "t.csv", tmp_path / "t.parquet"
    frame.to_csv(csv, index=False)
    frame.to_parquet(parquet)
    table = pa.Table.from_pandas(frame)
    others = pl.from_pandas(frame), table, frame.convert_dtypes(dtype_backend="pyarrow"), pd.read_parquet(parquet)
    typed = [read(s=(one, "kind")).given for one in (frame, *others)] + [read(s=f"{parquet}:kind").given]
    texts = [read(s=(pd.read_csv(csv), "kind")).given, read(s=f"{csv}:kind").given]
    for some in (typed, texts):
        for other in some[1:]:
            pd.testing.assert_frame_equal(some[0], other)
    pd.testing.assert_frame_equal(typed[0].drop(columns=["grade", "day"]), texts[0].drop(columns=["grade", "day"]))
    dtypes = typed[0].dtypes
    assert (dtypes["on"], dtypes["grade"], dtypes["day"]) == (bool, "category", "datetime64[ns]")
    assert {dtypes[name] for name in ("size", "rank", "single", "count", "empty")} == {np.dtype(np.float64)}
    for given in (typed[0], texts[1]):
        assert_array_equal(given.notna(), frame.drop(columns="kind").notna())
        assert not any(cell is None or cell is pd.NA for cell in given.to_numpy(object).ravel())


def test_an_imputer_scores_a_file_as_its_frame(tmp_path):
    path = tmp_path / "t.csv"
    mixed_columns()[["kind", "town", "flag", "rank"]].to_csv(path, index=False)
    method = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"), GaussianNB()
    )
    method.set_params(onehotencoder__sparse_output=False)
    sets = {"file": f"{path}:kind", "frame": (pd.read_csv(path), "kind")}
    scores = nb.experiment(sets, ("sklearn's", method), [14], 2, ["log_loss"]).scores("log_loss", size=14)
    assert scores.loc["file", "sklearn's"] == scores.loc["frame", "sklearn's"] > 0


def test_a_column_of_groups_is_no_feature(tmp_path):
    frame = pd.DataFrame({"who": np.arange(40) // 4, "kind": np.where(Y, "b", "a"), "size": X[:, 0]})
    frame.to_csv(tmp_path / "small.csv", index=False)
    of_file = read_sets([f"{tmp_path / 'small.csv'}:kind"], 0, {"small": "who"})[0]
    of_frame = read_sets({"small": (frame, "kind")}, 0, {"small": "who"})[0]
    for data in (of_file, of_frame):
        assert data.names == ("size",)
        assert_array_equal(data.groups.astype(int), frame["who"])
    assert read_sets({"small": (frame[["size"]], frame["kind"])}, 0)[0].groups is None


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"s": np.arange(7)}, "groups of set 's' must be one for each of the 40 rows, got shape"),
        ({"t": Y}, "groups are by set, and there is no set 't'"),
        (Y, "groups must be a dict by set, such as {'s': patients}, got ndarray"),
        ({"s": "who"}, "set 's' has no column 'who' for its groups"),
    ],
)
def test_groups_that_do_not_fit_are_refused_in_a_sentence(groups, words):
    with pytest.raises(DataError, match=words):
        read_sets({"s": (X, Y)}, 0, groups)


def test_a_model_comes_with_its_rows():
    data = read(s=(nb.NaiveBayes(nb.Poisson()), np.arange(80).reshape(40, 2) % 5, Y))
    assert data.bayes is data.laplace
    assert data.bayes.num_classes == 2
    assert data.rows(np.arange(3))[0].shape == (3, 2)


def test_priors_of_a_model_are_those_of_its_set():
    """A model without its number of classes keeps them, and full Bayes then has no closed form."""
    model = nb.NaiveBayes(nb.NormalKnownVariance(), priors={"x_loc": dist.Laplace(0.0, 1.0)})
    study = nb.experiment({"s": (model, RNG.normal(size=(40, 2)), Y)}, ["MLE", "full Bayes"], sizes=[20], splits=1)
    assert {*study.failures()["method"]} == {"full Bayes"}
    assert study.failures()["reason"].str.contains("non-conjugate priors for x_loc").all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (7, "sets must be a dict such as"),
        ({}, "sets must be a dict such as"),
        ({"s": X}, r"set 's' must be \(X, y\)"),
        ({"s": (X, Y[:-1])}, "must have one class for each of the 40 rows"),
        ({"s": (X[:, 0], Y)}, "must have rows and columns"),
        ({"s": (pd.DataFrame({"size": [1.0]}), "sise")}, "no column 'sise' for its classes; did you mean 'size'"),
        ({"s": "nowhere.csv:y"}, "there is no file 'nowhere.csv'"),
        ({"s": (X, RNG.normal(size=40))}, "is a measurement"),
        ({"s": (nb.NaiveBayes(nb.Normal()), X, Y.astype(str))}, "must be integers"),
        ({"s": (nb.NaiveBayes(nb.Binomial(None)), (X, X + 1), Y)}, "'s' has totals that differ between rows"),
    ],
)
def test_other_sets_are_refused_in_a_sentence(given, words):
    with pytest.raises(DataError, match=words):
        read_sets(given, seed=0)
