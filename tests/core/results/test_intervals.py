"""Credible intervals of predictions, against exact distributions; and the terms of the likelihood that they need."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.results._draws import Draws
from tests import cases

FLAGS = np.array([[1], [1], [0], [1], [0], [0], [0], [1]])
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
NUM_DRAWS = 4000
FIT = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.3, 0.7]), FLAGS, Y)
ONE, ZERO = stats.beta(4, 2), stats.beta(2, 4)
"""Posteriors of the two classes' probabilities of a one."""


def probability_below(q):
    """P(p(y = 1 | x = 1, theta) <= q): .7 b / (.3 a + .7 b) <= q where b <= a (3 / 7) q / (1 - q)."""
    return integrate.quad(lambda a: ONE.pdf(a) * ZERO.cdf(a * 3 / 7 * q / (1 - q)), 0, 1)[0]


def assert_quantile(found, expected):
    """A quantile of so many draws is the true one within five standard errors."""
    assert abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / NUM_DRAWS)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_interval_of_a_probability(key, level):
    low, high = FIT.predict_interval(np.ones((1, 1)), level, key=key, num_draws=NUM_DRAWS)
    assert low.shape == (1, 2)
    assert_quantile(probability_below(low[0, 1]), 0.5 - level / 2)
    assert_quantile(probability_below(high[0, 1]), 0.5 + level / 2)
    assert_allclose(low[:, 0], 1 - high[:, 1])


def test_the_interval_of_a_contribution(key):
    """log b - log a for classes 1 and 0, from the exact distribution of the ratio."""
    low, high = FIT.contribution_interval(np.ones((1, 1)), 0.8, key=key, num_draws=NUM_DRAWS)
    assert low.shape == (1, 2, 1)
    for end, expected in [(low, 0.1), (high, 0.9)]:
        below = integrate.quad(lambda a, r=end[0, 1, 0]: ONE.pdf(a) * ZERO.cdf(a * np.exp(r)), 0, 1)[0]
        assert_quantile(below, expected)
        assert end[0, 0, 0] == 0
    other = FIT.contribution_interval(np.ones((1, 1)), 0.8, key=key, num_draws=NUM_DRAWS, against=1)
    assert_allclose(other.low[0, 0], -high[0, 1])


@pytest.mark.parametrize("name", cases.by_default(cases.NAMES[:-1], "ragged", "trials", "covariance"))
def test_terms_add_up_to_the_likelihood(name):
    """Feature by feature in pure JAX, and the whole row by products on the host."""
    case = cases.make(name)
    fit = nb.fit_map(case.model, case.X, case.y)
    arrays = fit.arrays(case.X)
    blocks = fit.model.block_params(fit.params)
    for block, family in fit.model.families.items():
        with jax.enable_x64(True):
            terms = jax.jit(family.log_likelihood_terms)(blocks[block], jnp.asarray(arrays[block]))
            found = [np.asarray(part.sum(axis=-1)) for part in jax.tree.leaves(terms)]
        whole = family.log_likelihood(blocks[block], arrays[block])
        predictive = jax.eval_shape(family.log_predictive_terms, arrays[block][:1])
        assert terms.finite.shape[2] == predictive.shape[2]
        assert_allclose(found[0], whole.finite, rtol=1e-9, atol=1e-9)
        assert_array_equal(found[1:] or 0, 0 if whole.zeros is None else [whole.zeros])


@pytest.mark.parametrize("names", [["multinomial", "poisson"], cases.NAMES[:-1]], ids=len)
@pytest.mark.slow
def test_powers_of_one_change_nothing(names, key):
    """Feature by feature and whole blocks: two ways to one answer."""
    model, X, y = cases.mix(names)
    fit = nb.fit_posterior(model, X, y)
    rows = jax.tree.map(lambda x: x[:6], X)
    plain = fit.predict_interval(rows, key=key, num_draws=20)
    powers = replace(fit, powers={name: np.ones(1) for name in names}).predict_interval(rows, key=key, num_draws=20)
    assert_allclose(powers, plain, rtol=1e-7)
    assert (plain.low <= plain.high).all()
    for name, (low, high) in fit.contribution_interval(rows, key=key, num_draws=20).items():
        assert low.shape == high.shape == fit.model.families[name].log_predictive_terms(fit.arrays(rows)[name]).shape


def test_contributions_of_one_draw_are_its_log_odds(key):
    """With one draw the interval is a point, and prior and contributions add up to the prediction, weights included."""
    case = cases.make("normal")
    fit = replace(nb.fit_posterior(case.model, case.X, case.y), powers={"x": np.array([0.5, 1.0, 2.0])})
    low, high = fit.contribution_interval(case.X, key=key, num_draws=1)
    assert_array_equal(low, high)
    probs = fit.sample(key, 1)["class_probs"][0]
    log_odds = low.sum(axis=-1) + np.log(probs / probs[0])
    assert_allclose(
        special.softmax(log_odds, axis=1), fit.predict_interval(case.X, key=key, num_draws=1).low, rtol=1e-5
    )


def test_both_ends_meet_the_prediction_as_rows_pile_up(key):
    statistics = jax.tree.map(lambda a: 1e8 * a, FIT.statistics)
    many = nb.fit_posterior(FIT.prior, statistics=statistics)
    rows = np.array([[0], [1]])
    for end in many.predict_interval(rows, 0.99, key=key):
        assert_allclose(end, many.predict_proba(rows), atol=1e-3)


@pytest.mark.slow
def test_rows_in_parts_are_rows_at_once(key, monkeypatch):
    """The working set is bounded; the answer does not depend on the bound."""
    case = cases.make("normal")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    whole = fit.predict_interval(case.X, key=key, num_draws=16)
    monkeypatch.setattr(limits, "AT_ONCE_BYTES", 4 * 8 * 16 * 3)
    assert_allclose(fit.predict_interval(case.X, key=key, num_draws=16), whole, rtol=1e-12)
    assert fit.predict_interval(case.X[:0], key=key, num_draws=16).low.shape == (0, 3)


@pytest.mark.slow
def test_draws_and_averages_have_intervals_too(key):
    """Draws of an exact posterior have its intervals; an average over subsets holds the class prior too."""
    draws = Draws(FIT.model, FIT.sample(key, NUM_DRAWS), {"diverging": np.zeros(NUM_DRAWS, bool)}, 4)
    low, high = draws.predict_interval(np.ones((1, 1)), key=key, num_draws=NUM_DRAWS)
    # draws of draws: twice the variance
    assert abs(probability_below(low[0, 1]) - 0.05) < 5 * np.sqrt(2 * 0.05 * 0.95 / NUM_DRAWS)
    assert abs(probability_below(high[0, 1]) - 0.95) < 5 * np.sqrt(2 * 0.05 * 0.95 / NUM_DRAWS)
    averaged = nb.fit_averaged(nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.3, 0.7]), FLAGS, Y)
    low, high = averaged.predict_interval(np.ones((1, 1)), 0.5, key=key)
    # where the feature does not depend on the class the class prior remains
    assert averaged.probability[0] < 0.75
    assert low[0, 1] < high[0, 1] == pytest.approx(0.7)


@pytest.mark.slow
def test_draws_inside_jit(key):
    draws = Draws(FIT.model, FIT.sample(key, 64), {"diverging": np.zeros(64, bool)}, 4)
    found = jax.jit(lambda rows: draws.predict_interval(rows, key=key, num_draws=32))(jnp.ones((3, 1)))
    assert_allclose(found, draws.predict_interval(np.ones((3, 1)), key=key, num_draws=32), rtol=1e-4)


@pytest.mark.slow
def test_jax_rows_and_jit(key):
    fit = jax.tree.map(jnp.asarray, FIT)
    found = jax.jit(lambda rows: fit.predict_interval(rows, key=key, num_draws=NUM_DRAWS))(jnp.ones((3, 1)))
    assert isinstance(found.low, jax.Array)
    assert_quantile(probability_below(float(found.low[2, 1])), 0.05)
    assert_quantile(probability_below(float(found.high[2, 1])), 0.95)


@pytest.mark.parametrize("against", [0, 1])
def test_a_second_interval_compiles_nothing(key, against):
    def intervals_of_all():
        FIT.predict_interval(FLAGS, key=key, num_draws=16)
        FIT.contribution_interval(FLAGS, key=key, num_draws=16, against=against)
        nb.explain(FIT, FLAGS, key=key, num_draws=16, against=against)

    events = []

    def listen(event, *_, **__):
        events.append(event)

    intervals_of_all()
    jax.monitoring.register_event_duration_secs_listener(listen)
    intervals_of_all()
    jax.monitoring.unregister_event_duration_listener(listen)
    assert "/jax/core/compile/backend_compile_duration" not in events


def test_what_is_refused(key):
    with pytest.raises(ValueError, match="level must be a probability above 0 and below 1, got 90"):
        FIT.predict_interval(FLAGS, 90, key=key)
    with pytest.raises(ValueError, match="against must be a class, an integer from 0 to 1, got 2"):
        FIT.contribution_interval(FLAGS, key=key, against=2)
    with pytest.raises(ValueError, match="a point estimate has no posterior uncertainty"):
        nb.fit_map(FIT.prior, FLAGS, Y).predict_interval(FLAGS, key=key)
    with pytest.raises(TypeError, match="key"):
        FIT.predict_interval(FLAGS)
    with pytest.raises(ValueError, match="columns"):
        FIT.predict_interval(np.ones((2, 3)), key=key)
