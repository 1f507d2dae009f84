"""Learned priors: at a maximum of evidence and hyperprior, that which brute force finds, or at a bound.

Without a hyperprior few rows leave some hyperparameter without a maximum: then warnings count only where they are the
subject.
"""

import dataclasses
import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.fits._empirical import SPREAD, EmpiricalPosterior, fit_empirical
from bayesnb.core.results._evidence import evidence_table
from bayesnb.studies.comparison._metrics import log_loss
from tests import cases, laws

pytestmark = pytest.mark.filterwarnings("ignore:the evidence rises beyond the bounds")

# the others' fixed points and brute force are below
QUICK = [("poisson", "block"), ("normal", "feature")]
PAIRS = [
    pytest.param(name, by, marks=[] if (name, by) in QUICK else pytest.mark.slow, id=f"{name}-{by}")
    for name in cases.NAMES
    if name != "histogram"  # nothing is learned: its totals are averaged over
    for by in ("block", "feature")
]


def slopes(prior, statistics, by):
    """d log p(X, y) / d log(hyperparameter) by block and name, [1] or one a feature; by automatic differentiation."""
    with jax.enable_x64(True):
        gradient = jax.tree.map(np.asarray, jax.jit(jax.grad(lambda p: evidence_table(p, statistics).total))(prior))
    found = {"label": {"concentration": np.sum(gradient.class_concentration * prior.class_concentration)[None]}}
    for block, family in prior.families.items():
        found[block] = {}
        one = by == "block" or isinstance(family, nb.Multinomial | nb.MultivariateNormal)
        for name in learned_names(family):
            terms = getattr(gradient.families[block], name) * getattr(family, name)
            if one:
                found[block][name] = terms.sum()[None]
            elif isinstance(family, nb.Categorical):
                columns = np.split(terms, np.cumsum(family.num_categories)[:-1], axis=1)
                found[block][name] = np.array([column.sum() for column in columns])
            else:
                found[block][name] = terms.sum(axis=0)
    return found


def learned_names(family):
    """Of real cells how far the means spread, else every number: by its own list, not that of the code."""
    if isinstance(family, nb.Normal | nb.MultivariateNormal):
        return ["strength"]
    if isinstance(family, nb.NormalKnownVariance):
        return ["scale"]
    values = {f.name: getattr(family, f.name) for f in dataclasses.fields(family)}
    return [name for name, value in values.items() if isinstance(value, np.ndarray) and name != "smoothing"]


def log_factors(found, start):
    """log(learned / given), by block and name, one a feature or one a block, from the first entry of each."""
    label = np.log(found.prior.class_concentration / start.prior.class_concentration)
    factors = {"label": {"concentration": label[:1]}}
    for block, family in found.prior.families.items():
        given = start.prior.families[block]
        factors[block] = {}
        for name, side in found.at_bound[block].items():
            ratio = np.log(getattr(family, name) / getattr(given, name))
            ratio = ratio[0] if ratio.ndim == 2 else ratio
            if isinstance(family, nb.Categorical):
                ratio = ratio[np.cumsum([0, *family.num_categories[:-1]])]
            factors[block][name] = ratio[: side.size]
    return factors


@pytest.mark.parametrize(("name", "by"), PAIRS)
@pytest.mark.parametrize("scale", [SPREAD, pytest.param(math.inf, marks=pytest.mark.fuzz)])
def test_the_objective_is_stationary_or_at_a_bound(name, by, scale):
    case = cases.make(name)
    found = fit_empirical(case.model, case.X, case.y, by=by, tolerance=1e-14, hyperprior_scale=scale)
    assert found.converged
    start = nb.fit_posterior(case.model, case.X, case.y)
    assert_allclose(found.start_log_evidence, start.log_evidence)
    assert found.log_evidence + found.log_hyperprior > found.start_log_evidence
    rises, factors = slopes(found.prior, found.statistics, by), log_factors(found, start)
    assert rises.keys() == found.at_bound.keys()
    for block, sides in found.at_bound.items():
        assert rises[block].keys() == sides.keys()
        for hyperparameter, side in sides.items():
            slope = rises[block][hyperparameter] - factors[block][hyperparameter] / scale**2
            assert slope.shape == side.shape, (block, hyperparameter)
            assert_allclose(np.where(side == 0, slope, 0.0), 0.0, atol=1e-5, err_msg=f"{block} {hyperparameter}")
            assert (slope * side >= 0).all()
    x = np.concatenate([part for block in factors.values() for part in block.values()])
    assert_allclose(found.log_hyperprior, -0.5 * np.sum(x**2) / scale**2, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("by", ["block", "feature"])
def test_without_rows_the_given_prior_is_learned(by):
    """The hyperprior's mode."""
    case = cases.make("bernoulli")
    found = fit_empirical(case.model, case.X, case.y, sample_weight=np.zeros(len(case.y)), by=by)
    laws.equal(found.prior, nb.fit_posterior(case.model, case.X, case.y).prior, rtol=1e-12)
    assert found.converged
    assert found.log_hyperprior == found.log_evidence == found.start_log_evidence == 0


@pytest.mark.slow
def test_more_data_from_the_model_lead_to_the_truth():
    """Parameters are the data of their prior: three columns, of which 10, 100 and 1,000 classes have rows."""
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(1000), 20)
    X = (rng.random((len(y), 3)) < rng.beta(0.3, 4.0, (1000, 3))[y]).astype(float)
    errors = []
    for most in (10, 100, 1000):
        found = fit_empirical(nb.NaiveBayes(nb.Bernoulli(), num_classes=1000), X, y, sample_weight=1.0 * (y < most))
        prior = found.prior.families["x"]
        errors.append(np.abs(np.log([prior.a[0] / 0.3, prior.b[0] / 4.0])).mean())
    assert errors[0] > 1.5 * errors[1] > 2.0 * errors[2]
    assert errors[2] < 0.1


def test_constant_and_rare_values_keep_the_scale_of_normal_columns():
    """Mostly zeros, 23 uneven classes: the scale is not learned, which used to end at its bound and to lose nats."""
    rng = np.random.default_rng(8)
    y = np.concatenate([np.arange(23), rng.choice(23, 977, p=np.r_[0.5, 0.3, 0.1, np.full(20, 0.005)])])
    rare = rng.random((1000, 20)) < rng.beta(0.1, 2.0, (23, 20))[y]
    X = np.c_[np.where(rare, rng.geometric(0.3, (1000, 20)), 0), rng.normal(y[:, None] % 3, 1.0, (1000, 3))]
    model, train, held = nb.NaiveBayes(nb.Normal(), num_classes=23), slice(0, 300), slice(300, None)
    default = nb.fit_posterior(model, X[train], y[train])
    with warnings.catch_warnings(action="error"):
        learned = fit_empirical(model, X[train], y[train])
    for name in ("loc", "shape", "rate"):
        assert_array_equal(getattr(learned.prior.families["x"], name), getattr(default.prior.families["x"], name))
    losses = [log_loss(fit.predict_log_proba(X[held]), y[held]) for fit in (default, learned)]
    assert losses[1] < losses[0] + 0.02
    assert learned.log_evidence > default.log_evidence


def test_columns_of_categories_by_brute_force():
    """One factor a column, whatever its number of categories: the best of a grid, and scipy from there."""
    case = cases.make("ragged")
    model = nb.NaiveBayes(case.model.families["x"], class_probs=[0.2, 0.3, 0.5])
    found = fit_empirical(model, case.X, case.y, tolerance=1e-14, hyperprior_scale=math.inf)
    cuts = [2, 7]
    given, learned = (np.split(fit.families["x"].concentration, cuts, axis=1) for fit in (model, found.prior))
    counts = np.split(found.statistics.blocks["x"].counts, cuts, axis=1)

    def loss(log, d):
        a = np.exp(log) * given[d]
        after, before = a + counts[d], a
        return sum(sign * (gammaln(x).sum() - gammaln(x.sum(axis=1)).sum()) for sign, x in ((-1, after), (1, before)))

    for d in range(3):
        grid = np.linspace(-np.log(limits.LARGEST_FACTOR), np.log(limits.LARGEST_FACTOR), 2001)
        best = np.argmin([loss(log, d) for log in grid])
        if found.at_bound["x"]["concentration"][d]:
            assert best in (0, 2000)
            continue
        around = grid[best - 1], grid[best + 1]
        log = scipy.optimize.minimize_scalar(loss, args=(d,), bounds=around, options={"xatol": 1e-10}).x
        assert_allclose(learned[d], np.exp(log) * given[d], rtol=1e-5)
    assert (found.at_bound["x"]["concentration"] == 0).any()
    assert "label" not in found.at_bound  # fixed class probabilities leave nothing to learn


@pytest.mark.parametrize("by", [pytest.param("block", marks=pytest.mark.slow), "feature"])
def test_rescaling_a_column_changes_no_learned_prediction(by):
    case = cases.make("normal")
    scaled = case.X * [1e-3, 1e5, 7.0]
    plain, other = (fit_empirical(case.model, X, case.y, by=by) for X in (case.X, scaled))
    assert_allclose(other.predict_log_proba(scaled), plain.predict_log_proba(case.X), rtol=1e-6)
    assert_allclose(other.log_hyperprior, plain.log_hyperprior, rtol=1e-6)


def test_weights_statistics_and_devices():
    """Weights are repetitions, statistics are rows, and JAX arrays in float32 are learned from in float64."""
    case = cases.make("bernoulli")
    weight = np.random.default_rng(2).integers(0, 4, len(case.y))
    repeated = np.repeat(np.arange(len(case.y)), weight)
    found = fit_empirical(case.model, case.X, case.y, sample_weight=weight)
    laws.equal(found, fit_empirical(case.model, case.rows(repeated), case.y[repeated]), rtol=1e-9)
    statistics = nb.sufficient_statistics(case.model, case.X, case.y, sample_weight=weight)
    laws.equal(found, fit_empirical(case.model, statistics=statistics), rtol=1e-12)
    model = jax.tree.map(jnp.asarray, case.model)
    device = fit_empirical(model, jnp.asarray(case.X), jnp.asarray(case.y), sample_weight=jnp.asarray(weight))
    assert all(leaf.dtype == np.float64 for leaf in jax.tree.leaves((device.prior, device.model, device.statistics)))
    laws.equal(device.prior, found.prior, rtol=1e-5)


def test_what_differs_between_classes_keeps_its_ratio():
    case = cases.make("bernoulli")
    found = fit_empirical(case.model, case.X, case.y, learn_class=False, hyperprior_scale=math.inf, by="block")
    given, learned = case.model.families["x"], found.prior.families["x"]
    for before, after in ((given.a, learned.a), (given.b, learned.b)):
        ratio = after / before
        assert_allclose(ratio, ratio[0, 0])
        assert abs(np.log(ratio[0, 0])) > 0.1
    assert_array_equal(found.prior.class_concentration, [1.5] * 3)


def test_the_class_concentration_of_uneven_classes():
    """A maximum inside, by scipy; balanced classes have none, and the bound is said."""
    model = nb.NaiveBayes(nb.Bernoulli(), class_concentration=[1.0, 1.0, 2.0])
    X, y = np.ones((40, 4)), np.repeat([0, 1, 2], [20, 2, 18])
    found = fit_empirical(model, X, y, tolerance=1e-14, hyperprior_scale=math.inf)

    def loss(log):
        a = np.exp(log) * np.array([1.0, 1.0, 2.0])
        return -(np.log(a).sum() - np.log(a.sum()) + evidence_of_labels(a, [20, 2, 18]))

    def evidence_of_labels(a, counts):
        steps = [np.log(np.arange(1, n) + a_k).sum() for a_k, n in zip(a, counts, strict=True)]
        return sum(steps) - np.log(np.arange(1, sum(counts)) + a.sum()).sum()

    log = scipy.optimize.minimize_scalar(loss, bounds=(-3, 5), options={"xatol": 1e-10}).x
    assert_allclose(found.prior.class_concentration, np.exp(log) * np.array([1.0, 1.0, 2.0]), rtol=1e-6)
    with pytest.warns(UserWarning, match="the class concentration is at its upper bound, 10000 times the one given"):
        balanced = fit_empirical(nb.NaiveBayes(nb.Bernoulli()), X[:39], np.arange(39) % 3, hyperprior_scale=math.inf)
    assert balanced.at_bound["label"]["concentration"] == [1]
    assert_allclose(balanced.prior.class_concentration, limits.LARGEST_FACTOR)


def test_features_without_a_maximum_are_named():
    """A column of zeros wants no prior successes; one that does not depend on the class wants a prior without doubt."""
    y = np.arange(48) % 3
    same, other = (np.arange(48) // 3) % 2, np.random.default_rng(1).random(48) < 0.05 + 0.4 * y
    X = np.c_[0 * y, same, other, 1 + 0 * y].astype(float)
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=3)
    with pytest.warns(UserWarning, match=r"a of block 'x' is at its upper bound, 10000 times .* in \d of 4 features"):
        found = fit_empirical(model, X, y, hyperprior_scale=math.inf)
    a, b = found.at_bound["x"]["a"], found.at_bound["x"]["b"]
    assert_array_equal((a != 0) | (b != 0), [True, True, False, True])
    assert_array_equal([a[1], b[1]], [1, 1])
    prior = found.prior.families["x"]
    assert_allclose([prior.a[:, 1], prior.b[:, 1]], np.full((2, 3), limits.LARGEST_FACTOR))
    assert_allclose((prior.a / (prior.a + prior.b))[:, [0, 1, 3]], np.tile([0.0, 0.5, 1.0], (3, 1)), atol=1e-6)
    assert found.converged


def test_columns_that_say_nothing_keep_their_prior():
    case = cases.make("normal")
    X = np.c_[case.X[:, :2], np.full(24, 3.0)]
    X[:, 1] = np.nan
    found = fit_empirical(case.model, X, case.y)
    prior = found.prior.families["x"]
    assert_array_equal(prior.rate[:, 1:], 0.0)
    assert_array_equal(prior.strength[:, 1:], 1.0)
    assert found.log_evidence > found.start_log_evidence


def test_learning_again_changes_nothing():
    case = cases.make("bernoulli")
    plain = {"by": "block", "learn_class": False, "hyperprior_scale": math.inf}
    once = fit_empirical(case.model, case.X, case.y, **plain)
    again = fit_empirical(once.prior, case.X, case.y, **plain)
    assert again.log_evidence >= again.start_log_evidence == once.log_evidence
    laws.equal(again.prior, once.prior, rtol=1e-3)


@pytest.mark.slow
def test_as_many_rows_as_there_may_be():
    """1e8 rows: differences of log-gammas of 1e9 still lead to the maximum."""
    case = cases.make("bernoulli")
    weight = np.full(24, 1e8 / 24)
    found = fit_empirical(case.model, case.X, case.y, sample_weight=weight, by="block", hyperprior_scale=math.inf)
    assert found.converged
    assert found.num_iterations < 20
    for slope in slopes(found.prior, found.statistics, "block")["x"].values():
        assert_allclose(slope, 0.0, atol=1e-4)


def test_steps_that_run_out_are_said():
    case = cases.make("bernoulli")
    with pytest.warns(UserWarning, match="still rising after 1 steps: take more max_iterations"):
        found = fit_empirical(case.model, case.X, case.y, max_iterations=1)
    assert not found.converged
    assert found.num_iterations == 1
    assert found.log_evidence >= found.start_log_evidence


def test_the_result_is_a_posterior():
    case = cases.make("bernoulli")
    found = fit_empirical(case.model, case.X, case.y)
    same = nb.fit_posterior(found.prior, case.X, case.y)
    assert_allclose(found.log_joint(case.X), same.log_joint(case.X))
    assert_allclose(found.log_evidence, same.log_evidence)
    inside = jax.jit(lambda fit, X: fit.predict_log_proba(X))(found, jnp.asarray(case.X))
    assert_allclose(inside, found.predict_log_proba(case.X), rtol=1e-4, atol=1e-4)
    moved = found.with_class_probs([0.2, 0.3, 0.5])
    assert isinstance(moved, EmpiricalPosterior)
    assert moved.converged
    assert moved.log_evidence == found.log_evidence
    assert repr(found).startswith("EmpiricalPosterior(prior=NaiveBayes(Bernoulli(")


def test_bad_input():
    model, X, y = nb.NaiveBayes(nb.Bernoulli(), num_classes=3), np.ones((3, 2)), np.arange(3)
    with pytest.raises(ValueError, match="by must be 'block' or 'feature', got 'column'"):
        fit_empirical(model, X, y, by="column")
    with pytest.raises(ValueError, match="hyperprior_scale must be positive"):
        fit_empirical(model, X, y, hyperprior_scale=0.0)
    with pytest.raises(ValueError, match="max_iterations must be a positive int"):
        fit_empirical(model, X, y, max_iterations=0)
    with pytest.raises(ValueError, match="tolerance must be positive"):
        fit_empirical(model, X, y, tolerance=-1.0)
    with pytest.raises(ValueError, match="inside a JAX transformation"):
        jax.jit(lambda X: fit_empirical(model, X, y).log_evidence)(X)
    with pytest.raises(ValueError, match="give rows"):
        fit_empirical(model)
