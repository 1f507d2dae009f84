"""A refusal names the column and the row at every door: arrays, frames, dicts and files."""

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.tables.frames._refusals import in_words
from tests import cases

ROWS, ODD = 40, 7
RNG = np.random.default_rng(0)
Y = np.array(["bad", "good"])[np.arange(ROWS) % 2]
COUNTS = RNG.integers(0, 3, ROWS).astype(float)
CELLS = {"normal": RNG.normal(size=ROWS), "histogram": RNG.random(ROWS), "gamma": RNG.gamma(2.0, size=ROWS)}
"""The cells of a kind of numbers; of others they are ``COUNTS``."""

REFUSED = {
    "normal, infinite": ("normal", np.inf, "number"),
    "normal, too large": ("normal", 1e200, "too large|finite number"),
    "poisson": ("poisson", -3.0, "count"),
    "gamma": ("gamma", -3.0, "above 0"),
    "codes": (nb.Categorical(3), 1.5, "whole code"),
    "levels": (nb.Histogram.ordered([3]), 1e200, "finite number"),
    "covariance": (nb.MultivariateNormal(), 1e200, "finite number"),
}


def rows_of(kind, odd=None):
    frame = pd.DataFrame({"weight": RNG.normal(size=ROWS), "length": CELLS.get(str(kind), COUNTS)})
    if odd is not None:
        frame.loc[ODD, "length"] = odd
    return frame


def doors(kind, frame):
    """Likelihoods, and the rows as a user has them, by the words for the column."""
    chosen = {"length": kind, "weight": "normal"}
    return [
        ("column 'length'", chosen, frame),
        ("column 'length'", chosen, frame.to_dict("records")),
        ("column 1 of X", ["normal", kind], frame.to_numpy()),
    ]


def refusal(act):
    with pytest.raises(ValueError, match=r"column ") as caught:
        act()
    return str(caught.value)


@pytest.mark.parametrize("name", cases.by_default(REFUSED, "normal, infinite", "gamma", "covariance"))
@pytest.mark.parametrize("door", range(3), ids=["frame", "dicts", "array"])
def test_a_cell_is_named_by_column_and_row(name, door):
    kind, odd, words = REFUSED[name]
    column, chosen, given = doors(kind, rows_of(kind))[door]
    bad = doors(kind, rows_of(kind, odd))[door][2]
    new = lambda: nb.NaiveBayesClassifier(chosen, method="posterior")  # noqa: E731
    clf = new().partial_fit(given, Y)
    acts = [lambda: new().fit(bad, Y), lambda: clf.partial_fit(bad, Y), lambda: clf.forget(bad, Y)]
    acts += [lambda: clf.predict(bad), lambda: clf.predict_proba(bad), lambda: clf.predict_joint_log_proba(bad)]
    for act in acts:
        said = refusal(act)
        assert column in said
        assert f"row {ODD}" in said
        assert pd.Series([said]).str.contains(words)[0], said
    assert (clf.class_count_ == ROWS / 2).all()


@pytest.mark.parametrize("name", cases.by_default(REFUSED, "covariance", "poisson"))
def test_a_cell_of_a_file_is_named_by_its_line(name, tmp_path):
    kind, odd, _ = REFUSED[name]
    rows_of(kind, odd).to_csv(tmp_path / "new.csv", index=False)
    table = rows_of(kind).assign(label=Y)
    clf = nb.fit_table(table, "label", {"length": kind, "weight": "normal"}, method="posterior")
    said = refusal(lambda: nb.predict_table(clf, tmp_path / "new.csv"))
    assert f"line {ODD + 2}: column 'length'" in said
    assert ".." not in said.replace("...", "")


@pytest.mark.parametrize("door", range(3), ids=["frame", "dicts", "array"])
def test_a_cell_beyond_the_bins_of_earlier_rows(door):
    column, chosen, given = doors("gamma", rows_of("gamma"))[door]
    bad = doors("gamma", rows_of("gamma", 1e200))[door][2]
    clf = nb.NaiveBayesClassifier(chosen, method="posterior").partial_fit(given, Y)
    assert refusal(lambda: clf.partial_fit(bad, Y)).startswith(
        f"row {ODD}: {column} holds 1e+200, which lies beyond the bins"
    )


@pytest.mark.parametrize("kind", cases.by_default(["normal", "histogram", "poisson", "gamma", "bernoulli"], "normal"))
def test_rows_that_were_never_fitted_name_the_column_and_the_class(kind):
    """Sums of rows are compared, so that no single row is at fault."""
    rows = rows_of(kind).assign(length=lambda frame: frame["length"].clip(upper=1.0 if kind == "bernoulli" else None))
    others = doors(kind, rows.assign(length=1.0))
    for (column, chosen, given), (_, _, other) in zip(doors(kind, rows), others, strict=True):
        clf = nb.NaiveBayesClassifier(chosen, method="posterior").partial_fit(given, Y)
        said = refusal(lambda: clf.forget(other, Y))  # noqa: B023
        assert said.startswith(column)
        assert "class 'bad'" in said or "class 'good'" in said
        assert "take away rows that were" in said


@pytest.mark.parametrize("array", [False, True])
def test_a_category_that_no_fitted_row_had(array):
    rows, column = rows_of("categorical"), "column 1 of X" if array else "column 'length'"
    other = rows.assign(length=rows["length"].where(np.arange(ROWS) != ODD, 9.0))
    chosen = ["normal", "categorical"] if array else {"length": "categorical", "weight": "normal"}
    rows, other = (one.to_numpy(copy=True) if array else one for one in (rows, other))
    clf = nb.NaiveBayesClassifier(chosen).partial_fit(rows, Y)
    assert refusal(lambda: clf.forget(other, Y)).startswith(f"row {ODD}: {column}: the rows to forget hold a category")
    if array:
        rows[ODD, 1] = np.inf
        assert refusal(lambda: clf.predict(rows)).startswith(f"row {ODD}: column 1 of X holds an infinite number")


@pytest.mark.parametrize("kind", ["normal", "ordered"])
def test_a_whole_column_is_refused_without_a_row(kind):
    frame = rows_of("normal").assign(length=["low", "high"] * (ROWS // 2))
    said = refusal(lambda: nb.NaiveBayesClassifier({"length": kind}).fit(frame, Y))
    assert said.startswith("column 'length' holds text") or "in row 0" in said


def test_texts_among_numbers():
    frame = rows_of("normal").astype(object)
    frame.loc[ODD, "length"] = "tall"
    said = refusal(lambda: nb.NaiveBayesClassifier().fit(frame, Y))
    assert said.startswith(f"row {ODD}: column 'length' holds float and str")
    assert f"the text 'tall' in row {ODD}, column 1" in refusal(
        lambda: nb.NaiveBayesClassifier().fit(frame.to_numpy(), Y)
    )


def test_blocks_are_named_by_their_own_names():
    left, right = rows_of("normal").to_numpy(copy=True), rows_of("poisson")
    clf = nb.NaiveBayesClassifier({"a": "normal", "b": {"length": "poisson"}}, method="posterior")
    clf.fit({"a": left, "b": right}, Y)
    left[ODD, 1] = np.inf
    assert refusal(lambda: clf.predict({"a": left, "b": right})).startswith(f"row {ODD}: column 'a[1]': a Normal cell")


def test_words_of_a_user_stay_as_they_are():
    schema = nb.NaiveBayesClassifier(method="posterior").fit(rows_of("normal"), Y).schema_
    for sentence in ("column 'class 1' holds text", "there is no block 'x', column 1", "X has class 0"):
        assert in_words(sentence, schema, ["a", "b"]) == sentence
    assert in_words("class_counts: weight in class 1", schema, ["a", "b"]) == "class_counts: weight in class 'b'"
