"""Statistics of parts: merged, added, scanned, pickled, reduced by Dask, and by names of classes."""

from functools import partial, reduce

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
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


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES, "normal"))
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "family", [pytest.param(nb.Histogram(), marks=pytest.mark.slow), nb.Views(nb.Normal(), nb.Histogram())]
)
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
    with pytest.raises(ValueError, match=r"can be merged only if their (edges|bins) are the same"):
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


@pytest.mark.slow
def test_names_of_classes_go_with_the_parts():
    days = [nb.sufficient_statistics(nb.NaiveBayes(nb.Bernoulli()), [[1]], [0], classes=[name]) for name in "bca"]
    assert sum(days).classes == nb.merge(*days).classes == ("a", "b", "c")
    X, y = jnp.ones((2, 3, 1)), jnp.zeros((2, 3), int)
    count = partial(nb.sufficient_statistics, FLAGS, classes=["no", "yes"], axis_name="rows")
    assert jax.vmap(count, axis_name="rows", out_axes=None)(X, y).classes == ("no", "yes")


# statistics of blocks, merged in any order: pickles that travel between processes, and Dask as the one who reduces


def assert_same(found, expected):
    """One structure, and leaf by leaf the same bits, type and kind of array."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert type(a) is type(b)
        assert_array_equal(a, b, strict=not np.isscalar(a))


@pytest.mark.parametrize(
    ("by", "convert"),
    [
        ("pickle", np.asarray),
        pytest.param("cloudpickle", np.asarray, marks=pytest.mark.slow),
        pytest.param("pickle", jnp.asarray, marks=pytest.mark.slow),
        pytest.param("cloudpickle", jnp.asarray, marks=pytest.mark.slow),
    ],
)
def test_models_statistics_and_fits_travel(by, convert):
    """Every family, resolved and not; what comes back fits and predicts as what went."""
    by = pytest.importorskip(by, reason="cloudpickle comes with Dask, which is not installed")
    case = cases.make("mixed")
    X, y = jax.tree.map(convert, (case.X, case.y))
    statistics = nb.sufficient_statistics(case.model, X, y)
    prior = case.model.resolve(statistics=statistics)
    mle = nb.PointEstimate(prior, jax.tree.map(convert, prior.reference()))
    for one in (case.model, statistics, nb.fit_posterior(prior, statistics=statistics), mle):
        assert_same(by.loads(by.dumps(one)), one)


def blocks_of(case, parts):
    """A list of (X, y), as workers would read them."""
    return [(case.rows(rows), case.y[rows]) for rows in np.array_split(np.arange(len(case.y)), parts)]


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_dask_maps_and_merges(scheduler):
    dask_bag = pytest.importorskip("dask.bag", reason="Dask is not installed")
    case = cases.make("normal")
    blocks = dask_bag.from_sequence(blocks_of(case, 6), npartitions=3)
    statistics = blocks.starmap(lambda X, y: nb.sufficient_statistics(case.model, X, y))
    whole = statistics.fold(nb.merge, split_every=2).compute(scheduler=scheduler)
    equal(
        nb.fit_posterior(case.model, statistics=whole).model, nb.fit_posterior(case.model, case.X, case.y).model, 1e-9
    )


# statistics that name their classes merge by name, with no rows where a class is absent


NAMES = np.array(["bee", "ant", "cat"])
NORMAL = nb.NaiveBayes(nb.Normal())


def of_any_class(family):
    """The family without hyperparameters by class, which fix K; statistics do not depend on them."""
    values = {name: (getattr(family, name), letters) for name, letters in family.axes}
    of_all = {n: v[:1] for n, (v, letters) in values.items() if letters[0] == "K" and np.ndim(v) == len(letters)}
    return family._replace(**of_all)


def count(case, rows):
    """The statistics of some rows, with the codes and names of the classes among them."""
    names, codes = np.unique(NAMES[case.y[rows]], return_inverse=True)
    families = {name: of_any_class(family) for name, family in case.model.families.items()}
    model = nb.NaiveBayes(families["x"] if case.model.single else families)
    return nb.sufficient_statistics(model, case.rows(rows), codes, classes=names)


@pytest.mark.parametrize("name", cases.NAMES)
def test_every_family_in_any_order_and_any_split(name, rng):
    case = cases.make(name)
    whole, by_class = count(case, np.arange(cases.N)), np.argsort(case.y, kind="stable")[::-1]
    for order, ends in [(by_class, [8, 11]), (rng.permutation(cases.N), [1, 2])]:
        parts = [count(case, rows) for rows in np.split(order, ends)]
        for some in (parts, parts[::-1]):
            equal(reduce(nb.merge, some), whole, rtol=1e-9, atol=1e-9)
        left = nb.subtract(whole, parts[0])
        equal(left.named(None), reduce(nb.merge, [*parts[1:], nb.discount(whole, 0.0)]).named(None), 1e-6, 1e-6)


def table(labels):
    return pa.table({"x": np.arange(float(len(labels))), "y": labels})


def test_streams_name_the_labels_that_they_found(tmp_path):
    streams = [nb.stream(NORMAL, table(labels), label="y") for labels in (["b", "a", "b"], ["c", "a", "c", "d"])]
    assert [one.classes for one in streams] == [("a", "b"), ("a", "c", "d")]
    whole = nb.merge(*streams)
    assert_array_equal(whole.class_counts, [2.0, 2.0, 2.0, 1.0])
    fit = nb.fit_posterior(NORMAL, statistics=whole)
    nb.save(fit, tmp_path / "fit")
    assert nb.load(tmp_path / "fit").statistics.classes == (*"abcd",)
    # whole numbers are their own names, and K must then be the same
    numbers = [nb.stream(NORMAL, table(labels), label="y", progress_bar=False) for labels in ([0, 1], [0, 1, 2])]
    with pytest.raises(ValueError, match="name the classes of each part"):
        nb.merge(*numbers)


@pytest.mark.slow
def test_on_a_device_and_forests():
    X, codes = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12) % 2
    of = [nb.sufficient_statistics(NORMAL, jnp.asarray(X), codes, classes=names) for names in (["a", "b"], ["b", "c"])]
    for merged in (nb.merge(*of), jax.jit(nb.merge)(*of)):
        assert_array_equal(merged.class_counts, [6, 12, 6])
    pairs = [nb.fit_forests(NORMAL, X, codes).statistics.named(names) for names in (["a", "b"], ["b", "c"])]
    merged = nb.merge(*pairs)
    assert merged.pairs.reals.count.shape == (3, 2, 2)
    assert nb.fit_forests(NORMAL, statistics=merged).statistics.classes == ("a", "b", "c")


ONE = nb.sufficient_statistics(NORMAL, [[1.0], [2.0]], [0, 1], classes=["a", "b"])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: nb.merge(ONE, ONE.named(None)), "both name their classes or neither does, and one names 'a', 'b'"),
        (lambda: nb.merge(ONE, ONE.named([1, 2])), "all text or all numbers, got '"),
        (lambda: nb.subtract(ONE, ONE.named(["a", "z"])), "cannot have been counted"),
        (lambda: ONE.named(["a"]), "classes must have 2 labels"),
        (lambda: ONE.named(["a", "a"]), "a list of different labels"),
        (lambda: ONE.named([1.0, np.nan]), "a list of different labels"),
        (lambda: ONE.named([[1], [2]]), r"each text or a number, got \[1\] among them"),
        (lambda: ONE.named([None, 1]), "each text or a number, got None among them"),
        (lambda: ONE.named([b"a", 1]), "all text or all numbers, got 1 and b'a'"),
        (lambda: nb.sufficient_statistics(NORMAL, [[1.0]], [2], classes=["a", "b"]), "y holds 2"),
    ],
)
def test_names_that_do_not_fit_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
