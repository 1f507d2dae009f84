"""The estimator and the drop-in classes against our own functions: what checks and labels cost."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.datasets import load_iris

import bayesnb as nb
from bayesnb import sklearn as dropin
from tests.benchmarks.speed import LEVELS, levels
from tests.benchmarks.texts import newsgroups
from tests.benchmarks.workloads import Contest, Jobs, Workload, binary, normal

GOAL = "ratio 0.83"


def workloads(quick: bool) -> Iterator[Workload]:
    """Every contest; ``quick`` has a tenth of the rows."""
    for contest in contests(10 if quick else 1):
        for workload in contest.workloads():
            yield workload._replace(goal=GOAL)
    for name, make, goal in (
        ("estimator", partial(nb.NaiveBayesClassifier, method="posterior"), "ratio 0.67"),
        ("drop-in class", dropin.GaussianNB, "ratio 0.67"),
        ("default estimator", nb.NaiveBayesClassifier, ""),  # which also learns powers and dependence
    ):
        yield Workload(f"iris, {name}", "150 x 4 x 3", "scikit-learn", partial(_iris, make), goal)


def contests(part: int) -> Iterator[Contest]:
    """Each kind of rows through the estimator and through its drop-in class."""
    rows = (200_000 // part, 100, 10)
    for kind, data, size, family, dropin_class in (
        ("normal", partial(normal, dtype=np.float32), rows, nb.Normal(), dropin.GaussianNB),
        ("bernoulli", binary, rows, nb.Bernoulli.laplace(1.0), dropin.BernoulliNB),
        ("categorical", levels, rows, nb.Categorical.laplace(LEVELS, 1.0), dropin.CategoricalNB),
        ("multinomial", newsgroups, (11_314 // part, 130_000, 20), nb.Multinomial.laplace(1.0), dropin.MultinomialNB),
    ):
        ours = partial(nb.fit_map, nb.NaiveBayes(family))
        estimator = nb.NaiveBayesClassifier(kind, method="map")
        for name, fit in (("estimator", estimator.fit), ("drop-in class", dropin_class().fit)):
            yield Contest(f"{kind}, {name}", "our function", data, size, ours, fit, "predict_log_proba")


def _iris(make: Callable[[], Any]) -> Jobs:
    X, y = load_iris(return_X_y=True)
    theirs = naive_bayes.GaussianNB()
    return Jobs(lambda: theirs.fit(X, y).predict(X), lambda: make().fit(X, y).predict(X), X.nbytes)
