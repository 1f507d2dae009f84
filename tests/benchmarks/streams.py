"""Workloads of models that live: rows in order, statistics that change, and class probabilities of another population.

river predicts and learns row by row, as its users do; both get a hundredth of the rows, as it takes minutes for all.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np

import bayesnb as nb
from tests.benchmarks.speed import LEVELS, levels, words
from tests.benchmarks.workloads import Array, Jobs, Workload, binary, normal

FEWER = 100
"""river gets one row in so many."""

FAMILIES: tuple[tuple[str, nb.Family, Callable[[int, int, int], tuple[Array, Array]]], ...] = (
    ("Normal", nb.Normal(), partial(normal, dtype=np.float32)),
    ("Bernoulli", nb.Bernoulli(), binary),
    ("Categorical", nb.Categorical(LEVELS), levels),
    ("Multinomial", nb.Multinomial(), words),
    ("Poisson", nb.Poisson(), words),
)


def workloads(quick: bool) -> Iterator[Workload]:
    """``quick`` has a tenth of the rows."""
    size = (100_000 if quick else 1_000_000, 50, 10)
    text = "{:,} x {} x {}".format(*size)
    for name, family, data in FAMILIES:
        yield Workload(
            f"prequential, {name}", text, "fit and predict", partial(_in_order, family, data, size), "ratio 0.2"
        )
    if find_spec("river"):
        few = size[0] // FEWER, *size[1:]
        shape = "{:,} x {} x {}".format(*few)
        yield Workload("prequential, Normal, row by row", shape, "river", partial(_river, few), "ratio 100", 1)
    for rows in (size[0] // 100, size[0]):
        shape = f"{rows:,} x 50 x 10"
        yield Workload("stream, subtract", shape, "", partial(_change, rows, nb.subtract), "1 ms")
        yield Workload("stream, discount", shape, "", partial(_change, rows, _discount), "1 ms")
    yield Workload("estimate_class_probs", text, "prediction", partial(_population, size), "ratio 0.5")


def _in_order(
    family: nb.Family, data: Callable[[int, int, int], tuple[Array, Array]], size: tuple[int, int, int]
) -> Jobs:
    X, y = data(*size)
    model = nb.NaiveBayes(family, num_classes=size[2])
    return Jobs(
        lambda: nb.fit_posterior(model, X, y).predict_log_proba(X), lambda: nb.prequential(model, X, y), X.nbytes
    )


def _river(size: tuple[int, int, int]) -> Jobs:
    from river.naive_bayes import GaussianNB

    X, y = normal(*size, dtype=np.float32)
    rows, labels = [dict(enumerate(row)) for row in X.tolist()], y.tolist()

    def row_by_row() -> None:
        classifier = GaussianNB()
        for row, label in zip(rows, labels, strict=True):
            classifier.predict_proba_one(row)
            classifier.learn_one(row, label)

    model = nb.NaiveBayes(nb.Normal(), num_classes=size[2])
    return Jobs(row_by_row, lambda: nb.prequential(model, X, y), X.nbytes)


def _discount(total: nb.ModelStatistics, part: nb.ModelStatistics) -> nb.ModelStatistics:
    del part
    return nb.discount(total, 0.999)


def _change(num_rows: int, change: Callable[[nb.ModelStatistics, nb.ModelStatistics], nb.ModelStatistics]) -> Jobs:
    X, y = normal(num_rows, 50, 10)
    model = nb.NaiveBayes(nb.Normal(), num_classes=10)
    total, part = (nb.sufficient_statistics(model, X[:n], y[:n]) for n in (num_rows, num_rows // 2))
    return Jobs(None, lambda: change(total, part), X.nbytes)


def _population(size: tuple[int, int, int]) -> Jobs:
    X, y = normal(*size, dtype=np.float32)
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal(), num_classes=size[2]), X, y)
    return Jobs(lambda: fit.predict_proba(X), lambda: nb.estimate_class_probs(fit, X), X.nbytes)
