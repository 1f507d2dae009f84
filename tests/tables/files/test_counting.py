"""Streams of numpy blocks: the statistics are those of all rows at once, whatever the blocks."""

import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.tables.files._counting import stream
from bayesnb.tables.files.sources._source import StreamError
from tests import cases
from tests.tables.files.streams import assert_same, blocks_of, random_blocks

ROOT = Path(nb.__file__).parents[1]


def three_blocks():
    """A model of two columns, and three blocks of four rows."""
    X, y = np.arange(24.0).reshape(12, 2), np.arange(12) % 2
    return nb.NaiveBayes(nb.Normal(), num_classes=2), list(blocks_of(X, y, 4))


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("name", cases.NAMES)
def test_any_block_size_gives_the_whole(name, size):
    case = cases.make(name)
    streamed = stream(case.model, blocks_of(case.X, case.y, size))
    assert_same(streamed, nb.sufficient_statistics(case.model, case.X, case.y))


@pytest.mark.parametrize("name", ["bernoulli", "categorical", "multinomial", "normal", "mixed"])
def test_weights_are_repeated_rows(name):
    case = cases.make(name)
    weight = np.arange(cases.N) % 4
    repeated = np.repeat(np.arange(cases.N), weight)
    streamed = stream(case.model, blocks_of(case.X, case.y, 7, weight))
    assert_same(streamed, nb.sufficient_statistics(case.model, case.rows(repeated), case.y[repeated]))


def test_soft_labels_tell_the_number_of_classes(rng):
    X, y = rng.normal(size=(30, 2)), rng.dirichlet(np.ones(3), 30)
    model = nb.NaiveBayes(nb.Normal())
    assert_same(stream(model, blocks_of(X, y, 8)), nb.sufficient_statistics(model, X, y))


def test_float32_far_from_zero(rng):
    y = rng.integers(0, 3, 20_000)
    X = (1e4 + rng.normal(size=(20_000, 4))).astype(np.float32)
    moments = stream(nb.NaiveBayes(nb.Normal()), blocks_of(X, y, 1000), num_classes=3).blocks["x"]
    exact = X.astype(np.float64)
    assert_allclose(moments.mean, [exact[y == k].mean(0) for k in range(3)], rtol=1e-12)
    assert_allclose(moments.variance, [exact[y == k].var(0) for k in range(3)], rtol=1e-6)


def test_blocks_of_jax_arrays_and_lists_become_numpy():
    case = cases.make("informed")
    lists = [(x.tolist(), y.tolist()) for x, y in blocks_of(case.X, case.y, 9)]
    assert_same(stream(case.model, lists), nb.sufficient_statistics(case.model, case.X, case.y))
    arrays = [(jnp.asarray(x), jnp.asarray(y)) for x, y in blocks_of(case.X, case.y, 9)]
    assert_same(stream(case.model, arrays), nb.sufficient_statistics(case.model, case.X, case.y), rtol=1e-5)


def test_memory_is_that_of_a_block(rng):
    block = rng.normal(size=(2000, 50)), rng.integers(0, 2, 2000)

    def blocks(number):
        return ((block[0].copy(), block[1]) for _ in range(number))

    def peak(number):
        tracemalloc.start()
        stream(nb.NaiveBayes(nb.Normal(), num_classes=2), blocks(number))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(2)  # what is imported and compiled at first
    assert peak(60) < 1.2 * peak(6)


def test_the_progress_bar_is_for_terminals(capsys, monkeypatch):
    model, blocks = three_blocks()
    stream(model, blocks)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    stream(model, blocks)
    out, err = capsys.readouterr()
    assert out == ""
    assert "12 rows" in err
    stream(model, blocks, progress_bar=False)
    assert capsys.readouterr() == ("", "")


def wider(block):
    return np.c_[block[0], block[0]], block[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (wider, r"block 1 has the columns .*4.* before it .*2"),
        (lambda b: (b[0], b[1] + 5), "block 1: y holds 6, expected integers 0..1"),
        (lambda b: (b[0], b[1] - 1), "block 1: y holds -1"),
        (lambda b: (b[0] * np.inf, b[1]), "block 1: block 'x', column 0: .*finite"),
        (lambda b: (b[0], b[1][:-1]), r"block 1: y must be integers \[4\]"),
        (lambda b: (b[0], b[1], -np.ones(4)), "block 1: sample_weight must be finite, not negative"),
        (lambda b: b[0], r"block 1 must be \(X, y\) or \(X, y, sample_weight\), got ndarray"),
        (lambda b: (*b, None, None), "block 1 must be .* got 4 things"),
        (lambda b: (b[0], 3), "block 1 must be .* for y"),
        (lambda b: ({"x": b[0]}, b[1]), "block 1 has the columns"),
        (lambda b: ([[1.0], [1.0, 2.0]], b[1]), "block 1: .*inhomogeneous"),
    ],
)
def test_a_bad_block_is_named_and_what_came_before_stays(change, message):
    model, blocks = three_blocks()
    with pytest.raises(StreamError, match=message) as caught:
        stream(model, [blocks[0], change(blocks[1]), blocks[2]])
    assert "\n" not in str(caught.value)
    assert caught.value.rows == 4
    assert_same(caught.value.statistics, nb.sufficient_statistics(model, *blocks[0]))


def test_a_bad_first_block():
    model, blocks = three_blocks()
    with pytest.raises(StreamError, match=r"block 0: block 'x' must be an array \[N, D\], got shape \(4,\)") as caught:
        stream(model, [(blocks[0][0][:, 0], blocks[0][1])])
    assert caught.value.statistics is None


def test_errors_of_the_iterator_itself_are_left_alone():
    model, blocks = three_blocks()

    def broken():
        yield blocks[0]
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        stream(model, broken())


@pytest.mark.parametrize(
    ("source", "keywords", "message"),
    [
        ([], {}, "yields no blocks"),
        ([(np.zeros((0, 2)), np.zeros(0, int))], {"num_classes": 2}, "has no rows"),
        ([(np.zeros((1, 2)), np.zeros(1, int))], {}, "declare their number, num_classes=K"),
        (3, {}, "source must be a path, a data frame, Arrow data or an iterable"),
        ({"x": 1}, {}, "source must be a path, a data frame, Arrow data or an iterable"),
        ([(np.zeros((1, 2)), np.zeros(1, int))], {"label": "y"}, "are for files, frames and Arrow data"),
        ([(np.zeros((1, 2)), np.zeros(1, int))], {"num_classes": 0}, "num_classes must be a positive int"),
        ([(np.zeros((1, 2)), np.zeros(1, int))], {"classes": ["a", "a"]}, "a list of different labels"),
        ([(np.zeros((1, 2)), np.zeros(1, int))], {"classes": "ab"}, "a list of different labels"),
        ([(np.zeros((1, 2)), np.zeros(1, int))], {"classes": 4}, "a list of different labels"),
        ([(np.zeros((1, 2)), np.zeros(1, int))], {"classes": ["a"], "num_classes": 2}, "the same everywhere"),
    ],
)
def test_what_is_no_source(source, keywords, message):
    with pytest.raises(ValueError, match=message):
        stream(nb.NaiveBayes(nb.Normal()), source, **keywords)


def test_the_number_of_classes_of_the_model_stands():
    model, blocks = three_blocks()
    with pytest.raises(ValueError, match="the same everywhere"):
        stream(model, blocks, num_classes=3)


# parts that are saved as they are counted, docs/how_to/where_is_your_data.md

SAVE = """
import sys, time
from pathlib import Path
import bayesnb as nb
from tests.tables.files.streams import random_blocks
for number, (X, y) in enumerate(random_blocks(10**6)):
    if not (saved := Path(sys.argv[1]) / f"{number}.bayesnb").exists():
        nb.save(nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), X, y, num_classes=2), saved)
        print("counted", flush=True)
"""


@pytest.mark.slow
def test_a_count_that_is_killed_goes_on_from_its_saved_parts(tmp_path):
    """kill -9 at any moment, twice, also while a part is written."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    for _ in range(2):
        command = [sys.executable, "-c", SAVE, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, pipesize=4096, cwd=ROOT, env=environment) as process:
            for _ in range(4):
                assert process.stdout.readline() == b"counted\n"
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    there = {int(saved.stem): nb.load(saved) for saved in tmp_path.glob("*.bayesnb")}
    assert sorted(there) == [*range(len(there))]
    assert len(there) >= 8
    X, y = (np.concatenate(parts) for parts in zip(*random_blocks(len(there)), strict=True))
    whole = nb.sufficient_statistics(nb.NaiveBayes(nb.Normal()), X, y, num_classes=2)
    assert_same(nb.merge(there), whole)


def test_the_bins_of_a_likelihood_are_those_of_the_first_rows_whatever_the_blocks():
    x = np.sort(np.random.default_rng(0).gamma(2.0, size=300))[:, None]
    y, model = np.arange(300) % 2, nb.NaiveBayes(nb.Likelihood(dist.Gamma))
    parts = nb.stream(model, [(x[:20], y[:20]), (x[20:], y[20:])], num_classes=2, progress_bar=False)
    assert_same(parts, nb.sufficient_statistics(model, x, y))
