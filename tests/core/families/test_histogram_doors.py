"""Histogram through every door: files, streams, explanations, plots, other fits, the estimator."""

import copy
import pickle

import jax
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from tests import laws
from tests.replicates import replicates
from tests.served import served

K, N = 3, 90


@pytest.fixture
def rows():
    rng, y = np.random.default_rng(11), np.arange(N) % K
    X = rng.normal(1.5 * y[:, None], 1.0, (N, 3))
    X[:, 2] = np.maximum(X[:, 2].round(), 0.0)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.fixture
def model():
    return nb.NaiveBayes(nb.Histogram(cells=8))


@pytest.mark.slow
def test_it_is_saved_and_exported(model, rows, tmp_path):
    X, y = rows
    post = nb.fit_posterior(model, X, y)
    for name, fit in (("post", post), ("map", nb.fit_map(model, X, y)), ("prior", post.prior)):
        nb.save(fit, tmp_path / name)
        again = nb.load(tmp_path / name)
        laws.equal(again, fit, rtol=0)
    nb.save(post.statistics, tmp_path / "statistics")
    laws.equal(nb.load(tmp_path / "statistics"), post.statistics, rtol=0)
    assert_allclose(served(post.predict_proba, X)(X), post.predict_proba(X), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [1, 40, 77, 1000])
def test_streams_in_blocks_of_any_size_have_the_edges_of_their_first_rows(model, rows, size, monkeypatch):
    monkeypatch.setattr(limits, "EDGE_ROWS", 60)
    X, y = rows
    weight = np.arange(N) % 3.0
    parts = [(X[at : at + size], y[at : at + size], weight[at : at + size]) for at in range(0, N, size)]
    streamed = nb.stream(model, iter(parts), num_classes=K)
    first = model.resolve(X[:60], y[:60], sample_weight=weight[:60])
    laws.equal(streamed, nb.sufficient_statistics(first, X, y, sample_weight=weight), rtol=1e-12)
    given = nb.NaiveBayes(nb.Histogram(edges=np.asarray(first.families["x"].edges)[0]))
    fit, expected = nb.fit_posterior(model, statistics=streamed), nb.fit_posterior(given, X, y, sample_weight=weight)
    assert_allclose(fit.predict_proba(X), expected.predict_proba(X), rtol=1e-12)


def test_streams_have_the_edges_of_all_rows_if_they_are_few(model, rows):
    X, y = rows
    parts = [(X[:40], y[:40]), (X[40:], y[40:], np.ones(N - 40))]
    streamed = nb.stream(model, iter(parts), num_classes=K)
    laws.equal(streamed, nb.sufficient_statistics(model, X, y), rtol=1e-12)
    with pytest.raises(nb.StreamError, match="block 1: y holds 9, expected integers"):
        nb.stream(model, iter([parts[0], (X[40:], y[40:] + 7)]), num_classes=K)
    given = nb.NaiveBayes(nb.Histogram(edges=[0.0, 1.0, 2.5]))
    laws.equal(nb.stream(given, iter(parts), num_classes=K), nb.sufficient_statistics(given, X, y), rtol=1e-12)


@pytest.mark.slow
def test_it_is_drawn(model, rows, key):
    X, y = rows
    post = nb.fit_posterior(model, X, y)
    ax = nb.plots.class_densities(plt.figure().add_subplot(), post, 0, key=key, num_draws=1000)
    grid, drawn = ax.lines[0].get_data()
    at = np.full((len(grid), 3), np.nan)
    at[:, 0] = grid
    exact = np.exp(post.log_joint(at)[:, 0]) / post.model.class_mean()[0]
    assert_allclose(drawn, exact, rtol=0.2, atol=0.02)
    nb.plots.forest(plt.figure().add_subplot(), post, "x_probs", key=key)
    plt.close("all")


def test_folds_and_powers_are_exact(model, rows):
    X, y = rows
    post = nb.fit_posterior(model, X, y)
    for fit in (nb.fit_posterior, nb.fit_map, nb.fit_mle):
        table = nb.cross_validate(post.prior, X, y, folds=3, fit=fit)
        fold = np.empty(N, int)
        fold[np.argsort(y, kind="stable")] = np.arange(N) % 3
        refit = fit(post.prior, X[fold != 1], y[fold != 1])
        assert_allclose(table[fold == 1], refit.predict_log_proba(X[fold == 1]), rtol=1e-9)
    both = nb.cross_validate([post.prior, post.prior], X, y, folds=3)
    assert_allclose(both[0], both[1], rtol=1e-12)
    for per_feature in (False, True):
        tempered = nb.temper(post, X, y, per_feature=per_feature)
        assert_allclose(tempered.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.slow
def test_other_fits_take_it(model, rows, key):
    X, y = rows
    post = nb.fit_posterior(model, X, y)
    assert replicates(model.resolve(X, y), X, y, key=key)["x_probs"].shape == (20, K, 3, 8)
    averaged = nb.fit_averaged(model, X, y)
    assert_allclose(averaged.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)
    assert (nb.feature_inclusion(model, X, y).probability > 0.9).all()
    assert averaged.predict_interval(X[:3], key=key, num_draws=50).low.shape == (3, K)
    assert post.predict_interval(X[:3], key=key, num_draws=50).low.shape == (3, K)
    partly = np.where(np.arange(N) % 4, y, -1)
    em = nb.fit_em(model, X, partly, fit=nb.fit_mle)
    assert em.converged
    assert (np.diff(em.log_posterior) > -1e-9).all()
    with pytest.raises(ValueError, match="block 'x' is Histogram, whose MAP is the best of discrete cases"):
        nb.fit_em(model, X, partly)
    many = nb.fit_multilabel(model, X, np.stack([y == 1, y == 2], axis=1)).predict_proba(X)
    assert_allclose(many[:, 0], nb.fit_posterior(model, X, (y == 1).astype(int)).predict_proba(X)[:, 1], rtol=1e-9)
    generated, _ = post.generate(key=key, num_rows=50)
    assert np.isin(generated[:, 2], np.unique(X[:, 2])).mean() > 0.5  # atoms come back as they were
    fitted = nb.fit_empirical(model, X, y)
    assert fitted.log_evidence >= post.log_evidence
    assert jax.tree.structure(post.model) == jax.tree.structure(post.prior)


@pytest.mark.slow
def test_the_estimator_takes_it(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "size": X[:, 1] ** 2, "kind": [*"uvw"] * (N // 3)})
    labels = np.array(["x", "y", "z"])[y]
    own = nb.Histogram(cells=8)
    clf = nb.NaiveBayesClassifier(likelihoods={"a": own, "b": own}).fit(frame, labels)
    assert clf.likelihoods_ == {"a": "Histogram", "b": "Histogram", "size": "normal", "kind": "categorical"}
    for again in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf), clone(clf).fit(frame, labels)):
        assert_allclose(again.predict_proba(frame), clf.predict_proba(frame), rtol=1e-12)
    nb.save(clf, tmp_path / "clf")
    assert_allclose(nb.load(tmp_path / "clf").predict_proba(frame), clf.predict_proba(frame), rtol=1e-12)
    for method, seen in (("posterior", 45), ("default", N)):  # the default keeps the rows of the first batches
        parts = nb.NaiveBayesClassifier(likelihoods={"a": own, "b": own}, method=method)
        parts.partial_fit(frame[:45], labels[:45], classes=["x", "y", "z"]).partial_fit(frame[45:], labels[45:])
        edges = parts.fit_.model.families["histogram"].edges
        assert_allclose(edges, nb.NaiveBayes(own).resolve(X[:seen, :2], y[:seen]).families["x"].edges)
    tempered = nb.NaiveBayesClassifier(likelihoods=own, temper="per_feature").fit(X, labels)
    assert tempered.score(X, labels) > 0.6


def test_a_word_chooses_it(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "size": X[:, 1] ** 2})
    labels = np.array(["x", "y", "z"])[y]
    clf = nb.NaiveBayesClassifier({"[ab]": "histogram"}, temper=False).fit(frame, labels)
    assert clf.likelihoods_ == {"a": "histogram", "b": "histogram", "size": "normal"}
    model = nb.NaiveBayes({"numeric": nb.Normal(), "cells": nb.Histogram()})
    post = nb.fit_posterior(model, {"numeric": X[:, 1:2] ** 2, "cells": X[:, :2]}, y)
    blocks = {"numeric": X[:, 1:2] ** 2, "cells": X[:, :2]}
    assert_allclose(clf.predict_proba(frame), post.predict_proba(blocks), rtol=1e-12)

    array = nb.NaiveBayesClassifier("histogram", method="posterior").fit(X, labels)
    whole = nb.fit_posterior(nb.NaiveBayes(nb.Histogram()), X, y)
    assert_allclose(array.predict_proba(X), whole.predict_proba(X), rtol=1e-12)

    nb.save(clf, tmp_path / "clf")
    assert_allclose(nb.load(tmp_path / "clf").predict_proba(frame), clf.predict_proba(frame), rtol=1e-12)
    some = clf.encoded(frame[:5].to_dict("records"))
    assert_allclose(served(clf.fit_.predict_proba, some)(some), clf.predict_proba(frame[:5]), rtol=1e-4, atol=1e-6)
    frame.assign(label=labels).to_csv(tmp_path / "rows.csv", index=False)
    options = {"likelihoods": {"[ab]": "histogram"}, "temper": False, "progress_bar": False}
    of_file = nb.fit_file(tmp_path / "rows.csv", target="label", **options)
    assert_allclose(of_file.predict_proba(frame), clf.predict_proba(frame), rtol=1e-9)
    with pytest.raises(ValueError, match="column 'a' holds text, which cannot be histogram"):
        nb.NaiveBayesClassifier({"a": "histogram"}).fit(frame.assign(a="one"), labels)


def test_a_stream_may_fill_its_arrays_again():
    model, rows, labels = nb.NaiveBayes(nb.Histogram(), num_classes=2), np.empty((20, 1)), np.empty(20, int)
    X, y = np.random.default_rng(0).normal(size=(60, 1)), np.arange(60) // 7 % 2

    def blocks():
        for start in range(0, 60, 20):
            rows[:], labels[:] = X[start : start + 20], y[start : start + 20]
            yield rows, labels

    streamed = nb.stream(model, blocks(), progress_bar=False)
    assert streamed.class_counts.tolist() == np.bincount(y).tolist()
    counted = nb.sufficient_statistics(model, X, y)
    np.testing.assert_array_equal(streamed.blocks["x"].counts, counted.blocks["x"].counts)
