"""Flags of missing cells, which the default keeps where left-out predictions gain by them."""

import numpy as np
import pandas as pd
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
