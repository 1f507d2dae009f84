"""Checkpoints: whoever is stopped anywhere starts again and comes to the same answer, and counts nothing twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files._counting import stream
from bayesnb.tables.files.sources._source import StreamError
from tests import cases
from tests.tables.files.streams import Stop, assert_same, blocks_of, random_blocks, stopping

ROOT = Path(nb.__file__).parent.parent


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """Writes after every block."""
    monkeypatch.setattr(limits, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(limits, "CHECKPOINT_SHARE", 1e9)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.safetensors"


def assert_equal(a, b):
    """To the last bit."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    jax.tree.map(assert_array_equal, a, b)


@pytest.mark.parametrize("name", ["bernoulli", "ragged", "multinomial", "normal", "covariance", "mixed"])
def test_stopped_after_any_block(name, path):
    case = cases.make(name)
    whole = stream(case.model, blocks_of(case.X, case.y, 5))
    for after in range(5):
        with pytest.raises(Stop):
            stream(case.model, stopping(blocks_of(case.X, case.y, 5), after), checkpoint=path)
    assert_equal(stream(case.model, blocks_of(case.X, case.y, 5), checkpoint=path), whole)


def test_stopped_by_the_keyboard(path, monkeypatch):
    monkeypatch.setattr(limits, "CHECKPOINT_SECONDS", 1e9)  # nothing but the stop writes
    case = cases.make("normal")
    with pytest.raises(KeyboardInterrupt):
        stream(case.model, stopping(blocks_of(case.X, case.y, 5), 3, KeyboardInterrupt), checkpoint=path)
    answer = stream(case.model, blocks_of(case.X, case.y, 5), checkpoint=path)
    assert_equal(answer, stream(case.model, blocks_of(case.X, case.y, 5)))


def test_a_finished_one_answers_at_once(path):
    case = cases.make("mixed")
    blocks = list(blocks_of(case.X, case.y, 5))
    whole = stream(case.model, blocks, checkpoint=path)
    assert_equal(stream(case.model, stopping(blocks, 1), checkpoint=path), whole)


def test_hyperparameters_may_change(path):
    case = cases.make("normal")
    whole = stream(case.model, blocks_of(case.X, case.y, 5), checkpoint=path)
    other = nb.NaiveBayes(nb.Normal(strength=3.0), num_classes=3)
    assert_equal(stream(other, blocks_of(case.X, case.y, 5), checkpoint=path), whole)


KILLED = """
import sys, time
import numpy as np
import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files import _counting as counting
from bayesnb.tables.files._counting import stream
limits.CHECKPOINT_SECONDS, limits.CHECKPOINT_SHARE = 0.0, 1e9
{}
def merge(*parts, merge=nb.merge):
    time.sleep(0.01)
    print("counted", flush=True)
    return merge(*parts)

counting.merge = merge
stream(nb.NaiveBayes(nb.Normal(), num_classes=2), source, checkpoint=sys.argv[1], **keywords)
"""

ENDLESS = """
from tests.tables.files.streams import random_blocks
source, keywords = random_blocks(10**6), {}
"""

FILE = """
limits.BATCH_BYTES = 8 * 4 * 50
source, keywords = sys.argv[2], {"label": "label"}
"""


def kill(code, *args):
    """Runs a stream in a process of its own and kills it after some blocks; how many it has counted."""
    command = [sys.executable, "-c", KILLED.format(code), *map(str, args)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    # the small pipe holds it up before the end, however late the signal is
    with subprocess.Popen(command, stdout=subprocess.PIPE, pipesize=4096, cwd=ROOT, env=environment) as process:
        for _ in range(5):
            assert process.stdout.readline() == b"counted\n"
        time.sleep(0.012)
        process.send_signal(signal.SIGKILL)
        seen = len(process.stdout.read().split()) + 5
    assert process.returncode == -signal.SIGKILL
    return seen


@pytest.mark.slow
def test_killed_in_the_middle(path):
    """kill -9 at any moment, also while the checkpoint is written."""
    seen = kill(ENDLESS, path)
    assert 4 <= header(path)["position"][0] <= seen + 1
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    answer = stream(model, random_blocks(seen + 5), checkpoint=path)
    assert_equal(answer, stream(model, random_blocks(seen + 5)))
    assert answer.class_counts.sum() == 50 * (seen + 5)


@pytest.mark.slow
def test_killed_in_the_middle_of_a_file(path, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(100_000, 3)), columns=list("abc"))
    table["label"] = rng.integers(0, 2, 100_000)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=330)
    seen = kill(FILE, path, tmp_path / "rows.parquet")
    assert 4 * 30 <= header(path)["position"][2] <= 50 * (seen + 1)
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    answer = stream(model, tmp_path / "rows.parquet", label="label", checkpoint=path)
    assert_same(answer, nb.sufficient_statistics(model, table[list("abc")].to_numpy(), table["label"].to_numpy()))


def header(path):
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as handle:
        return json.loads(handle.metadata()["bayesnb"])


def test_a_write_that_fails_leaves_the_old_one(path, monkeypatch):
    case = cases.make("bernoulli")
    with pytest.raises(Stop):
        stream(case.model, stopping(blocks_of(case.X, case.y, 5), 2), checkpoint=path)
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StreamError, match=r"run\.safetensors' cannot be written: no space left") as caught:
        stream(case.model, blocks_of(case.X, case.y, 5), checkpoint=path)
    assert path.read_bytes() == before
    assert_same(caught.value.statistics, nb.sufficient_statistics(case.model, case.X[:15], case.y[:15]))


def test_up_to_a_bad_block(path):
    """What was counted before it is kept, and the block can be mended."""
    case = cases.make("normal")
    blocks = list(blocks_of(case.X, case.y, 6))
    broken = [*blocks[:2], (blocks[2][0], blocks[2][1] + 7), blocks[3]]
    with pytest.raises(StreamError, match="block 2: y holds 9"):
        stream(case.model, broken, checkpoint=path)
    assert header(path)["position"] == [2, 0, 12]
    assert_same(stream(case.model, blocks, checkpoint=path), nb.sufficient_statistics(case.model, case.X, case.y))


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        (
            nb.NaiveBayes(nb.Bernoulli(), num_classes=2),
            {},
            "is of another model: .*'Binomial'.* instead of .*'Bernoulli'",
        ),
        (nb.NaiveBayes(nb.Binomial(4), num_classes=2), {}, "is of another model: .*'3'.* instead of .*'4'"),
        (nb.NaiveBayes({"x": nb.Binomial(3)}, num_classes=2), {}, "is of another model: single True instead of False"),
        (nb.NaiveBayes(nb.Binomial(3), num_classes=3), {}, "is of another number of classes: 2 instead of 3"),
        (None, {"start": 1}, "is of another source"),
        (None, {"size": 6}, "is of another source"),
        (None, {"rows": 10}, r"the source ends after 2 blocks, the checkpoint has counted 3"),
    ],
)
def test_of_another_model_or_source(model, change, message, path):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (40, 2)), rng.integers(0, 2, 40)

    def blocks(start=0, size=5, rows=40):
        return blocks_of(X[start:rows], y[start:rows], size)

    mine = nb.NaiveBayes(nb.Binomial(3), num_classes=2)
    with pytest.raises(Stop):
        stream(mine, stopping(blocks(), 3), checkpoint=path)
    before = path.read_bytes()
    single = model is None or model.single
    source = blocks(**change) if single else (({"x": x}, y) for x, y in blocks())
    with pytest.raises(ValueError, match=message) as caught:
        stream(model or mine, source, checkpoint=path)
    assert str(path.name) in str(caught.value) or "the checkpoint" in str(caught.value)
    if not change.get("rows"):
        assert path.read_bytes() == before


def test_blocks_of_other_sizes_further_on(path):
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    blocks = list(random_blocks(4))
    with pytest.raises(Stop):
        stream(model, stopping(blocks, 3), checkpoint=path)
    shorter = [blocks[0], (blocks[1][0][:20], blocks[1][1][:20]), *blocks[2:]]
    with pytest.raises(StreamError, match="first 3 blocks have 120 rows, the checkpoint has counted 150"):
        stream(model, shorter, checkpoint=path)


def flipped(data):
    changed = bytearray(data)
    changed[-3] ^= 1
    return bytes(changed)


@pytest.mark.parametrize("damage", [lambda d: d[:-9], lambda d: d[:40], lambda _: b"", lambda _: b"text" * 9, flipped])
def test_a_damaged_one(damage, path):
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    stream(model, random_blocks(2), checkpoint=path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StreamError, match=r"run\.safetensors' is damaged, or is not a checkpoint") as caught:
        stream(model, random_blocks(2), checkpoint=path)
    assert "\n" not in str(caught.value)


def test_a_file_of_something_else(path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(StreamError, match="is damaged, or is not a checkpoint"):
        stream(nb.NaiveBayes(nb.Normal(), num_classes=2), random_blocks(2), checkpoint=path)


def test_where_no_checkpoint_can_be(tmp_path):
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    with pytest.raises(StreamError, match="there is no folder"):
        stream(model, stopping(random_blocks(2), 1), checkpoint=tmp_path / "none" / "run")
    with pytest.raises(StreamError, match="it is a folder, expected a regular file"):
        stream(model, stopping(random_blocks(2), 1), checkpoint=tmp_path)


def test_it_is_written_seldom(path, monkeypatch):
    monkeypatch.setattr(limits, "CHECKPOINT_SECONDS", 1e9)
    writes = []
    monkeypatch.setattr(os, "replace", lambda *names: writes.append(names))
    stream(nb.NaiveBayes(nb.Normal(), num_classes=2), random_blocks(30), checkpoint=path)
    assert len(writes) == 2  # at the start and at the end
