"""Statistics that name their classes merge by name, with no rows where a class is absent."""

from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from tests import cases
from tests.laws import equal

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
