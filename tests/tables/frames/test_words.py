"""A column of text as words: the fit is that of scikit-learn's counts as a Multinomial block beside the others."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import cross_val_score

import bayesnb as nb
from bayesnb.compute.arrays._cells import dense
from tests import cases
from tests.served import served

N = 90
RNG = np.random.default_rng(8)
VOCABULARY = np.array([f"w{place:02d}" for place in range(40)])
CODES = np.arange(N) % 3
Y = np.array(["ham", "news", "spam"])[CODES]
PROBS = RNG.dirichlet(np.full(40, 0.3), 3)
TEXTS = [" ".join(RNG.choice(VOCABULARY, RNG.integers(0, 9), p=PROBS[k])) for k in CODES]
TEXTS[4], TEXTS[50] = None, ""
FRAME = pd.DataFrame({"message": TEXTS, "age": RNG.normal(CODES, 1.0), "colour": RNG.choice(["red", "green"], N)})
CHOSEN = {"message": "words", "age": "normal", "colour": "categorical"}
HASHED = HashingVectorizer(n_features=64, norm=None, alternate_sign=False)


def fitted(likelihoods=CHOSEN, frame=FRAME, **options):
    return nb.NaiveBayesClassifier(likelihoods, **options).fit(frame, Y)


def by_blocks(vectorizer, smoothing=1.0):
    """The posterior probabilities of the model with scikit-learn's counts as a block."""
    model = nb.NaiveBayes(
        {
            "age": nb.Normal(strength=smoothing, shape=smoothing),
            "colour": nb.Categorical((2,), smoothing),
            "message": nb.Multinomial(smoothing),
        }
    )
    X = {
        "age": FRAME[["age"]].to_numpy(),
        "colour": (FRAME[["colour"]] == "red").to_numpy(np.int32),
        "message": vectorizer.fit_transform(["" if text is None else text for text in TEXTS]),
    }
    return nb.fit_posterior(model, X, CODES).predict_proba(X)


@pytest.mark.parametrize(
    ("likelihood", "vectorizer"),
    [
        ("words", CountVectorizer()),
        ("character n-grams", CountVectorizer(analyzer="char_wb", ngram_range=(3, 3))),
        (CountVectorizer(ngram_range=(1, 2), binary=True), CountVectorizer(ngram_range=(1, 2), binary=True)),
        (CountVectorizer(vocabulary=["w03", "w01", "other"]), CountVectorizer(vocabulary=["w03", "w01", "other"])),
        (HASHED, HASHED),
    ],
)
def test_the_fit_is_that_of_counts_in_a_multinomial_block(likelihood, vectorizer):
    clf = fitted({**CHOSEN, "message": likelihood}, smoothing=0.5, method="posterior")
    assert_allclose(clf.predict_proba(FRAME), by_blocks(vectorizer, 0.5), rtol=1e-9)
    assert clf.encoded(FRAME)["message"].format == "csr"


@pytest.mark.parametrize(
    "likelihood", cases.by_default(["words", CountVectorizer(ngram_range=(1, 2)), HASHED], "words")
)
@pytest.mark.parametrize("size", [pytest.param(7, marks=pytest.mark.slow), 31])
def test_any_split_is_one_fit(likelihood, size):
    chosen = {**CHOSEN, "message": likelihood}
    whole, split = fitted(chosen), nb.NaiveBayesClassifier(chosen)
    for start in range(0, N, size):
        split.partial_fit(FRAME[start : start + size], Y[start : start + size], classes=np.unique(Y))
    assert_allclose(split.predict_proba(FRAME), whole.predict_proba(FRAME), rtol=1e-9)
    assert split.schema_.names_by_block == whole.schema_.names_by_block
    assert_allclose(split.fit_.log_evidence, whole.fit_.log_evidence, rtol=1e-9)


def test_the_vocabulary_is_that_of_all_rows_and_new_words_say_nothing():
    clf = fitted()
    words = CountVectorizer().fit([text or "" for text in TEXTS]).get_feature_names_out()
    assert clf.schema_.names_by_block["message"] == words.tolist()
    new, known = ({"message": text, "age": 1.0, "colour": "red"} for text in ("w01 unheard W02", "w01 w02"))
    assert_array_equal(clf.predict_proba(new), clf.predict_proba(known))


@pytest.mark.filterwarnings("ignore:1 of 1 texts in column 'message' have no word that the model knows")
@pytest.mark.parametrize("empty", [None, float("nan"), "", "...", "unheard"])
def test_a_text_without_known_words_has_a_factor_of_one(empty):
    clf, rest = (fitted({**CHOSEN, "message": kind}, method="posterior") for kind in ("words", "skip"))
    row = {"message": empty, "age": 1.0, "colour": "red"}
    for rows in (row, [row], pd.DataFrame([row])):
        assert_allclose(clf.predict_proba(rows), rest.predict_proba(pd.DataFrame([row])), rtol=1e-9)


@pytest.mark.parametrize("texts", [None, "", "..."])
def test_a_column_without_any_word_makes_no_difference_and_may_gain_words(texts):
    bare = nb.NaiveBayesClassifier(CHOSEN, dependence=False).partial_fit(FRAME.assign(message=texts), Y)
    rest = fitted({**CHOSEN, "message": "skip"}, dependence=False)
    assert_allclose(bare.predict_proba(FRAME), rest.predict_proba(FRAME), rtol=1e-9)
    bare.partial_fit(FRAME, Y)
    assert len(bare.schema_.names_by_block["message"]) == len(fitted().schema_.names_by_block["message"])


def test_frames_of_all_libraries_and_copies_are_alike():
    clf, frame = fitted(), pl.DataFrame({"message": TEXTS} | {name: FRAME[name].tolist() for name in ("age", "colour")})
    expected = clf.predict_proba(FRAME)
    for one in (fitted(frame=frame), clone(clf).fit(FRAME, Y), pickle.loads(pickle.dumps(clf))):
        assert_allclose(one.predict_proba(frame), expected, rtol=1e-12)


def test_two_columns_of_text_are_two_blocks():
    both = pd.DataFrame({"subject": TEXTS[::-1], "words": TEXTS})
    clf = nb.NaiveBayesClassifier("words").fit(both, Y)
    assert list(clf.schema_.blocks) == ["subject", "words_2"]  # `words` is the block of counts
    assert nb.top_features(clf, 1)["ham"][0].name.partition(": ")[0] in ("subject", "words_2")


def test_explanations_are_by_word_and_add_up():
    clf = fitted()
    explanation = nb.explain(clf, FRAME[:3], against="spam")
    assert {"w05", "age", "colour"} <= {*explanation.feature_names}
    log_proba = clf.predict_log_proba(FRAME[:3])
    assert_allclose(explanation.log_odds, log_proba - log_proba[:, [2]], rtol=1e-8, atol=1e-9)
    renamed = nb.explain(clf, FRAME, feature_names=["text", "years", "paint"])
    assert {"w05", "years", "paint"} <= {*renamed.feature_names}


def test_what_is_saved_knows_its_words(tmp_path):
    for likelihood in ("words", CountVectorizer(ngram_range=(1, 2), stop_words=["w01"]), HASHED):
        clf = fitted({**CHOSEN, "message": likelihood})
        nb.save(clf, tmp_path / "model")
        loaded = nb.load(tmp_path / "model")
        assert_array_equal(loaded.predict_proba(FRAME), clf.predict_proba(FRAME))
        assert loaded.likelihoods_ == clf.likelihoods_
        more = FRAME.assign(message="brand new words")
        with pytest.warns(UserWarning, match="because fit keeps no rows"):
            loaded.partial_fit(more, Y), clf.partial_fit(more, Y)
        assert_allclose(loaded.predict_proba(more), clf.predict_proba(more), rtol=1e-12)


@pytest.mark.slow
def test_jax_exports_a_fit_of_texts():
    clf = fitted()
    rows = {name: dense(block) for name, block in clf.encoded(FRAME).items()}
    assert_allclose(served(clf.fit_.predict_proba, rows)(rows), clf.predict_proba(FRAME), atol=1e-5)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_is_fitted_as_its_rows(tmp_path, suffix):
    path, table = tmp_path / f"mails.{suffix}", FRAME.assign(label=Y)
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    of_file = nb.fit_file(path, "label", CHOSEN, progress_bar=False)
    assert_allclose(of_file.predict_proba(FRAME), fitted().predict_proba(FRAME), rtol=1e-9)


def test_rows_are_forgotten_with_their_words():
    clf = nb.NaiveBayesClassifier(CHOSEN).partial_fit(FRAME, Y).forget(FRAME[:30], Y[:30])
    same_words = CountVectorizer(vocabulary=clf.schema_.names_by_block["message"])
    left = nb.NaiveBayesClassifier({**CHOSEN, "message": same_words}).fit(FRAME[30:], Y[30:])
    assert_allclose(clf.predict_proba(FRAME), left.predict_proba(FRAME), rtol=1e-7)
    with pytest.raises(ValueError, match="or such a word"):
        clf.forget(FRAME[:1].assign(message="unheard"), Y[:1])


@pytest.mark.parametrize(
    ("cells", "held"),
    [
        (np.arange(N), "numbers"),
        (np.arange(N) % 2 == 0, "true and false"),
        (pd.date_range("2020-01-01", periods=N), "dates"),
        ([f"2020-01-{1 + day % 28:02d}" for day in range(N)], "dates"),
        ([str(number) for number in range(N)], "numbers written as text"),
    ],
)
def test_a_column_of_numbers_or_dates_is_refused(cells, held):
    with pytest.raises(ValueError, match=f"column 'message' holds {held}, which cannot be split into words"):
        fitted(frame=FRAME.assign(message=cells))


def test_later_rows_must_be_text_too_and_may_be_any_text():
    clf = fitted()
    for cells in (3.0, True, pd.Timestamp("2020-01-01")):
        with pytest.raises(ValueError, match=r"column 'message' holds .*, which cannot be split into words"):
            clf.predict(FRAME.assign(message=cells))
        with pytest.raises(ValueError, match="column 'message' holds"):
            clf.partial_fit(FRAME[:3].assign(message=cells), Y[:3])
    with pytest.warns(UserWarning, match="because fit keeps no rows"):
        clf.partial_fit(FRAME[:2].assign(message=["42", "17"]), Y[:2])
    assert clf.class_count_.sum() == N + 2
    with pytest.raises(ValueError, match="was split by"):
        clf.set_params(likelihoods={**CHOSEN, "message": "character n-grams"}).partial_fit(FRAME, Y)


@pytest.mark.parametrize(
    ("likelihoods", "words"),
    [
        ({"mesage": "words"}, "did you mean 'message'"),
        ({"message": "word"}, "did you mean 'words'"),
        ({"message": TfidfVectorizer()}, "a TfidfVectorizer does not count words"),
        ({"message": CountVectorizer(min_df=2)}, "min_df=2, which later rows would change"),
        ({"message": CountVectorizer(input="filename")}, "give input='content'"),
        ({"message": HashingVectorizer()}, "norm=None, alternate_sign=False"),
    ],
)
def test_a_likelihood_that_counts_no_words_is_refused(likelihoods, words):
    with pytest.raises(ValueError, match=words):
        fitted(likelihoods)


@pytest.mark.parametrize("X", [np.array([TEXTS], object).T, np.array([TEXTS, TEXTS], object).T, np.ones((N, 2))])
def test_words_need_a_column_with_a_name(X):
    with pytest.raises(ValueError, match="words are read from a column of text with a name"):
        nb.NaiveBayesClassifier("words").fit(X, Y)


def test_a_function_cannot_be_saved(tmp_path):
    clf = fitted({**CHOSEN, "message": CountVectorizer(tokenizer=str.split, token_pattern=None)})
    with pytest.raises(ValueError, match="has a function, tokenizer, which a file cannot hold"):
        nb.save(clf, tmp_path / "model")


def test_the_automatic_choice_says_what_to_write():
    texts = [f"{text} {place}" for place, text in enumerate(TEXTS)]
    with pytest.warns(UserWarning, match=r"to count the words of its texts, likelihoods=\{'message': 'words'\}"):
        nb.NaiveBayesClassifier().fit(FRAME.assign(message=texts), Y)


@pytest.mark.parametrize("temper", [True, "per_feature"])
def test_powers_are_those_of_dense_rows(temper):
    clf = fitted(temper=temper)
    rows = {name: block.toarray() if name == "message" else block for name, block in clf.encoded(FRAME).items()}
    post = nb.fit_posterior(clf.fit_.prior, rows, CODES)
    dense = nb.temper(post, rows, CODES, per_feature=temper == "per_feature")
    for name, weight in dense.powers.items():
        assert_allclose(clf.fit_.powers[name], weight, rtol=1e-4, atol=1e-6)
    assert_allclose(clf.predict_proba(FRAME), dense.predict_proba(rows), rtol=1e-4)


def test_powers_of_single_flags_need_dense_rows():
    flags = nb.NaiveBayesClassifier({**CHOSEN, "message": CountVectorizer(binary=True)}).fit(FRAME, Y).encoded(FRAME)
    X, model = (flags["message"] > 0).astype(np.int8), nb.NaiveBayes(nb.Bernoulli())
    post = nb.fit_posterior(model, X, CODES)
    assert_allclose(nb.temper(post, X, CODES).powers["x"], nb.temper(post, X.toarray(), CODES).powers["x"], rtol=1e-4)
    with pytest.raises(ValueError, match="powers of single features need dense rows, and block 'x' is sparse"):
        nb.temper(post, X, CODES, per_feature=True)


@pytest.mark.parametrize("pattern", ["[a", "(?P<n>", None])
def test_a_pattern_must_be_a_regular_expression(pattern):
    with pytest.raises(ValueError, match="token_pattern of the CountVectorizer must be a regular expression, such as"):
        fitted({**CHOSEN, "message": CountVectorizer(token_pattern=pattern)})


def test_a_class_is_no_vectorizer():
    with pytest.raises(ValueError, match=r"a vectorizer, not its class: write CountVectorizer\(\)"):
        fitted({**CHOSEN, "message": CountVectorizer})


LIST = ["win cash now", "lunch at noon", "cash prize win", "see you at lunch", None, "noon meeting"] * 4
SPAM = np.array([1, 0, 1, 0, 0, 0] * 4)


@pytest.mark.parametrize("form", [list, tuple, pd.Series, pl.Series, lambda texts: np.array(texts, object)])
@pytest.mark.parametrize("likelihood", ["words", "character n-grams", CountVectorizer(binary=True)])
def test_texts_may_be_a_list_or_a_series(form, likelihood):
    frame, texts, make = (
        pd.DataFrame({"text": LIST}),
        form(LIST),
        partial(nb.NaiveBayesClassifier, likelihood, temper=False),
    )
    clf = make().fit(texts, SPAM)
    other = make().fit(frame, SPAM)
    expected = other.predict_proba(frame)
    assert_array_equal(clf.predict_proba(texts), expected)
    assert_array_equal(other.predict_proba(texts), expected)
    assert_array_equal(clf.predict(texts), other.predict(frame))
    assert_array_equal(clf.predict_proba(frame[:3]), expected[:3])
    assert clf.score(texts, SPAM) == other.score(frame, SPAM)
    parts = make().partial_fit(texts[:8], SPAM[:8]).partial_fit(texts[8:], SPAM[8:])
    assert_allclose(parts.predict_proba(texts), expected, rtol=1e-9)
    named = make().fit(frame.rename(columns={"text": "message"}), SPAM)
    assert_allclose(named.predict_proba(texts[:1]), expected[:1], rtol=1e-12)


def test_texts_in_a_list_are_split_into_folds():
    scores = [cross_val_score(nb.NaiveBayesClassifier("words"), X, SPAM) for X in (LIST, pd.DataFrame({"text": LIST}))]
    assert_array_equal(*scores)
    assert nb.explain(nb.NaiveBayesClassifier("words").fit(LIST, SPAM), LIST[:1]).contributions.shape[0] == 1


def test_a_list_that_is_no_texts_is_refused():
    with pytest.raises(ValueError, match="column 'text' holds numbers, which cannot be split into words"):
        nb.NaiveBayesClassifier("words").fit(pd.Series(SPAM), SPAM)
    with pytest.raises(ValueError, match="Expected 2D array"):
        nb.NaiveBayesClassifier().fit(np.array(SPAM), SPAM)
    with pytest.raises(ValueError):
        nb.NaiveBayesClassifier("words").fit(LIST, SPAM).predict("one text")


def test_words_that_are_true_or_false_are_words_however_they_are_written():
    texts, y = ["true story", "False news", "news of a story", "nothing is true", "false"], [0, 1, 1, 0, 1]
    whole = nb.NaiveBayesClassifier("words").fit(pd.DataFrame({"t": texts}), y)
    parts = nb.NaiveBayesClassifier("words")
    for rows in (slice(0, 2), slice(2, 5)):
        parts.partial_fit(pd.DataFrame({"t": texts[rows]}), y[rows], classes=[0, 1])
    assert_allclose(parts.statistics_.blocks["t"].counts, whole.statistics_.blocks["t"].counts)


@pytest.mark.parametrize("texts", [["a", "b c"], ["7 5", "3"], ["\U0001f44d", "!"], ["", None], ["the and", "of"]])
def test_an_empty_vocabulary_is_refused_with_the_cure(texts, tmp_path):
    chosen = CountVectorizer(stop_words=["the", "and", "of"]) if texts[0] == "the and" else "words"
    frame, y = pd.DataFrame({"message": texts * 6, "size": np.arange(12.0) % 5}), [*"ab"] * 6
    words = r"column 'message' has an empty vocabulary; perhaps .* stop words.*: choose .*'character n-grams'"
    frame.assign(kind=y).to_csv(tmp_path / "rows.csv", index=False)
    for fit in (
        lambda: nb.NaiveBayesClassifier({"message": chosen}).fit(frame, y),
        lambda: nb.fit_table(frame.assign(kind=y), "kind", {"message": chosen}),
        lambda: nb.fit_table(tmp_path / "rows.csv", "kind", {"message": chosen}),
    ):
        with pytest.raises(ValueError, match=words):
            fit()
    if texts[0]:
        clf = nb.NaiveBayesClassifier({"message": CountVectorizer(analyzer="char"), "size": "normal"}).fit(frame, y)
        assert clf.predict(frame).shape == (12,)


def test_texts_without_a_known_word_are_counted():
    clf = fitted(method="posterior")
    new = pd.DataFrame({"message": ["w01", "new words", "w02 more", "other ones", None], "age": 0.5, "colour": "red"})
    with pytest.warns(
        UserWarning, match="2 of 5 texts in column 'message' have no word that the model knows, such as 'new"
    ):
        found = clf.predict_proba(new)
    assert_allclose(found[[1, 3]], found[[4, 4]], rtol=1e-12)
