"""A Histogram beside a Categorical that is given the cells as codes: what edges, the search and the average cost.

And a Likelihood beside a Histogram, which looks at as many cells.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpyro.distributions as dist

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
    wide = (10_000 if quick else 100_000, 20, 5)
    for name, pair, goal in (
        ("counting", _likelihood_counting, "1.5 times the time"),
        ("predict_log_proba", _likelihood_prediction, "5 times the time"),
    ):
        shape = "{:,} x {} x {}".format(*wide)
        yield Workload(f"Likelihood(Gamma), {name}", shape, "our Histogram", partial(pair, wide), goal)


def _resolved(size: tuple[int, int, int]) -> tuple[Array, Array, list[nb.NaiveBayes]]:
    X, y = normal(*size)
    X = np.exp(0.3 * X)  # of positive numbers
    families = nb.Histogram(), nb.Likelihood(dist.Gamma)
    return X, y, [nb.NaiveBayes(family).resolve(X, y) for family in families]


def _likelihood_counting(size: tuple[int, int, int]) -> Jobs:
    X, y, models = _resolved(size)
    theirs, ours = (partial(nb.sufficient_statistics, model, X, y) for model in models)
    return Jobs(theirs, ours, X.nbytes)


def _likelihood_prediction(size: tuple[int, int, int]) -> Jobs:
    X, y, models = _resolved(size)
    theirs, ours = (partial(nb.fit_posterior(model, X, y).predict_log_proba, X) for model in models)
    return Jobs(theirs, ours, X.nbytes)


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
