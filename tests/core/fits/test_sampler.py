"""The compiled sampler serves every call of one shape: nothing is compiled anew, and nothing of the data is kept."""

import gc
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import betaln

import bayesnb as nb
from bayesnb.core.fits import _sampler as sampler
from tests.agreement import exact_mean, means_agree

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")

SETTINGS = {"num_samples": 1500, "num_warmup": 300, "num_chains": 1, "progress_bar": False}
MODEL = nb.NaiveBayes(nb.Bernoulli())
Y = np.arange(40) % 2
EVEN = {"class_probs": np.array([0.5, 0.5])}


@pytest.fixture
def compiled():
    """What JAX traced or compiled since."""
    events = []

    def listen(event, duration, **details):
        del duration
        if event.startswith("/jax/core/compile/"):
            events.append((event, details))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)


def flags(seed, share):
    return (np.random.default_rng(seed).random((40, 2)) < share).astype(int)


def ones(X):
    """How many rows of each class, which has 20, have a one, [K, D]."""
    return np.array([X[k == Y].sum(axis=0) for k in (0, 1)])


FEW, MANY = flags(0, [0.1, 0.4]), flags(1, [0.9, 0.5])


def sample(model, X, seed=0, **settings):
    return nb.fit_nuts(model, X, Y, key=jax.random.key(seed), **{**SETTINGS, **settings})


@pytest.mark.slow
def test_other_data_of_the_same_shape(compiled):
    """The answer is that of its own data, and one key gives one answer."""
    few, many = (exact_mean(nb.fit_posterior(MODEL, X, Y).model) for X in (FEW, MANY))
    first = sample(MODEL, FEW)
    means_agree(first, few)
    compiled.clear()
    other = sample(MODEL, MANY)
    again = sample(MODEL, FEW)
    assert not compiled
    means_agree(other, many)
    assert_array_equal(first.params["x_probs"], again.params["x_probs"])
    assert (first.params["x_probs"] != sample(MODEL, FEW, seed=1).params["x_probs"]).any()


@pytest.mark.slow
def test_the_progress_bar_compiles_nothing_and_changes_no_draw(compiled, capsys, monkeypatch):
    plain = sample(MODEL, FEW)
    compiled.clear()
    sample(MODEL, FEW, progress_bar=True)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = sample(MODEL, FEW, progress_bar=True)
    assert not compiled
    assert "100%" in capsys.readouterr().err
    assert_array_equal(plain.params["x_probs"], shown.params["x_probs"])


@pytest.mark.slow
def test_threads_share_what_is_compiled():
    alone = [sample(MODEL, X) for X in (FEW, MANY)]

    def run(X):
        with jax.numpy_rank_promotion("allow"):
            return sample(MODEL, X)

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(run, (FEW, MANY)))
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one.params["x_probs"], other.params["x_probs"])


@pytest.mark.slow
def test_nothing_of_the_data_is_kept():
    """Class counts of 20 pi would tell, wherever they were."""
    X, weight = FEW.copy(), np.full(40, np.pi)
    sample(MODEL, X, sample_weight=weight)
    given = [weakref.ref(X), weakref.ref(weight)]
    del X, weight
    gc.collect()
    assert all(array() is None for array in given)
    floats = [array for array in jax.live_arrays() if jnp.issubdtype(array.dtype, jnp.floating)]
    assert not any(np.isclose(array, 20 * np.pi).any() for array in floats)


@pytest.mark.slow
def test_bounds_of_a_prior_are_data(compiled):
    """Other bounds, like other rows, must reach the transformations: against a Beta that is cut off at them."""
    for X, (low, high) in ((FEW, (0.2, 0.6)), (MANY, (0.4, 0.9))):
        model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.5, 0.5], priors={"x_probs": dist.Uniform(low, high)})
        compiled.clear()
        draws = sample(model, X, num_chains=2)
        beta, next_beta = (stats.beta(more + ones(X), 21 - ones(X)) for more in (1, 2))
        share = (next_beta.cdf(high) - next_beta.cdf(low)) / (beta.cdf(high) - beta.cdf(low))
        means_agree(draws, {"x_probs": (1 + ones(X)) / 22 * share, **EVEN})
        assert low < draws.params["x_probs"].min() < draws.params["x_probs"].max() < high
    assert all("trace" in event for event, _ in compiled)


@pytest.mark.slow
def test_hyperpriors(compiled):
    """Against a sum over a grid of a, with the probabilities integrated out."""
    model = nb.NaiveBayes(nb.Bernoulli(a=dist.LogNormal(0.0, 1.0)), class_probs=[0.5, 0.5])
    grid = np.linspace(0.005, 40.0, 8000)
    for X in (FEW, MANY):
        compiled.clear()
        draws = sample(model, X)
        log_p = stats.lognorm.logpdf(grid, 1.0)
        for s in ones(X).ravel():
            log_p = log_p + betaln(grid + s, 21 - s) - betaln(grid, 1.0)
        weight = np.exp(log_p - log_p.max())
        values = draws.params["x_prior_a"]
        error = values.std() / np.sqrt(draws.min_ess)
        assert_allclose(values.mean(), (weight * grid).sum() / weight.sum(), atol=5 * error)
    assert not compiled


@pytest.mark.slow
@pytest.mark.parametrize("num_chains", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_first_call_leaks_no_tracer_and_later_calls_compile_nothing(num_chains, compiled):
    """NumPyro's kernel is set up while JAX traces it, and outlives the trace: it must keep nothing of it."""
    target = sampler.Target(lambda _: numpyro.sample("z", dist.Normal()), lambda z, x: -jnp.square(z - x).sum())
    settings, key = {**SETTINGS, "num_samples": 4000, "num_chains": num_chains}, jax.random.key(0)
    with jax.checking_leaks():
        sampler.sample(target, (np.array([1.0]),), key, **settings)
    sampler.sample(target, (np.array([1.0]),), key, **settings)
    compiled.clear()
    draws, _ = sampler.sample(target, (np.array([4.0]),), key, **settings)
    assert not compiled
    # N(0, 1) times exp(-(z - 4)^2) is N(8 / 3, 1 / 3); 5 standard errors of 1,000 independent draws
    assert_allclose(draws["z"].mean(), 8 / 3, atol=5 / np.sqrt(3 * 1000))


def test_nowhere_to_start():
    target = sampler.Target(lambda: numpyro.sample("z", dist.Normal()), lambda z: jnp.log(-jnp.square(z)))
    with pytest.raises(ValueError, match="no initial point with finite log density"):
        sampler.sample(target, (), jax.random.key(0), **SETTINGS)
