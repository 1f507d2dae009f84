"""Likelihoods by their words; and columns that are stored as categories, in every library."""

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.studies.cli import main
from bayesnb.tables.frames import _choices as choices
from bayesnb.tables.frames._columns import KINDS

N = 24
Y = np.arange(N) % 2
PLACES = np.r_[np.arange(N - 4) % 3, 0, 0, 2, 2]
SIZE = np.linspace(0.0, 1.0, N)
CELLS = {
    "whole": [[10, 9, 2][place] for place in PLACES],
    "broken": [[1.5, 2.0, -3.0][place] for place in PLACES],
    "text": ["bca"[place] for place in PLACES],
    "missing": [None if row == 5 else [10, 9, 2][place] for row, place in enumerate(PLACES)],
}


def dictionary(cells):
    return pa.array(cells).dictionary_encode()


FORMS = {
    "pandas": lambda cells: pd.DataFrame({"c": pd.Categorical(cells), "size": SIZE}),
    "ordered": lambda cells: pd.DataFrame({"c": pd.Categorical(cells, ordered=True), "size": SIZE}),
    "arrow in pandas": lambda cells: pd.DataFrame(
        {"c": pd.Series(pd.arrays.ArrowExtensionArray(dictionary(cells))), "size": SIZE}
    ),
    "pyarrow": lambda cells: pa.table({"c": dictionary(cells), "size": SIZE}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS)
def test_a_column_of_categories_is_taken_at_every_door(form, cells, tmp_path):
    frame = FORMS[form](cells)
    clf = nb.NaiveBayesClassifier(method="posterior").fit(frame, Y)
    plain = pd.DataFrame({"c": cells, "size": SIZE})
    kind = sorted({*cells} - {None}) if form == "ordered" else "categorical"
    other = nb.NaiveBayesClassifier({"c": kind, "size": "normal"}, method="posterior").fit(plain, Y)
    assert clf.likelihoods_ == {"c": "ordered" if form == "ordered" else "categorical", "size": "normal"}
    expected = other.predict_proba(plain)
    for rows in (frame, plain, [{"c": cell, "size": size} for cell, size in zip(cells, SIZE, strict=True)]):
        assert_allclose(clf.predict_proba(rows), expected, rtol=1e-12)
        assert_allclose(other.predict_proba(rows), expected, rtol=1e-12)
    assert_allclose(clf.predict_proba({"c": cells[0], "size": SIZE[0]}), expected[:1], rtol=1e-12)
    if form != "pyarrow":
        assert_allclose(clf.predict_proba(frame.iloc[3:6]), expected[3:6], rtol=1e-12)
        batches = nb.NaiveBayesClassifier({"c": kind, "size": "normal"}, method="posterior")
        batches.partial_fit(frame.iloc[:12], Y[:12]).partial_fit(plain.iloc[12:], Y[12:])
        assert_allclose(batches.predict_proba(frame), expected, rtol=1e-6)
    nb.save(clf, tmp_path / "model")
    plain.to_csv(tmp_path / "rows.csv", index=False)
    table = frame if form == "pyarrow" else pa.Table.from_pandas(frame)
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        places = [str(tmp_path / one) for one in ("model", name, "p.csv")]
        main(["predict", *places[:2], "--out", places[2]], standalone_mode=False)
        assert_allclose(pd.read_csv(tmp_path / "p.csv").to_numpy()[:, 1:].astype(float), expected, rtol=1e-6)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("categories", "kind"),
    [
        ([False, True], "bernoulli"),
        (list(pd.to_datetime(["2020-01-01", "2021-01-01"])), "skip"),
        ([0, 1], "categorical"),
    ],
)
def test_categories_of_flags_and_dates(categories, kind, ordered):
    column = pd.Series(pd.Categorical([categories[place] for place in Y], ordered=ordered))
    assert nb.infer_likelihoods(pd.DataFrame({"c": column}))["c"] == kind
    assert_array_equal(nb.NaiveBayesClassifier("normal").fit(SIZE[:, None], column).classes_, np.unique(column))


@pytest.mark.parametrize("ordered", [False, True])
def test_unused_categories_of_numbers_are_categories(ordered):
    column = pd.Series(pd.Categorical(CELLS["whole"], categories=[10, 9, 2, 7], ordered=ordered))
    clf = nb.NaiveBayesClassifier().fit(pd.DataFrame({"c": column}), Y)
    assert clf.schema_.columns[0].values == ((10.0, 9.0, 2.0, 7.0) if ordered else (2.0, 7.0, 9.0, 10.0))
    assert nb.infer_likelihoods(pd.DataFrame({"c": column}))["c"] == ("ordered" if ordered else "categorical")
    many = pd.DataFrame({"c": pd.Categorical(np.arange(60) / 7)})
    assert nb.infer_likelihoods(many)["c"] == "normal"  # each occurs once


def test_numbers_in_categories_may_have_a_likelihood_of_numbers():
    frame = pd.DataFrame({"c": pd.Categorical(CELLS["broken"], ordered=True)})
    plain = pd.DataFrame({"c": CELLS["broken"]})
    clf, other = (nb.NaiveBayesClassifier("normal").fit(rows, Y) for rows in (frame, plain))
    assert_array_equal(clf.predict_proba(frame), other.predict_proba(plain))


def test_polars_enums_are_text():
    column = pl.Series([str(place) for place in PLACES], dtype=pl.Enum(["0", "1", "2", "3"]))
    clf = nb.NaiveBayesClassifier().fit(pl.DataFrame({"c": column}), Y)
    assert clf.schema_.columns[0].values == ("0", "1", "2", "3")
    assert clf.predict({"c": "1"}) in (0, 1)


def test_huge_numbers_in_categories_stay_text():
    column = pd.Series(pd.Categorical([2**60 + place for place in PLACES.tolist()]))
    with pytest.warns(UserWarning, match="would be rounded"):
        clf = nb.NaiveBayesClassifier().fit(pd.DataFrame({"c": column}), Y)
    assert clf.schema_.columns[0].values == tuple(str(2**60 + place) for place in range(3))


@pytest.mark.parametrize("form", ["pandas", "ordered", "pyarrow"])
def test_a_model_of_texts_that_are_numbers_takes_categories_of_numbers(form):
    texts = pd.DataFrame({"c": [str(cell) for cell in CELLS["whole"]], "size": SIZE})
    clf = nb.NaiveBayesClassifier(temper=False).fit(texts, Y)  # as in files of earlier versions
    assert_array_equal(clf.predict_proba(FORMS[form](CELLS["whole"])), clf.predict_proba(texts))


WAITS = np.random.default_rng(3).gamma(2.0, 1.0 + Y).round(3)
FRAME = pd.DataFrame({"wait": WAITS, "pause": WAITS[::-1], "size": SIZE})


def test_a_word_is_a_likelihood_at_every_door(tmp_path):
    words = {"wait": "gamma", "pause": "exponential", "size": "normal"}
    clf = nb.NaiveBayesClassifier(words, method="posterior").fit(FRAME, Y)
    assert clf.likelihoods_ == {"wait": "Gamma", "pause": "Exponential", "size": "normal"}
    families = {"gamma": nb.Likelihood(dist.Gamma), "exponential": nb.OneRate(dist.Exponential)}
    model = nb.NaiveBayes({**families, "numeric": nb.Normal()})
    X = dict(zip(model.families, FRAME.to_numpy().T[:, :, None], strict=True))
    expected = nb.fit_posterior(model, X, Y).predict_proba(X)
    assert_allclose(clf.predict_proba(FRAME), expected, rtol=1e-9)

    nb.save(clf, tmp_path / "model")
    assert_array_equal(nb.load(tmp_path / "model").predict_proba(FRAME), clf.predict_proba(FRAME))
    own = {"wait": families["gamma"], "pause": families["exponential"]}
    others = [nb.NaiveBayesClassifier(words | own, method="posterior").fit(FRAME, Y)]
    others += [nb.NaiveBayesClassifier([*words.values()], method="posterior").fit(FRAME.to_numpy(), Y)]
    by_position = {0: "gamma", 1: "exponential", 2: "normal"}
    others += [nb.NaiveBayesClassifier(by_position, method="posterior").fit(FRAME.to_numpy(), Y)]
    table = FRAME.assign(y=Y)
    others += [nb.fit_table(table, "y", words, method="posterior")]
    schema = nb.describe_table(table, "y", words)
    schema = type(schema).from_bytes(schema.to_bytes())
    counted = nb.merge(schema.count(table[:10]), schema.count(table[10:]))
    others += [nb.fit_table(schema, statistics=counted, method="posterior")]
    for other in others:
        rows = FRAME if hasattr(other, "feature_names_in_") else FRAME.to_numpy()
        assert_allclose(other.predict_proba(rows), expected, rtol=1e-9)

    table.to_csv(tmp_path / "rows.csv", index=False)
    command = ["fit", str(tmp_path / "rows.csv"), "--target", "y", "--method", "posterior", "--save"]
    options = [part for name, word in words.items() for part in ("--as", f"{name}={word}")]
    ran = CliRunner().invoke(main, [*command, str(tmp_path / "cli"), *options])
    assert ran.exit_code == 0, ran.output
    assert_allclose(nb.load(tmp_path / "cli").predict_proba(FRAME), expected, rtol=1e-9)


def test_batches_of_a_word_are_the_fit_of_all_rows_under_its_bins():
    rows = FRAME[["wait", "pause"]].iloc[
        np.argsort(WAITS)[np.r_[0, N - 1, 1 : N - 1]]
    ]  # bins are those of the first batch
    y = Y[rows.index]
    parts = nb.NaiveBayesClassifier({"*": "gamma"}, method="posterior", keep_rows=False)
    parts.partial_fit(rows[:20], y[:20], classes=[0, 1]).partial_fit(rows[20:], y[20:])
    whole = nb.NaiveBayesClassifier({"*": "gamma"}, method="posterior").fit(rows, y)
    assert_allclose(parts.predict_proba(rows), whole.predict_proba(rows), rtol=2e-2)


@pytest.mark.parametrize("word", [word for word in choices.FAMILIES if word not in KINDS])
def test_each_word_is_a_family(word):
    family = choices.FAMILIES[word]()
    x = np.array([[1.0, 2.0, 3.0]] * 2).T if family.support.is_discrete else np.array([[0.2, 0.5, 0.7]] * 2).T
    clf = nb.NaiveBayesClassifier(word, method="mle")
    assert family.support(x).all()
    assert choices.choose_kinds(word, ["a", "b"])["a"] is choices.choose_kinds({"*": word}, ["a", "b"])["b"]
    assert clf.get_params()["likelihoods"] == word


def test_what_a_word_cannot_take_names_the_column(tmp_path):
    bad = FRAME.assign(wait=np.r_[-1.0, WAITS[1:]])
    clf = nb.NaiveBayesClassifier({"wait": "gamma"}, method="posterior")
    sentence = r"column 'wait' cannot be Gamma: a cell is a number above 0 or missing, got -1; .*nb\.Hurdle"
    with pytest.raises(ValueError, match=sentence):
        clf.fit(bad, Y)
    fitted = clf.fit(FRAME, Y)
    for refused in (
        lambda: fitted.predict_proba(bad),
        lambda: fitted.predict_proba({"wait": -1.0, "pause": 1.0, "size": 1.0}),
        lambda: clf.partial_fit(bad, Y),
        lambda: nb.fit_table(bad.assign(y=Y), "y", {"wait": "gamma"}, method="posterior"),
        lambda: nb.fit_table(bad.assign(y=Y), "y", {"wait": nb.Likelihood(dist.Gamma)}, method="posterior"),
    ):
        with pytest.raises(ValueError, match=sentence):
            refused()
    with pytest.raises(
        ValueError, match="column 'size' cannot be Beta: a cell is a number above 0 and below 1 or missing"
    ):
        nb.NaiveBayesClassifier({"size": "beta"}, method="posterior").fit(FRAME.assign(size=SIZE + 1), Y)
    with pytest.raises(ValueError, match="column 'size' cannot be NegativeBinomial2: a cell is a count"):
        nb.NaiveBayesClassifier({"size": "negative_binomial"}, method="posterior").fit(FRAME, Y)
    with pytest.raises(ValueError, match="column 'wait' cannot be Poisson: a cell is a count"):
        nb.NaiveBayesClassifier({"wait": nb.Poisson()}, method="posterior").fit(FRAME, Y)
    for odd, words in {
        "gama": "did you mean 'gamma'",
        "wibble": "expected one of bernoulli, .*student.*, skip",
    }.items():
        with pytest.raises(ValueError, match=f"'{odd}' is not a likelihood of a column: .*{words}"):
            nb.NaiveBayesClassifier({"wait": odd}).fit(FRAME, Y)
    FRAME.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    ran = CliRunner().invoke(
        main, ["fit", str(tmp_path / "rows.csv"), "--as", "wait=gama", "--save", str(tmp_path / "m")]
    )
    assert ran.exit_code
    assert "did you mean 'gamma'" in ran.output


def test_values_of_their_own_are_cells_of_a_hurdle(tmp_path):
    rows = FRAME[["wait"]].assign(wait=np.where(np.arange(len(Y)) % 4 == 0, 0.0, WAITS))
    hurdle = {"wait": nb.Hurdle(nb.LogNormal(), at=0.0)}
    clf = nb.NaiveBayesClassifier(hurdle, method="posterior").fit(rows, Y)
    by_hand = nb.fit_posterior(
        nb.NaiveBayes({"zero": nb.Bernoulli(), "rest": nb.LogNormal()}),
        {"zero": rows[["wait"]] == 0, "rest": rows[["wait"]].where(rows[["wait"]] > 0).to_numpy()},
        Y,
    )
    expected = by_hand.predict_proba({"zero": np.array([[1.0], [0.0]]), "rest": np.array([[np.nan], [3.0]])})
    assert_allclose(clf.predict_proba(pd.DataFrame({"wait": [0.0, 3.0]})), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="column 'wait' cannot be Hurdle: a cell is a number above 0, 0 or missing"):
        clf.predict_proba({"wait": -1.0})
    rows.assign(y=Y).to_csv(tmp_path / "rows.csv", index=False)
    of_file = nb.fit_table(tmp_path / "rows.csv", "y", hurdle, method="posterior")
    nb.save(of_file, tmp_path / "model")
    again = nb.load(tmp_path / "model").predict_proba(pd.DataFrame({"wait": [0.0, 3.0]}))
    assert_allclose(again, expected, rtol=1e-6)
