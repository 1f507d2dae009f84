"""Fits and predictions against scikit-learn's, in float32 unless said, each beside the ratio that was asked of it.

The exact predictives are timed against our own plug-ins, small data and new shapes against calls of one shape.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import numpy as np
from sklearn.datasets import load_iris
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

import bayesnb as nb
from tests.benchmarks import texts
from tests.benchmarks.workloads import Array, Contest, Jobs, Workload, binary, normal

LEVELS = 20

Size = tuple[int, int, int]


def workloads(quick: bool) -> Iterator[Workload]:
    """Every contest; ``quick`` has a tenth of the rows."""
    part = 10 if quick else 1
    for contest, fit_goal, goal in contests(part):
        fit, prediction = contest.workloads()
        yield fit._replace(goal=fit_goal)
        yield prediction._replace(goal=goal)
    rows, single = (20_000 // part, 100, 10), partial(normal, dtype=np.float32)
    for name, family, data, goal, size in (
        ("Normal", nb.Normal(), single, "ratio 0.4", rows),
        ("Normal", nb.Normal(), single, "ratio 0.4", (21_000 // part, 784, 10)),
        ("Normal", nb.Normal(), single, "ratio 0.4", (400_000 // part, 50, 10)),
        ("Bernoulli", nb.Bernoulli(), binary, "ratio 0.9", rows),
        ("Categorical", nb.Categorical(LEVELS), levels, "ratio 0.9", rows),
        ("Multinomial", nb.Multinomial(), words, "ratio 0.2", rows),
    ):
        prepare = partial(_exact, family, data, size)
        yield Workload(f"{name}, exact predictive", _text(size), "our plug-in", prepare, goal)
    yield Workload("iris, fit and predict", "150 x 4 x 3", "scikit-learn", _iris, "ratio 1.7")
    yield Workload("one row inside jit", "1 x 50 x 10", "", _one_row, "0.05 ms")
    yield Workload(
        "50 row counts", "1,000 x 50 x 10", "one row count", partial(_row_counts, 10_000 // part), "ratio 0.77"
    )


def contests(part: int) -> Iterator[tuple[Contest, str, str]]:
    """The contests with scikit-learn, the ratios asked of a fit and of log probabilities."""
    single, rival = partial(normal, dtype=np.float32), "scikit-learn"
    exact: dict[str, nb.NaiveBayes] = {
        "Normal": nb.NaiveBayes(nb.Normal()),
        "Bernoulli": nb.NaiveBayes(nb.Bernoulli.laplace(1.0)),
        "Categorical": nb.NaiveBayes(nb.Categorical.laplace(LEVELS, 1.0)),
        "Multinomial": nb.NaiveBayes(nb.Multinomial.laplace(1.0)),
    }
    for size in ((21_000 // part, 784, 10), (1_000_000 // part, 50, 10), (200_000 // part, 100, 100)):
        yield _contest("Normal", rival, single, size, GaussianNB(), nb.fit_mle, exact), "ratio 6", "ratio 12"
    flags = (200_000 // part, 100, 10)
    yield _contest("Bernoulli", rival, binary, flags, BernoulliNB(), nb.fit_map, exact), "ratio 25", "ratio 8"
    small = partial(_as, np.uint8, binary)
    yield _contest("Bernoulli", rival, small, flags, BernoulliNB(), nb.fit_map, exact, "uint8"), "ratio 200", "ratio 8"
    codes = CategoricalNB(min_categories=LEVELS)
    yield _contest("Categorical", rival, levels, flags, codes, nb.fit_map, exact, "int64"), "ratio 25", "ratio 5"
    words, kind = MultinomialNB(), "CountVectorizer"
    posts = (11_314 // part, 130_000, 20)
    yield (
        _contest("Multinomial", rival, texts.newsgroups, posts, words, nb.fit_map, exact, kind),
        "ratio 4",
        "ratio 2.5",
    )
    if messages := texts.messages():
        size = (*messages[0].shape, 2)
        yield (
            _contest("Multinomial", rival, lambda *_: messages, size, words, nb.fit_map, exact, f"SMS, {kind}"),
            "ratio 4",
            "ratio 2.5",
        )


def _contest(
    name: str,
    rival: str,
    data: Callable[[int, int, int], tuple[Any, Array]],
    size: Size,
    theirs: Any,
    ours: Callable[..., Any],
    models: dict[str, nb.NaiveBayes],
    kind: str = "float32",
) -> Contest:
    fit = partial(ours, models[name])
    return Contest(f"{name}, {kind}", rival, data, size, theirs.fit, fit, "predict_log_proba")


def levels(num_rows: int, num_columns: int, num_classes: int) -> tuple[Array, Array]:
    """Codes 0 to 19, a tenth of which tell the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    told = rng.random((num_rows, num_columns)) < 0.1
    return np.where(told, y[:, None] % LEVELS, rng.integers(0, LEVELS, (num_rows, num_columns))), y


def words(num_rows: int, num_columns: int, num_classes: int) -> tuple[Array, Array]:
    """Small whole counts in float32."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    return rng.poisson((0.3 + 0.1 * y[:, None]) * rng.gamma(1.0, size=num_columns)).astype(np.float32), y


def _as(dtype: type, data: Callable[[int, int, int], tuple[Array, Array]], *size: int) -> tuple[Array, Array]:
    X, y = data(*size)
    return X.astype(dtype), y


def _exact(family: nb.Family, data: Callable[[int, int, int], tuple[Array, Array]], size: Size) -> Jobs:
    X, y = data(*size)
    model = nb.NaiveBayes(family)
    plug_in, posterior = nb.PointEstimate(model, nb.fit_map(model, X, y).params), nb.fit_posterior(model, X, y)
    return Jobs(lambda: plug_in.predict_log_proba(X), lambda: posterior.predict_log_proba(X), X.nbytes)


def _iris() -> Jobs:
    X, y = load_iris(return_X_y=True)
    model = nb.NaiveBayes(nb.Normal())
    return Jobs(lambda: GaussianNB().fit(X, y).predict(X), lambda: nb.fit_mle(model, X, y).predict(X), X.nbytes)


def _one_row() -> Jobs:
    X, y = normal(1_000, 50, 10, np.float32)
    posterior = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
    row, predict = jax.numpy.asarray(X[:1]), jax.jit(posterior.predict_log_proba)
    return Jobs(None, lambda: predict(row).block_until_ready(), row.nbytes)


def _row_counts(num_rows: int) -> Jobs:
    """Fits and predictions at 50 numbers of rows, each new to the call, against as many of their mean."""
    X, y = normal(num_rows, 50, 10, np.float32)
    model, rng = nb.NaiveBayes(nb.Normal()), np.random.default_rng(0)

    def run(sizes: Array) -> None:
        for size in sizes:
            nb.fit_posterior(model, X[:size], y[:size]).predict_log_proba(X[:size])

    same, other = np.full(50, num_rows // 2), rng.integers(num_rows // 4, 3 * num_rows // 4, 50)
    return Jobs(lambda: run(same), lambda: run(other), X.nbytes)


def _text(size: Size) -> str:
    return "{:,} x {} x {}".format(*size)
