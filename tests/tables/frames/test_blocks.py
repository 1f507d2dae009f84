"""Sparse words beside dense numbers in one estimator: blocks, and what a ColumnTransformer gives."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline

import bayesnb as nb
from bayesnb.inspection._explain import explain
from bayesnb.inspection._top_features import top_features

N, WORDS = 60, ["ball", "cup", "law", "tax", "vote"]
RNG = np.random.default_rng(3)
Y = np.arange(N) % 2
COUNTS = RNG.poisson(np.where(Y[:, None] == 1, [0.2, 0.3, 1, 1.5, 1], [1.5, 1, 0.3, 0.2, 0.4]))
NUMBERS = RNG.normal(size=(N, 2)) + Y[:, None]
SPARSE = scipy.sparse.csr_array(COUNTS)
CODES = RNG.integers(0, 3, (N, 2))
TEXTS = [" ".join(np.repeat(WORDS, row)) for row in COUNTS]
FRAME = pd.DataFrame({"text": TEXTS, "age": NUMBERS[:, 0], "size": NUMBERS[:, 1]})
KINDS = {"words": "multinomial", "numbers": "normal"}
BLOCKS = {"words": SPARSE, "numbers": NUMBERS}
BESIDE = scipy.sparse.hstack([SPARSE, NUMBERS]).tocsr()


def core(blocks, families):
    return nb.fit_posterior(nb.NaiveBayes(families), blocks, Y)


MODEL = {"words": nb.Multinomial(1.0), "numbers": nb.Normal(strength=1.0, shape=1.0)}


@cache
def oracle():
    return core(BLOCKS, MODEL)


@pytest.mark.parametrize(
    ("likelihoods", "X"),
    [
        (["multinomial", "normal"], [SPARSE, NUMBERS]),
        (["multinomial", "normal"], (scipy.sparse.csc_matrix(COUNTS), pd.DataFrame(NUMBERS))),
        (KINDS, BLOCKS),
        ({"words": "multinomial"}, BLOCKS | {"numbers": pl.DataFrame(NUMBERS, schema=["a", "b"])}),
        (["multinomial"] * 5 + ["normal"] * 2, BESIDE),
        (["multinomial"] * 5 + ["normal"] * 2, BESIDE.toarray()),
        ({"*": "multinomial", range(-2, 0): "normal"}, BESIDE),
        ({range(5): "multinomial", 5: "normal", -1: "normal"}, BESIDE.tocsc()),
        ({"*": nb.Multinomial(1.0), range(5, 7): nb.Normal(strength=1.0, shape=1.0)}, BESIDE),
    ],
)
def test_words_beside_numbers_are_the_blocks_of_the_model(likelihoods, X):
    clf = nb.NaiveBayesClassifier(likelihoods, temper=False).fit(X, Y)
    assert_allclose(clf.predict_log_proba(X), oracle().predict_log_proba(BLOCKS), rtol=1e-10)
    assert clf.n_features_in_ == 7


def test_only_columns_that_are_no_words_become_dense():
    shuffled = BESIDE[:, [5, 0, 1, 2, 3, 4, 6]]
    clf = nb.NaiveBayesClassifier({"*": "multinomial", 0: "normal", 6: "skip"}).fit(shuffled, Y)
    blocks = clf.encoded(shuffled)
    assert scipy.sparse.issparse(blocks["words"])
    assert_array_equal(blocks["words"].toarray(), COUNTS)
    assert_array_equal(blocks["numeric"], NUMBERS[:, :1])
    assert clf.likelihoods_["x6"] == "skip"


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_a_pipeline_of_columns(threshold, tmp_path):
    parts = [("words", CountVectorizer(), "text"), ("numbers", "passthrough", ["age", "size"])]
    clf = nb.NaiveBayesClassifier({"*": "multinomial", range(-2, 0): "normal"}, method="posterior")
    pipeline = Pipeline([("columns", ColumnTransformer(parts, sparse_threshold=threshold)), ("bayes", clf)])
    assert cross_val_score(pipeline, FRAME, Y, cv=3).mean() > 0.7
    pipeline.fit(FRAME, Y)
    assert_allclose(pipeline.predict_proba(FRAME), oracle().predict_proba(BLOCKS), rtol=1e-9)
    told = explain(pipeline, FRAME[:3])
    words = [f"words__{word}" for word in WORDS]
    assert told.feature_names == ("numbers__age", "numbers__size", *words, "length of words")
    assert_allclose(told.log_odds[:, 1], np.diff(pipeline.predict_log_proba(FRAME[:3]))[:, 0])
    assert {part.name for part in top_features(pipeline, 7)["0"]} == {"numbers__age", "numbers__size", *words}
    nb.save(pipeline[-1], tmp_path / "model.safetensors")
    again = nb.load(tmp_path / "model.safetensors")
    assert again.likelihoods == clf.likelihoods
    assert_array_equal(again.predict_proba(BESIDE), pipeline[-1].predict_proba(BESIDE))


def test_names_of_blocks():
    clf = nb.NaiveBayesClassifier(KINDS).fit(BLOCKS | {"numbers": FRAME[["age", "size"]]}, Y)
    rows = {"words": SPARSE[:2], "numbers": FRAME[["age", "size"]][:2]}
    told = explain(clf, rows, class_names=["no", "yes"])
    assert told.feature_names == (*(f"words[{d}]" for d in range(5)), "length of words", "age", "size", "dependence")
    own = explain(clf, rows, feature_names={"words": WORDS, "numbers_numeric": ["a", "b"]})
    assert own.feature_names == (*WORDS, "length of words", "a", "b", "dependence")
    assert explain(clf, rows, feature_names=[*WORDS, "a", "b"]).feature_names == own.feature_names
    with pytest.raises(ValueError, match="feature_names must be a list of 7 names, got 2"):
        explain(clf, rows, feature_names=["a", "b"])
    assert list(clf.likelihoods_.values()) == ["multinomial"] * 5 + ["normal"] * 2
    assert clf.likelihoods_["size"] == "normal"


def test_a_block_may_have_several_likelihoods():
    frame = pd.DataFrame({"age": NUMBERS[:, 0], "colour": np.array(["red", "green", "blue"])[CODES[:, 0]]})
    each = ["multinomial", "auto", ["categorical", "normal"], nb.MultivariateNormal()]
    clf = nb.NaiveBayesClassifier(each, temper=False)
    X = [SPARSE, frame, np.column_stack([CODES[:, 1], NUMBERS[:, 1]]), NUMBERS]
    clf.fit(X, Y)
    colours = pd.factorize(frame["colour"], sort=True)[0]
    own = {
        "a": SPARSE, "b": colours[:, None], "c": NUMBERS[:, :1], "d": CODES[:, 1:], "e": NUMBERS[:, 1:], "f": NUMBERS,
    }  # fmt: skip
    normal = nb.Normal(strength=1.0, shape=1.0)
    families = {
        "a": nb.Multinomial(1.0), "b": nb.Categorical(3, 1.0), "c": normal, "d": nb.Categorical(3, 1.0), "e": normal,
        "f": nb.MultivariateNormal(),
    }  # fmt: skip
    assert_allclose(clf.predict_log_proba(X), core(own, families).predict_log_proba(own), rtol=1e-10)


def halves(X):
    return ({name: block[part] for name, block in X.items()} for part in (slice(0, 20), slice(20, N)))


@pytest.mark.parametrize(
    "weight", [pytest.param(None, marks=pytest.mark.slow), np.where(np.arange(N) % 7 == 0, 0.0, 1.5)]
)
def test_any_split_is_one_fit(weight, tmp_path):
    frame = pd.DataFrame({"colour": np.sort(np.array(["a", "b", "c"])[CODES[:, 0]]), "age": NUMBERS[:, 0]})
    X = {"words": SPARSE, "codes": np.sort(CODES, axis=0), "frame": frame}
    kinds = {"words": "multinomial", "codes": "categorical", "frame": {"colour": "categorical", "age": "normal"}}
    whole = nb.NaiveBayesClassifier(kinds).fit(X, Y, sample_weight=weight)
    split = nb.NaiveBayesClassifier(kinds)
    weights = [None, None] if weight is None else [weight[:20], weight[20:]]
    for rows, y, w in zip(halves(X), (Y[:20], Y[20:]), weights, strict=True):
        split.partial_fit(rows, y, classes=[0, 1], sample_weight=w)
    assert_allclose(split.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-10)
    assert split.class_count_.sum() == (N if weight is None else weight.sum())
    nb.save(whole, tmp_path / "model.safetensors")
    again = nb.load(tmp_path / "model.safetensors")
    assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
    with pytest.warns(UserWarning, match="because fit keeps no rows"):
        again.partial_fit(X, Y)
    assert again.class_count_.sum() == whole.class_count_.sum() + N


def test_a_part_of_an_array_with_its_own_family():
    family = nb.MultivariateNormal()
    clf = nb.NaiveBayesClassifier({"*": "multinomial", -1: family, -2: family}, method="posterior").fit(BESIDE, Y)
    families = {"words": nb.Multinomial(1.0), "numbers": family}
    assert_allclose(clf.predict_proba(BESIDE), core(BLOCKS, families).predict_proba(BLOCKS), rtol=1e-10)
    assert list(clf.likelihoods_.values()) == ["multinomial"] * 5 + ["MultivariateNormal"] * 2


def test_a_block_may_be_skipped(tmp_path):
    X = {"words": SPARSE, "ids": FRAME[["text"]], "more": NUMBERS} | BLOCKS
    kinds = {"words": "skip", "ids": "skip", "more": "skip", "numbers": "normal"}
    clf = nb.NaiveBayesClassifier(kinds).partial_fit(X, Y)
    expected = nb.NaiveBayesClassifier("normal").fit(NUMBERS, Y).predict_log_proba(NUMBERS)
    assert_allclose(clf.predict_log_proba(X), expected)
    assert list(clf.likelihoods_.values()) == ["skip"] * 6 + ["skip"] * 2 + ["normal"] * 2
    assert clf.partial_fit(X, Y).class_count_.sum() == 2 * N
    nb.save(clf, tmp_path / "model.safetensors")
    assert_array_equal(nb.load(tmp_path / "model.safetensors").predict_proba(X), clf.predict_proba(X))


BOTH = ["multinomial", "normal"]


@pytest.mark.parametrize(
    ("likelihoods", "X", "words"),
    [
        (BOTH, [SPARSE], "likelihoods has 2 entries, and X has 1 blocks: give one per block"),
        (BOTH, [SPARSE, NUMBERS[:9]], "all blocks must have the same number of rows, got .*60.*9"),
        (BOTH, [SPARSE, NUMBERS[:, 0]], r"block 'block_2' must be an array \[N, D\], .* give x\[:, None\]"),
        (BOTH, [NUMBERS, SPARSE], "block 'block_2' is a sparse matrix, and its likelihood is 'normal': choose"),
        ("auto", [SPARSE, NUMBERS], "block 'block_1' is a sparse matrix, and its likelihood is 'auto': choose"),
        ({"word": "multinomial"}, BLOCKS, "likelihoods has 'word', which is not among the blocks 'words', 'numbers'"),
        (["multinomial", "counts"], BLOCKS, "'counts' is not a likelihood"),
        (KINDS, BLOCKS | {"numbers": FRAME[["text"]]}, "column 'text' holds text, which cannot be normal"),
        ("normal", {"a": FRAME[["age"]], "b": FRAME[["age"]]}, "two blocks have a column named 'age': rename one"),
        ({5: "normal", "*": "multinomial", "age": "normal"}, BESIDE, "likelihoods has the column name 'age', and X is"),
        ({7: "normal", "*": "multinomial"}, BESIDE, "likelihoods has the position 7, and X has 7 columns"),
        ({range(5): "multinomial", 6: "normal"}, BESIDE, "likelihoods has no entry for column 5 of X: add one, or '*'"),
        ({0.5: "normal", "*": "multinomial"}, BESIDE, "likelihoods has the key 0.5: expected a position, a range"),
        ({"*": "skip"}, BESIDE.toarray(), "no column to learn from"),
        ("skip", BLOCKS, "X has no block to learn from: all are skipped, as asked"),
    ],
)
def test_blocks_that_do_not_fit(likelihoods, X, words):
    with pytest.raises(ValueError, match=words):
        nb.NaiveBayesClassifier(likelihoods).fit(X, Y)


def test_rows_that_do_not_fit_the_blocks_of_the_fit():
    clf = nb.NaiveBayesClassifier(KINDS).fit(BLOCKS, Y)
    for X, words in [
        (BESIDE, "the model was fitted to the blocks 'words', 'numbers': give a list or a dict of them"),
        ({"words": SPARSE}, "the model was fitted to the blocks 'words', 'numbers', got 'words': give the same"),
        (BLOCKS | {"words": SPARSE[:, :4]}, "block 'words' has 4 columns, and the model was fitted to 5"),
    ]:
        with pytest.raises(ValueError, match=words):
            clf.predict(X)
    with pytest.raises(ValueError, match="X is a list or a dict of blocks, and the model was fitted to one array"):
        nb.NaiveBayesClassifier().fit(NUMBERS, Y).predict([NUMBERS])
    clf.set_params(likelihoods="normal").fit(FRAME[["age"]], Y).fit([NUMBERS], Y)
    assert clf.n_features_in_ == 2
    assert not hasattr(clf, "feature_names_in_")
