"""Programs that are naive Bayes without conjugacy: the model must carry the program's own priors, integrated or not."""

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


def integrated(law, canonical, X, **arguments):
    """The model of this likelihood, whose arguments have these priors: answers are integrals by quadrature."""
    model = nb.NaiveBayes(nb.Likelihood(law, **arguments), class_concentration=PI, num_classes=K)
    return accept(model, lambda v: {"class_probs": v["pi"], **canonical(v)}, X)


def squared(scale):
    """The prior of a variance, given that of the scale."""
    return dist.TransformedDistribution(scale, PowerTransform(2.0))


def own_scale(v):
    return {"x_loc": v["mu"], "x_scale": v["sigma"]}


def loc_and_scale(v):
    return {"x_loc": v["mu"], "x_variance": jnp.square(v["sigma"])}


LOG_NORMAL, HALF_NORMAL = dist.LogNormal(0.0, 0.5), dist.HalfNormal(3.0)
INDEPENDENT = dist.Normal(LOC, SPREAD)
NORMAL = nb.Normal(LOC, 0.5, 2.5, 3.0)


@integrated(dist.Normal, own_scale, REALS, loc=INDEPENDENT, scale=LOG_NORMAL)
def lognormal_scale(X, y):
    mu, sigma = table("mu", INDEPENDENT), table("sigma", LOG_NORMAL)
    rows(X, y, lambda y: dist.Normal(mu[y], sigma[y]))


@own(NORMAL, "sigma", canonical=loc_and_scale, X=REALS, variance=squared(HALF_NORMAL))
def halfnormal_scale_with_a_mean_that_follows_it(X, y):
    sigma = table("sigma", HALF_NORMAL)
    mu = table("mu", dist.Normal(LOC, sigma / np.sqrt(0.5)))
    rows(X, y, lambda y: dist.Normal(mu[y], sigma[y]))


@integrated(dist.Normal, own_scale, REALS, loc=INDEPENDENT, scale=dist.Gamma(2.0, 1.0))
def gamma_on_a_scale(X, y):
    mu, sigma = table("mu", INDEPENDENT), table("sigma", dist.Gamma(2.0, 1.0))
    rows(X, y, lambda y: dist.Normal(mu[y], sigma[y]))


ROOT_OF_INVERSE_GAMMA = dist.TransformedDistribution(dist.InverseGamma(2.5, 3.0), PowerTransform(0.5))


@integrated(
    dist.Normal,
    lambda v: {"x_loc": v["mu"], "x_scale": jnp.sqrt(v["variance"])},
    REALS,
    loc=INDEPENDENT,
    scale=ROOT_OF_INVERSE_GAMMA,
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


@integrated(dist.BernoulliProbs, lambda v: {"x_probs": jax.nn.sigmoid(v["eta"])}, FLAGS, probs=LOGIT_NORMAL)
def logit_normal_probability(X, y):
    eta = table("eta", dist.Normal(-0.5, 1.5))
    rows(X, y, lambda y: dist.Bernoulli(logits=eta[y]))


@own(nb.Bernoulli(), "theta", canonical=lambda v: {"x_probs": v["theta"]}, X=FLAGS, probs=dist.Uniform(0.2, 0.8))
def uniform_in_the_middle(X, y):
    theta = table("theta", dist.Uniform(0.2, 0.8))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@integrated(dist.Poisson, lambda v: {"x_rate": v["rate"]}, COUNTS, rate=LOG_NORMAL)
def lognormal_rate(X, y):
    rate = table("rate", LOG_NORMAL)
    rows(X, y, lambda y: dist.Poisson(rate[y]))


TRUNCATED = dist.TruncatedNormal(np.array([1.0, 2.0, 3.0]), 1.0, low=0.0)


@own(nb.Poisson(), "rate", canonical=lambda v: {"x_rate": v["rate"]}, X=COUNTS, rate=TRUNCATED)
def a_truncated_rate_with_a_mean_for_each_column(X, y):
    rate = table("rate", TRUNCATED)
    rows(X, y, lambda y: dist.Poisson(rate[y]))


@integrated(
    dist.Poisson,
    lambda v: {"x_rate": jnp.exp(v["log_rate"])},
    COUNTS,
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


# likelihoods of which no family has a conjugate prior


@integrated(dist.StudentT, lambda v: {"x_loc": v["mu"]}, REALS, df=4.0, loc=dist.Normal(0.0, 1.0), scale=1.0)
def student_cells(X, y):
    mu = table("mu", dist.Normal(0.0, 1.0))
    rows(X, y, lambda y: dist.StudentT(4.0, mu[y], 1.0))


@integrated(
    dist.NegativeBinomial2,
    lambda v: {"x_mean": v["mean"]},
    COUNTS,
    mean=dist.Gamma(2.0, 0.5),
    concentration=3.0,
)
def negative_binomial_cells(X, y):
    mean = table("mean", dist.Gamma(2.0, 0.5))
    rows(X, y, lambda y: dist.NegativeBinomial2(mean[y], 3.0))


@integrated(dist.ZeroInflatedPoisson, lambda v: {"x_rate": v["rate"]}, COUNTS, gate=0.3, rate=dist.Gamma(2.0, 0.5))
def zero_inflated_cells(X, y):
    rate = table("rate", dist.Gamma(2.0, 0.5))
    rows(X, y, lambda y: dist.ZeroInflatedPoisson(0.3, rate[y]))


@integrated(
    dist.Gamma,
    lambda v: {"x_concentration": v["shape"], "x_rate": 1.0 / v["scale"].T},
    np.exp(0.3 * REALS),
    concentration=dist.LogNormal(0.5, 1.0),
    rate=dist.TransformedDistribution(dist.InverseGamma(2.0, 1.0), PowerTransform(-1.0)),
)
def gamma_cells_with_scales_whose_class_axis_is_last(X, y):
    shape, scale = (
        table("shape", dist.LogNormal(0.5, 1.0)),
        numpyro.sample("scale", dist.InverseGamma(2.0, 1.0).expand([D, K]).to_event(2)),
    )
    rows(X, y, lambda y: dist.Gamma(shape[y], 1.0 / scale.T[y]))


LAPLACE = nb.NaiveBayes(
    nb.Likelihood(dist.Laplace, loc=dist.Normal(0.0, 1.0), scale=1.0), class_concentration=PI, num_classes=K
)


@accept(LAPLACE, lambda v: {"class_probs": v["pi"], "x_loc": v["mu"]}, REALS, answer="either")
def laplace_cells(X, y):
    """Its kinks are resolved by narrow bins, and have no maximum where a slope vanishes."""
    mu = table("mu", dist.Normal(0.0, 1.0))
    rows(X, y, lambda y: dist.Laplace(mu[y], 1.0))
