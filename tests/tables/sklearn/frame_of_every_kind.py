"""A frame with a column of every kind, and what an estimator makes of rows."""

import warnings

import numpy as np
import pandas as pd

import bayesnb as nb

RNG = np.random.default_rng(0)
N = 60
FRAME = pd.DataFrame({
    "age": RNG.normal(40, 10, N),
    "port": RNG.choice(["S", "C", "True", "3"], N),
    "class": RNG.integers(1, 4, N),
    "level": RNG.integers(1, 4, N),
    "alone": RNG.random(N) < 0.5,
    "seen": RNG.integers(0, 2, N),
    "agreed": RNG.integers(0, 2, N),
    "visits": RNG.poisson(3, N),
    "stays": RNG.poisson(3, N),
    "empty": np.full(N, np.nan),
    "note": ["left out"] * N,
})  # fmt: skip
Y = np.where(FRAME.age + RNG.normal(0, 5, N) > 40, "old", "young")
KINDS = {
    "port": "categorical", "level": "categorical", "agreed": "bernoulli", "visits": "poisson", "stays": nb.Poisson(),
    "note": "skip",
}  # fmt: skip


def outcome(clf, X):
    """The probabilities of the first row, or the error's sentence, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = clf.predict_proba(X)[0].tolist()
        except (ValueError, TypeError) as error:
            answer = f"{type(error).__name__}: {error}"
    return answer, {str(one.message) for one in caught if one.category is UserWarning}
