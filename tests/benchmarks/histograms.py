"""A Histogram beside a Categorical that is given the cells as codes: what edges, the search and the average cost."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import bayesnb as nb
from bayesnb.compute.primitives._codes import find_bins
from tests.benchmarks.workloads import Array, Jobs, Workload, normal

Data = tuple[Array, Array, Array, nb.NaiveBayes, nb.NaiveBayes]


def workloads(quick: bool) -> Iterator[Workload]:
    """Counting, prediction, and the first answer of a fit; ``quick`` has a tenth of the rows."""
    size = (500 if quick else 5_000, 57, 2)
    for name, pair, goal in (
        ("counting", _counting, "twice the time"),
        ("predict_log_proba", _prediction, "1.5 times the time"),
        ("fit and first prediction", _first_answer, "50 ms more"),
    ):
        shape = "{:,} x {} x {}".format(*size)
        yield Workload(f"Histogram, {name}", shape, "our Categorical", partial(_jobs, pair, size), goal)


def _jobs(pair: Callable[[Data], Jobs], size: tuple[int, int, int]) -> Jobs:
    X, y = normal(*size)
    histogram = nb.NaiveBayes(nb.Histogram())
    edges = np.asarray(histogram.resolve(X, y).families["x"].edges)[0]
    return pair((X, find_bins(X, edges), y, histogram, nb.NaiveBayes(nb.Categorical(32), num_classes=2)))


def _counting(data: Data) -> Jobs:
    X, codes, y, histogram, categorical = data
    resolved = histogram.resolve(X, y)
    count = nb.sufficient_statistics
    return Jobs(partial(count, categorical, codes, y), partial(count, resolved, X, y), X.nbytes)


def _prediction(data: Data) -> Jobs:
    X, codes, y, histogram, categorical = data
    theirs, ours = nb.fit_posterior(categorical, codes, y), nb.fit_posterior(histogram, X, y)
    return Jobs(partial(theirs.predict_log_proba, codes), partial(ours.predict_log_proba, X), X.nbytes)


def _first_answer(data: Data) -> Jobs:
    X, codes, y, histogram, categorical = data

    def answer(model: nb.NaiveBayes, rows: Array) -> Array:
        return nb.fit_posterior(model, rows, y).predict_log_proba(rows[:1])

    return Jobs(partial(answer, categorical, codes), partial(answer, histogram, X), X.nbytes)
