"""Rows as users have them in memory, against a conversion to the best layout, numpy's or scipy's, and its time."""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

import bayesnb as nb
from tests.benchmarks.workloads import Array, Jobs, Workload

GOAL = "ratio 0.67"

K, LEVELS = 5, 8

FAMILIES: dict[str, nb.Family] = {
    "Normal": nb.Normal(),
    "Bernoulli": nb.Bernoulli(),
    "Categorical": nb.Categorical(LEVELS),
    "Multinomial": nb.Multinomial(),
    "Poisson": nb.Poisson(),
}


def workloads(quick: bool) -> Iterator[Workload]:
    """A fit and a prediction of each family from each layout; ``quick`` has a tenth of the rows."""
    part = 10 if quick else 1
    for size in ((100_000 // part, 50), (6_000 // part, 784)):
        for name in FAMILIES:
            for layout in (*ARRAYS, *(SPARSE if name in ("Bernoulli", "Multinomial") else ())):
                if layout == "bool" and name != "Bernoulli":
                    continue
                for job in ("fit", "predict_log_proba"):
                    prepare, text = partial(_jobs, name, layout, job, size), f"{size[0]:,} x {size[1]} x {K}"
                    yield Workload(f"layout, {name}, {layout}, {job}", text, "conversion", prepare, GOAL)


def _rows(name: str, num_rows: int, num_columns: int) -> tuple[Array, Array]:
    """float64 rows with cells that the family takes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, num_rows)
    if name == "Normal":
        return rng.normal(size=(num_rows, num_columns)).round(2) * 100 + 10 * y[:, None], y
    highest = {"Bernoulli": 2, "Categorical": LEVELS}.get(name, 20)
    return np.minimum(rng.poisson(0.3 + 0.1 * y[:, None], (num_rows, num_columns)), highest - 1).astype(float), y


def _frame(x: Array) -> Array:
    """The block of a data frame's columns of one type: a column is contiguous, and a row is not."""
    frame = pd.DataFrame({f"x{d}": column for d, column in enumerate(x.T)})
    frame["name"] = "text"
    return frame.drop(columns="name").to_numpy()


def _mapped(x: Array) -> Array:
    """A file that is read from where it lies, which nobody may write to."""
    with tempfile.TemporaryFile() as file:
        x.tofile(file)
        file.flush()
        return np.memmap(file, x.dtype, "r", shape=x.shape)


def _strided(x: Array) -> Array:
    """Every other column of wider rows."""
    return np.repeat(x, 2, axis=1)[:, ::2]


def _sliced(x: Array) -> Array:
    """The middle columns of wider rows."""
    return np.pad(x, ((0, 0), (3, 4)))[:, 3:-4]


def _cast(dtype: Any) -> Callable[[Array], Array]:
    return lambda x: x.astype(dtype)


Convert = Callable[[Any], Any]

ARRAYS: dict[str, tuple[Convert, Convert]] = {
    "Fortran order": (np.asfortranarray, np.ascontiguousarray),
    "Fortran order, float32": (lambda x: np.asfortranarray(x, np.float32), np.ascontiguousarray),
    "frame": (_frame, np.ascontiguousarray),
    "X[:, ::2]": (_strided, np.ascontiguousarray),
    "X[:, 3:-4]": (_sliced, np.ascontiguousarray),
    "every other row": (lambda x: np.repeat(x, 2, axis=0)[::2], np.ascontiguousarray),
    "memory map": (_mapped, np.array),
    "float16": (_cast(np.float16), _cast(np.float32)),
    "big-endian": (_cast(">f8"), _cast(np.float64)),
    "int64": (_cast(np.int64), _cast(np.float64)),
    "int64, Fortran order": (lambda x: np.asfortranarray(x, np.int64), lambda x: np.ascontiguousarray(x, np.float64)),
    "uint8": (_cast(np.uint8), _cast(np.float64)),
    "bool": (_cast(bool), _cast(np.uint8)),
    "objects": (_cast(object), _cast(np.float64)),
}
"""How the rows are made, and what numpy makes of them for the best layout."""

SPARSE: dict[str, tuple[Convert, Convert]] = {
    "CSC": (scipy.sparse.csc_matrix, lambda x: x.tocsr()),
    "COO": (scipy.sparse.coo_matrix, lambda x: x.tocsr()),
    "CSR, int64": (lambda x: scipy.sparse.csr_matrix(x.astype(np.int64)), lambda x: x.astype(np.float64)),
}


def _jobs(name: str, layout: str, job: str, size: tuple[int, int]) -> Jobs:
    made, y = _rows(name, *size)
    make, best = {**ARRAYS, **SPARSE}[layout]
    X, fit = make(made), _fit(name, exact=job == "fit", objects=layout == "objects")
    if job == "fit":
        return Jobs(lambda: fit(best(X), y), lambda: fit(X, y), made.nbytes)
    fitted = fit(best(X), y)
    return Jobs(lambda: fitted.predict_log_proba(best(X)), lambda: fitted.predict_log_proba(X), made.nbytes)


def _fit(name: str, *, exact: bool, objects: bool) -> Callable[[Any, Array], Any]:
    """The exact posterior, or the MAP; by the estimator where cells are Python objects, which it alone takes."""
    if objects:
        method = "posterior" if exact else "map"
        return lambda X, y: nb.NaiveBayesClassifier(name.lower(), method=method).fit(X, y)
    return partial(nb.fit_posterior if exact else nb.fit_map, nb.NaiveBayes(FAMILIES[name]))
