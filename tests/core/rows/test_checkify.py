"""Values inside a transformation: unchecked, and free, unless the user's function goes through ``checkify``."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays._placement import pytree
from bayesnb.compute.jaxpr_numpy import evaluate
from bayesnb.core.rows import _checks as checks
from bayesnb.core.rows import _labelled_rows as labelled_rows
from tests import cases

MODEL = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
X = np.array([[0.0, 1.0], [1.0, 0.0], [np.nan, 1.0], [1.0, 1.0]])
BAD = np.where(np.arange(8).reshape(4, 2) == 3, 2.0, X)
Y, SOFT = np.array([0, 1, 1, 0]), np.array([[0.5, 0.5], [1, 0], [0, 1], [0.1, 0.9]])
CELL = r"block 'x', column 1: a Bernoulli cell is 0, 1 or NaN \(missing\), got 2"


def error_of(function, *args):
    """What ``checkify`` says of a compiled function, which without it says nothing."""
    compiled = jax.jit(function)
    args = jax.tree.map(jnp.asarray, args)
    jax.block_until_ready(compiled(*args))
    return checkify.checkify(compiled)(*args)[0].get()


def count(X, y, weight=None, model=MODEL):
    return nb.sufficient_statistics(model, X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((BAD, Y), CELL),
        ((X, np.array([0, 2, 1, 0])), r"y holds 2, expected integers 0\.\.1 for 2 classes"),
        ((X, np.array([0, 1, -1, 0])), r"y holds -1, expected integers 0\.\.1 for 2 classes"),
        ((X, SOFT * 2), r"non-negative with sum 1 in each row, got \[1\. *1\.\] in row 0"),
        ((X, Y, np.array([1.0, -1, 1, 1])), "sample_weight must be finite, not negative and at most .* got -1"),
        ((X, Y, np.array([1.0, 1, np.inf, 1])), "sample_weight must be finite, not negative and at most .* got inf"),
        ((BAD, np.array([0, 9, 1, 0]), np.array([1.0, 0, 1, 1])), None),  # a row of weight zero may hold anything
        ((X, SOFT), None),
        ((X[:0], Y[:0]), None),
        ((X[:, :0], Y), None),
    ],
)
def test_rows_that_do_not_fit_are_errors_of_checkify(args, says):
    found = error_of(count, *args)
    assert found is None if says is None else re.search(says, found), found


@pytest.mark.parametrize("fit", cases.by_default([nb.fit_mle, nb.fit_map, nb.fit_posterior], nb.fit_mle))
def test_every_fit_is_checked(fit):
    assert re.search(CELL, error_of(lambda X, y: jax.tree.leaves(fit(MODEL, X, y)), BAD, Y))


METHODS = ["predict", "predict_proba", "predict_log_proba", "log_joint", "log_density"]


@pytest.mark.parametrize("method", cases.by_default(METHODS, "predict_proba"))
def test_predictions_are_checked(method):
    for fit in (nb.fit_posterior(MODEL, X, Y), nb.fit_map(MODEL, jnp.asarray(X), Y)):
        assert re.search(CELL, error_of(getattr(fit, method), BAD))
        assert error_of(getattr(fit, method), X) is None


@pytest.mark.parametrize(
    ("family", "cells", "says"),
    [
        (nb.Normal(), np.where(X == 0, np.inf, X), "column 0: a Normal cell is a finite number below"),
        (nb.Categorical(3), X + 0.5, "column 0: a Categorical cell is a whole code"),
        (nb.Categorical(3), X - 5, None),  # undeclared codes are missing
        (nb.Binomial(None), (X + 1, X), "column 0: a Binomial cell is a whole number of successes .* got 1.0 of 0.0"),
        (nb.Poisson(), np.array([[1, 2]] * 3 + [[0, -4]]), "column 1: a Poisson cell is a count 0, 1, 2, .* got -4"),
        (nb.Multinomial(), X, "a row with NaN beside counts has an unknown total"),
        (nb.MultivariateNormal(), X, "a covariance has no closed form from rows with some cells missing"),
    ],
)
def test_cells_of_every_kind_are_checked(family, cells, says):
    found = error_of(partial(count, model=nb.NaiveBayes(family, num_classes=2)), cells, Y)
    assert found is None if says is None else re.search(f"block 'x'.*{says}", found), found


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES))
def test_good_rows_pass(name):
    case = cases.make(name)
    assert error_of(partial(count, model=case.model), jax.tree.map(lambda x: x.astype(float), case.X), case.y) is None


@pytest.mark.slow
def test_inside_other_transformations():
    fit = nb.fit_posterior(MODEL, X, Y)
    total = lambda X: fit.log_density(X).sum()  # noqa: E731
    row = lambda row: fit.predict_proba(row[None])[0]  # noqa: E731
    for function in (
        jax.grad(total),
        jax.hessian(total),
        jax.grad(jax.checkpoint(total)),
        jax.vmap(row),
        lambda X: jax.lax.scan(lambda carry, one: (carry, row(one)), 0, X)[1],
        lambda X: jax.lax.fori_loop(0, 2, lambda _, value: value + total(X), 0.0),
        lambda X: jax.vmap(lambda w: jax.grad(lambda w: count(X, Y, w).class_counts[0])(w))(jnp.ones((2, 4))),
    ):
        assert re.search("block 'x', column 1: a Bernoulli cell is 0, 1", error_of(function, BAD))
        assert error_of(function, X) is None


def test_what_is_compiled_has_no_trace_of_it(monkeypatch):
    """Without ``checkify`` the program is the same to the last character, so calls take no longer either."""
    fit = nb.fit_posterior(MODEL, X, Y)

    def compiled():
        return [
            jax.jit(lambda *args, f=f: f(*args)).lower(*map(jnp.asarray, args)).as_text()
            for f, args in ((fit.predict_proba, (X,)), (count, (X, Y, np.ones(4))), (count, (X, SOFT)))
        ]

    before = compiled()
    traced = str(jax.make_jaxpr(fit.predict_proba)(jnp.asarray(X)))
    for module in (checks, labelled_rows):
        monkeypatch.setattr(module, "checked", lambda check, x, *_: x if isinstance(x, jax.core.Tracer) else check(x))
    assert compiled() == before
    assert "checked" in traced
    assert "checked" not in str(jax.make_jaxpr(fit.predict_proba)(jnp.asarray(X)))
    assert not jax.make_jaxpr(fit.predict_proba)(jnp.asarray(X)).effects


def test_numpy_passes_over_checks():
    """A trace that numpy evaluates, as those of fits of numpy arrays are, may contain them."""
    fit = nb.fit_posterior(MODEL, X, Y)
    assert_allclose(evaluate(_probabilities, jnp.asarray(X)), fit.predict_proba(X), rtol=1e-6)


def _probabilities(X):
    return nb.fit_posterior(MODEL, X, jnp.asarray(Y)).predict_proba(X)


def test_a_family_whose_check_needs_values_is_left_alone():
    """Of families from outside, ``check`` may be plain Python."""

    @pytree
    class Strict(nb.Bernoulli):
        def check(self, x, block):
            if (np.asarray(x) > 1).any():
                raise ValueError(f"{block} is too large")

    model = nb.NaiveBayes(Strict(), num_classes=2)
    assert error_of(partial(count, model=model), BAD, Y) is None
    with pytest.raises(ValueError, match="x is too large"):
        count(BAD, Y, model=model)
