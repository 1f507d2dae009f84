"""Compiled loops: loaded late, kept where they can be, for rows of any layout; left to Python for few numbers."""

import ast
import copy
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _cells as cells
from bayesnb.compute.arrays._loops import compiled
from bayesnb.compute.primitives.products._student import log_squares
from bayesnb.compute.primitives.products._table_sums import _look_up
from bayesnb.compute.primitives.sums import Labels, class_sums
from bayesnb.compute.primitives.sums import _host as host


def test_importing_the_package_loads_no_compiler():
    code = "import sys, bayesnb; print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_without_a_folder_to_write_to_loops_are_compiled_all_the_same(monkeypatch):
    import numba

    real = numba.njit

    def njit(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(*args, **options)

    monkeypatch.setattr(numba, "njit", njit)

    @compiled
    def twice(x):
        return 2 * x

    assert twice(21) == 42


def from_other_files(path):
    """The names of bayesnb's other files that the compiled loops of a file read."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and "bayesnb" in str(node.module)]
    imported = {alias.asname or alias.name for node in nodes for alias in node.names}
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.decorator_list]
    compiled = [loop for loop in loops if DECORATORS & set(map(ast.unparse, loop.decorator_list))]
    return {
        node.id for loop in compiled for part in loop.body for node in ast.walk(part) if isinstance(node, ast.Name)
    } & imported


DECORATORS = {"compiled", "compiled_unless_few", "part_of_loops"}


def test_loops_take_nothing_from_other_files_whose_changes_their_cache_does_not_see(tmp_path):
    paths = [path for path in Path(nb.__file__).parent.rglob("*.py") if "@compiled" in path.read_text(encoding="utf-8")]
    assert len(paths) > 5
    assert {name for path in paths for name in from_other_files(path)} == set()
    faulty = tmp_path / "faulty.py"
    faulty.write_text("from bayesnb.limits import MOST\n\n@compiled\ndef add(x):\n    return x + MOST\n")
    assert from_other_files(faulty) == {"MOST"}


def layouts():
    """By default three types in one layout, and every layout of one type, since numba compiles for each pair."""
    for layout in ("by rows", "by columns", "every other", "read only"):
        for dtype in (np.float32, np.float64, np.int8, np.uint8, np.int64, bool):
            quick = (layout == "by rows" and dtype in (np.float32, np.int8, bool)) or dtype is np.float32
            yield pytest.param(dtype, layout, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(("dtype", "layout"), list(layouts()))
def test_layouts_and_types_do_not_matter(rng, dtype, layout):
    x, y = rng.integers(0, 2, (60, 3)).astype(dtype), rng.integers(0, 4, 60).astype(np.int32)
    plain = x.astype(np.float64)
    if layout == "by columns":
        x = np.asfortranarray(x)
    elif layout == "every other":
        x = np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2]
    elif layout == "read only":
        x.flags.writeable = False
        y.flags.writeable = False
    z = class_sums(Labels(y, None), 4)
    assert_array_equal(z.sum(x), [plain[y == k].sum(0) for k in range(4)])
    count, mean, squares = z.moments(x)
    assert_array_equal(count, np.repeat(np.bincount(y, minlength=4)[:, None], 3, axis=1))
    assert_allclose(mean, [plain[y == k].mean(0) for k in range(4)], rtol=1e-15)
    assert_allclose(squares, [np.square(plain[y == k] - plain[y == k].mean(0)).sum(0) for k in range(4)], atol=1e-14)
    if dtype is not bool:
        assert cells.all_codes(x, 2)
        assert not cells.all_codes(x, 1)


@pytest.mark.parametrize("cell", [-1.0, 2.0, 0.5, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 5000, -1])
def test_one_cell_is_no_code(cell, place):
    x = np.ones((7, 1001), np.float32)
    assert cells.all_codes(x, 2)
    x.flat[place] = cell
    assert not cells.all_codes(x, 2)


def test_a_label_of_no_class_adds_nothing(rng):
    x = rng.normal(size=(5, 2))
    y = np.array([-1, 0, 3, 1, -7], np.int32)
    sums = host.HostSums(host.Labels(y, None), 3).sum(x)
    assert_array_equal(sums, [x[1], x[3], [0, 0]])
    origin, found = np.zeros((3, 2)), np.zeros((3, 2), bool)
    host._first_values(x, y, origin, found)
    assert_array_equal(found, [[True] * 2, [True] * 2, [False] * 2])
    assert_array_equal(origin, sums)


def test_a_far_first_value_costs_no_digits(rng):
    x = rng.normal(size=(10_000, 1))
    x[0] = 1e12
    x[1:, 0] += 3.0
    _, mean, squares = class_sums(Labels(np.zeros(10_000, np.int32), None), 1).moments(x)
    exact = x.astype(np.longdouble)
    assert_allclose(mean, exact.mean(0, keepdims=True).astype(float), rtol=1e-14)
    assert_allclose(squares, np.square(exact - exact.mean(0)).sum(0, keepdims=True).astype(float), rtol=1e-14)
    rest = class_sums(Labels(np.minimum(np.arange(10_000), 1).astype(np.int32), None), 2).moments(x)[2]
    assert_allclose(rest[1], np.square(exact[1:] - exact[1:].mean(0)).sum(0).astype(float), rtol=1e-14)


def test_missing_cells_of_a_class_that_has_none_in_a_column():
    x = np.array([[np.nan, 1.0], [np.nan, 1.0], [2.0, np.nan], [3.0, 5.0]])
    fit = nb.fit_mle(nb.NaiveBayes(nb.Normal()), x, np.array([0, 0, 1, 1]))
    assert_allclose(fit.params["x_loc"], [[2.5, 1.0], [2.5, 5.0]])


@pytest.mark.parametrize("cell", [-1.0, 2.0, 0.5, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_look_at_flags_finds_what_is_none(rng, cell, dtype, weighted):
    x = rng.integers(0, 2, (50, 3)).astype(dtype)
    x[rng.random(x.shape) < 0.2] = np.nan
    y, weight = rng.integers(0, 2, 50), rng.random(50) if weighted else None
    model = nb.NaiveBayes(nb.Bernoulli())
    found = nb.sufficient_statistics(model, x, y, sample_weight=weight).blocks["x"]
    w = np.ones(50) if weight is None else weight
    for k in range(2):
        mine = np.where((y == k)[:, None] & ~np.isnan(x), w[:, None], 0.0)
        assert_allclose(found.trials[k], mine.sum(0))
        assert_allclose(found.successes[k], (mine * np.nan_to_num(x)).sum(0))
    x[31, 1] = cell
    with pytest.raises(ValueError, match=f"block 'x', column 1: a Bernoulli cell is 0, 1 or NaN .missing., got {cell}"):
        nb.fit_posterior(model, x, y, sample_weight=weight)


@pytest.mark.parametrize("place", [5, 100_000_000, -1, -50])
@pytest.mark.parametrize("family", [nb.Multinomial(), nb.Bernoulli()])
def test_cells_stored_outside_of_a_sparse_matrix_are_refused(rng, place, family):
    x = scipy.sparse.csr_array(rng.integers(0, 2, (60, 4)).astype(float))
    x.indices[3] = place
    with pytest.raises(ValueError, match="block 'x' is an inconsistent sparse matrix"):
        nb.fit_posterior(nb.NaiveBayes(family), x, rng.integers(0, 2, 60))


def test_many_counts_of_a_type_that_loops_do_not_have(rng):
    x, y = rng.integers(0, 5, (600, 3)), rng.integers(0, 2, 600)
    for family in (nb.Poisson(), nb.Multinomial()):
        model = nb.NaiveBayes(family)
        fits = [nb.fit_posterior(model, rows, y) for rows in (x, x.astype(ml_dtypes.bfloat16))]
        assert_allclose(fits[1].log_evidence, fits[0].log_evidence, rtol=1e-12)


def test_a_cache_that_cannot_be_read_is_passed_over(monkeypatch):
    import numba

    kept = []

    def njit(function, *, cache, **_):
        def broken(*_):
            raise EOFError("Ran out of input")

        kept.append(cache)
        return broken if cache else function

    monkeypatch.setattr(numba, "njit", njit)

    @compiled
    def twice(x):
        return 2 * x

    assert [twice(21), twice(4)] == [42, 8]
    assert kept == [True, False]


def test_a_truth_value_may_be_any_byte():
    odd = np.array([[255, 0], [255, 0], [0, 255]], np.uint8).view(bool)
    model, y = nb.NaiveBayes(nb.Bernoulli()), np.array([0, 1, 0])
    proper = nb.fit_posterior(model, odd.astype(int), y)
    assert_array_equal(nb.fit_posterior(model, odd, y).predict_proba(odd), proper.predict_proba(odd.astype(int)))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_the_largest_code_of_each_column(rng, dtype):
    x = rng.integers(0, 2 if dtype is bool else 9, (70_000, 33)).astype(dtype)
    assert_array_equal(cells.largest_codes(x), x.max(axis=0).astype(float))
    assert_array_equal(cells.largest_codes(x[:0]), np.zeros(33))
    assert_array_equal(cells.largest_codes(np.array([[np.nan, -3.0], [2.0, np.nan]])), [2.0, 0.0])


# loops that are left to Python for few numbers give the bits that they give when compiled


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
        *[(_look_up, (CODES.astype(dtype), STARTS, TABLE)) for dtype in (np.int32, np.int8, np.float32)],
        (_look_up, (abs(CODES).astype(np.uint8), STARTS, TABLE)),
        (_look_up, (np.where(CODES < 0, np.nan, CODES), STARTS, TABLE)),
        *[(log_squares, squares(dtype)) for dtype in (np.float32, np.float64)],
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
nb.fit_mle(nb.NaiveBayes(nb.Bernoulli()), np.ones((1000, 1)), np.arange(1000) % 2)
assert "numba" in sys.modules
assert fit.predict([[1]]) == 1
"""


@pytest.mark.slow
def test_few_rows_do_not_load_numba():
    subprocess.run([sys.executable, "-c", FEW], check=True)
