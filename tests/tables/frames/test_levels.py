"""Ordered columns: their levels from a type or a list, at every door, in one order, or a refusal."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.studies.cli import main
from bayesnb.tables.frames._levels import in_one_order

LEVELS = ["low", "mid", "high", "top"]  # in the order of the alphabet high would be first
N = 60
Y = np.arange(N) % 2
CODES = np.clip(np.round(np.random.default_rng(0).normal(size=N) + 1.2 * Y + 1), 0, 3)
CODES[5] = np.nan
CELLS = [None if code != code else LEVELS[int(code)] for code in CODES]
SIZE = np.random.default_rng(1).normal(size=N)
PLAIN = pd.DataFrame({"grade": CELLS, "size": SIZE})
ORDERED = PLAIN.assign(grade=pd.Categorical(CELLS, categories=LEVELS, ordered=True))
FORMS = {
    "pandas": ORDERED,
    "arrow in pandas": ORDERED.assign(
        grade=pd.Series(pd.arrays.ArrowExtensionArray(pa.Array.from_pandas(ORDERED["grade"])))
    ),
    "polars": pl.from_pandas(PLAIN).with_columns(pl.col("grade").cast(pl.Enum(LEVELS))),
    "pyarrow": pa.Table.from_pandas(ORDERED),
}
MODEL = nb.NaiveBayes({"ordered": nb.Histogram.ordered([4]), "numeric": nb.Normal(strength=1.0, shape=1.0)})
CORE = nb.fit_posterior(MODEL, {"ordered": CODES[:, None], "numeric": SIZE[:, None]}, Y).predict_proba(
    {"ordered": CODES[:, None], "numeric": SIZE[:, None]}
)
LISTED = {"grade": LEVELS, "size": "normal"}


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_a_type_is_that_of_a_list(form, tmp_path):
    """Of pandas, polars and Arrow; and in rows of any form, texts and dicts too."""
    frame = FORMS[form]
    found = nb.infer_likelihoods(frame)
    assert found["grade"] == "ordered"
    assert "grade   ordered     4 levels, in the order of its type" in repr(found)
    clf = nb.NaiveBayesClassifier(method="posterior").fit(frame, Y)
    nb.save(clf, tmp_path / "model")
    for fit in (clf, nb.NaiveBayesClassifier(LISTED, method="posterior").fit(PLAIN, Y), nb.load(tmp_path / "model")):
        assert fit.likelihoods_ == {"grade": "ordered", "size": "normal"}
        assert fit.schema_.columns[0].values == (*LEVELS,)
        for rows in (*FORMS.values(), PLAIN, PLAIN.to_dict("records")):
            assert_allclose(fit.predict_proba(rows), CORE, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_any_source_keep_the_order(form, tmp_path):
    frame = FORMS[form]
    arrow = frame.to_arrow() if form == "polars" else pa.table(frame) if form != "pyarrow" else frame
    table = arrow.append_column("y", pa.array(Y))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20)
    fits = [nb.fit_table(source, "y", method="posterior") for source in (table, tmp_path / "rows.parquet")]
    parts = [table.slice(0, 20), table.slice(20)]
    schema = nb.merge(*[nb.describe_table(part, "y") for part in parts])
    schema = type(schema).from_bytes(schema.to_bytes())
    total = nb.merge(*[schema.count(part) for part in parts])
    fits.append(nb.fit_table(schema, statistics=total, method="posterior"))
    if form == "polars":
        fits += [nb.fit_table(pl.from_arrow(table).lazy(), "y", method="posterior", where=w) for w in (None, "engine")]
    for fit in fits:
        assert fit.likelihoods_["grade"] == "ordered"
        assert_allclose(fit.predict_proba(PLAIN), CORE, rtol=1e-6)


def test_a_file_without_the_order_has_categories(tmp_path):
    """Arrow reads what was written without dictionaries as ordered by appearance."""
    table = FORMS["pyarrow"].append_column("y", pa.array(Y))
    pq.write_table(table, tmp_path / "rows.parquet", use_dictionary=["size", "y"])
    assert pq.read_schema(tmp_path / "rows.parquet").field("grade").type.ordered
    assert nb.fit_table(tmp_path / "rows.parquet", "y", method="posterior").likelihoods_["grade"] == "categorical"
    fit = nb.fit_table(tmp_path / "rows.parquet", "y", LISTED, method="posterior")
    assert_allclose(fit.predict_proba(PLAIN), CORE, rtol=1e-6)


def test_the_command_line_takes_a_list_of_levels(tmp_path, capsys):
    PLAIN.assign(points=CODES, y=Y).to_csv(tmp_path / "rows.csv", index=False)
    given = ["fit", str(tmp_path / "rows.csv"), "--save", str(tmp_path / "model"), "--method", "posterior"]
    main([*given, "--as", "grade=low, mid,high,top", "--as", "points=ordered"], standalone_mode=False)
    told = capsys.readouterr().out
    assert re.search(r"column +likelihood +because it has +missing +or", told)
    assert re.search(r"grade +ordered +your choice: low < mid < high < top +1 +categorical, words", told)
    assert re.search(r"points +ordered +your choice: 0 < 1 < 2 < 3 +1 +normal, histogram, categorical", told)
    main([*given, "--as", "grade=low,mid,high,top", "--as", "points=skip"], standalone_mode=False)
    assert_allclose(nb.load(tmp_path / "model").predict_proba(PLAIN.assign(points=0.0)), CORE, rtol=1e-6)


def test_numbers_rise_and_grow_with_batches():
    points = pd.DataFrame({"points": np.where(np.arange(N) < 30, np.minimum(CODES, 1.0), CODES)})
    whole = nb.NaiveBayesClassifier("ordered", method="posterior").fit(points, Y)
    assert whole.schema_.columns[0].values == (0.0, 1.0, 2.0, 3.0)
    for keep in (True, False):
        clf = nb.NaiveBayesClassifier("ordered", method="posterior" if keep else "default", keep_rows=keep)
        clf = clf.set_params(dependence=False, temper=False) if not keep else clf
        clf.partial_fit(points[:30], Y[:30]).partial_fit(points[30:], Y[30:])
        assert_allclose(clf.predict_proba(points), whole.predict_proba(points), rtol=1e-6)
    falling = nb.NaiveBayesClassifier({"points": [3, 2, 1, 0]}, method="posterior").fit(points, Y)
    assert falling.schema_.columns[0].values == (3.0, 2.0, 1.0, 0.0)
    assert_allclose(falling.predict_proba(points), whole.predict_proba(points), rtol=1e-6)  # joined alike from the end


def test_later_batches_have_the_levels_of_the_first():
    clf = nb.NaiveBayesClassifier(method="posterior").partial_fit(ORDERED[:30], Y[:30])
    clf.partial_fit(PLAIN[30:], Y[30:])
    assert_allclose(clf.predict_proba(PLAIN), CORE, rtol=1e-6)
    with pytest.raises(ValueError, match=r"holds 'best' in row 1, which is not one of its levels, 'low', 'mid'"):
        clf.partial_fit(pd.DataFrame({"grade": ["low", "best"], "size": [0.0, 1.0]}), [0, 1])


def test_the_default_learns_from_ordered_columns_and_says_level_names():
    frame = ORDERED.assign(other=pd.Categorical(np.roll(CELLS, 3), categories=LEVELS, ordered=True))
    clf = nb.NaiveBayesClassifier().fit(frame, Y)
    assert {*clf.learned_.parts} >= {"columns", "best", "aode"}
    assert_allclose(clf.predict_proba(frame).sum(axis=1), 1.0)
    assert "grade = mid" in nb.explain(clf, frame[:1]).table() + nb.explain(clf, frame[2:3]).table()
    alone = nb.NaiveBayesClassifier(method="posterior").fit(frame[["grade"]], Y)
    top = nb.top_features(alone)["1"]
    assert {one.name for one in top} == {f"grade = {level}" for level in LEVELS}
    probs = np.array([[one.here for one in top], [one.elsewhere for one in top]])
    assert_allclose(probs.sum(axis=1), 1.0)


def test_an_unknown_level_is_missing_as_an_unknown_category_is():
    clf = nb.NaiveBayesClassifier(LISTED, method="posterior").fit(PLAIN, Y)
    odd, none = PLAIN[:2].assign(grade=["best", "low"]), PLAIN[:2].assign(grade=[None, "low"])
    assert_allclose(clf.predict_proba(odd), clf.predict_proba(none))
    with pytest.warns(UserWarning, match="no value that the model was fitted to"):
        clf.predict(PLAIN[:1].assign(grade="best"))


@pytest.mark.parametrize(
    ("likelihoods", "sentence"),
    [
        ({"grade": "ordered"}, r"'grade' holds text, which has no order of its own: list its levels .*--as grade="),
        (
            {"grade": ["low", "mid", "top"]},
            r"holds 'high' in row \d+, which is not one of its levels, 'low', 'mid', 'top'",
        ),
        ({"grade": ["low"]}, r"levels are from 2 to 256 different texts or numbers"),
        ({"grade": ["low", "low"]}, r"levels are from 2 to 256 different texts or numbers"),
        ({"size": ["low", "high"]}, r"column 'size' holds '.*' in row 0, which is not one of its levels"),
    ],
)
def test_levels_that_do_not_fit(likelihoods, sentence):
    with pytest.raises(ValueError, match=sentence):
        nb.NaiveBayesClassifier(likelihoods).fit(PLAIN, Y)


def test_a_file_names_the_line_of_an_unlisted_level(tmp_path):
    PLAIN.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    line = 2 + CELLS.index("high")
    with pytest.raises(ValueError, match=f"column 'grade' holds 'high' on line {line}, which is not one of its levels"):
        nb.fit_table(tmp_path / "rows.csv", "y", {"grade": ["low", "mid", "top"]})


def test_too_many_levels_and_arrays_are_refused():
    with pytest.raises(ValueError, match="has 300 levels, and an ordered column at most 256"):
        nb.NaiveBayesClassifier("ordered").fit(pd.DataFrame({"a": np.arange(300.0)}), np.arange(300) % 2)
    for likelihoods in ("ordered", [["0", "1"], "normal"]):
        with pytest.raises(ValueError, match="ordered columns are those of a data frame, and X is an array"):
            nb.NaiveBayesClassifier(likelihoods).fit(np.zeros((4, 2)), [0, 1, 0, 1])


def test_two_orders_are_one_if_one_has_all_of_the_other():
    assert in_one_order(("a", "c"), ("a", "b", "c")) == ("a", "b", "c")
    assert in_one_order(("c", "a"), ("a", "b", "c")) == ()
    assert in_one_order((), ("b", "a")) == ("b", "a")
    assert in_one_order(("a", "d"), ("a", "b", "c")) == ()


def test_parts_of_two_orders_are_categories():
    parts = [pl.DataFrame({"c": pl.Series(cells, dtype=pl.Enum(order)), "y": [0, 1] * 10})
             for cells, order in ((["b", "a"] * 10, ["b", "a", "c"]), (["c", "a"] * 10, ["a", "b", "c"]))]  # fmt: skip
    schema = nb.merge(*[nb.describe_table(part, "y") for part in parts])
    assert schema.description.schema.kinds == ["categorical"]
