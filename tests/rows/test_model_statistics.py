"""Statistics of parts: merged one by one, by ``+``, along an axis of arrays or of a transformation, and in a scan."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import cases
from tests.laws import equal

MODEL = nb.NaiveBayes(nb.Normal(), num_classes=2)
FLAGS = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)


def split(tree, parts=4):
    """JAX arrays of floats whose rows are in so many parts, [R, N / R, ...]."""
    return jax.tree.map(lambda x: jnp.asarray(x, float).reshape(parts, -1, *x.shape[1:]), tree)


def assert_close(found, whole):
    """The same to the precision of the device, relative to the largest number of each array."""
    precise = 1e-9 if jnp.result_type(float) == np.float64 else 2e-5
    assert jax.tree.structure(found) == jax.tree.structure(whole)
    for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(whole), strict=True):
        scale = np.abs(np.where(np.isfinite(b), b, 0)).max(initial=1)
        assert_allclose(a, b, rtol=precise, atol=precise * scale, err_msg=jax.tree_util.keystr(path))


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "mixed"))
def test_parts_along_a_mapped_axis_are_the_whole(name):
    """As one statistic on every part, stacked by ``vmap`` and merged, and in a scan that forgets."""
    case = cases.make(name)
    X, y, count = split(case.X), jnp.asarray(case.y).reshape(4, -1), partial(nb.sufficient_statistics, case.model)
    whole = nb.sufficient_statistics(case.model, case.X, case.y)

    @jax.jit
    def everything(X, y):
        along = jax.vmap(partial(count, axis_name="rows"), axis_name="rows", out_axes=None)(X, y)
        first, others = jax.tree.map(lambda a: a[0], (X, y)), jax.tree.map(lambda a: a[1:], (X, y))
        step = lambda carry, rows: (nb.merge(nb.discount(carry, 0.5), count(*rows)), None)  # noqa: E731
        return along, nb.merge(jax.vmap(count)(X, y), axis=0), jax.lax.scan(step, count(*first), others)[0]

    along, stacked, scanned = everything(X, y)
    assert_close(along, whole)
    assert_close(stacked, whole)
    parts = [count(case.rows(rows), case.y[rows]) for rows in np.split(np.arange(24), 4)]
    assert_close(scanned, sum((nb.discount(part, 0.5 ** (3 - age)) for age, part in enumerate(parts)), 0))


@pytest.mark.parametrize("transform", ["shard_map", "pmap"])
def test_mesh_of_parts_is_the_whole(transform):
    """Of one device here, and of four in ``test_distributed``."""
    case = cases.make("normal")
    count = partial(nb.sufficient_statistics, case.model, axis_name="rows")
    size = min(jax.device_count(), 4)
    if transform == "pmap":
        rows = split(case.X, size), case.y.reshape(size, -1)
        found = jax.tree.map(lambda a: a[-1], jax.pmap(count, axis_name="rows")(*rows))
    else:
        mesh = jax.sharding.Mesh(jax.devices()[:size], ("rows",))
        rows = PartitionSpec("rows")
        mapped = jax.shard_map(count, mesh=mesh, in_specs=rows, out_specs=PartitionSpec())
        found = jax.jit(mapped)(jnp.asarray(case.X, float), jnp.asarray(case.y))
    assert_close(found, nb.sufficient_statistics(case.model, case.X, case.y))


def test_plus_and_sum_are_merge(rng):
    """Of any split, in any order; bit for bit, as both add from the left."""
    case = cases.make("mixed")
    parts = [
        nb.sufficient_statistics(case.model, case.rows(rows), case.y[rows], num_classes=3)
        for rows in np.array_split(rng.permutation(24), 5)
    ]
    whole = nb.sufficient_statistics(case.model, case.X, case.y)
    one = nb.merge(*parts)
    for other in (sum(parts), parts[0] + parts[1] + parts[2] + parts[3] + parts[4]):
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            assert_array_equal(a, b)
    for merged in (one, sum(parts[::-1]), nb.merge(jax.tree.map(lambda *leaves: np.stack(leaves, 1), *parts), axis=1)):
        assert isinstance(merged.class_counts, np.ndarray)
        equal(merged, whole, rtol=1e-9)
    assert nb.merge(parts[0]) is parts[0]
    for wrong in (1, None, 0.0):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong + parts[0]


def test_means_are_merged_not_added(rng):
    """Far from zero in single precision: merged squares are right, where summed leaves are not even near."""
    X, y = rng.normal(1e4, 1.0, (8, 500, 1)).astype(np.float32), rng.integers(0, 2, (8, 500))
    count = partial(nb.sufficient_statistics, MODEL)
    whole = count(X.reshape(-1, 1), y.reshape(-1)).blocks["x"]
    along = jax.jit(jax.vmap(partial(count, axis_name="rows"), axis_name="rows", out_axes=None))(X, y).blocks["x"]
    each = jax.jit(jax.vmap(count))(X, y)
    for found in (along, nb.merge(each, axis=0).blocks["x"]):
        assert_array_equal(found.count, whole.count)
        assert_allclose(found.mean, whole.mean, rtol=3e-7)
        assert_allclose(found.squares, whole.squares, rtol=1e-3)
    added = jax.tree.map(lambda a: a.sum(axis=0), each).blocks["x"]
    assert (abs(added.mean - whole.mean) > 5e4).all()


def test_a_scan_counts_exactly_unless_it_forgets():
    """Whole numbers past 2^24, where single precision stops counting; discounted, floats from the start."""
    X, y = jnp.ones((3, 1)), jnp.zeros(3, int)
    rows = (jnp.stack([X] * 5), jnp.stack([y] * 5))
    start = nb.sufficient_statistics(FLAGS, X, y)
    many = jax.tree.map(lambda a: a * 6_000_000, start)  # 18 million rows
    exact = jax.lax.scan(lambda s, one: (nb.merge(s, nb.sufficient_statistics(FLAGS, *one)), None), many, rows)[0]
    assert exact.class_counts.tolist() == [18_000_015, 0]
    assert exact.class_counts.dtype == many.class_counts.dtype

    def forget(s, one):
        return nb.sufficient_statistics(FLAGS, *one) + nb.discount(s, 0.5), None

    for begin in (start, jax.jit(lambda: nb.sufficient_statistics(FLAGS, X, y))(), nb.merge(start), start + start):
        faded = jax.lax.scan(forget, begin, rows)[0]
        assert_allclose(faded.class_counts[0], begin.class_counts[0] / 32 + 3 * (2 - 1 / 16), rtol=1e-6)
    large = nb.sufficient_statistics(FLAGS, jnp.ones((600, 1)), jnp.zeros(600, int))
    assert_allclose(jax.lax.scan(forget, large, rows)[0].class_counts[0], 600 / 32 + 3 * (2 - 1 / 16), rtol=1e-6)
    stacked = jax.lax.scan(lambda _, one: (None, nb.sufficient_statistics(FLAGS, *one)), None, rows)[1]
    jax.lax.scan(forget, nb.merge(stacked, axis=0), rows)


@pytest.mark.parametrize("family", [nb.Histogram(), nb.Views(nb.Normal(), nb.Histogram())])
def test_edges_of_parts_must_be_given(family, rng):
    X, y = jnp.asarray(rng.normal(size=(2, 20, 1))), jnp.asarray(rng.integers(0, 2, (2, 20)))
    model = nb.NaiveBayes(family, num_classes=2)

    def along(model):
        count = partial(nb.sufficient_statistics, model, axis_name="rows")
        return jax.jit(jax.vmap(count, axis_name="rows", out_axes=None))(X, y)

    with pytest.raises(ValueError, match=r"finds its edges from known rows, .* give edges"):
        along(model)
    whole = np.asarray(X).reshape(-1, 1), np.asarray(y).reshape(-1)
    resolved = model.resolve(*whole)
    assert_close(along(resolved).blocks["x"].counts, nb.sufficient_statistics(resolved, *whole).blocks["x"].counts)
    apart = [nb.sufficient_statistics(model, *(np.asarray(part) for part in rows)) for rows in zip(X, y, strict=True)]
    with pytest.raises(ValueError, match=r"can be merged only if their (edges|cells) are the same"):
        nb.merge(jax.tree.map(lambda *leaves: np.stack(leaves), *apart), axis=0)


def test_what_cannot_be_merged_is_said():
    one = nb.sufficient_statistics(FLAGS, [[1], [0]], [0, 1])
    stacked = jax.tree.map(lambda a: np.stack([a, a]), one)
    nothing = jax.tree.map(lambda a: a[:0], stacked)
    for call, says in [
        (lambda: nb.merge(), "one part or more, got none"),
        (lambda: nb.merge(nothing, axis=0), "one part or more, got none"),
        (lambda: jax.jit(partial(nb.merge, axis=0))(nothing), "one part or more, got none"),
        (lambda: nb.merge([one, one]), "merge takes statistics, such as fit.statistics, got list"),
        (lambda: nb.merge(stacked), r"stacked, \[R, K\], got the shape \(2, 2\) with axis=None"),
        (lambda: nb.merge(one, axis=0), r"got the shape \(2,\) with axis=0"),
        (lambda: nb.sufficient_statistics(FLAGS, [[1]], [0], axis_name="rows"), "axis_name='rows' names no axis here"),
    ]:
        with pytest.raises(ValueError, match=says):
            call()
    once = jax.tree.map(lambda a: a[:1], stacked)
    equal(nb.merge(stacked, once, axis=0), sum([one] * 3), rtol=0)


def test_names_of_classes_go_with_the_parts():
    days = [nb.sufficient_statistics(nb.NaiveBayes(nb.Bernoulli()), [[1]], [0], classes=[name]) for name in "bca"]
    assert sum(days).classes == nb.merge(*days).classes == ("a", "b", "c")
    X, y = jnp.ones((2, 3, 1)), jnp.zeros((2, 3), int)
    count = partial(nb.sufficient_statistics, FLAGS, classes=["no", "yes"], axis_name="rows")
    assert jax.vmap(count, axis_name="rows", out_axes=None)(X, y).classes == ("no", "yes")
