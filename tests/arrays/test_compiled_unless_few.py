"""Loops that are left to Python for few numbers give the bits that they give when compiled."""

import copy
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesnb.arrays.cells import _count_others
from bayesnb.numerics.log_prob import _normalise, _subtract_largest
from bayesnb.primitives.products.lookups import _look_up
from bayesnb.primitives.products.student import log_squares

RNG = np.random.default_rng(0)
LOGS = RNG.normal(size=(5, 11)) * 10.0 ** RNG.integers(-300, 300, (5, 11))
LOGS[0, 3:5] = -np.inf
STARTS = np.array([0, 3, 8], np.int32)
TABLE = RNG.normal(size=(8, 9))
CODES = RNG.integers(-2, 7, (6, 2))
X = RNG.normal(size=(4, 20)) * 10.0 ** RNG.integers(-3, 20, (4, 20))
X[0, 3] = np.nan


def squares(dtype):
    loc, precision = RNG.normal(size=(2, 3, 20)).astype(dtype)
    return X.astype(dtype), loc[0], loc, np.abs(precision)


@pytest.mark.parametrize(
    ("loop", "args"),
    [
        *[(_count_others, (X.ravel(), size)) for size in (2, np.inf)],
        *[(_count_others, (CODES.ravel().astype(dtype), 5)) for dtype in (np.int64, np.int8, np.float32)],
        *[(_look_up, (CODES.astype(dtype), STARTS, TABLE)) for dtype in (np.int32, np.int8, np.float32)],
        (_look_up, (abs(CODES).astype(np.uint8), STARTS, TABLE)),
        (_count_others, (abs(CODES).ravel().astype(np.uint8), 5)),
        (_look_up, (np.where(CODES < 0, np.nan, CODES), STARTS, TABLE)),
        *[(log_squares, squares(dtype)) for dtype in (np.float32, np.float64)],
        (_subtract_largest, (LOGS, np.empty(LOGS.shape))),
        *[(_normalise, (LOGS, np.exp(-np.abs(LOGS)) + 1e-300, logs)) for logs in (True, False)],
    ],
    ids=lambda given: getattr(given, "__name__", None),
)
def test_python_gives_the_bits_of_the_compiled_loop(loop, args):
    import numba  # noqa: F401 so that the loop is compiled

    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    compiled = loop(*theirs)
    with np.errstate(all="ignore"):
        assert_array_equal(loop.__wrapped__(*ours), compiled)
    for mine, other in zip(ours, theirs, strict=True):
        assert_array_equal(mine, other)


FEW = """
import sys, numpy as np, bayesnb as nb
fit = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), {"class_probs": [0.5, 0.5], "x_probs": [[0.1], [0.6]]})
assert fit.predict([[1]]) == 1
assert "numba" not in sys.modules
fit.predict(np.ones((1000, 1)))
assert "numba" in sys.modules
assert fit.predict([[1]]) == 1
"""


@pytest.mark.slow
def test_few_rows_do_not_load_numba():
    subprocess.run([sys.executable, "-c", FEW], check=True)
