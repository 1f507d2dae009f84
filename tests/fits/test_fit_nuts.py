"""NUTS on the statistics against the exact posterior: two roads to one answer."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.families.bernoulli import BernoulliStatistics
from bayesnb.families.binomial import BinomialStatistics
from bayesnb.families.parts.statistics import MultivariateNormalStatistics, NormalStatistics
from bayesnb.families.poisson import PoissonStatistics
from bayesnb.rows.statistics import ModelStatistics
from tests.agreement import exact_mean, means_agree, predictions_agree
from tests.fits.few_rows import FAMILIES, X, Y

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
