"""Explanations know the words of a vectorizer: in a scikit-learn pipeline, or given as feature_names."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import bayesnb as nb
from bayesnb.inspection._explain import explain
from bayesnb.inspection._top_features import top_features

TEXTS = ["free offer now", "meeting at noon", "free free prize", "noon lunch meeting"]
SPAM = np.array(["spam", "ham", "spam", "ham"])
WORDS = ("at", "free", "lunch", "meeting", "noon", "now", "offer", "prize")


@pytest.fixture(scope="module")
def pipeline():
    return make_pipeline(CountVectorizer(), nb.NaiveBayesClassifier("multinomial")).fit(TEXTS, SPAM)


@pytest.mark.slow
def test_a_nomogram_of_a_pipeline():
    X = np.random.default_rng(0).normal(size=(30, 2))
    scaled = make_pipeline(StandardScaler(), nb.NaiveBayesClassifier()).fit(X, X[:, 0] > 0)
    ax = nb.plots.nomogram(Figure().subplots(), scaled, X)
    assert {"x0", "x1", "1 other feature"} <= {label.get_text() for label in ax.get_yticklabels()}


def test_a_pipeline_is_explained_from_its_texts(pipeline):
    told = explain(pipeline, TEXTS[:2], against="ham")
    assert told.feature_names == (*WORDS, "length")
    assert told.class_names == ("ham", "spam")
    log_proba = pipeline.predict_log_proba(TEXTS[:2])
    assert_allclose(told.log_odds[:, 1], log_proba[:, 1] - log_proba[:, 0])
    assert told.contributions[0, 1].argmax() == WORDS.index("free")
    own = explain(pipeline, TEXTS[:2], feature_names=[word.upper() for word in WORDS])
    assert own.feature_names[1] == "FREE"


def test_the_top_features_of_a_pipeline_are_words(pipeline):
    found = top_features(pipeline, 2)
    assert {name: [part.name for part in parts] for name, parts in found.items()} == {
        "ham": ["meeting", "noon"],
        "spam": ["free", "now"],
    }


def test_a_vectorizer_may_be_the_feature_names(pipeline):
    vectorizer, classifier = pipeline
    counts = vectorizer.transform(TEXTS)
    post = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), counts, [1, 0, 1, 0])
    for fit in (post, classifier):
        assert explain(fit, counts, feature_names=vectorizer).feature_names[:-1] == WORDS
        assert {part.name for parts in top_features(fit, feature_names=vectorizer).values() for part in parts} == {
            *WORDS
        }
    model = nb.NaiveBayes({"text": nb.Multinomial(), "size": nb.Normal()})
    X = {"text": counts.toarray(), "size": np.array([[3.0], [3.0], [2.0], [4.0]])}
    both = nb.fit_posterior(model, X, [1, 0, 1, 0])
    told = explain(both, X, feature_names={"text": vectorizer, "size": ["pages"]})
    assert told.feature_names == (*WORDS, "length of text", "pages")
    with pytest.raises(ValueError, match="feature_names of block 'x' must be a list of 8 names, got 2"):
        explain(post, counts, feature_names=CountVectorizer().fit(["two words"]))


def test_names_of_other_pipelines():
    frame = pd.DataFrame({"size": [1.0, 2.0, 5.0, 6.0], "age": [3.0, 1.0, 2.0, 4.0]})
    columns = make_column_transformer((StandardScaler(), ["age", "size"]))
    for steps in (columns, columns.set_output(transform="pandas")):  # the classifier is given an array, and a frame
        pipeline = make_pipeline(steps, nb.NaiveBayesClassifier()).fit(frame, [0, 0, 1, 1])
        told = explain(pipeline, frame)
        assert told.feature_names == ("standardscaler__age", "standardscaler__size", "dependence")
        assert_allclose(told.log_odds[:, 1], np.diff(pipeline.predict_log_proba(frame))[:, 0])
    nameless = make_pipeline(FunctionTransformer(np.square), nb.NaiveBayesClassifier()).fit(
        frame.to_numpy(), [0, 0, 1, 1]
    )
    plain = explain(nameless[-1], frame.to_numpy() ** 2)
    told = explain(nameless, frame.to_numpy())
    assert told.feature_names == plain.feature_names
    assert_array_equal(told.contributions, plain.contributions)
    alone = Pipeline([("only", nb.NaiveBayesClassifier())]).fit(frame, [0, 0, 1, 1])
    assert explain(alone, frame).feature_names == ("size", "age", "dependence")
