"""NUTS on the statistics against exact posteriors, of rows with labels and of all labellings of those without."""

from itertools import product

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb
from bayesnb.compute.arrays._compute import compute
from bayesnb.core.families._bernoulli import BernoulliStatistics
from bayesnb.core.families._binomial import BinomialStatistics
from bayesnb.core.families._poisson import PoissonStatistics
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.families.priors._normal_inverse_wishart import MultivariateNormalStatistics
from bayesnb.core.fits import _nuts as nuts
from bayesnb.core.fits._em import separate
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from tests import cases
from tests.agreement import exact_mean, means_agree, predictions_agree
from tests.core.fits.few_rows import FAMILIES, X, Y

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")


def sample(model, *args, **kwargs):
    return nb.fit_nuts(model, *args, **{"key": jax.random.key(4), "progress_bar": False, **kwargs})


@pytest.mark.slow
def test_every_family_agrees_with_the_exact_posterior():
    """In one model of nine blocks, with weights and missing cells; labels in order would leave no row in doubt."""
    labels = np.random.default_rng(11).permutation(Y)
    holes = {name: x.astype(float) for name, x in X.items()}
    holes["reals"][::4, 1] = np.nan
    weight = np.arange(20) % 4 + 0.5
    model = nb.NaiveBayes(FAMILIES, class_concentration=[1.0, 3.0])
    draws = sample(model, holes, labels, sample_weight=weight)
    exact = nb.fit_posterior(model, holes, labels, sample_weight=weight)
    rows = {name: x[:8] for name, x in holes.items()}
    means_agree(draws, exact_mean(exact.model))
    predictions_agree(draws, exact.predict_proba(rows), rows)
    assert draws.max_r_hat < 1.01
    assert draws.min_ess > 400
    assert draws.num_divergences == 0
    assert {site: value.shape[0] for site, value in draws.params.items()} == dict.fromkeys(exact.model.sites(), 4000)


@pytest.mark.slow
def test_too_few_draws_are_named_and_class_probs_stay_fixed():
    """The warning is in words, with the numbers; fixed class probabilities are not sampled."""
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.25, 0.75])
    with pytest.warns(UserWarning, match=r"effective sample size is \d+, below 400: take more num_samples"):
        draws = sample(model, X["flags"], Y, num_samples=20, num_warmup=50, num_chains=2)
    assert_allclose(draws.params["class_probs"], np.broadcast_to([0.25, 0.75], (40, 2)))
    assert draws.num_chains == 2
    again = draws.with_class_probs([0.5, 0.5])
    shift = again.log_joint(X["flags"]) - draws.log_joint(X["flags"])
    assert_allclose(shift, np.broadcast_to(np.log([2.0, 2 / 3]), shift.shape), rtol=1e-5)


def test_draws_need_a_key():
    with pytest.raises(TypeError, match="key"):
        nb.fit_nuts(nb.NaiveBayes(nb.Bernoulli()), X["flags"], Y)


@pytest.mark.slow
def test_one_key_gives_one_answer():
    model = nb.NaiveBayes(nb.Bernoulli())
    with pytest.warns(UserWarning, match="do not trust these draws yet"):
        one, same, other = (
            sample(model, X["flags"], Y, key=jax.random.key(seed), num_samples=5, num_warmup=5) for seed in (0, 0, 1)
        )
    assert_array_equal(one.params["x_probs"], same.params["x_probs"])
    assert (one.params["x_probs"] != other.params["x_probs"]).any()


def many(rows):
    """Statistics of so many rows, two classes: flags of different rarity, reals far from zero."""
    n = np.array([0.3, 0.7]) * rows
    share = np.array([[0.5, 0.01, 0.9], [0.2, 0.02, 0.999]])
    mean, deviation = np.array([[0.0, 1e4], [1.0, 1e4 + 1]]), np.array([[1.0, 2.0], [1.5, 2.0]])
    trials = np.repeat(n[:, None], 3, axis=1)
    reals = NormalStatistics(trials[:, :2], mean, trials[:, :2] * deviation**2)
    flags = BernoulliStatistics((trials * share).round(), trials)
    return ModelStatistics(n, {"flags": flags, "reals": reals})


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1e6, 1e8])
def test_many_rows_given_as_statistics(rows):
    """In float32 the log density of 1e6 rows has steps of one nat: the sampler then takes 1,023 steps a draw and a mean
    is 3.8 posterior standard deviations off. Relative to the posterior mean it is as easy as 1e3 rows."""
    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "reals": nb.Normal()})
    draws = sample(model, statistics=many(rows))
    means_agree(draws, exact_mean(nb.fit_posterior(model, statistics=many(rows)).model))
    assert np.median(draws.sample_stats["num_steps"]) <= 31
    assert draws.num_divergences == 0


def many_dependent(rows):
    """Statistics of so many rows, two classes: columns of correlation .95 far from zero, rare and frequent counts."""
    n = np.array([0.3, 0.7]) * rows
    mean = np.array([[0.0, 1e4], [1.0, 1e4 + 1]])
    covariance = np.array([[[1.0, 1.9], [1.9, 4.0]], [[2.0, -0.5], [-0.5, 1.0]]])
    gaussian = MultivariateNormalStatistics(mean, n, n[:, None, None] * covariance)
    cells = np.repeat(n[:, None], 2, axis=1)
    events = PoissonStatistics((cells * [[0.01, 30.0], [0.02, 31.0]]).round(), cells, np.zeros((2, 2)))
    wins = BinomialStatistics((6 * cells * [[0.5, 0.99], [0.2, 0.01]]).round(), 6 * cells, np.zeros((2, 2)))
    reals = NormalStatistics(cells, mean, cells * [1.0, 4.0])
    return ModelStatistics(n, {"bent": gaussian, "plane": gaussian, "events": events, "wins": wins, "tied": reals})


@pytest.mark.slow
def test_many_dependent_rows_given_as_statistics():
    statistics = many_dependent(1e6)
    model = nb.NaiveBayes({name: FAMILIES[name] for name in statistics.blocks})
    draws = sample(model, statistics=statistics)
    means_agree(draws, exact_mean(nb.fit_posterior(model, statistics=statistics).model))
    assert np.median(draws.sample_stats["num_steps"]) <= 31
    assert draws.num_divergences == 0


# NUTS with unlabelled rows against every way to label them, each of which has an exact posterior and evidence


LABELLED, SOME = 8, 12
NEW = np.array([1, 15, 16, 19])
"""Rows whose classes are not beyond doubt: tiny probabilities hang on a few draws."""


def rows_of(names, rows):
    """Rows of the blocks; the reals lie far from zero, where float32 would lose them."""
    return {name: X[name][rows] + (1e5 if name == "reals" else 0) for name in names}


def every_labelling(model, rows, y):
    """The exact posteriors under each way to label the unlabelled rows, and their probabilities."""
    prior = model.resolve(rows)
    fits = []
    for guess in product(range(model.num_classes), repeat=int((y < 0).sum())):
        whole = y.copy()
        whole[y < 0] = guess
        fits.append(nb.fit_posterior(prior, rows, whole))
    evidence = np.array([fit.log_evidence for fit in fits])
    return fits, np.exp(evidence - evidence.max()) / np.exp(evidence - evidence.max()).sum()


def agree(draws, fits, probability, rows):
    """Means and predictions over all labellings, a mixture of exact posteriors."""
    means = [exact_mean(fit.model) for fit in fits]
    mixture = {site: sum(p * mean[site] for p, mean in zip(probability, means, strict=True)) for site in means[0]}
    means_agree(draws, mixture)
    exact = sum(p * np.exp(fit.log_joint(rows)) for p, fit in zip(probability, fits, strict=True))
    predictions_agree(draws, exact / exact.sum(axis=1, keepdims=True), rows)


@pytest.mark.slow
@pytest.mark.parametrize("names", [["reals"], [*FAMILIES]], ids=len)
def test_every_labelling_weighed_by_its_evidence(names):
    """The labels of nine blocks are shuffled, else no row is in doubt."""
    model = nb.NaiveBayes({name: FAMILIES[name] for name in names}, class_concentration=[1.0, 3.0])
    labels = np.arange(SOME) % 2 if len(names) == 1 else np.random.default_rng(11).permutation(np.arange(SOME) % 2)
    rows, y = rows_of(names, slice(SOME)), np.where(np.arange(SOME) < LABELLED, labels, -1)
    fits, probability = every_labelling(model, rows, y)
    draws = sample(model, rows, y)
    agree(draws, fits, probability, rows_of(names, NEW))
    assert draws.num_divergences == 0


@pytest.mark.slow
def test_without_labels_the_numbers_of_classes_mean_nothing():
    """Four rows let every chain exchange the names often: the density of rows is that of all labellings."""
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    rows, y = X["flags"][:4], np.full(4, -1)
    fits, probability = every_labelling(model, rows, y)
    with pytest.warns(UserWarning, match=r"no labelled row distinguishes the classes \[0, 1\]"):
        draws = sample(model, rows, y)
    agree(draws, fits, probability, X["flags"][4:8])
    exact = sum(p * np.exp(fit.log_density(rows)) for p, fit in zip(probability, fits, strict=True))
    assert_allclose(np.exp(draws.log_density(rows)), exact, rtol=0.05)
    assert_allclose(draws.params["class_probs"].mean(axis=0), 0.5, atol=0.05)


def factor(name, weight):
    """The unlabelled rows' factor in NUTS as a function of steps from the reference, and what it must be."""
    case = cases.make(name)
    y = np.where(np.arange(len(case.y)) % 4 < 2, case.y, -1)
    rows = separate(case.model, case.X, y, weight)
    _, _, reference = compute(nuts._centre, rows.model, rows.labelled)

    def expected(params):
        restored = compute(jax.jit(rows.model.restore), rows.labelled, params)
        others = case.rows(y < 0)
        base = rows.model.row_base_measure(rows.arrays)
        return rows.weight @ (nb.PointEstimate.trust(rows.model, restored).log_density(others) - base)

    return rows, reference, expected


MOVED = [name for name in cases.NAMES if name != "histogram"]  # whose discrete sites fit_nuts refuses


@pytest.mark.parametrize("name", cases.by_default(MOVED, slow=("normal", "mixed", "poisson")))
def test_the_factor_of_the_unlabelled_rows(name):
    """It is their weighted log density by predictions, in the coordinates of the labelled rows, and its slope."""
    rows, reference, expected = factor(name, np.arange(24) / 7 + 0.1)
    assert_allclose(nuts._log_density(rows, reference), expected(reference), rtol=1e-4)
    with jax.enable_x64(True):
        value, slope = jax.jit(jax.value_and_grad(nuts._log_density, argnums=1))(rows, reference)
        assert_allclose(value, expected(reference), rtol=1e-10)
        many = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), reference)
        mapped = jax.vmap(jax.grad(nuts._log_density, argnums=1), (None, 0))(rows, many)
    site = "class_probs"
    step = 1e-5 * np.eye(3)[0]
    sides = [expected({**reference, site: reference[site] + s * step}) for s in (-1, 1)]
    assert_allclose(slope[site][0], (sides[1] - sides[0]) / 2e-5, rtol=1e-6)
    jax.tree.map(lambda one, two: assert_allclose(two, np.stack([one, one]), rtol=1e-9, atol=1e-9), slope, mapped)


def test_hyperpriors_need_labels():
    model = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0)), num_classes=2)
    with pytest.raises(ValueError, match=r"hyperpriors cannot be combined with unlabelled rows \(y = -1\)"):
        sample(model, X["flags"][:4], np.array([0, 1, 0, -1]))


def test_labels_below_minus_one():
    with pytest.raises(ValueError, match="y holds -2"):
        sample(nb.NaiveBayes(nb.Bernoulli()), X["flags"][:4], np.array([0, 1, -1, -2]))
    with pytest.raises(ValueError, match="y holds -2"):
        sample(nb.NaiveBayes(nb.Bernoulli()), X["flags"][:4], np.array([0, 1, 1, -2]))


def test_rows_partly_missing_under_a_full_covariance():
    rows = X["bent"][:4].copy()
    rows[3, 0] = np.nan
    with pytest.raises(ValueError, match="no closed form from rows with some cells missing"):
        sample(nb.NaiveBayes(nb.MultivariateNormal()), rows, np.array([0, 1, 0, -1]))


@pytest.mark.slow
def test_blocks_without_priors_of_their_own_are_drawn_from_their_exact_posterior():
    rng, y = np.random.default_rng(3), np.arange(80) % 2
    flags = (rng.random((80, 2)) < 0.3 + 0.3 * y[:, None]).astype(float)
    X = {"a": flags, "b": rng.normal(y[:, None], 1.0, (80, 2)), "h": rng.normal(y[:, None], 1.0, (80, 1))}
    families = {"a": nb.Bernoulli(), "b": nb.Normal(variance="shared"), "h": nb.Histogram()}
    model = nb.NaiveBayes(families, priors={"b_variance": dist.LogNormal(0.0, 1.0).expand([2])})
    draws = nb.fit_nuts(model, X, y, key=jax.random.key(0), num_samples=1000, num_warmup=500, progress_bar=False)
    assert {*draws.params} == {*model.sites()}  # a Histogram, whose cuts NUTS cannot move, stands beside
    counts = np.stack([flags[y == k].sum(axis=0) for k in (0, 1)])
    exact = stats.beta(1 + counts, 1 + 40 - counts)
    off = np.abs(draws.params["a_probs"].mean(axis=0) - exact.mean()) / (exact.std() / np.sqrt(4000))
    assert off.max() < 4.5
    assert_allclose(draws.params["a_probs"].std(axis=0), exact.std(), rtol=0.06)
    lagged = draws.params["a_probs"].reshape(4000, -1)
    correlation = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in lagged.T]
    assert np.abs(correlation).max() < 4.5 / np.sqrt(4000)  # independent draws
    alone = nb.NaiveBayes({"b": families["b"]}, priors=model.priors)
    of_b = nb.fit_nuts(
        alone, {"b": X["b"]}, y, key=jax.random.key(1), num_samples=1000, num_warmup=500, progress_bar=False
    )
    assert_allclose(draws.params["b_variance"].mean(axis=0), of_b.params["b_variance"].mean(axis=0), rtol=0.03)
