"""What must hold of every family, in exact arithmetic; each law compares two ways to the same number.

Densities come from NumPyro, in float64, through the sites of the model's own program.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose
from numpyro.infer.util import log_density

import bayesnb as nb
from bayesnb import check
from tests.cases import Case


def prior_density(model: nb.NaiveBayes, params: dict[str, Any]) -> jax.Array:
    """log p(params) under a resolved model, by NumPyro."""
    with jax.numpy_rank_promotion("allow"):  # NumPyro's own distributions promote ranks
        return log_density(model.params, (), {}, params)[0]


def draw(model: nb.NaiveBayes, seed: int = 0) -> dict[str, Any]:
    """Some parameters inside the support of a resolved model: its mean, shaken; float64."""
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        mean = jax.tree.map(np.asarray, model.reference())
    shaken = {}
    for site, value in mean.items():
        noise = np.exp(0.5 * rng.normal(size=value.shape))
        if site.endswith("loc"):
            shaken[site] = value + np.log(noise) * _spread(mean, site)
        elif site.endswith("covariance"):
            tilt = np.eye(value.shape[-1]) + 0.2 * rng.normal(size=value.shape)
            scale = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
            unit = value / (scale[..., :, None] * scale[..., None, :])
            shaken[site] = (scale[..., :, None] * scale[..., None, :]) * (tilt @ unit @ np.swapaxes(tilt, -1, -2))
        elif site.endswith(("variance", "rate")):
            shaken[site] = value * noise
        elif np.allclose(value.sum(axis=-1), 1.0):
            shaken[site] = value * noise / (value * noise).sum(axis=-1, keepdims=True)
        else:
            shaken[site] = value * noise / (value * noise + 1.0 - value)
    return shaken


def _spread(params: dict[str, Any], site: str) -> np.ndarray:
    """Standard deviations of the columns of a block with a loc."""
    block = site.removesuffix("_loc")
    if f"{block}_variance" in params:
        return np.sqrt(params[f"{block}_variance"])
    return np.sqrt(np.diagonal(params[f"{block}_covariance"], axis1=-2, axis2=-1))


def bayes_theorem(case: Case) -> None:
    """prior(theta) x likelihood(theta) = evidence x posterior(theta), at any theta."""
    fit = nb.fit_posterior(case.model, case.X, case.y)
    for seed in range(3):
        params = draw(fit.prior, seed)
        joint = nb.PointEstimate(fit.prior, params).log_joint(case.X)
        likelihood = joint[np.arange(len(case.y)), case.y].sum()
        with jax.enable_x64(True):
            prior, posterior = float(prior_density(fit.prior, params)), float(prior_density(fit.model, params))
        assert_allclose(prior + likelihood, fit.log_evidence + posterior, rtol=1e-9)


def evidence_is_a_product_of_predictions(case: Case) -> None:
    """p(X, y) = prod_n p(x_n, y_n | the rows before)."""
    whole = nb.fit_posterior(case.model, case.X, case.y)
    total = 0.0
    for n in range(len(case.y)):
        before = nb.fit_posterior(whole.prior, case.rows(slice(0, n)), case.y[:n])
        total += before.log_joint(case.rows(slice(n, n + 1)))[0, case.y[n]]
    assert_allclose(total, whole.log_evidence, rtol=1e-9)


def mode_is_stationary(case: Case) -> None:
    """The gradient of the log posterior vanishes at the mode, along the simplex for probabilities."""
    statistics = nb.sufficient_statistics(case.model, case.X, case.y)
    model = nb.fit_posterior(case.model, statistics=nb.merge(statistics, statistics)).model
    with jax.enable_x64(True):
        mode = jax.tree.map(jnp.asarray, model.mode())
        gradient = jax.grad(lambda params: prior_density(model, params))(mode)
    for site, slope in gradient.items():
        value, slope = np.asarray(mode[site]), np.asarray(slope)
        if "probs" in site:
            inside = (value > 1e-9) & (value < 1 - 1e-9)
            # the slope in log p; on the simplex, along directions that keep the sum
            level = np.where(inside, slope, -np.inf).max(axis=-1, keepdims=True)
            level = level if np.allclose(value.sum(-1), 1.0) else 0.0
            slope = value * (np.where(inside, slope, level) - level) * inside
        elif site.endswith("covariance"):
            scale = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
            slope = slope * scale[..., :, None] * scale[..., None, :]
        elif site.endswith("loc"):
            slope = slope * _spread(to_numpy(mode), site)
        else:
            slope = slope * np.maximum(np.abs(value), 1e-12)
        assert_allclose(slope, 0.0, atol=1e-8, err_msg=site)


def heavy_map_is_mle(case: Case) -> None:
    """The MAP tends to the MLE as all weights grow."""
    weight = np.full(len(case.y), 1e12)
    heavy = nb.fit_map(case.model, case.X, case.y, sample_weight=weight)
    mle = nb.fit_mle(case.model, case.X, case.y)
    for site, value in mle.params.items():
        assert_allclose(heavy.params[site], value, rtol=1e-6, atol=1e-10, err_msg=site)


def parts_make_the_whole(case: Case) -> None:
    """Any split, in any order, merges to the statistics of all rows."""
    whole = nb.sufficient_statistics(case.model, case.X, case.y, num_classes=3)
    order = np.random.default_rng(1).permutation(len(case.y))
    for cuts in ([5], [1, 2, 20], [0, 24]):
        parts = [
            nb.sufficient_statistics(case.model, case.rows(p), case.y[p], num_classes=3) for p in np.split(order, cuts)
        ]
        merged = parts[0]
        for part in parts[1:]:
            merged = nb.merge(merged, part)
        equal(merged, whole, rtol=1e-9)


def weights_are_repetitions(case: Case) -> None:
    """Integer weights equal repeated rows; weight zero equals no row; scaling all weights leaves the MLE."""
    weight = np.random.default_rng(2).integers(0, 4, len(case.y))
    repeated = np.repeat(np.arange(len(case.y)), weight)
    fit = nb.fit_posterior(case.model, case.X, case.y, sample_weight=weight)
    equal(fit, nb.fit_posterior(case.model, case.rows(repeated), case.y[repeated]), rtol=1e-9)
    for scale in (1e-12, 1e12):
        mle = nb.fit_mle(case.model, case.X, case.y, sample_weight=scale * weight)
        equal(mle.params, nb.fit_mle(case.model, case.X, case.y, sample_weight=weight).params, rtol=1e-7)


def one_hot_labels_are_labels(case: Case) -> None:
    """Soft labels that are certain equal integer labels; uncertain ones equal weights."""
    hard = nb.fit_posterior(case.model, case.X, case.y)
    equal(nb.fit_posterior(case.model, case.X, np.eye(3)[case.y]), hard, rtol=1e-9)
    soft = np.random.default_rng(3).dirichlet(np.ones(3), len(case.y))
    twice = np.concatenate([np.arange(len(case.y))] * 3)
    spread = nb.fit_posterior(
        case.model, case.rows(twice), np.repeat([0, 1, 2], len(case.y)), sample_weight=soft.T.reshape(-1)
    )
    equal(nb.fit_posterior(case.model, case.X, soft), spread, rtol=1e-9)


def a_row_leaves_as_if_it_had_never_been(case: Case) -> None:
    """Exact leave-one-out equals refitting without the row, which leaves with its whole weight; the prior stays."""
    weight = np.random.default_rng(6).integers(1, 4, len(case.y)).astype(float)
    prior = case.model.resolve(case.X, case.y, sample_weight=weight)
    joint = nb.leave_one_out(case.model, case.X, case.y, sample_weight=weight, joint=True)
    label = nb.leave_one_out(case.model, case.X, case.y, sample_weight=weight)
    for n in range(0, len(case.y), 5):
        others, own = np.arange(len(case.y)) != n, case.rows(slice(n, n + 1))
        refit = nb.fit_posterior(prior, case.rows(others), case.y[others], sample_weight=weight[others])
        assert_allclose(joint[n], refit.log_joint(own)[0], rtol=1e-9, atol=1e-12)
        assert_allclose(label[n], refit.predict_log_proba(own)[0], rtol=1e-9, atol=1e-12)


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


def likelihood_is_numpyros(case: Case) -> None:
    """log p(x, y | theta) equals the density of the NumPyro program at theta."""
    model = case.model.resolve(case.X, case.y)
    params = draw(model)
    joint = nb.PointEstimate(model, params).log_joint(case.X)
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
        program = float(log_density(model, (case.X, case.y), {}, params)[0] - prior_density(model, params))
    assert_allclose(joint[np.arange(len(case.y)), case.y].sum(), program, rtol=1e-9)


def statistics_hold_the_likelihood(case: Case) -> None:
    """The log likelihood ratio from statistics equals that from rows, also in centred coordinates."""
    fit = nb.fit_posterior(case.model, case.X, case.y)
    picked = np.arange(len(case.y)), case.y
    with jax.enable_x64(True):
        reference = jax.tree.map(np.asarray, fit.model.reference())
        params = draw(fit.model, seed=4)
        rows = [nb.PointEstimate(fit.prior, p).log_joint(case.X)[picked].sum() for p in (params, reference)]
        ratio = fit.prior.log_likelihood_of(fit.statistics, params, reference)
        assert_allclose(ratio, rows[0] - rows[1], rtol=1e-8, atol=1e-9)

        prior, standard = fit.prior.centred(fit.statistics)
        centre = jax.tree.map(np.asarray, prior.update(standard).reference())
        moved = draw(prior.update(standard), seed=4)
        restored = [fit.prior.restored(fit.statistics, p) for p in (moved, centre)]
        rows = [nb.PointEstimate(fit.prior, to_numpy(p)).log_joint(case.X)[picked].sum() for p in restored]
        assert_allclose(prior.log_likelihood_of(standard, moved, centre), rows[0] - rows[1], rtol=1e-8, atol=1e-9)


def terms_sum_to_the_predictive(case: Case) -> None:
    """The cell by cell predictive adds up to the fast one."""
    fit = nb.fit_posterior(case.model, case.X, case.y)
    blocks = check.blocks(fit.model.families, fit.model.single, case.X)
    for name, family in fit.model.families.items():
        with jax.enable_x64(True):
            terms = np.asarray(family.log_predictive_terms(jnp.asarray(blocks[name])))
        assert_allclose(terms.sum(-1), family.log_predictive(blocks[name]).log(), rtol=1e-9, atol=1e-12)


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

    def move(value: np.ndarray) -> np.ndarray:
        value = value[classes] if value.shape[0] > 1 else value
        value = value[:, columns] if value.ndim > 1 else value
        return value[:, :, columns] if value.ndim > 2 else value

    values = {f.name: getattr(family, f.name) for f in dataclasses.fields(family)}
    moved = {name: move(value) if np.ndim(value) else value for name, value in values.items() if name != "total_count"}
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
    if isinstance(family, nb.Normal | nb.MultivariateNormal):
        row, scale, centre = np.nanmean(X, axis=0)[None], np.nanstd(X[:, 1]), np.nanmean(X[:, 1])
        values = centre + scale * np.sinh(np.linspace(-12, 12, 20_001))
        measure = np.gradient(values)
    else:
        sizes = {
            nb.Bernoulli: lambda: 2,
            nb.Poisson: lambda: 400,
            nb.Binomial: lambda: (family.total_count or (0, 5))[1] + 1,
        }
        size = sizes[type(family)]() if type(family) in sizes else family._sizes_of(2)[1]
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


def missing_counts_by_column(case: Case) -> None:
    """In a fit a missing cell is as if only its column lacked the row."""
    family = case.model.families["x"] if case.model.single else None
    if not isinstance(family, nb.Bernoulli | nb.Normal | nb.Poisson):
        return
    statistics = nb.sufficient_statistics(case.model, case.X, case.y).blocks["x"]
    full = ~np.isnan(case.X[:, 1])
    plain = nb.NaiveBayes(type(family)(), num_classes=3)
    alone = nb.sufficient_statistics(plain, case.X[full, 1:2], case.y[full]).blocks["x"]
    equal(jax.tree.map(lambda a: a[:, 1:2], statistics), alone, rtol=1e-9)


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
        tolerance = 1e-9 if device.dtype == np.float64 else 2e-4
        assert device.shape == (len(case.y), K)
        assert_allclose(device, host, rtol=tolerance, atol=tolerance)
        assert_allclose(inside, device, rtol=tolerance, atol=tolerance)


def to_numpy(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def equal(a: Any, b: Any, rtol: float) -> None:
    """Two pytrees of one structure, leaf by leaf."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for (path, left), right in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        assert_allclose(left, right, rtol=rtol, atol=1e-12, err_msg=jax.tree_util.keystr(path))


LAWS = [
    bayes_theorem,
    evidence_is_a_product_of_predictions,
    mode_is_stationary,
    heavy_map_is_mle,
    parts_make_the_whole,
    weights_are_repetitions,
    one_hot_labels_are_labels,
    a_row_leaves_as_if_it_had_never_been,
    prediction_averages_joints,
    likelihood_is_numpyros,
    statistics_hold_the_likelihood,
    terms_sum_to_the_predictive,
    permutations_carry_over,
    missing_is_marginalised,
    missing_counts_by_column,
    device_is_host,
]
