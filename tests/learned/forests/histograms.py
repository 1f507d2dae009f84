"""Rows whose columns are Histograms, numbers and flags that depend on each other."""

import numpy as np

import bayesnb as nb
from tests.learned.forests.rows import copies

K, N = 2, 160
MODEL = nb.NaiveBayes({"cells": nb.Histogram(cells=12), "number": nb.Normal(), "flag": nb.Bernoulli()})


def _rows():
    rng, y = np.random.default_rng(3), np.arange(N) % K
    x, _ = copies(rng, N)
    cells = np.exp(x[:, :3] + 1.5 * y[:, None])
    cells[rng.random(cells.shape) < 0.1] = np.nan
    flag = (x[:, 4:5] > 0.5).astype(float)
    return {"cells": cells, "number": x[:, 3:4], "flag": flag}, y


X, Y = _rows()


def part(index):
    return {name: x[index] for name, x in X.items()}
