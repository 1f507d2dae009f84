"""The workloads: each gives two callables that do the same job, the rival's and ours, numpy in and numpy out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sklearn.naive_bayes import BernoulliNB, GaussianNB

import bayesnb as nb


class Workload(NamedTuple):
    """One row of the table; ``bytes_read`` is one read of X."""

    name: str
    rival: Callable[[], object]
    ours: Callable[[], object]
    bytes_read: int


def _normal(num_rows: int, num_columns: int, num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    X = rng.normal(size=(num_rows, num_columns)).astype(np.float32)
    X += 0.1 * y[:, None].astype(np.float32)
    return X, y


def _binary(num_rows: int, num_columns: int, num_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    return (rng.random((num_rows, num_columns)) < 0.05 + 0.09 * y[:, None]).astype(np.float32), y


def workloads(quick: bool) -> Iterator[Workload]:
    """Every workload; ``quick`` has a tenth of the rows."""
    rows = 10 if quick else 1

    X, y = _normal(21_000 // rows, 784, 10)
    size = f"{X.shape[0]:,} x 784 x 10 float32"
    model = nb.NaiveBayes(nb.Normal(), num_classes=10)
    rival, plug_in, exact = GaussianNB().fit(X, y), nb.fit_mle(model, X, y), nb.fit_posterior(model, X, y)
    yield Workload(f"Normal fit, {size}", lambda: GaussianNB().fit(X, y), lambda: nb.fit_mle(model, X, y), X.nbytes)
    yield Workload(
        f"Normal log probabilities, {size}",
        lambda: rival.predict_log_proba(X),
        lambda: plug_in.predict_log_proba(X),
        X.nbytes,
    )
    yield Workload(
        f"Normal exact predictive, {size}",
        lambda: rival.predict_log_proba(X),
        lambda: exact.predict_log_proba(X),
        X.nbytes,
    )

    B, labels = _binary(200_000 // rows, 100, 10)
    size = f"{B.shape[0]:,} x 100 x 10 float32"
    binary = nb.NaiveBayes(nb.Bernoulli.laplace(1.0), num_classes=10)
    rival_binary, ours_binary = BernoulliNB().fit(B, labels), nb.fit_map(binary, B, labels)
    yield Workload(
        f"Bernoulli fit, {size}", lambda: BernoulliNB().fit(B, labels), lambda: nb.fit_map(binary, B, labels), B.nbytes
    )
    yield Workload(
        f"Bernoulli log probabilities, {size}",
        lambda: rival_binary.predict_log_proba(B),
        lambda: ours_binary.predict_log_proba(B),
        B.nbytes,
    )
