"""Missing cells as features: the fit is that of indicator columns, given by hand as Bernoulli columns."""

import datetime
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.special import betaln

import bayesnb as nb
from bayesnb.tables.frames._series import DataError
from tests import cases
from tests.served import served

N = 120  # of up to 100 rows forests must convince folds, which are drawn by hashes of the blocks
RNG = np.random.default_rng(5)
CODES = np.arange(N) % 3
Y = np.array(["ham", "news", "spam"])[CODES]
ALL = np.unique(Y)
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1 + 0.3 * CODES, np.nan, RNG.normal(CODES, 1.0)),
        "colour": np.where(RNG.random(N) < 0.2, None, RNG.choice(["red", "green"], N)),
        "seen": pd.to_datetime(np.where(RNG.random(N) < 0.5 - 0.2 * CODES, None, "2020-01-02")),
        "size": RNG.normal(size=N),
    }
)
CHOSEN = {"age": "normal", "colour": "categorical", "seen": "skip", "size": "normal"}
MARKED = dict.fromkeys(["age", "colour", "seen"], "informative")
ARRAY = FRAME[["age", "size"]].to_numpy()
FRAMES = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "pyarrow": pa.Table.from_pandas(FRAME)}


def by_hand(frame=FRAME, chosen=CHOSEN, marked=tuple(MARKED), **options):
    """The frame with a column of zeros and ones for each that is marked, and an estimator that takes it."""
    indicators = {f"{name}?": frame[name].isna().astype(float) for name in marked}
    chosen = {**chosen, **dict.fromkeys(indicators, "bernoulli")}
    clf = nb.NaiveBayesClassifier(chosen, missing=None, **options)
    return frame.assign(**indicators), clf


def fitted(chosen=CHOSEN, frame=FRAME, missing=MARKED, **options):
    return nb.NaiveBayesClassifier(chosen, missing=missing, **options).fit(frame, Y)


@cache
def oracle():
    """The estimator with columns by hand, the frame that it takes, and its prediction."""
    frame, clf = by_hand()
    return clf.fit(frame, Y), frame, clf.predict_log_proba(frame)


@pytest.mark.parametrize("library", list(FRAMES))
def test_the_fit_is_that_of_bernoulli_columns(library):
    clf, (by_columns, _, expected) = fitted(frame=FRAMES[library]), oracle()
    assert_allclose(clf.predict_log_proba(FRAMES[library]), expected, rtol=1e-9)
    assert_allclose(clf.fit_.log_evidence, by_columns.fit_.log_evidence, rtol=1e-9)
    assert clf.schema_.names_by_block["missing"] == ["age is missing", "colour is missing", "seen is missing"]
    assert clf.n_features_in_ == 4


@pytest.mark.parametrize("method", ["map", "mle", pytest.param("averaged", marks=pytest.mark.slow)])
def test_other_methods_are_too(method):
    frame, other = by_hand(method=method, smoothing=0.5)
    expected = other.fit(frame, Y).predict_proba(frame)
    assert_allclose(fitted(method=method, smoothing=0.5).predict_proba(FRAME), expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_few_rows_and_dicts_are_as_many(dtype):
    clf = fitted(frame=FRAME.astype({"age": dtype, "size": dtype}))
    rows = FRAME[:9].astype({"age": dtype, "size": dtype})
    expected = clf.predict_proba(FRAME.astype({"age": dtype, "size": dtype}))[:9]
    dicts = [{**row, "seen": None if row["seen"] is pd.NaT else "a day"} for row in rows.to_dict("records")]
    assert clf.schema_.plain.encode(dicts) is not None
    for given in (rows, dicts, rows.to_dict("records"), pl.from_pandas(rows)):
        assert_allclose(clf.predict_proba(given), expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert_allclose(clf.predict_proba(dicts[4]), expected[4:5], rtol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.fuzz), pytest.param(7, marks=pytest.mark.slow), 45])
def test_any_split_is_one_fit_and_rows_are_forgotten(size):
    split, expected = nb.NaiveBayesClassifier(CHOSEN, missing=MARKED), oracle()[-1]
    for start in range(0, N, size):
        split.partial_fit(FRAME[start : start + size], Y[start : start + size], classes=ALL)
    assert_allclose(split.predict_log_proba(FRAME), expected, rtol=1e-9)
    split.partial_fit(FRAME[:9], Y[:9]).forget(FRAME[:9], Y[:9])
    assert_allclose(split.predict_log_proba(FRAME), expected, rtol=1e-9)


def test_columns_that_the_first_rows_choose_are_kept():
    first = FRAME.assign(colour=FRAME["colour"].fillna("red"))
    clf = nb.NaiveBayesClassifier(CHOSEN, missing="informative", keep_rows=False, dependence=False)
    clf.fit(first, Y).partial_fit(FRAME, Y)
    assert clf.schema_.names_by_block["missing"] == ["age is missing"]  # `seen` is skipped, as asked
    assert clf.missing_evidence_.keys() == {"age"}
    none = nb.NaiveBayesClassifier({"size": "normal"}, missing="informative").fit(FRAME[["size"]], Y)
    assert "missing" not in none.schema_.blocks


@pytest.mark.filterwarnings("ignore:column 'seen' has dates")
def test_a_column_that_is_left_out_since_nothing_suits_it_may_be_informative():
    clf = fitted({"age": "normal"}, missing="informative")
    assert clf.likelihoods_["seen"] == "skip"
    assert [*clf.missing_evidence_] == ["age", "colour", "seen"]
    with pytest.raises(DataError, match="the rows have no column 'seen'"):
        clf.predict({"age": 1.0, "colour": "red", "size": 0.0})


@pytest.mark.parametrize("missing", [{0: "informative"}, {range(-2, -1): "informative", 1: None}])
@pytest.mark.parametrize("kinds", cases.by_default(["normal", ["skip", "normal"], nb.Normal()], ["skip", "normal"]))
def test_columns_of_arrays(missing, kinds):
    clf = nb.NaiveBayesClassifier(kinds, missing=missing)
    clf.partial_fit(ARRAY[:40], Y[:40], classes=ALL).partial_fit(ARRAY[40:], Y[40:])
    one = kinds if isinstance(kinds, list) else [kinds, kinds]
    other = nb.NaiveBayesClassifier([*one, "bernoulli"])
    explicit = np.column_stack([ARRAY, np.isnan(ARRAY[:, 0])])
    other.partial_fit(explicit[:40], Y[:40], classes=ALL).partial_fit(explicit[40:], Y[40:])
    assert_allclose(clf.predict_log_proba(ARRAY), other.predict_log_proba(explicit), rtol=1e-9)
    assert clf.schema_.names_by_block["missing"] == ["x0 is missing"]


def test_cells_that_only_count_as_missing_are_not():
    flags = np.where(np.isnan(ARRAY), np.nan, ARRAY > 0)
    with pytest.warns(UserWarning, match="all cells of X are zeros and ones"):
        clf = nb.NaiveBayesClassifier(missing="informative").fit(flags, Y)
    with pytest.warns(UserWarning, match="counts as missing"):
        encoded = clf.encoded(np.array([[7.0, 1.0], [np.nan, 0.0]]))
    assert_array_equal(encoded["binary"][:, 0], [np.nan, np.nan])
    assert_array_equal(encoded["missing"], [[0.0], [1.0]])


def test_a_family_of_all_columns_and_words():
    both = FRAME[["age", "size"]]
    frame, other = by_hand(both, dict.fromkeys(both, nb.Normal()), ["age"])
    clf = fitted(nb.Normal(), both, {"age": "informative"})
    shared = nb.Normal()
    other.set_params(likelihoods={"age": shared, "size": shared, "age?": "bernoulli"})
    assert_allclose(clf.predict_proba(both), other.fit(frame, Y).predict_proba(frame), rtol=1e-9)
    chosen = {"colour": "words"}
    frame, other = by_hand(FRAME[["colour"]], chosen, ["colour"])
    clf = fitted(chosen, FRAME[["colour"]], {"col*": "informative"})
    assert_allclose(clf.predict_proba(FRAME[["colour"]]), other.fit(frame, Y).predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("smoothing", [1.0, 0.3])
def test_the_evidence_is_that_of_beta_functions(smoothing):
    found = fitted(smoothing=smoothing).missing_evidence_
    for name in MARKED:
        none = FRAME[name].isna().to_numpy()
        groups = [none[k == CODES] for k in range(3)]
        terms = [betaln(smoothing + g.sum(), smoothing + (~g).sum()) for g in (*groups, none)]
        expected = np.dot(terms, [1, 1, 1, -1]) - 2 * betaln(smoothing, smoothing)
        assert_allclose(found[name], expected, rtol=1e-9)
    assert nb.NaiveBayesClassifier(CHOSEN, missing=None).fit(FRAME, Y).missing_evidence_ == {}


def test_explanations_name_the_indicators():
    clf, (by_columns, frame, _) = fitted(), oracle()
    table = nb.explain(clf, FRAME[:3])
    expected = nb.explain(by_columns, frame[:3])
    for name in MARKED:
        ours, theirs = (e.feature_names.index(n) for e, n in ((table, f"{name} is missing"), (expected, f"{name}?")))
        assert_allclose(table.contributions[:, :, ours], expected.contributions[:, :, theirs], rtol=1e-9)
    assert "seen is missing = True" in str(nb.explain(clf, {"age": 1.0, "colour": "red", "seen": None, "size": 0.0}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["frame", pytest.param("array", marks=pytest.mark.slow)])
def test_files_hold_the_indicators(kind, tmp_path):
    X = FRAME if kind == "frame" else ARRAY
    clf = fitted() if kind == "frame" else fitted("normal", ARRAY, "informative")
    nb.save(clf, tmp_path / "fit.safetensors")
    loaded = nb.load(tmp_path / "fit.safetensors")
    assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert loaded.missing_evidence_ == clf.missing_evidence_
    rows = clf.encoded(X)
    assert_allclose(served(clf.fit_.predict_proba, rows)(rows), clf.predict_proba(X), rtol=1e-4, atol=1e-6)


def test_onnx_takes_missing_numbers_and_refuses_missing_texts(tmp_path):
    reference = pytest.importorskip("onnx.reference")
    numbers = FRAME[["age", "size"]]
    clf = fitted("normal", numbers, "informative")
    nb.export(clf, tmp_path / "fit.onnx")
    run = reference.ReferenceEvaluator(str(tmp_path / "fit.onnx"))
    given = {name: numbers[[name]].to_numpy() for name in numbers}
    found = dict(zip(run.output_names, run.run(None, given), strict=True))
    assert_allclose(found["proba"], clf.predict_proba(numbers), rtol=1e-9)
    with pytest.raises(ValueError, match="missing cells of 'colour', 'seen' are features of the fit"):
        nb.export(fitted(), tmp_path / "other.onnx")


@pytest.mark.parametrize(
    ("missing", "X", "sentence"),
    [
        ({"agee": "informative"}, FRAME, "there is no column 'agee' to treat as informative; did you mean 'age'"),
        (
            {"age": "informativ"},
            FRAME,
            "unknown value 'informativ' for missing: .*did you mean 'informative'",
        ),
        ("ignored", FRAME, "unknown value 'ignored' for missing: expected 'auto', 'informative' or None"),
        (["age"], FRAME, "missing must be 'auto', None, 'informative' for all columns .* {'age': 'informative'}, got"),
        ({2: "informative"}, ARRAY, "there is no column 'x2' to treat as informative"),
        ({"age": "informative"}, ARRAY, "there is no column 'age' to treat as informative"),
        ("informative", csr_matrix(ARRAY > 0), "takes one array or data frame, and X is sparse"),
        ("informative", {"left": ARRAY, "right": ARRAY}, "takes one array or data frame, and X is in blocks"),
    ],
)
def test_invalid_choices_are_refused(missing, X, sentence):
    with pytest.raises(DataError, match=sentence):
        nb.NaiveBayesClassifier("auto" if X is FRAME else "bernoulli", missing=missing).fit(X, Y)


def test_a_model_with_blocks_of_its_own_is_refused():
    with pytest.raises(DataError, match="likelihoods is a model with blocks of its own"):
        nb.NaiveBayesClassifier(nb.NaiveBayes(nb.Normal()), missing="informative").fit(ARRAY, Y)


NUM_ROWS = 60
GROUP = np.array(["a", "b"])[np.arange(NUM_ROWS) % 2]
GAPS = np.random.default_rng(3).random(NUM_ROWS) < np.where(GROUP == "a", 0.8, 0.2)
LEFT_OUT = {
    "a constant": pd.Series([5.0] * NUM_ROWS),
    "text": pd.Series(["yes"] * NUM_ROWS, dtype=object),
    "dates": pd.Series(pd.date_range("2020", periods=NUM_ROWS)),
    "times": pd.Series([datetime.time(n % 24) for n in range(NUM_ROWS)]),
    "names": pd.Series([f"no. {n}" for n in range(NUM_ROWS)], dtype=object),
    "lists": pd.Series([[n] for n in range(NUM_ROWS)]),
}


@pytest.mark.filterwarnings("ignore:column 'c' has .* is left out")
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("kind", LEFT_OUT)
def test_gaps_of_a_column_that_is_left_out_are_the_fit_of_flags(kind, beside):
    """Also where no other column is left: it is the Bernoulli model of the gaps, at every door of the estimator."""
    frame = pd.DataFrame({"c": LEFT_OUT[kind].where(~GAPS, None)})
    if beside:
        frame["x"] = np.random.default_rng(4).normal(size=NUM_ROWS)
    flags = pd.DataFrame({"c": GAPS}).assign(**{name: frame[name] for name in frame.columns[1:]})
    options = {"method": "posterior", "missing": "informative"}
    clf = nb.NaiveBayesClassifier(**options).fit(frame, GROUP)
    expected = nb.NaiveBayesClassifier(method="posterior").fit(flags, GROUP).predict_proba(flags)
    parts = nb.NaiveBayesClassifier(**options).partial_fit(frame[:30], GROUP[:30]).partial_fit(frame[30:], GROUP[30:])
    rows = frame.to_dict("records")
    for found in (clf.predict_proba(frame), clf.predict_proba(rows), parts.predict_proba(frame)):
        assert_allclose(found, expected, rtol=1e-9)
    assert_allclose(clf.predict_proba(rows[0]), expected[:1], rtol=1e-9)
    with pytest.raises(DataError, match="no column to learn from; left out are 'c'"):
        nb.NaiveBayesClassifier().fit(frame[["c"]], GROUP)
