"""A program as users write them, which mypy checks and a test runs; each ``assert_type`` says what mypy must find."""

from __future__ import annotations

from typing import Any, assert_type

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.pipeline import make_pipeline

import bayesnb as nb

Numbers = npt.NDArray[np.float64]
X = np.array([[0.1, 1.0], [0.3, 0.0], [1.9, 1.0], [2.2, 0.0], [2.0, 1.0], [0.2, 1.0]])
y = np.array([0, 0, 1, 1, 1, 0])
KEY = jax.random.key(0)


def fits() -> nb.Posterior:
    """Rows of every kind, and the results."""
    model = nb.NaiveBayes(nb.Normal())
    assert_type(model.resolve(X, y), nb.NaiveBayes)
    assert_type(nb.fit_mle(model, X, y), nb.PointEstimate)
    assert_type(nb.fit_map(model, X.tolist(), [0, 0, 1, 1, 1, 0]), nb.PointEstimate)
    assert_type(nb.fit_em(model, X, [0, 0, 1, 1, -1, -1]), nb.results.EMEstimate)
    assert_type(nb.fit_averaged(model, X, y), nb.results.AveragedPosterior)
    assert_type(nb.fit_forests(model, X, y), nb.results.ForestPosterior)
    assert_type(nb.fit_posterior(model, jnp.asarray(X), jnp.asarray(y), sample_weight=[1, 1, 2, 1, 1, 1]), nb.Posterior)
    mixed = nb.NaiveBayes({"size": nb.Normal(), "kind": nb.Categorical([2])}, class_probs=[0.5, 0.5])
    blocks: nb.Rows = {"size": X[:, :1], "kind": [[int(cell)] for cell in X[:, 1]]}
    assert_type(nb.fit_posterior(mixed, blocks, y).predict_proba(blocks), nb.Array)
    statistics = nb.sufficient_statistics(model, X, y, classes=["no", "yes"])
    assert_type(nb.merge(statistics, statistics), nb.ModelStatistics)
    assert_type(nb.leave_one_out(model, X, y), nb.Array)
    assert_type(nb.cross_validate(model, X, y, folds=3, fit=nb.fit_map), nb.Array)
    return nb.fit_posterior(model, X, y)


def predictions(post: nb.Posterior) -> nb.Array:
    """Methods of results, and functions of JAX."""
    proba = post.predict_proba(X)
    assert_type(proba, nb.Array)
    assert_type(post.predict_interval(X, key=KEY, num_draws=20), nb.results.Interval)
    assert_type(post.sample(KEY, 3), dict[str, nb.Array])
    assert_type(post.with_class_probs([0.5, 0.5]), nb.Posterior)
    assert_type(nb.decide(proba, costs=[[0, 1], [5, 0]]).labels, nb.Array)
    total = jax.jit(lambda rows: post.log_joint(rows).sum())(jnp.asarray(X))
    known = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), {"class_probs": [0.75, 0.25], "x_probs": [[0.8], [0.4]]})
    assert_type(known.predict([[1], [0]]), nb.Array)
    assert np.isfinite(float(total))
    return proba[:, 1:]


def tempered(post: nb.Posterior) -> None:
    """What is given comes back: the same type of fit, tempered or for another population."""
    assert_type(nb.temper(post, X, y), nb.Posterior)
    forests = nb.fit_forests(nb.NaiveBayes(nb.Normal()), X, y)
    assert_type(nb.temper(forests, X, y), nb.results.ForestPosterior)
    clf = nb.NaiveBayesClassifier().fit(X, y)
    assert_type(nb.temper(clf, X, y), nb.NaiveBayesClassifier)
    assert_type(nb.estimate_class_probs(post, X).fit, nb.Posterior)


def estimator() -> Numbers:
    """Frames, dicts and lists of rows, labels of any kind, and what explains a fit."""
    frame = pl.DataFrame({"size": [0.1, 0.3, 1.9, 2.2], "colour": ["red", "red", "blue", None]})
    clf = nb.NaiveBayesClassifier({"size": "normal"}, class_prior={"no": 0.9, "yes": 0.1}, missing="informative")
    assert_type(clf.fit(frame, ["no", "no", "yes", "yes"]), nb.NaiveBayesClassifier)
    clf.predict_proba([{"size": 0.2, "colour": "red"}, {"size": None, "colour": "blue"}], class_prior="uniform")
    clf.predict({"size": 0.2, "colour": "red"}, costs={"yes": {"no": 5.0}})
    assert_type(nb.infer_likelihoods(frame), nb.results.InferredLikelihoods)
    assert_type(nb.explain(clf, frame, against="no"), nb.results.Explanation)
    assert_type(nb.top_features(make_pipeline(nb.NaiveBayesClassifier("normal")).fit(X, y)), nb.results.TopFeatures)
    assert_type(nb.sklearn.GaussianNB().fit(X, y).predict_proba(X), np.ndarray[Any, Any])
    _, ax = plt.subplots()
    nb.plots.decision_regions(ax, nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y), X, y, class_names=["no", "yes"])
    plt.close()
    return clf.predict_proba(frame)


def train(rows: nb.Rows, labels: nb.LabelsLike) -> nb.Array:
    """A function of one's own passes rows on by the public names of their types."""
    return nb.fit_map(nb.NaiveBayes(nb.Normal()), rows, labels).predict_log_proba(rows)


def mistakes(post: nb.Posterior) -> None:
    """Each line is one that mypy must refuse, for ``--strict`` warns of an unused ignore."""
    nb.fit_posterior(X, y)  # type: ignore[arg-type]
    nb.NaiveBayes(nb.Normal)  # type: ignore[arg-type]
    nb.fit_map(nb.NaiveBayes(nb.Normal()), X, y, weight=[1.0])  # type: ignore[call-arg]
    post.predict_proba(3.0 + post)  # type: ignore[operator]
    post.predict_proba(post)  # type: ignore[arg-type]
    post.predict_prob(X)  # type: ignore[attr-defined]
    nb.temper(nb.NaiveBayes(nb.Normal()), X, y)  # type: ignore[type-var]
    nb.merge(post, post)  # type: ignore[arg-type]
    nb.explain(nb.NaiveBayes(nb.Normal()), X)  # type: ignore[arg-type]


if __name__ == "__main__":
    fitted = fits()
    predictions(fitted)
    tempered(fitted)
    estimator()
    train([[0.0], [1.0]], [0, 1])
