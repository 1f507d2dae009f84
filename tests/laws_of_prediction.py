"""What must hold of the predictions of every family: averages, sums, permutations, missing cells, devices."""

import dataclasses
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.families import Mapped
from bayesnb.core.rows._checks import check_shapes
from tests.cases import Case


def prediction_averages_joints(case: Case) -> None:
    """The exact predictive is the mean over the posterior of p(x, y | theta), within 5 standard errors."""
    fit = nb.fit_posterior(case.model, case.X, case.y)
    samples = fit.sample(jax.random.key(5), 2000)
    draws = nb.Draws(fit.prior, samples, {}, 1)
    few = case.rows(slice(0, 4))
    singles = [nb.PointEstimate(fit.prior, {s: v[i] for s, v in samples.items()}).log_joint(few) for i in range(400)]
    exact = fit.log_joint(few)
    ratio = np.exp(np.stack(singles) - exact)
    error = ratio.std(axis=0) / np.sqrt(len(ratio))
    assert (np.abs(ratio.mean(axis=0) - 1) < 5 * error).all()
    assert (np.abs(np.exp(draws.log_joint(few) - exact) - 1) < 5 * error * np.sqrt(400 / 2000) + 1e-12).all()


@jax.jit
def predictive_terms(family: nb.Family, x: jax.Array) -> jax.Array:
    """log p(x_nd | y_n = k, the data), compiled as one function."""
    return family.log_predictive_terms(x)


def terms_sum_to_the_predictive(case: Case) -> None:
    """The cell by cell predictive adds up to the fast one."""
    fit = nb.fit_posterior(case.model, case.X, case.y)
    blocks = check_shapes(fit.model.families, fit.model.single, case.X)
    for name, family in fit.model.families.items():
        with jax.enable_x64(True):
            terms = np.asarray(predictive_terms(family, jnp.asarray(blocks[name])))
        assert_allclose(terms.sum(-1), family.log_predictive(blocks[name]).log(), rtol=case.tolerance, atol=1e-12)


def permutations_carry_over(case: Case) -> None:
    """Renaming classes and reordering columns, with their hyperparameters, renames the columns of every table."""
    model, new = case.model.resolve(case.X, case.y), np.array([2, 0, 1])
    X = case.X if isinstance(case.X, dict) else {"x": case.X}
    order = {name: np.arange(model.columns[name])[::-1] for name in X}
    families = {name: _rearranged(f, np.argsort(new), order[name]) for name, f in model.families.items()}
    concentration = np.asarray(model.class_concentration)[np.argsort(new)]
    other = nb.NaiveBayes(families, class_concentration=concentration)
    moved = {name: jax.tree.map(lambda part, name=name: part[:, order[name]], x) for name, x in X.items()}
    for fit in (nb.fit_mle, nb.fit_map, nb.fit_posterior):
        plain, renamed = fit(model, case.X, case.y).log_joint(case.X), fit(other, moved, new[case.y]).log_joint(moved)
        assert_allclose(renamed[:, new], plain, rtol=1e-9)


def _rearranged(family: nb.Family, classes: np.ndarray, columns: np.ndarray) -> nb.Family:
    """A resolved family with its classes and columns in another order."""
    if isinstance(family, nb.Categorical):
        sizes = np.array(family.num_categories)
        parts = np.split(np.asarray(family.concentration)[classes], np.cumsum(sizes)[:-1], axis=1)
        return nb.Categorical(tuple(sizes[columns]), np.concatenate([parts[d] for d in columns], axis=1))

    if isinstance(family, Mapped):
        return family.map(lambda part: _rearranged(part, classes, columns))
    if isinstance(family, nb.Likelihood):
        tables = {name: np.asarray(getattr(family, name))[:, columns] for name, _ in family.axes}
        return family._replace(**tables | {"weights": tables["weights"][classes]})
    if isinstance(family, nb.Histogram):
        tables = {name: np.asarray(getattr(family, name))[:, columns] for name, _ in family.axes}
        return nb.Histogram(**tables | {"counts": tables["counts"][classes]})

    def move(value: np.ndarray) -> np.ndarray:
        value = value[classes] if value.shape[0] > 1 else value
        value = value[:, columns] if value.ndim > 1 else value
        return value[:, :, columns] if value.ndim > 2 else value

    values = {f.name: getattr(family, f.name) for f in dataclasses.fields(family)}
    moved = {n: move(v) if getattr(v, "ndim", 0) and n != "total_count" else v for n, v in values.items()}
    if isinstance(family, nb.Binomial):
        totals = family.total_count
        moved["total_count"] = None if totals is None else [totals[d] for d in columns]
    return type(family)(**moved)


def missing_is_marginalised(case: Case) -> None:
    """A missing cell sums, or integrates, over all that it might hold."""
    if isinstance(case.X, dict):
        return
    family = case.model.families["x"]
    for fit in (nb.fit_map, nb.fit_posterior):
        result = fit(case.model, case.X, case.y)
        if isinstance(family, nb.Multinomial):
            empty = np.full_like(case.X[:1], np.nan)
            log_class = result.with_class_probs([0.2, 0.3, 0.5]).log_joint(empty)[0]
            assert_allclose(log_class, np.log([0.2, 0.3, 0.5]))
            continue
        hole, filled, measure = _completions(family, case.X)
        total = np.sum(np.exp(result.log_joint(filled)) * measure[:, None], axis=0)
        assert_allclose(total, np.exp(result.log_joint(hole)[0]), rtol=1e-3 if np.ptp(measure) else 1e-9)


def _completions(family: nb.Family, X: Any) -> tuple[Any, Any, np.ndarray]:
    """A row with a hole in column 1, the rows that fill it with all values, and the measure of each."""
    if isinstance(family, nb.Normal | nb.NormalKnownVariance | nb.MultivariateNormal):
        row, scale, centre = np.nanmean(X, axis=0)[None], np.nanstd(X[:, 1]), np.nanmean(X[:, 1])
        values = centre + scale * np.sinh(np.linspace(-12, 12, 20_001))
        measure = np.gradient(values)
    elif isinstance(family, nb.Histogram):
        row, edges = np.nanmean(X, axis=0)[None], np.asarray(family.edges)[1]
        ends = np.concatenate([[edges[0] - 40], edges[np.isfinite(edges)], [edges[0] + 40]])
        bounds = np.unique(np.concatenate([np.linspace(low, high, 10_001) for low, high in itertools.pairwise(ends)]))
        values, measure = 0.5 * (bounds[1:] + bounds[:-1]), np.diff(bounds)
    elif isinstance(family, nb.Hurdle):  # 0 and 1, and the shares between them
        row, shares = np.nanmean(X, axis=0)[None], scipy.special.expit(np.linspace(-20, 20, 20_001))
        values, measure = np.append(shares, family.at), np.append(np.gradient(shares), np.ones(len(family.at)))
    elif type(family) is nb.OneRate and family.support.is_discrete:
        row, values, measure = np.ones((1, case_columns(X))), np.arange(2000), np.ones(2000)
    elif isinstance(family, nb.Likelihood | nb.LogNormal | nb.OneRate) or type(family).__name__ == "Exponential":
        row, values = np.nanmean(X, axis=0)[None], np.exp(np.linspace(-20, 12, 20_001))
        measure = np.gradient(values)
    else:
        sizes = {
            nb.Bernoulli: lambda: 2,
            nb.Poisson: lambda: 400,
            nb.Binomial: lambda: (family.total_count or (0, 5))[1] + 1,
        }
        size = sizes[type(family)]() if type(family) in sizes else family.sizes_of(2)[1]
        row, values = np.ones((1, case_columns(X))), np.arange(size)
        measure = np.ones(size)
    hole, filled = row.copy(), np.repeat(row, len(values), axis=0)
    hole[0, 1], filled[:, 1] = np.nan, values
    if isinstance(X, tuple):
        totals = np.full_like(filled, 5.0)
        return (hole, totals[:1]), (filled, totals), measure
    return hole, filled, measure


def case_columns(X: Any) -> int:
    return jax.tree.leaves(X)[0].shape[1]


def device_is_host(case: Case) -> None:
    """JAX arrays give what numpy arrays give, to the precision of the device; jit gives what eager gives."""
    X, y = jax.tree.map(jnp.asarray, case.X), jnp.asarray(case.y)
    K = case.model.num_classes
    for fit in (nb.fit_mle, nb.fit_map, nb.fit_posterior):
        host = fit(case.model, case.X, case.y).log_joint(case.X)
        device = fit(case.model, X, y).log_joint(X)
        assert isinstance(device, jax.Array)
        assert isinstance(host, np.ndarray)
        inside = jax.jit(lambda X, y, fit=fit: fit(case.model, X, y).log_joint(X))(X, y)
        tolerance = case.tolerance if device.dtype == np.float64 else max(2e-4, 1e3 * case.tolerance)
        assert device.shape == (len(case.y), K)
        assert_allclose(device, host, rtol=tolerance, atol=tolerance)
        assert_allclose(inside, device, rtol=tolerance, atol=tolerance)
