"""What must hold of every answer: two ways to the same numbers, or numbers that are ones at all."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
from numpy.testing import assert_allclose, assert_array_equal
from numpyro.infer.util import log_density

import bayesnb as nb
from bayesnb.inspection._compare_evidence import density_share
from bayesnb.learned.forests._layout import has_categories
from tests.fuzz.data import Problem
from tests.fuzz.forms import SINGLE, forms, label_forms
from tests.fuzz.sentences import Refused, answer

FITS = (nb.fit_posterior, nb.fit_map, nb.fit_mle)
ROWS_ON_A_DEVICE = (8, 4, 1, 0)
"""Each number of rows is compiled anew."""


def fit(problem: Problem, how: Callable[..., Any] = nb.fit_posterior) -> Any:
    return how(problem.model, problem.X, problem.y, sample_weight=problem.weight)


def same(one: Any, other: Any, rtol: float = 1e-7) -> None:
    """Log densities that are the same to rounding."""
    assert_allclose(one, other, rtol=rtol, atol=rtol)


def sane(fitted: Any, X: Any, num_rows: int, num_classes: int) -> None:
    """Probabilities that are ones, log densities that are numbers or -inf, and the class that they name."""
    proba, log_joint = fitted.predict_proba(X), fitted.log_joint(X)
    assert proba.shape == log_joint.shape == (num_rows, num_classes)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
    assert (proba >= 0).all()
    assert (log_joint < np.inf).all(), log_joint
    assert_allclose(np.exp(fitted.predict_log_proba(X)), proba, rtol=1e-6, atol=1e-12)
    chosen = fitted.predict(X)
    assert_allclose(proba[np.arange(num_rows), chosen], proba.max(axis=1, initial=0.0), rtol=1e-6)
    assert_allclose(fitted.log_density(X), np.logaddexp.reduce(log_joint, axis=1), rtol=1e-6, atol=1e-9)


def adds_up(fitted: nb.Posterior) -> None:
    """The evidence is a number and the sum of its table."""
    table = fitted.evidence_table()
    assert np.isfinite(fitted.log_evidence), fitted.log_evidence
    parts = sum(float(np.sum(part)) for part in (table.labels, *table.features.values()))
    assert_allclose(parts, fitted.log_evidence, rtol=1e-9, atol=1e-9)


def answers_are_sane(problem: Problem) -> None:
    """Every fit predicts, or says in a sentence why not."""
    for how in FITS:
        try:
            fitted = answer(lambda how=how: fit(problem, how))
            answer(lambda fitted=fitted: sane(fitted, problem.X, problem.num_rows, problem.size.num_classes))
        except Refused:
            if problem.tame and how is not nb.fit_mle:  # a likelihood may have no maximum
                raise
            continue
        if how is nb.fit_posterior:
            adds_up(fitted)


def weights_are_repetitions(problem: Problem) -> None:
    """Whole weights are repeated rows, and a row of weight zero is none, whatever it holds."""
    whole = np.arange(problem.num_rows) % 3
    repeated = problem.taking(np.repeat(np.arange(problem.num_rows), whole))._replace(weight=None)
    weighted = problem._replace(weight=whole.astype(float))
    one, other = fit(weighted), fit(repeated)
    same(one.log_joint(problem.X), other.log_joint(problem.X))
    same(one.log_evidence, other.log_evidence)


def parts_make_the_whole(problem: Problem) -> None:
    """Statistics of parts, of any number and in any order, merge to those of all rows, also by ``+`` and stacked."""
    rng = np.random.default_rng(problem.num_rows)
    cuts = np.sort(rng.integers(0, problem.num_rows + 1, rng.integers(0, 5)))
    parts = [_count(problem.taking(part)) for part in np.split(rng.permutation(problem.num_rows), cuts)]
    merged = nb.merge(*parts)
    for one, other in zip(jax.tree.leaves(merged), jax.tree.leaves(sum(parts)), strict=True):
        assert_array_equal(one, other)
    whole, stacked = fit(problem), jax.tree.map(lambda *leaves: np.stack(leaves), *parts)
    for statistics in (merged, sum(parts[::-1]), nb.merge(stacked, axis=0)):
        again = nb.fit_posterior(problem.model, statistics=statistics)
        same(again.log_joint(problem.X), whole.log_joint(problem.X))
        same(again.log_evidence, whole.log_evidence)


def parts_along_an_axis_make_the_whole(problem: Problem) -> None:
    """So they do under ``vmap``, and in a scan that forgets; ``checkify`` finds nothing but a label that is none."""
    if problem.offset or problem.num_rows < 8:
        return  # cells that single precision cannot tell apart, and numbers of rows that are compiled anew
    parts = [problem.taking(slice(start, start + 4)) for start in (0, 4)]
    rows = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[(p.X, p.y, p.weight) for p in parts])

    def count(X: Any, y: Any, weight: Any, axis_name: str | None = None) -> Any:
        return nb.sufficient_statistics(problem.model, X, y, sample_weight=weight, axis_name=axis_name)

    @jax.jit
    def every(X: Any, y: Any, weight: Any) -> tuple[Any, Any]:
        along = jax.vmap(lambda *rows: count(*rows, axis_name="rows"), axis_name="rows", out_axes=None)(X, y, weight)
        first, others = (jax.tree.map(lambda leaf, i=i: leaf[i], (X, y, weight)) for i in (0, slice(1, None)))
        forget = lambda s, rows: (nb.merge(nb.discount(s, 0.5), count(*rows)), None)  # noqa: E731
        return along, jax.lax.scan(forget, count(*first), others)[0]

    first, second = map(_count, parts)
    error, found = checkify.checkify(every)(*rows)
    assert error.get() is None
    for statistics, expected in zip(found, (first + second, nb.discount(first, 0.5) + second), strict=True):
        for one, other in zip(jax.tree.leaves(statistics), jax.tree.leaves(expected), strict=True):
            assert_allclose(one, other, rtol=2e-4, atol=2e-4 * np.abs(other).max(initial=1.0))
    wrong = rows[1].at[1, 2].set(problem.size.num_classes)
    if problem.weight is None or problem.weight[6] > 0:
        assert "y holds" in checkify.checkify(every)(rows[0], wrong, rows[2])[0].get()


def _count(problem: Problem) -> Any:
    return nb.sufficient_statistics(problem.model, problem.X, problem.y, sample_weight=problem.weight)


def one_hot_labels_are_labels(problem: Problem) -> None:
    """Soft labels that are certain are labels."""
    if problem.size.num_classes == 1:
        return  # one column reads as labels
    soft = fit(problem._replace(y=np.eye(problem.size.num_classes)[problem.y]))
    same(soft.log_joint(problem.X), fit(problem).log_joint(problem.X))


def rows_are_predicted_alone(problem: Problem) -> None:
    """What is predicted for a row does not depend on the rows beside it."""
    for how in FITS[:2]:
        fitted = fit(problem, how)
        whole = fitted.predict_log_proba(problem.X)
        for n in range(0, problem.num_rows, 3):
            same(fitted.predict_log_proba(problem.rows(slice(n, n + 1))), whole[n : n + 1])


def a_row_left_out_is_a_refit(problem: Problem) -> None:
    """Leave-one-out is the fit without the row, under the prior of all rows."""
    weight = problem.weight
    prior = problem.model.resolve(problem.X, problem.y, sample_weight=weight)
    table = nb.leave_one_out(problem.model, problem.X, problem.y, sample_weight=weight)
    assert table.shape == (problem.num_rows, problem.size.num_classes)
    for n in range(0, problem.num_rows, 4):
        others = problem.taking(np.arange(problem.num_rows) != n)._replace(model=prior)
        same(table[n], fit(others).predict_log_proba(problem.rows(slice(n, n + 1)))[0], rtol=1e-6)


def forests_are_fits(problem: Problem) -> None:
    """Forests of any families answer, merge and leave rows out as other fits do."""
    if any(f.common_sites and not has_categories(f) for f in problem.model.families.values()):
        return
    weight = np.ones(problem.num_rows) if problem.weight is None else problem.weight
    model = problem.model.resolve(problem.X, problem.y, sample_weight=weight)
    parts = [problem.taking(part) for part in (slice(0, None, 2), slice(1, None, 2))]
    whole = nb.fit_forests(model, problem.X, problem.y, sample_weight=weight)
    sane(whole, problem.X, problem.num_rows, problem.size.num_classes)
    first, second = (nb.fit_forests(model, p.X, p.y, sample_weight=p.weight).statistics for p in parts)
    merged = replace(nb.fit_forests(model, statistics=nb.merge(first, second)), segments=whole.segments)
    same(merged.log_joint(problem.X), whole.log_joint(problem.X), rtol=1e-6)
    if not problem.num_rows or not weight.all():
        return
    table = nb.leave_one_out(whole, problem.X, problem.y, sample_weight=weight)
    others = np.arange(problem.num_rows) > 0
    rest = problem.taking(others)
    refit = nb.fit_forests(model, rest.X, rest.y, sample_weight=weight[others])
    expected = replace(refit, segments=whole.segments).predict_log_proba(problem.rows(slice(0, 1)))
    same(table[0], expected[0], rtol=1e-6)


def folds_are_refits(problem: Problem) -> None:
    """Cross-validation is the fit without the fold, under the prior of all rows."""
    if problem.num_rows < 3:
        return
    fold = np.arange(problem.num_rows) % 3
    weight = problem.weight
    table = nb.cross_validate(problem.model, problem.X, problem.y, folds=fold, sample_weight=weight)
    prior = problem.model.resolve(problem.X, problem.y, sample_weight=weight)
    others = problem.taking(fold != 1)._replace(model=prior)
    same(table[fold == 1], fit(others).predict_log_proba(problem.rows(fold == 1)), rtol=1e-6)


def renamed_classes_carry_over(problem: Problem) -> None:
    """A class of another number has the same probabilities, and rows in another order change nothing."""
    K = problem.size.num_classes
    new = np.roll(np.arange(K), 1)
    order = np.arange(problem.num_rows)[::-1]
    model = problem.model.resolve(problem.X, problem.y, sample_weight=problem.weight)
    moved = jax.tree.map(lambda leaf: leaf[np.argsort(new)] if np.ndim(leaf) and len(leaf) == K else leaf, model)
    one = fit(problem).log_joint(problem.X)
    other = fit(problem.taking(order)._replace(model=moved, y=new[problem.y[order]])).log_joint(problem.X)
    same(other[:, new], one)


def an_empty_column_says_nothing(problem: Problem) -> None:
    """Where every cell of a column is missing its factor is one: the classes keep their probabilities."""
    if not problem.size.single or problem.size.kinds[0] in ("multinomial", "covariance", "discriminant"):
        return
    empty = jax.tree.map(lambda x: np.full(x.shape, np.nan), problem.X)
    fitted = fit(problem._replace(X=empty))
    same(fitted.log_joint(empty), np.tile(np.log(fitted.model.class_mean()), (problem.num_rows, 1)))


def a_missing_cell_is_summed_out(problem: Problem) -> None:
    """Of a missing cell all the values it might have are summed up."""
    values = {"bernoulli": 2, "categorical": 3, "ragged": 2, "binomial": 5}
    if not problem.size.single or problem.size.kinds[0] not in values or not jax.tree.leaves(problem.X)[0].size:
        return
    row = problem.rows(slice(0, 1)).copy()
    filled = np.repeat(row, values[problem.size.kinds[0]], axis=0)
    row[0, 0], filled[:, 0] = np.nan, np.arange(len(filled))
    for how in FITS[:2]:
        fitted = fit(problem, how)
        same(np.logaddexp.reduce(fitted.log_joint(filled), axis=0), fitted.log_joint(row)[0])


def a_device_answers_as_the_host(problem: Problem) -> None:
    """JAX arrays give what numpy arrays give, to the precision of the device."""
    few = problem.taking(slice(0, next(n for n in ROWS_ON_A_DEVICE if n <= problem.num_rows)))
    if problem.offset:
        return  # cells that single precision cannot tell apart
    there = few._replace(X=jax.tree.map(jnp.asarray, few.X), y=jnp.asarray(few.y))
    there = there._replace(weight=None if few.weight is None else jnp.asarray(few.weight))
    answered = fit(there).log_joint(there.X)
    assert isinstance(answered, jax.Array)
    same(answered, fit(few).log_joint(few.X), rtol=1e-7 if answered.dtype == np.float64 else 2e-3)


def forms_are_the_same(problem: Problem) -> None:
    """Rows and labels in any type and layout that holds the same numbers give the same answer."""
    expected = fit(problem).log_joint(problem.X)
    for name, X in forms(problem):
        answered = fit(problem._replace(X=X)).log_joint(X)
        rtol = 1e-4 if name in SINGLE else 1e-9
        assert_allclose(answered, expected, rtol=rtol, atol=rtol, err_msg=name)
    for name, y in label_forms(problem.y):
        answered = fit(problem._replace(y=y)).log_joint(problem.X)
        assert_allclose(answered, expected, rtol=1e-9, atol=1e-9, err_msg=name)


def the_estimator_is_the_fit(problem: Problem) -> None:
    """The estimator, given the family and labels that are text, predicts as the functions do."""
    seen = np.unique(problem.y if problem.weight is None else problem.y[problem.weight > 0])
    simple = problem.size.single and problem.size.kinds != ("trials",) and not problem.size.fixed
    simple = simple and 0 not in problem.size.columns  # scikit-learn's estimators refuse a table without columns
    if not simple or len(seen) != problem.size.num_classes or np.ndim(problem.model.class_concentration):
        return  # an estimator knows the classes that it has seen
    family = problem.model.families["x"]
    if isinstance(family, nb.Multinomial) and np.isnan(problem.X).any():
        return
    names = np.array([f"class {k}" for k in range(len(seen))])
    estimator = nb.NaiveBayesClassifier(family).fit(problem.X, names[problem.y], problem.weight)
    functions = fit(problem._replace(model=nb.NaiveBayes(family, num_classes=len(seen))))
    same(estimator.predict_log_proba(problem.X), functions.predict_log_proba(problem.X))
    assert_array_equal(estimator.predict(problem.X), names[functions.predict(problem.X)])


def files_keep_every_bit(problem: Problem) -> None:
    """What was saved is loaded to the last bit."""
    for fitted in (fit(problem), fit(problem, nb.fit_map)):
        with tempfile.TemporaryDirectory() as folder:
            nb.save(fitted, Path(folder) / "fit")
            again = nb.load(Path(folder) / "fit")
        assert str(jax.tree.structure(again)) == str(jax.tree.structure(fitted))
        for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(fitted), strict=True):
            assert_array_equal(one, other, strict=True)
        assert_array_equal(again.log_joint(problem.X), fitted.log_joint(problem.X))


def a_unit_changes_no_evidence(problem: Problem) -> None:
    """With a precision x -> c x + b leaves evidences as they are; edges that were found are refused beside others."""
    if problem.size.kinds not in (("normal",), ("shared",)) or not problem.X.size:
        return
    seen = np.where(np.isnan(problem.X).all(axis=0), 0.0, problem.X)
    low, high = np.nanmin(seen, axis=0), np.nanmax(seen, axis=0)
    wide = np.where(high > low, high - low, 1.0)
    edges, narrow = np.linspace(low - 0.1 * wide, high + 0.1 * wide, 6, axis=1), 1e-3 * wide
    K, found = problem.size.num_classes, []
    for c, b in ((1.0, 0.0 * wide), (4.0, 0.5 * wide), (-0.5, -wide)):
        cells = nb.Histogram(edges=np.sort(c * edges + b[:, None], axis=1))
        families = {"normal": nb.Normal(), "cells": cells, "shared": nb.Normal(variance="shared")}
        models = {name: nb.NaiveBayes(family, num_classes=K) for name, family in families.items()}
        rows = c * problem.X + b, problem.y
        compared = nb.compare_evidence(models, *rows, sample_weight=problem.weight, precision=abs(c) * narrow)
        found.append([compared.log_evidence[name] for name in models])
    assert_allclose(found, found[:1] * 3, rtol=1e-5, atol=1e-4)
    seen = problem.X if problem.weight is None else problem.X[problem.weight > 0]
    if np.isfinite(seen).any():
        own = {"found": nb.NaiveBayes(nb.Histogram(), num_classes=K), "normal": models["normal"]}
        with pytest.raises(ValueError, match=r"found in these very rows|one edge"):
            nb.compare_evidence(own, problem.X, problem.y, sample_weight=problem.weight, precision=narrow)


def log_priors_are_those_of_the_program(problem: Problem) -> None:
    """The log priors and log likelihoods of a draw add up to NumPyro's log density of the program."""
    fitted = fit(problem)
    dense = [share for family in fitted.prior.families.values() for share in density_share(family)]
    measured = {"normal", "shared", "covariance", "discriminant"} & {*problem.size.kinds}
    if not problem.num_rows or (measured and 0.0 in dense) or problem.offset:
        return  # a column of one value has no density
    data = nb.to_arviz(
        fitted, key=jax.random.key(problem.num_rows), num_samples=2, num_chains=1, X=problem.X, y=problem.y
    )
    at = {site: table.values[0, 1] for site, table in data["posterior"].data_vars.items()}
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        exact, _ = log_density(fitted.prior, (problem.X, problem.y), {}, at)
    parts = [data["log_prior"][site].values[0, 1] for site in data["log_prior"].data_vars]
    total = sum(parts) + data["log_likelihood"]["log_joint"].values[0, 1].sum()
    assert_allclose(total, exact, rtol=1e-3, atol=1e-2)  # draws are in single precision


LAWS = [
    answers_are_sane,
    weights_are_repetitions,
    parts_make_the_whole,
    parts_along_an_axis_make_the_whole,
    one_hot_labels_are_labels,
    rows_are_predicted_alone,
    a_row_left_out_is_a_refit,
    forests_are_fits,
    folds_are_refits,
    renamed_classes_carry_over,
    an_empty_column_says_nothing,
    a_missing_cell_is_summed_out,
    a_device_answers_as_the_host,
    forms_are_the_same,
    the_estimator_is_the_fit,
    files_keep_every_bit,
    a_unit_changes_no_evidence,
    log_priors_are_those_of_the_program,
]
