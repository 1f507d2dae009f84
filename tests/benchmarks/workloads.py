"""The workloads: each gives two callables that do the same job, the rival's and ours, numpy in and numpy out.

The contests with scipy have the size of MNIST's training half, with synthetic pixels; their rival is what people write
with ``scipy.stats``, a density for each class.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

import bayesnb as nb
from bayesnb.core.fits._multilabel import fit_multilabel
from examples import scipy_programs

Array = np.ndarray[Any, Any]
Fit = Callable[[Array, Array], Any]


class Jobs(NamedTuple):
    """The rival's job, if there is one, and ours; ``bytes_read`` is one read of X."""

    rival: Callable[[], object] | None
    ours: Callable[[], object]
    bytes_read: int


class Workload(NamedTuple):
    """One row of the table; ``prepare`` makes the data, and fits what is to predict.

    ``goal`` says what was to be reached, the ratio at least or the time at most; what takes minutes has fewer rounds.
    """

    name: str
    size: str
    rival: str
    prepare: Callable[[], Jobs]
    goal: str = ""
    most_rounds: int | None = None


class Contest(NamedTuple):
    """A model that both fit to the same rows [N, D] of K classes or labels, and then use by the same method."""

    name: str
    rival: str
    data: Callable[[int, int, int], tuple[Array, Array]]
    size: tuple[int, int, int]
    theirs: Fit
    ours: Fit
    method: str

    def workloads(self) -> Iterator[Workload]:
        """To fit, and to predict the rows of the fit."""
        rows, columns, classes = self.size
        size = f"{rows:,} x {columns} x {classes}"
        yield Workload(f"{self.name}, fit", size, self.rival, self._fits)
        yield Workload(f"{self.name}, {self.method}", size, self.rival, self._predictions)

    def _fits(self) -> Jobs:
        X, y = self.data(*self.size)
        return Jobs(lambda: self.theirs(X, y), lambda: self.ours(X, y), num_bytes(X))

    def _predictions(self) -> Jobs:
        X, y = self.data(*self.size)
        theirs, ours = getattr(self.theirs(X, y), self.method), getattr(self.ours(X, y), self.method)
        return Jobs(lambda: theirs(X), lambda: ours(X), num_bytes(X))


def num_bytes(X: Any) -> int:
    """Bytes of an array, or of a sparse matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if scipy.sparse.issparse(X) else X.nbytes


def normal(num_rows: int, num_columns: int, num_classes: int, dtype: type = np.float64) -> tuple[Array, Array]:
    """Independent measurements, the classes a tenth of a standard deviation apart."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    return rng.normal(size=(num_rows, num_columns)).astype(dtype) + 0.1 * y[:, None].astype(dtype), y


def pixels(num_rows: int, num_columns: int, num_classes: int) -> tuple[Array, Array]:
    """Correlated measurements in float32; each class has three tenths of the columns at 0, as digits leave the rim."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    strokes = rng.normal(size=(50, num_columns))
    X = rng.normal(size=(num_rows, 50)) @ strokes / 7 + rng.normal(size=(num_rows, num_columns)) + 0.1 * y[:, None]
    touched = rng.random((num_classes, num_columns)) < 0.7
    return np.where(touched[y], X, 0).astype(np.float32), y


def binary(num_rows: int, num_columns: int, num_classes: int) -> tuple[Array, Array]:
    """Zeros and ones, more ones in the later classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    return (rng.random((num_rows, num_columns)) < 0.05 + 0.09 * y[:, None]).astype(np.float32), y


def labelled(num_rows: int, num_columns: int, num_labels: int) -> tuple[Array, Array]:
    """Zeros and ones with labels that do not exclude each other, [N, L]."""
    rng = np.random.default_rng(0)
    X = (rng.random((num_rows, num_columns)) < 0.2).astype(np.float32)
    return X, (X @ rng.normal(size=(num_columns, num_labels)) > 0).astype(int)


def contests(quick: bool) -> list[Contest]:
    """Every contest; ``quick`` has a tenth of the rows, and a quarter of the columns where they are correlated."""
    part, images = (10, (2_100, 784, 10)) if quick else (1, (21_000, 784, 10))
    correlated = (2_100, 196, 10) if quick else images
    texts = (20_000 // part, 200, 20)
    model, laplace = nb.NaiveBayes(nb.Normal()), nb.NaiveBayes(nb.Bernoulli.laplace(1.0))
    covariance = nb.NaiveBayes(nb.MultivariateNormal(smoothing=0.01))
    single = partial(normal, dtype=np.float32)

    def gaussian(X: Array, y: Array) -> GaussianNB:
        return GaussianNB().fit(X, y)

    def outputs(X: Array, Y: Array) -> MultiOutputClassifier:
        return MultiOutputClassifier(BernoulliNB()).fit(X, Y)

    mle, exact = partial(nb.fit_mle, model), partial(nb.fit_posterior, model)
    labels = partial(fit_multilabel, laplace, fit=nb.fit_map)
    independent = partial(scipy_programs.independent, smoothing=0.0)
    dependent = partial(scipy_programs.correlated, smoothing=0.01)
    rival = "scikit-learn"
    return [
        Contest("Normal exact, float32", rival, single, images, gaussian, exact, "predict_log_proba"),
        Contest("labels, Bernoulli, float32", rival, labelled, texts, outputs, labels, "predict_proba"),
        Contest("Normal MLE", "scipy norm", normal, images, independent, mle, "predict"),
        Contest(
            "full covariance, float32",
            "scipy mvn",
            pixels,
            correlated,
            dependent,
            partial(nb.fit_mle, covariance),
            "predict",
        ),
    ]
