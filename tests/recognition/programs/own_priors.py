"""Programs that are naive Bayes without conjugacy: the model must carry the program's own priors."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions.transforms import ExpTransform, PowerTransform, SigmoidTransform

import bayesnb as nb
from tests.recognition.case import COUNTS, FLAGS, PI, REALS, D, K, accept
from tests.recognition.programs.parts import by_column, rows, table

LOC, SPREAD = np.array([0.5, 2.0, -1.0]), 2.0


def own(family, *sites, canonical, X, **priors):
    model = nb.NaiveBayes(
        family, class_concentration=PI, num_classes=K, priors={f"x_{name}": prior for name, prior in priors.items()}
    )
    return accept(model, lambda v: {"class_probs": v["pi"], **canonical(v)}, X, answer="own priors", sites=sites)


def squared(scale):
    """The prior of a variance, given that of the scale."""
    return dist.TransformedDistribution(scale, PowerTransform(2.0))


def loc_and_scale(v):
    return {"x_loc": v["mu"], "x_variance": jnp.square(v["sigma"])}


LOG_NORMAL, HALF_NORMAL = dist.LogNormal(0.0, 0.5), dist.HalfNormal(3.0)
INDEPENDENT = dist.Normal(LOC, SPREAD)
NORMAL = nb.Normal(LOC, 0.5, 2.5, 3.0)


@own(NORMAL, "mu", "sigma", canonical=loc_and_scale, X=REALS, loc=INDEPENDENT, variance=squared(LOG_NORMAL))
def lognormal_scale(X, y):
    mu, sigma = table("mu", INDEPENDENT), table("sigma", LOG_NORMAL)
    rows(X, y, lambda y: dist.Normal(mu[y], sigma[y]))


@own(NORMAL, "sigma", canonical=loc_and_scale, X=REALS, variance=squared(HALF_NORMAL))
def halfnormal_scale_with_a_mean_that_follows_it(X, y):
    sigma = table("sigma", HALF_NORMAL)
    mu = table("mu", dist.Normal(LOC, sigma / np.sqrt(0.5)))
    rows(X, y, lambda y: dist.Normal(mu[y], sigma[y]))


@own(NORMAL, "mu", "sigma", canonical=loc_and_scale, X=REALS, loc=INDEPENDENT, variance=squared(dist.Gamma(2.0, 1.0)))
def gamma_on_a_scale(X, y):
    mu, sigma = table("mu", INDEPENDENT), table("sigma", dist.Gamma(2.0, 1.0))
    rows(X, y, lambda y: dist.Normal(mu[y], sigma[y]))


@own(
    NORMAL,
    "mu",
    canonical=lambda v: {"x_loc": v["mu"], "x_variance": v["variance"]},
    X=REALS,
    loc=INDEPENDENT,
)
def a_mean_that_does_not_follow_the_variance(X, y):
    mu, variance = table("mu", INDEPENDENT), table("variance", dist.InverseGamma(2.5, 3.0))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance[y])))


@own(
    nb.Normal(LOC, 0.5, 2.5, 3.0, variance="shared"),
    "mu",
    "sigma",
    canonical=loc_and_scale,
    X=REALS,
    loc=INDEPENDENT,
    variance=squared(HALF_NORMAL),
)
def halfnormal_scale_that_classes_share(X, y):
    mu, sigma = table("mu", INDEPENDENT), by_column("sigma", HALF_NORMAL)
    rows(X, y, lambda y: dist.Normal(mu[y], sigma))


LOGIT_NORMAL = dist.TransformedDistribution(dist.Normal(-0.5, 1.5), SigmoidTransform())


@own(nb.Bernoulli(), "eta", canonical=lambda v: {"x_probs": jax.nn.sigmoid(v["eta"])}, X=FLAGS, probs=LOGIT_NORMAL)
def logit_normal_probability(X, y):
    eta = table("eta", dist.Normal(-0.5, 1.5))
    rows(X, y, lambda y: dist.Bernoulli(logits=eta[y]))


@own(nb.Bernoulli(), "theta", canonical=lambda v: {"x_probs": v["theta"]}, X=FLAGS, probs=dist.Uniform(0.2, 0.8))
def uniform_in_the_middle(X, y):
    theta = table("theta", dist.Uniform(0.2, 0.8))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@own(nb.Poisson(), "rate", canonical=lambda v: {"x_rate": v["rate"]}, X=COUNTS, rate=LOG_NORMAL)
def lognormal_rate(X, y):
    rate = table("rate", LOG_NORMAL)
    rows(X, y, lambda y: dist.Poisson(rate[y]))


TRUNCATED = dist.TruncatedNormal(np.array([1.0, 2.0, 3.0]), 1.0, low=0.0)


@own(nb.Poisson(), "rate", canonical=lambda v: {"x_rate": v["rate"]}, X=COUNTS, rate=TRUNCATED)
def a_truncated_rate_with_a_mean_for_each_column(X, y):
    rate = table("rate", TRUNCATED)
    rows(X, y, lambda y: dist.Poisson(rate[y]))


@own(
    nb.Poisson(),
    "log_rate",
    canonical=lambda v: {"x_rate": jnp.exp(v["log_rate"])},
    X=COUNTS,
    rate=dist.TransformedDistribution(dist.Normal(LOC, 1.0), ExpTransform()),
)
def log_rate_with_the_class_axis_first(X, y):
    log_rate = numpyro.sample("log_rate", dist.Normal(LOC, 1.0).expand([K, D]).to_event(2))
    rows(X, y, lambda y: dist.Poisson(jnp.exp(log_rate[y])))


@own(
    nb.Binomial(15),
    "odds",
    canonical=lambda v: {"x_probs": v["odds"] / (1.0 + v["odds"])},
    X=COUNTS,
    probs=dist.TransformedDistribution(dist.LogNormal(0.0, 0.5), [ExpTransform().inv, SigmoidTransform()]),
)
def lognormal_odds(X, y):
    odds = table("odds", LOG_NORMAL)
    rows(X, y, lambda y: dist.Binomial(15, odds[y] / (1.0 + odds[y])))


VARIANCES = np.array([1.0, 4.0, 2.0])


@own(
    nb.NormalKnownVariance(VARIANCES, LOC, SPREAD),
    "mu",
    canonical=lambda v: {"x_loc": v["mu"]},
    X=REALS,
    loc=dist.StudentT(4.0, LOC, SPREAD),
)
def student_mean_of_known_variance(X, y):
    mu = table("mu", dist.StudentT(4.0, LOC, SPREAD))
    rows(X, y, lambda y: dist.Normal(mu[y], np.sqrt(VARIANCES)))
