"""Rivals that are timed where they are installed: river, mixed-naive-bayes, pomegranate (the extra ``bench``).

river learns from data frames here, all rows in one call; row by row it takes far longer.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec

import numpy as np
import pandas as pd

import bayesnb as nb
from tests.benchmarks.workloads import Array, Jobs, Workload, binary, normal

CATEGORIES = 5

Job = Callable[[], object]


def workloads(quick: bool) -> Iterator[Workload]:
    """Fits and probabilities of what is installed; ``quick`` has a tenth of the rows."""
    rows = 2_000 if quick else 20_000
    for rival, module, name, pair in (
        ("river", "river", "Normal of a frame", _river_normal),
        ("river", "river", "Bernoulli of a frame", _river_bernoulli),
        ("mixed-naive-bayes", "mixed_naive_bayes", "Normal and Categorical", _mixed),
        ("pomegranate", "pomegranate", "Normal of float32", _pomegranate),
    ):
        if find_spec(module):
            for predict in (False, True):
                what = "predict_proba" if predict else "fit"
                yield Workload(f"{name}, {what}", f"{rows:,} x 20 x 5", rival, partial(_jobs, pair, rows, predict))


def _jobs(pair: Callable[[int], tuple[Job, Job, Job, Job, int]], rows: int, predict: bool) -> Jobs:
    their_fit, our_fit, their_prediction, our_prediction, size = pair(rows)
    return Jobs(their_prediction, our_prediction, size) if predict else Jobs(their_fit, our_fit, size)


def _river_normal(rows: int) -> tuple[Job, Job, Job, Job, int]:
    from river.naive_bayes import GaussianNB

    return _river(GaussianNB, nb.NaiveBayes(nb.Normal()), *normal(rows, 20, 5))


def _river_bernoulli(rows: int) -> tuple[Job, Job, Job, Job, int]:
    from river.naive_bayes import BernoulliNB

    return _river(BernoulliNB, nb.NaiveBayes(nb.Bernoulli.laplace(1.0)), *binary(rows, 20, 5))


def _river(rival: Callable[[], object], model: nb.NaiveBayes, X: Array, y: Array) -> tuple[Job, Job, Job, Job, int]:
    frame, labels = pd.DataFrame(X, columns=[f"x{d}" for d in range(X.shape[1])]), pd.Series(y)

    def learn() -> object:
        classifier = rival()
        classifier.learn_many(frame, labels)
        return classifier

    theirs, ours = learn(), nb.fit_map(model, X, y)
    predict = partial(theirs.predict_proba_many, frame)
    return learn, lambda: nb.fit_map(model, X, y), predict, lambda: ours.predict_proba(X), X.nbytes


def _mixed(rows: int) -> tuple[Job, Job, Job, Job, int]:
    from mixed_naive_bayes import MixedNB

    numbers, y = normal(rows, 10, 5)
    codes = np.random.default_rng(1).integers(0, CATEGORIES, (rows, 10))
    X, blocks = np.hstack([numbers, codes]), {"numbers": numbers, "codes": codes}
    model = nb.NaiveBayes({"numbers": nb.Normal(), "codes": nb.Categorical.laplace(CATEGORIES, 0.5)})

    def learn() -> object:
        return MixedNB(categorical_features=list(range(10, 20)), alpha=0.5).fit(X, y)

    theirs, ours = learn(), nb.fit_map(model, blocks, y)
    predict = partial(theirs.predict_proba, X)
    return learn, lambda: nb.fit_map(model, blocks, y), predict, lambda: ours.predict_proba(blocks), X.nbytes


def _pomegranate(rows: int) -> tuple[Job, Job, Job, Job, int]:
    from pomegranate.bayes_classifier import BayesClassifier
    from pomegranate.distributions import Normal

    X, y = normal(rows, 20, 5, np.float32)
    model = nb.NaiveBayes(nb.Normal())

    def learn() -> object:
        return BayesClassifier([Normal(covariance_type="diag") for _ in range(5)]).fit(X, y)

    theirs, ours = learn(), nb.fit_mle(model, X, y)

    def predict() -> object:
        return theirs.predict_proba(X).numpy()

    return learn, lambda: nb.fit_mle(model, X, y), predict, lambda: ours.predict_proba(X), X.nbytes
