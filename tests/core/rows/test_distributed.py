"""Rows that are sharded over a mesh, of one process or of two, against the single fit: the same call, K x D travel.

A mesh of four devices needs a flag before JAX starts, and two processes are two: this file is also what they run.
"""

import argparse
import math
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.rows._model_statistics import merge_pairs
from bayesnb.core.rows._sufficient_statistics import from_device, row_sharding
from tests import cases
from tests.learned.forests import histograms, stacked

MERGING = str(Path(__file__).with_name("test_model_statistics.py"))

# a condition in words: to count devices starts JAX, and the two processes must not start it so early
on_a_mesh = pytest.mark.skipif("jax.device_count() < 4", reason="test_on_four_devices runs it on four devices")


def by_rows(*spec, explicit=False):
    if explicit:
        return NamedSharding(jax.make_mesh((4,), ("rows",)), PartitionSpec("rows"))
    devices = np.array(jax.devices()[:4]).reshape(2, 2)
    return NamedSharding(Mesh(devices, ("rows", "columns")), PartitionSpec(*(spec or (("rows", "columns"),))))


def assert_equal(found, expected, rtol=1e-9):
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(expected), strict=True):
        assert_allclose(a, b, rtol=rtol, atol=1e-9, err_msg=jax.tree_util.keystr(path))


@on_a_mesh
@pytest.mark.parametrize(
    "labels", ["weighted", *(pytest.param(n, marks=pytest.mark.slow) for n in ("integers", "soft"))]
)
def test_mesh_statistics_are_those_of_the_whole(labels):
    """Blocks of every structure; a row of weight zero may hold anything, also where rows cannot be taken out."""
    case = cases.make("mixed")
    X, y, weight = case.X, case.y, None
    if labels == "soft":
        y = np.random.default_rng(0).dirichlet(np.ones(3), len(y))
    if labels == "weighted":
        weight = np.arange(len(y)) % 4 / 2
        X, y = {**X, "bernoulli": np.where(weight[:, None] == 0, 7.0, X["bernoulli"])}, np.where(weight == 0, -5, y)
    rows = jax.device_put((X, y, weight), by_rows())
    found = nb.sufficient_statistics(case.model, *rows[:2], sample_weight=rows[2])
    assert_equal(found, nb.sufficient_statistics(case.model, X, y, sample_weight=weight))
    for leaf in jax.tree.leaves(found):
        assert leaf.is_fully_replicated
        for shard in leaf.addressable_shards:
            assert_array_equal(shard.data, leaf)


@on_a_mesh
def test_mesh_of_which_only_statistics_travel(rng):
    """The compiled reduction moves numbers of classes and columns from every device, never rows."""
    N, D, K = 4 * 1003, 6, 3
    X = {"real": rng.normal(size=(N, D)), "words": rng.poisson(1.0, (N, D)), "flags": rng.random((N, D)) < 0.4}
    families = {"real": nb.Normal(), "words": nb.Multinomial(), "flags": nb.Bernoulli()}
    arrays, y = jax.device_put((X, rng.integers(0, K, N)), by_rows())
    rows = row_sharding(arrays)
    compiled = from_device.lower(families, arrays, Labels(y, None), K, rows).compile().as_text()
    sent = re.findall(r"= (.*?) (?:all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)\(", compiled)
    sizes = [math.prod(map(int, shape.split(","))) for one in sent for shape in re.findall(r"\[([\d,]+)\]", one)]
    assert sizes
    assert max(sizes) <= 4 * K * D


@on_a_mesh
@pytest.mark.parametrize(
    "kind", ["explicit", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("columns", "both", "replicated"))]
)
def test_mesh_of_any_kind_fits_and_predicts(rng, kind):
    X, y = rng.normal(size=(64, 4)), rng.integers(0, 3, 64)
    spec = {"columns": (None, "columns"), "both": ("rows", "columns"), "replicated": (None,), "explicit": ()}[kind]
    placed = by_rows(*spec, explicit=kind == "explicit")
    assert (row_sharding(jax.device_put(X, placed)) is not None) == (kind == "explicit")
    model = nb.NaiveBayes(nb.Normal())
    labels = jax.device_put(y, NamedSharding(placed.mesh, PartitionSpec("rows")))
    found, expected = nb.fit_posterior(model, jax.device_put(X, placed), labels), nb.fit_posterior(model, X, y)
    assert_equal(found.model, expected.model)
    assert_allclose(found.predict_proba(jax.device_put(X, placed)), expected.predict_proba(X), rtol=1e-9)


def answers(model, X, y, weight):
    """All fits of some rows, with their predictions."""
    point, joint = nb.fit_mle(model, X, y, sample_weight=weight), nb.fit_map(model, X, y)
    exact, soft = nb.fit_posterior(model, X, y, sample_weight=weight), nb.fit_posterior(model, X, jax.nn.one_hot(y, 3))
    left_out = nb.leave_one_out(model, X, y, sample_weight=weight)
    of_rows = [point.predict_proba(X), joint.log_joint(X), exact.log_density(X), exact.predict(X), soft.log_joint(X)]
    return [left_out, *of_rows], [point.params, exact.model, exact.statistics, exact.log_evidence]


OTHERS = [name for name in cases.NAMES if name != "ragged"]


@on_a_mesh
@pytest.mark.parametrize(
    ("name", "inside"),
    [
        *(("ragged", inside) for inside in ("jit", "set_mesh", "jit and set_mesh")),
        *(pytest.param(*one.values, "jit", marks=one.marks) for one in cases.by_default(OTHERS, slow=("mixed",))),
    ],
)
def test_mesh_with_explicit_axes(name, inside):
    """JAX's default kind of mesh: rows stay on their devices, and so do answers about rows."""
    case = cases.make(name)
    weight = np.arange(len(case.y)) % 3 / 2 + 0.5
    model = nb.NaiveBayes(case.model.families["x"] if case.model.single else case.model.families, num_classes=3)
    expected = answers(model, case.X, case.y, weight)
    placed = by_rows(explicit=True)
    rows = jax.device_put((case.X, case.y, weight), placed)
    with jax.set_mesh(placed.mesh) if "set_mesh" in inside else nullcontext():
        found = (jax.jit(answers) if "jit" in inside else answers)(model, *rows)
        assert all(jax.typeof(table).sharding.spec[0] == "rows" for table in found[0])
        found[0][0] + rows[2][:, None]  # the kind of arrays that the caller has
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def by_shards(function):
    """The function inside of ``shard_map``, on four devices or on one, which has the types of four."""
    mesh = Mesh(jax.devices()[: min(jax.device_count(), 4)], ("rows",))
    return jax.shard_map(function, mesh=mesh, in_specs=PartitionSpec("rows"), out_specs=PartitionSpec("rows"))


def every_prediction(fit, X):
    return fit.log_joint(X), fit.predict_proba(X), fit.predict(X), fit.log_density(X)


def fits_of(name):
    """Fits, of which the last has learned most, with their rows as JAX's floats, and labels."""
    if name == "default":
        fits, X, y = [stacked.stacked("categories")], stacked.rows_of("categories"), stacked.Y
    elif name in ("average", "best", "aode"):
        X, y = histograms.X, histograms.Y
        fits = [nb.fit_forests(histograms.MODEL, X, y, structure=name)]
    else:
        model, X, y = cases.make(name)
        post = nb.fit_posterior(model, X, y)
        fits = [nb.fit_mle(model, X, y), nb.fit_map(model, X, y), post, nb.temper(post, X, y)]
    rows = len(y) // 4 * 4
    return fits, jax.tree.map(lambda x: jnp.asarray(x[:rows], float), X), jnp.asarray(y[:rows])


@pytest.mark.parametrize(
    "name", cases.by_default([*cases.NAMES, "default", "average", "best", "aode"], "ragged", "covariance", "aode")
)
def test_mesh_inside_shard_map_predicts(name):
    """What fails there fails when it is traced."""
    fits, X, _ = fits_of(name)
    for fit in fits:
        jax.eval_shape(by_shards(partial(every_prediction, fit)), X)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed", "histogram", "default", "average"])
def test_mesh_inside_shard_map_predicts_the_same(name):
    (*_, fit), X, _ = fits_of(name)
    found = jax.jit(by_shards(partial(every_prediction, fit)))(X)
    for one, expected in zip(found, every_prediction(fit, X), strict=True):
        assert_allclose(one, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "normal"))
def test_mesh_inside_shard_map_learns_and_asks(name):
    """Each device learns from the rows that it has; sets of decisions and draws are those of one fit."""
    (*_, post, _), X, y = fits_of(name)

    def of_own_rows(X, y):
        own = nb.temper(nb.fit_posterior(post.model, X, y), X, y)
        return nb.leave_one_out(post.model, X, y), every_prediction(own, X)

    jax.eval_shape(by_shards(of_own_rows), X, y)
    key = jax.random.key(0)
    jax.eval_shape(by_shards(lambda X: post.predict_interval(X, key=key, num_draws=20)), X)
    if name in ("bernoulli", "categorical", "ragged", "histogram"):
        ask = lambda X: (nb.robustness(post, X).s_star, nb.decide_set(post, X).sets, post.predict_bounds(X))  # noqa: E731
        jax.eval_shape(by_shards(ask), X)


@on_a_mesh
def test_mesh_of_bad_rows_is_refused(rng):
    X, y = (rng.random((64, 4)) < 0.5).astype(float), rng.integers(0, 3, 64)
    bad = X.copy()
    bad[50, 2] = 3
    bad, X, y = jax.device_put((bad, X, y), by_rows())
    with pytest.raises(ValueError, match=r"column 2: a Bernoulli cell is 0, 1 or NaN \(missing\), got 3"):
        nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), bad, y)
    with pytest.raises(ValueError, match=r"y holds 2, expected integers 0\.\.1"):
        nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), num_classes=2), X, y)


@pytest.mark.parametrize("size", cases.by_default([1, 2, 5], 5))
def test_parts_are_merged_two_by_two(rng, size):
    case, order = cases.make("normal"), rng.permutation(24)
    rows = [order[part::size] for part in range(size)]
    parts = [nb.sufficient_statistics(case.model, case.rows(part), case.y[part]) for part in rows]
    with jax.enable_x64(True):
        found = merge_pairs(jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts))
        assert_equal(found, nb.sufficient_statistics(case.model, case.X, case.y))


@pytest.mark.parametrize(  # two_processes_are_one shards rows by default
    "lane",
    [
        pytest.param("not slow and not fuzz", marks=pytest.mark.slow),
        pytest.param("slow", marks=pytest.mark.slow),
        pytest.param("fuzz", marks=pytest.mark.fuzz),
    ],
)
def test_on_four_devices(lane):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    environment |= {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_ENABLE_X64": "1"}
    environment |= {"JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # most of the time is compilation
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-k", "mesh", "-m", lane, __file__, MERGING]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"^\d+ passed", ran.stdout, re.M), ran.stdout
    assert "skipped" not in ran.stdout, ran.stdout


@pytest.fixture
def distributed(example, monkeypatch):
    """The example, whose processes find this package."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    return example("distributed")


@pytest.mark.slow
def test_two_processes_are_one(distributed, capfd):
    command = [sys.executable, str(distributed.this_file()), "--rows", "500", "--processes", "2"]
    distributed.launch(command, 2, seconds=120)
    assert "2 processes with 500 rows each have the posterior of a single fit" in capfd.readouterr().out


@pytest.mark.slow
def test_two_processes_weigh_and_refuse_alike(distributed):
    distributed.launch([sys.executable, "-m", "tests.core.rows.test_distributed"], 2, seconds=120)


@pytest.mark.parametrize(
    ("does", "seconds", "sentence"),
    [("import time; time.sleep(60)", 0.2, "did not end within 0.2 seconds"), ("exit(3)", 60, "a process failed")],
)
def test_no_process_is_left_behind(distributed, monkeypatch, does, seconds, sentence):
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    with pytest.raises(SystemExit, match=sentence):
        distributed.launch([sys.executable, "-c", does], 2, seconds)
    assert len(started) == 2
    assert all(child.poll() is not None for child in started)


def worker(port: int, process: int) -> None:
    """One of two processes: weights, soft labels, and rows that all processes must refuse with one sentence."""
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", 2, process)
    placed = NamedSharding(Mesh(jax.devices(), ("rows",)), PartitionSpec("rows"))
    rng = np.random.default_rng(0)
    X, y, weight = (rng.random((40, 3)) < 0.5).astype(float), rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    soft, model = rng.dirichlet(np.ones(3), 40), nb.NaiveBayes(nb.Bernoulli())

    def spread(x):
        return jax.make_array_from_process_local_data(placed, np.split(x, 2)[process])

    def refused(sentence, X=X, y=y, weight=weight):
        with pytest.raises(ValueError, match=sentence):
            nb.fit_posterior(model, spread(X), spread(y), sample_weight=spread(weight))

    for labels in (y, soft):
        found = nb.fit_posterior(model, spread(X), spread(labels), sample_weight=spread(weight))
        expected = nb.fit_posterior(model, X, labels, sample_weight=weight)
        assert_equal(found.model, expected.model)
        assert_allclose(found.predict_proba(X), expected.predict_proba(X))
    # each of these is in the rows of one process
    ones, last = np.ones(40, int), np.arange(40) == 39
    refused(r"column 0: a Bernoulli cell is 0, 1 or NaN \(missing\), got 3", np.where(last[:, None], 3.0, X), y, ones)
    refused("y holds -1", X, np.where(last, -1, y), ones)
    refused("non-negative with sum 1 in each row, got .* in row 39", X, np.where(last[:, None], 1.0, soft), ones)
    refused(r"not negative and at most 1e\+30, got -1", X, y, np.where(last, -1, 1))


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int)
    options.add_argument("--process", type=int)
    chosen = options.parse_args()
    worker(chosen.port, chosen.process)
