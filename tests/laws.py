"""What must hold of every family, in exact arithmetic; each law compares two ways to the same number.

Densities come from NumPyro, in float64, through the sites of the model's own program. Each is compiled as one function,
because compiling its operations one by one takes ten times as long.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.infer.util import log_density

import bayesnb as nb
from tests.cases import Case
from tests.laws_of_prediction import (
    device_is_host,
    missing_is_marginalised,
    permutations_carry_over,
    prediction_averages_joints,
    terms_sum_to_the_predictive,
)


@jax.jit
def prior_density(model: nb.NaiveBayes, params: dict[str, Any]) -> jax.Array:
    """log p(params) under a resolved model, by NumPyro."""
    with jax.numpy_rank_promotion("allow"):  # NumPyro's own distributions promote ranks
        return log_density(model.params, (), {}, params)[0]


@jax.jit
def program_density(model: nb.NaiveBayes, X: Any, y: np.ndarray, params: dict[str, Any]) -> jax.Array:
    """log p(params, X, y) under a resolved model, by NumPyro."""
    with jax.numpy_rank_promotion("allow"):
        return log_density(model, (X, y), {}, params)[0]


@jax.jit
def likelihood_ratio(prior: nb.NaiveBayes, statistics: Any, params: Any, reference: Any) -> jax.Array:
    """log p(X, y | params) - log p(X, y | reference), from statistics."""
    return prior.log_likelihood_ratio(statistics, params, reference)


slope_of_the_prior = jax.jit(jax.grad(prior_density, argnums=1, allow_int=True))
mode_of = jax.jit(lambda model: model.mode())


@jax.jit
def reference_of(model: nb.NaiveBayes) -> dict[str, Any]:
    return model.reference()


def site_priors(model: nb.NaiveBayes, params: dict[str, Any]) -> dict[str, dist.Distribution]:
    """The distribution of each site of a resolved model, where the sites that it depends on have these values."""
    with jax.numpy_rank_promotion("allow"), handlers.substitute(data=params):
        trace = handlers.trace(handlers.seed(model.params, 0)).get_trace()
    return {site: trace[site]["fn"] for site in params}


def site_supports(model: nb.NaiveBayes, params: dict[str, Any]) -> dict[str, constraints.Constraint]:
    """The support of one cell, vector or matrix of each site."""
    found = {}

    def look(params: dict[str, Any]) -> None:
        for site, prior in site_priors(model, params).items():
            support = prior.support
            while isinstance(support, constraints.independent):
                support = support.base_constraint
            found[site] = support

    jax.eval_shape(look, params)
    return found


REAL = (constraints.real, constraints.real_vector)


@jax.jit
def spreads(model: nb.NaiveBayes, params: dict[str, Any]) -> dict[str, jax.Array]:
    """The standard deviation of each real site, given the sites that it depends on."""
    supports, priors = site_supports(model, params), site_priors(model, params)
    return {site: jnp.sqrt(priors[site].variance) for site, support in supports.items() if support in REAL}


def draw(model: nb.NaiveBayes, seed: int = 0) -> dict[str, Any]:
    """Some parameters inside the support of a resolved model: its mean, shaken; float64."""
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        mean = to_numpy(reference_of(model))
        supports, spread = site_supports(model, mean), to_numpy(spreads(model, mean))
    shaken = {}
    for site, value in mean.items():
        support = supports[site]
        noise = np.exp(0.5 * rng.normal(size=value.shape))
        if support.is_discrete:
            shaken[site] = value
        elif support in REAL:
            shaken[site] = value + np.log(noise) * spread[site]
        elif support == constraints.positive_definite:
            tilt = np.eye(value.shape[-1]) + 0.2 * rng.normal(size=value.shape)
            scale = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
            unit = value / (scale[..., :, None] * scale[..., None, :])
            shaken[site] = (scale[..., :, None] * scale[..., None, :]) * (tilt @ unit @ np.swapaxes(tilt, -1, -2))
        elif support == constraints.positive:
            shaken[site] = value * noise
        elif support == constraints.simplex:
            shaken[site] = value * noise / (value * noise).sum(axis=-1, keepdims=True)
        else:
            assert support == constraints.unit_interval
            shaken[site] = value * noise / (value * noise + 1.0 - value)
    return shaken


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
    assert_allclose(total, whole.log_evidence, rtol=case.tolerance)


def of_segments(value, slope, cuts):
    """The probabilities of a histogram's segments, [K, D, G], and their slopes while their bins keep their shares.

    Of n bins that have shares of a segment's p, the change of variables brings p^(n - 1) into the density.
    """
    segment = np.cumsum(np.pad(cuts, [(0, 0), (1, 0)]), axis=1)
    member = segment[:, :, None] == np.arange(segment.shape[1])
    parts = value, value * slope, 1.0 * (value > 0)
    total, pull, bins = (np.einsum("kdg,dgs->kds", part, member) for part in parts)
    return total, np.where(total > 0, (pull + bins - 1) / np.where(total > 0, total, 1.0), 0.0)


def mode_is_stationary(case: Case) -> None:
    """The gradient of the log posterior vanishes at the mode, along the simplex for probabilities."""
    statistics = nb.sufficient_statistics(case.model, case.X, case.y)
    model = nb.fit_posterior(case.model, statistics=nb.merge(statistics, statistics)).model
    with jax.enable_x64(True):
        mode = mode_of(model)
        gradient, spread = slope_of_the_prior(model, mode), spreads(model, mode)
        supports = site_supports(model, mode)
    for site, support in supports.items():
        value, slope = np.asarray(mode[site]), np.asarray(gradient[site])
        if support.is_discrete:
            continue
        if (cuts := mode.get(site.replace("_probs", "_cuts"))) is not None and site.endswith("_probs"):
            value, slope = of_segments(value, slope, np.asarray(cuts))
        if support in (constraints.simplex, constraints.unit_interval):
            inside = (value > 1e-9) & (value < 1 - 1e-9)
            # the slope in log p; on the simplex, along directions that keep the sum
            level = np.where(inside, slope, -np.inf).max(axis=-1, keepdims=True)
            level = np.where(inside.any(axis=-1, keepdims=True), level, 0.0)  # one segment has no such direction
            level = level if support == constraints.simplex else 0.0
            slope = value * (np.where(inside, slope, level) - level) * inside
        elif support == constraints.positive_definite:
            scale = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
            slope = slope * scale[..., :, None] * scale[..., None, :]
        elif support == constraints.positive:
            slope = slope * np.maximum(np.abs(value), 1e-12)
        else:
            assert support in REAL
            slope = slope * np.asarray(spread[site])
        assert_allclose(slope, 0.0, atol=1e-9, err_msg=site)


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


def what_is_taken_away_has_never_been(case: Case) -> None:
    """The statistics of all rows minus those of some are those of the others; what was not counted is refused."""
    model = case.model.resolve(case.X, case.y)
    of = lambda rows: nb.sufficient_statistics(model, case.rows(rows), case.y[rows], num_classes=3)  # noqa: E731
    order = np.random.default_rng(7).permutation(len(case.y))
    whole = of(order)
    for cut in (1, 9, 23, 24):
        part, rest = of(order[:cut]), of(order[cut:])
        left = nb.subtract(whole, part)
        again, expected = nb.merge(left, part), nb.merge(rest, part)
        equal(left.class_counts, rest.class_counts, rtol=1e-12)
        equal(again, expected, rtol=1e-9, atol=1e-11)
        found, refit = (nb.fit_posterior(model, statistics=s) for s in (left, rest))
        assert_allclose(found.log_joint(case.X), refit.log_joint(case.X), rtol=1e-9, atol=1e-9)
        assert_allclose(found.log_evidence, refit.log_evidence, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="cannot have been counted"):
        nb.subtract(of(order[:9]), whole)


def a_discount_is_a_weight(case: Case) -> None:
    """Statistics times a factor are those of rows with that weight; at 0 only the prior is left."""
    model = case.model.resolve(case.X, case.y)
    statistics = nb.sufficient_statistics(model, case.X, case.y)
    weight = np.full(len(case.y), 0.25)
    weighted = nb.sufficient_statistics(model, case.X, case.y, sample_weight=weight)
    equal(nb.discount(statistics, 0.25), weighted, rtol=1e-9)
    nothing = nb.fit_posterior(model, statistics=nb.discount(statistics, 0.0))
    assert_allclose(
        nothing.log_joint(case.X),
        nb.fit_posterior(model, statistics=nb.subtract(statistics, statistics)).log_joint(case.X),
        rtol=1e-9,
    )
    assert nothing.log_evidence == 0.0


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
        assert_allclose(joint[n], refit.log_joint(own)[0], rtol=case.tolerance, atol=1e-12)
        assert_allclose(label[n], refit.predict_log_proba(own)[0], rtol=case.tolerance, atol=1e-12)


def likelihood_is_numpyros(case: Case) -> None:
    """log p(x, y | theta) equals the density of the NumPyro program at theta."""
    model = case.model.resolve(case.X, case.y)
    params = draw(model)
    joint = nb.PointEstimate(model, params).log_joint(case.X)
    with jax.enable_x64(True):
        program = float(program_density(model, case.X, case.y, params)) - float(prior_density(model, params))
    assert_allclose(joint[np.arange(len(case.y)), case.y].sum(), program, rtol=1e-9)


def statistics_hold_the_likelihood(case: Case) -> None:
    """The log likelihood ratio from statistics equals that from rows, also in centred coordinates."""
    fit = nb.fit_posterior(case.model, case.X, case.y)
    picked = np.arange(len(case.y)), case.y
    with jax.enable_x64(True):
        reference = to_numpy(reference_of(fit.model))
        params = draw(fit.model, seed=4)
        rows = [nb.PointEstimate(fit.prior, p).log_joint(case.X)[picked].sum() for p in (params, reference)]
        ratio = likelihood_ratio(fit.prior, fit.statistics, params, reference)
        assert_allclose(ratio, rows[0] - rows[1], rtol=1e-8, atol=1e-9)

        prior, standard = fit.prior.centre(fit.statistics)
        posterior = prior.update(standard)
        centre, moved = to_numpy(reference_of(posterior)), draw(posterior, seed=4)
        restored = [fit.prior.restore(fit.statistics, p) for p in (moved, centre)]
        rows = [nb.PointEstimate(fit.prior, to_numpy(p)).log_joint(case.X)[picked].sum() for p in restored]
        assert_allclose(likelihood_ratio(prior, standard, moved, centre), rows[0] - rows[1], rtol=1e-8, atol=1e-9)


def missing_counts_by_column(case: Case) -> None:
    """In a fit a missing cell is as if only its column lacked the row."""
    family = case.model.families["x"] if case.model.single else None
    if not isinstance(family, nb.Bernoulli | nb.Normal | nb.NormalKnownVariance | nb.Poisson) or family.one_feature:
        return
    statistics = nb.sufficient_statistics(case.model, case.X, case.y).blocks["x"]
    full = ~np.isnan(case.X[:, 1])
    plain = nb.NaiveBayes(type(family)(), num_classes=3)
    alone = nb.sufficient_statistics(plain, case.X[full, 1:2], case.y[full]).blocks["x"]
    equal(jax.tree.map(lambda a: a[:, 1:2], statistics), alone, rtol=1e-9)


def to_numpy(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)


def equal(a: Any, b: Any, rtol: float, atol: float = 1e-12) -> None:
    """Two pytrees of one structure, leaf by leaf."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for (path, left), right in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        assert_allclose(left, right, rtol=rtol, atol=atol, err_msg=jax.tree_util.keystr(path))


LAWS = [
    bayes_theorem,
    evidence_is_a_product_of_predictions,
    mode_is_stationary,
    heavy_map_is_mle,
    parts_make_the_whole,
    what_is_taken_away_has_never_been,
    a_discount_is_a_weight,
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
