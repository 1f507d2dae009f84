"""Flags of missing cells, which the default keeps where left-out predictions gain by them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb

N = 120
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, N)
Y = np.array(["low", "mid", "top"])[CODES]
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.1 + 0.3 * CODES, np.nan, RNG.normal(CODES, 1.0)),
        "colour": np.where(RNG.random(N) < 0.4 * (CODES == 0), None, RNG.choice(["red", "green"], N)),
        "seen": pd.to_datetime(np.where(RNG.random(N) < 0.5 - 0.2 * CODES, None, "2020-01-02")),
        "size": RNG.normal(size=N),
    }
)
CHOSEN = {"age": "normal", "colour": "categorical", "seen": "skip", "size": "normal"}
ARRAY = FRAME[["age", "size"]].to_numpy()


def by_default(frame=FRAME, missing="auto", **options):
    return nb.NaiveBayesClassifier(CHOSEN, missing=missing, **options).fit(frame, Y)


def test_by_default_missing_cells_speak_where_left_out_predictions_gain():
    """The fit is one of the two, and the one with the lower loss."""
    said = by_default()
    chosen = [column.removesuffix(" is missing") for column in said.schema_.names_by_block["missing"]]
    assert chosen == ["age", "colour"]  # `size` lacks no cell, and `seen` is skipped
    expected, silent = by_default(missing=dict.fromkeys(chosen, "informative")), by_default(missing=None)
    assert_array_equal(said.predict_log_proba(FRAME), expected.predict_log_proba(FRAME))
    assert said.fit_.log_losses[-1] < silent.fit_.log_losses[-1]
    assert "2 flags of missing cells" in said.learned_.summary
    assert said.learned_.powers["age is missing"] > 0
    by_position = nb.NaiveBayesClassifier("normal").fit(ARRAY, Y)
    named = nb.NaiveBayesClassifier("normal").fit(FRAME[["age", "size"]], Y)
    assert_array_equal(by_position.predict_log_proba(ARRAY), named.predict_log_proba(FRAME[["age", "size"]]))
    assert by_position.schema_.informative == (0,)


@pytest.mark.parametrize("seed", range(3))
def test_gaps_that_say_nothing_change_nothing(seed):
    """Every class lacks the same cells, so that flags only cost: the fit is that without, to the last bit."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    x[np.tile(np.arange(20) % 4 == 0, 3), 0] = np.nan
    for rows in (x, np.nan_to_num(x)):
        found, silent = (nb.NaiveBayesClassifier("normal", missing=how).fit(rows, y) for how in ("auto", None))
        assert_array_equal(found.predict_log_proba(x), silent.predict_log_proba(x))
        assert found.schema_ == silent.schema_


@pytest.mark.parametrize("options", [{"method": "posterior"}, {"temper": False}, {"temper": "per_feature"}])
def test_where_nothing_is_learned_by_default_missing_cells_say_nothing(options):
    found, silent = by_default(**options), by_default(missing=None, **options)
    assert_array_equal(found.predict_log_proba(FRAME), silent.predict_log_proba(FRAME))


def test_batches_choose_flags_as_all_rows_do():
    """Also where the first rows lack no cell; rows that are forgotten never had gaps."""
    whole = FRAME.notna().all(axis=1).to_numpy()
    order = np.r_[np.flatnonzero(whole), np.flatnonzero(~whole)]
    frame, y = FRAME.iloc[order], Y[order]
    clf, expected = nb.NaiveBayesClassifier(CHOSEN), by_default()
    for rows in (slice(0, whole.sum()), slice(whole.sum(), None)):
        clf.partial_fit(frame[rows], y[rows])
    assert clf.schema_.informative == expected.schema_.informative
    assert_allclose(clf.predict_log_proba(FRAME), expected.predict_log_proba(FRAME), rtol=1e-9)
    clf.forget(frame[whole.sum() :], y[whole.sum() :])
    assert clf.schema_.informative == ()


@pytest.mark.parametrize("how", ["frame", "csv"])
def test_tables_have_the_flags_of_the_estimator(how, tmp_path):
    table = FRAME[["age", "colour", "size"]].assign(label=Y)
    table.to_csv(tmp_path / "table.csv", index=False)
    clf = nb.fit_table(table if how == "frame" else tmp_path / "table.csv", "label")
    rows = table.drop(columns="label")
    expected = nb.NaiveBayesClassifier().fit(rows, Y)
    assert clf.schema_.informative == expected.schema_.informative == (0, 1)
    assert_allclose(clf.predict_log_proba(rows), expected.predict_log_proba(rows), rtol=1e-9)


ASKED = [None, "informative", {"age": "informative"}, {"se*": "informative", "age": None}]
"""What may be asked for; the last is a column that the fit leaves out otherwise."""


def lists(table):
    """The dates as lists, a type that nothing is learned from."""
    return table.assign(seen=[None if gone else [1, 2] for gone in table["seen"].isna()])


@pytest.mark.filterwarnings("ignore:column 'seen' has")
@pytest.mark.parametrize("missing", ASKED, ids=str)
@pytest.mark.parametrize("kinds", ["auto", {"seen": "skip"}], ids=str)
@pytest.mark.parametrize("method", ["posterior", pytest.param("default", marks=pytest.mark.slow)])
def test_tables_have_the_flags_that_are_asked_for(missing, kinds, method, tmp_path):
    """So have parts that are described and counted apart, and predictions of files."""
    table, options = FRAME.assign(label=Y), {"missing": missing, "method": method}
    table.to_csv(tmp_path / "table.csv", index=False)
    lists(table).to_parquet(tmp_path / "table.parquet")
    expected = nb.NaiveBayesClassifier(kinds, **options).fit(FRAME, Y)
    for source in (table, tmp_path / "table.csv", tmp_path / "table.parquet"):
        clf = nb.fit_table(source, "label", kinds, **options)
        assert clf.schema_.informative == expected.schema_.informative
        assert clf.missing_evidence_ == pytest.approx(expected.missing_evidence_)
        assert_allclose(clf.predict_proba(FRAME), expected.predict_proba(FRAME), rtol=1e-9)
        found = nb.predict_table(clf, source)
        assert_allclose(np.stack([found[f"p({k})"] for k in clf.classes_], axis=1), expected.predict_proba(FRAME))
    for rows in (table, lists(table)):
        parts = rows[:50], rows[50:]
        schema = nb.merge(*[nb.describe_table(part, "label", kinds, missing=missing) for part in parts])
        schema = type(schema).from_bytes(schema.to_bytes())
        clf = nb.fit_table(schema, statistics=nb.merge(*map(schema.count, parts)), method=method)
        assert clf.missing == missing
        assert_allclose(clf.predict_proba(FRAME), expected.predict_proba(FRAME), rtol=1e-9)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("ignored", "unknown value 'ignored' for missing: expected 'auto', 'informative' or None"),
        ({"age": "auto"}, "unknown value 'auto' for missing: expected 'informative' or None"),
        (3, "missing must be 'auto', None, 'informative' for all columns that have missing cells, or a dict by column"),
        ({"agee": "informative"}, "there is no column 'agee' to treat as informative; did you mean 'age'"),
    ],
)
def test_every_door_refuses_the_same(missing, words):
    table = FRAME.assign(label=Y)
    for ask in (
        lambda: by_default(missing=missing),
        lambda: nb.fit_table(table, "label", missing=missing),
        lambda: nb.fit_table(pl.from_pandas(table).lazy(), "label", missing=missing, where="engine"),
        lambda: nb.describe_table(table, "label", missing=missing),
    ):
        with pytest.raises(ValueError, match=words):
            ask()
    schema = nb.describe_table(table, "label")
    with pytest.raises(ValueError, match="a schema has its target, likelihoods, weight and flags"):
        nb.fit_table(schema, statistics=schema.count(table), missing="informative")


def test_a_schema_of_other_flags_is_another():
    keys = {nb.describe_table(FRAME.assign(label=Y), "label", CHOSEN, missing=how).key for how in ("auto", *ASKED)}
    assert len(keys) == 4  # without flags, by `auto` and None, it is one


def test_flags_are_said_where_nothing_is_learned():
    for method in ("posterior", "map"):
        clf = by_default(missing="informative", method=method)
        assert clf.learned_.summary == "2 flags of missing cells"
        assert repr(clf).endswith("; 2 flags of missing cells")


def test_what_is_saved_has_flags_and_says_so(tmp_path):
    clf = by_default()
    nb.save(clf, tmp_path / "model")
    loaded = nb.load(tmp_path / "model")
    assert_array_equal(loaded.predict_log_proba(FRAME), clf.predict_log_proba(FRAME))
    assert "age is missing" in str(nb.explain(loaded, FRAME[:1]))


@pytest.mark.parametrize("seed", [0, 2, 4])  # only with three times the rows flags are kept in the last two
def test_a_row_of_weight_three_is_three_rows(seed):
    rng, y = np.random.default_rng(seed), np.arange(30) % 2
    frame = pd.DataFrame({f"g{i}": rng.normal(size=30) for i in range(3)})
    frame.loc[rng.random(30) < 0.3 + 0.25 * y, "g0"] = np.nan
    weighted = nb.NaiveBayesClassifier().fit(frame, y, sample_weight=np.full(30, 3.0))
    repeated = nb.NaiveBayesClassifier().fit(pd.concat([frame] * 3, ignore_index=True), np.tile(y, 3))
    once = nb.NaiveBayesClassifier().fit(frame, y)
    assert (weighted.schema_.informative, once.schema_.informative) == (repeated.schema_.informative, ())
    assert len(repeated.schema_.informative) == (seed != 0)
    assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), atol=1e-9)
