"""Programs whose parameters are latents scaled and shifted by known constants: non-centred means, exposures, jitter."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions.transforms import (
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from numpyro.infer.reparam import LocScaleReparam, TransformReparam

import bayesnb as nb
from tests.recognition.case import COUNTS, FLAGS, PI, REALS, D, K, N, accept, refuse
from tests.recognition.programs.parts import by_column, rows, table

LOC, SCALE, VARIANCE = np.array([0.5, 2.0, -1.0]), 1.5, np.array([1.0, 4.0, 2.0])
EXPOSURE = np.array([1.0, 10.0, 0.5])
OF_CLASSES = np.array([[1.0, 10.0, 0.5], [2.0, 0.25, 3.0]])
UNIT, RATE = dist.Normal(0.0, 1.0), dist.Gamma(2.0, 0.5)


def accepted(family, X, priors=None, **canonical):
    """The model of this family, whose sites are these functions of the program's."""
    model = nb.NaiveBayes(family, class_concentration=PI, num_classes=K, priors=priors)
    answer, sites = ("own priors", ("theta",)) if priors else ("conjugate", ())
    of = lambda v: {"class_probs": v["pi"], **{f"x_{name}": value(v) for name, value in canonical.items()}}  # noqa: E731
    return accept(model, of, X, answer=answer, sites=sites)


def means(loc):
    return accepted(nb.NormalKnownVariance(VARIANCE, LOC, SCALE), REALS, loc=loc)


def cells(mu):
    return lambda y: dist.Normal(mu[y], np.sqrt(VARIANCE))


@means(lambda v: LOC + SCALE * v["z"])
def a_non_centred_mean(X, y):
    mu = numpyro.deterministic("mu", LOC + SCALE * table("z", UNIT))
    rows(X, y, cells(mu))


@means(lambda v: LOC - SCALE * v["z"].T)
def a_non_centred_mean_with_the_class_axis_last(X, y):
    z = numpyro.sample("z", UNIT.expand([D, K]).to_event(2))
    rows(X, y, cells(LOC - SCALE * z.T))


@means(lambda v: LOC + SCALE * v["mu_decentered"])
def loc_scale_reparam(X, y):
    with handlers.reparam(config={"mu": LocScaleReparam(0.0)}):
        mu = table("mu", dist.Normal(LOC, SCALE))
    rows(X, y, cells(mu))


@means(lambda v: LOC + SCALE * v["mu_base"])
def transform_reparam(X, y):
    with handlers.reparam(config={"mu": TransformReparam()}):
        mu = table("mu", dist.TransformedDistribution(UNIT, AffineTransform(LOC, SCALE)))
    rows(X, y, cells(mu))


@means(lambda v: jnp.stack([LOC + SCALE * v["first"], v["second"]]))
def one_class_non_centred(X, y):
    first, second = LOC + SCALE * by_column("first", UNIT), by_column("second", dist.Normal(LOC, SCALE))
    rows(X, y, lambda y: dist.Normal(jnp.where((y == 1)[:, None], second, first), np.sqrt(VARIANCE)))


@accepted(nb.Poisson(2.0, 0.05), COUNTS, rate=lambda v: 10.0 * v["rate"])
def ten_times_a_rate(X, y):
    rate = table("rate", RATE)
    rows(X, y, lambda y: dist.Poisson(10.0 * rate[y]))


@accepted(nb.Poisson(2.0, 0.5 / EXPOSURE), COUNTS, rate=lambda v: EXPOSURE * v["rate"])
def a_known_exposure_by_column(X, y):
    rate = table("rate", RATE)
    rows(X, y, lambda y: dist.Poisson(EXPOSURE * rate[y]))


@accepted(nb.Poisson(2.0, 0.5 / OF_CLASSES), COUNTS, rate=lambda v: OF_CLASSES * v["rate"])
def a_known_exposure_by_class_and_column(X, y):
    rate = table("rate", RATE)
    rows(X, y, lambda y: dist.Poisson(jnp.asarray(OF_CLASSES)[y] * rate[y]))


@accepted(nb.Poisson(2.0, 0.125), COUNTS, rate=lambda v: 4.0 / v["waiting"])
def a_waiting_time_in_other_units(X, y):
    waiting = table("waiting", dist.InverseGamma(2.0, 0.5))
    rows(X, y, lambda y: dist.Poisson(1.0 / (0.25 * waiting[y])))


NORMAL = nb.Normal(LOC, 0.25, 2.5, 1.5)


@accepted(NORMAL, REALS, loc=lambda v: v["mu"], variance=lambda v: 0.5 / v["tau"])
def twice_a_precision(X, y):
    tau = table("tau", dist.Gamma(2.5, 3.0))
    mu = table("mu", dist.Normal(LOC, np.sqrt(2.0) / jnp.sqrt(tau)))
    rows(X, y, lambda y: dist.Normal(mu[y], 1.0 / jnp.sqrt(2.0 * tau[y])))


# no longer conjugate


def changed(law, *changes):
    return dist.TransformedDistribution(law, list(changes))


@accepted(
    nb.Likelihood(dist.Poisson, rate=changed(UNIT, AffineTransform(0.3, 0.5), ExpTransform())),
    COUNTS,
    rate=lambda v: jnp.exp(0.3 + 0.5 * v["theta"]),
)
def a_non_centred_log_rate(X, y):
    theta = table("theta", UNIT)
    rows(X, y, lambda y: dist.Poisson(jnp.exp(0.3 + 0.5 * theta[y])))


@accepted(
    nb.Likelihood(dist.BernoulliProbs, probs=changed(UNIT, AffineTransform(-1.0, 2.0), SigmoidTransform())),
    FLAGS,
    probs=lambda v: jax.nn.sigmoid(2.0 * v["theta"] - 1.0),
)
def a_non_centred_logit(X, y):
    theta = table("theta", UNIT)
    rows(X, y, lambda y: dist.Bernoulli(logits=2.0 * theta[y] - 1.0))


UNIFORM = dist.Uniform(0.0, 1.0)


@accepted(
    nb.Bernoulli(),
    FLAGS,
    {"x_probs": changed(UNIFORM, AffineTransform(0.25, 0.75))},
    probs=lambda v: 0.25 + 0.75 * v["theta"],
)
def a_guess_that_is_right_by_chance(X, y):
    theta = table("theta", UNIFORM)
    rows(X, y, lambda y: dist.Bernoulli(0.25 + 0.75 * theta[y]))


HALF_NORMAL = dist.HalfNormal(3.0)
JITTER = changed(HALF_NORMAL, AffineTransform(0.01, 1.0), PowerTransform(2.0))
INDEPENDENT = dist.Normal(LOC, 2.0)


def jittered(variance="own"):
    return accepted(
        nb.Normal(LOC, 1.0, 1.0, 1.0, variance=variance),
        REALS,
        {"x_loc": INDEPENDENT, "x_variance": JITTER},
        loc=lambda v: v["mu"],
        variance=lambda v: jnp.square(v["theta"] + 0.01),
    )


@jittered()
def jitter_on_a_scale(X, y):
    mu, theta = table("mu", INDEPENDENT), table("theta", HALF_NORMAL)
    rows(X, y, lambda y: dist.Normal(mu[y], theta[y] + 0.01))


@jittered("shared")
def jitter_on_a_scale_that_classes_share(X, y):
    mu, theta = table("mu", INDEPENDENT), by_column("theta", HALF_NORMAL)
    rows(X, y, lambda y: dist.Normal(mu[y], theta + 0.01))


def logit_of_two_classes(loc, scale, p):
    """The model of a label whose second class has this Normal logit, a function of ``theta``."""
    law = dist.TransformedDistribution(dist.Normal(jnp.full(1, -loc), scale).to_event(1), StickBreakingTransform())
    model = nb.NaiveBayes(nb.Bernoulli(2.0, 2.5), num_classes=K, priors={"class_probs": law})

    def canonical(v):
        return {"class_probs": jnp.stack([1.0 - p(v["theta"]), p(v["theta"])]), "x_probs": v["words"]}

    return accept(model, canonical, FLAGS, answer="own priors", sites=("theta",))


def labelled(X, y, law):
    words = table("words", dist.Beta(2.0, 2.5))
    with numpyro.plate("rows", N if y is None else len(y)):
        y = numpyro.sample("y", law, obs=y)
        numpyro.sample("x", dist.Bernoulli(words[y]).to_event(1), obs=X)


@logit_of_two_classes(0.3, 1.5, jax.nn.sigmoid)
def a_normal_logit_of_a_label(X, y):
    theta = numpyro.sample("theta", dist.Normal(0.3, 1.5))
    labelled(X, y, dist.Bernoulli(logits=theta))


@logit_of_two_classes(0.3, 1.5, lambda theta: jax.nn.sigmoid(0.3 - 1.5 * theta))
def a_non_centred_logit_of_a_label(X, y):
    theta = numpyro.sample("theta", UNIT)
    labelled(X, y, dist.Categorical(logits=jnp.stack([1.5 * theta - 0.3, 0.0])))


NO_PRIOR = nb.NaiveBayes(nb.Bernoulli(2.0, 2.5), class_probs=np.full(K, 0.5))


@accept(NO_PRIOR, lambda v: {"x_probs": v["words"]}, FLAGS)
def a_discrete_uniform_label(X, y):
    labelled(X, y, dist.DiscreteUniform(0, K - 1))


# what is no known constant


@refuse("y", "DiscreteUniform from 1 to 2: labels count from 0: pass y - 1", FLAGS)
def a_discrete_uniform_label_from_one(X, y):
    labelled(X, None if y is None else jnp.asarray(y) + 1, dist.DiscreteUniform(1, 2))


@refuse("x", "not an element of a latent .* non-centred mean, a site of its own", REALS)
def a_mean_that_is_non_centred_by_a_latent(X, y):
    scale = numpyro.sample("scale", HALF_NORMAL)
    mu = scale * table("z", UNIT)
    rows(X, y, cells(mu))


@refuse("theta", "one element is used for several classes", COUNTS)
def one_rate_with_an_exposure_by_class(X, y):
    theta = by_column("theta", RATE)
    rows(X, y, lambda y: dist.Poisson(jnp.asarray(OF_CLASSES)[y] * theta))


@refuse("theta", "used with both signs", REALS)
def half_normal_means_of_both_signs(X, y):
    theta = table("theta", HALF_NORMAL)
    rows(X, y, lambda y: dist.Normal(np.array([2.0, -2.0, 3.0]) * theta[y], 1.0))
