"""The certificate: a point computed by JAX itself, and values far out, where other programs have another density."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.jaxpr_numpy import RULES, Rule, by_numpy
from bayesnb.recognition._user_program import CORNERS, FAR, draw_far
from tests import cases
from tests.recognition.case import CODES, COUNTS, FLAGS, REALS, C, Y
from tests.recognition.programs.parts import rows, table


def recognise(number):
    """The model of coins whose prior has this number, a function without arguments, computed in the program."""

    def coins(x, y):
        theta = numpyro.sample("theta", dist.Beta(number(), 3.0).expand([2]))
        numpyro.sample("x", dist.Bernoulli(theta[y]), obs=x)

    return nb.from_numpyro(coins, (FLAGS[:, 0], Y), label="y")


def halves():
    return (jnp.bfloat16(5) / jnp.bfloat16(2)).astype(jnp.float32)


def single():
    return jnp.exp(jnp.float32(0.3))


def drawn():
    return 1.0 + jax.random.uniform(jax.random.key(4))


def a_loop():
    return jax.vmap(lambda n: jax.lax.while_loop(lambda s: s < 7.0, lambda s: s + n, n))(jnp.array([1.0, 2.0])).sum()


@pytest.mark.parametrize("number", cases.by_default([halves, single, drawn, a_loop], a_loop))
def test_a_number_of_the_program_is_the_one_that_jax_computes(number):
    with jax.enable_x64(True):
        expected = float(jax.jit(number)())
    model = recognise(number)
    assert_allclose(model.families["x"].a, expected, rtol=1e-6 if number is single else 1e-12)
    assert model.certificate.difference < 1e-6
    assert "as JAX compiles it" in repr(model.certificate)


@pytest.mark.slow
def test_random_numbers_follow_the_setting_of_jax_s_generator():
    with jax.threefry_partitionable(False):
        with jax.enable_x64(True):
            expected = float(drawn())
        assert_allclose(recognise(drawn).families["x"].a, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "number",
    [lambda: jnp.arctan(0.5), pytest.param(lambda: jnp.arctan(jnp.array([0.5, 1.0])).sum(), marks=pytest.mark.slow)],
)
def test_a_wrong_evaluation_is_refused(number, monkeypatch):
    monkeypatch.setitem(RULES, "atan", Rule("d", lambda _: np.tan))
    with pytest.raises(nb.NotNaiveBayes, match=r"site 'theta' .* where JAX computes it and not numpy"):
        recognise(number)


@pytest.mark.slow
def test_gamma_variates_of_the_program_are_refused():
    """They are numpy's own in the evaluation."""
    with pytest.raises(nb.NotNaiveBayes, match="what depends on random keys"):
        recognise(lambda: jax.random.gamma(jax.random.key(0), 2.0))


@pytest.mark.slow
def test_a_program_that_needs_numbers_is_compared_too(monkeypatch):
    monkeypatch.setitem(RULES, "atan", Rule("d", lambda _: np.tan))
    with pytest.raises(nb.NotNaiveBayes, match="where JAX computes it and not numpy"):
        recognise(lambda: float(jnp.arctan(0.25)))


# programs that are naive Bayes but for values of their latents far out: in a tail they have another density


BETA, GAMMA, NORMAL = dist.Beta(2.0, 2.5), dist.Gamma(2.0, 0.5), dist.Normal(1.0, 2.0)


def recognise_rows(X, *parts):
    """The answer to rows of this likelihood, whose parameters are the latents of these priors, each changed."""
    likelihood, *latents = parts

    def program(X, y):
        params = [change(table(f"latent{n}", prior)) for n, (prior, change) in enumerate(latents)]
        rows(X, y, lambda y: likelihood(*(param[y] for param in params)))

    return nb.from_numpyro(program, (X, Y), label="y")


def same(value):
    return value


class Step(dist.Beta):
    """A Beta whose density doubles above 0.97."""

    def log_prob(self, value, _=None):
        return super().log_prob(value) + jnp.log(2.0) * (value > 0.97)


def probability(change):
    return FLAGS, dist.Bernoulli, (BETA, change)


def logit(change):
    return FLAGS, lambda eta: dist.Bernoulli(logits=eta), (dist.Normal(0.0, 1.5), change)


def rate(change):
    return COUNTS, dist.Poisson, (GAMMA, change)


def mean(change):
    return REALS, dist.Normal, (NORMAL, change), (dist.HalfNormal(3.0), same)


def scale(change):
    return REALS, dist.Normal, (NORMAL, same), (dist.HalfNormal(3.0), change)


CHANGED = {
    "a probability": probability(lambda p: jnp.clip(p, 0.05, 0.95)),
}

MORE = {
    "a mean above": mean(lambda m: jnp.minimum(m, 7.0)),
    "a prior with a step": (FLAGS, dist.Bernoulli, (Step(2.0, 2.5), same)),
    "another value": probability(lambda p: jnp.where(p > 0.95, 0.5, p)),
    "one element below": probability(lambda p: p.at[1, 2].set(jnp.maximum(p[1, 2], 0.05))),
    "one element above": probability(lambda p: p.at[0, 0].set(jnp.minimum(p[0, 0], 0.96))),
    "a logit": logit(lambda eta: jnp.clip(eta, -3.0, 3.0)),
    "a floor of a rate": rate(lambda r: jnp.maximum(r, 1e-3)),
    "a ceiling of a rate": rate(lambda r: jnp.minimum(r, 1e3)),
    "a floor of a scale": scale(lambda s: jnp.maximum(s, 1e-3)),
    "a ceiling of a scale": scale(lambda s: jnp.minimum(s, 1e3)),
    "a mean below": mean(lambda m: jnp.maximum(m, -5.0)),
    "categories": (
        CODES,
        dist.Categorical,
        (dist.Dirichlet(jnp.ones(C)), lambda p: jnp.maximum(p, 1e-3)),
    ),
}


@pytest.mark.parametrize(
    "parts",
    [*CHANGED.values(), *(pytest.param(parts, marks=pytest.mark.slow) for parts in MORE.values())],
    ids=[*CHANGED, *MORE],
)
def test_what_changes_a_tail_is_refused(parts):
    with pytest.raises(nb.NotNaiveBayes, match=r"^site '(x|latent0)' has another density .* far from the middle"):
        recognise_rows(*parts)


KEPT = {
    "means of about a thousand": (
        REALS,
        dist.Normal,
        (dist.Normal(1013.0, 1.0), same),
        (dist.LogNormal(0.0, 5.0), same),
    ),
}

MORE_KEPT = {
    "a probability's safeguard": probability(lambda p: jnp.clip(p, 1e-7, 1.0 - 1e-7)),
    "wide logits": (FLAGS, lambda eta: dist.Bernoulli(logits=eta), (dist.Normal(0.0, 10.0), same)),
    "wide log rates": (COUNTS, lambda eta: dist.Poisson(jnp.exp(eta)), (dist.Normal(0.0, 10.0), same)),
    "truncated": (
        REALS,
        dist.Normal,
        (dist.TruncatedNormal(0.0, 1.0, low=-2.0, high=3.0), same),
        (dist.TruncatedNormal(0.0, 1.0, low=0.01), same),
    ),
    "vague": (REALS, dist.Normal, (dist.Normal(0.0, 1e3), same), (dist.HalfCauchy(5.0), same)),
    "a vague rate": (COUNTS, dist.Poisson, (dist.Gamma(1e-3, 1e-3), same)),
    "a prior at one end": (FLAGS, dist.Bernoulli, (dist.Beta(1e4, 1e-2), same)),
    "elements that are set": probability(lambda p: p.at[0].set(p[0])),
}


@pytest.mark.parametrize(
    "parts",
    [*KEPT.values(), *(pytest.param(parts, marks=pytest.mark.slow) for parts in MORE_KEPT.values())],
    ids=[*KEPT, *MORE_KEPT],
)
def test_what_changes_nothing_there_is_accepted(parts):
    assert recognise_rows(*parts).certificate.difference < 1e-10


@pytest.mark.parametrize(
    ("law", "low", "high"),
    [
        (dist.Beta(2.0, 3.0), (0.0, 1e-3), (0.999, 1.0)),
        (dist.Uniform(0.2, 0.8), (0.2, 0.201), (0.799, 0.8)),
        (dist.TruncatedNormal(0.0, 1.0, low=-2.0, high=3.0), (-2.0, -1.999), (2.999, 3.0)),
        (dist.Gamma(4.0, 2.0), (0.0, 1e-3), (1e4, np.inf)),
        (dist.Normal(1.0, 2.0), (-21.0, -17.0), (19.0, 21.0)),
        (dist.Dirichlet(jnp.ones(3)), (0.0, 1e-3), (0.98, 1.0)),
    ],
    ids=lambda law: type(law).__name__ if isinstance(law, dist.Distribution) else "",
)
def test_values_far_out_are_inside_the_support_and_at_both_ends(law, low, high):
    with jax.enable_x64(True), by_numpy():
        values = [draw_far(law, jax.random.key(0), (), corner, widest=np.inf) for corner in CORNERS]
        assert all(law.support(value).all() for value in values)
        ends = np.min(np.asarray(values)), np.max(np.asarray(values))
    assert low[0] < ends[0] <= low[1]
    assert high[0] <= ends[1] < high[1]


def test_a_real_that_bends_stays_where_a_probability_is_not_one():
    law = dist.Normal(0.0, 100.0)
    with by_numpy():
        values = [draw_far(law, jax.random.key(0), (), corner, widest=1.0) for corner in CORNERS]
        assert 0.9 * FAR <= np.max(np.abs(np.asarray(values))) <= FAR
