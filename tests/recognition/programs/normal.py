"""Spellings of one model: Normal features with a normal-inverse-gamma prior, and with a variance that classes share."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import block_diag
from numpyro.distributions.transforms import AffineTransform, PowerTransform

import bayesnb as nb
from tests.recognition.case import PI, REALS, D, K, accept
from tests.recognition.programs.parts import by_class, by_column, rows, table

LOC, STRENGTH, SHAPE, RATE = np.array([0.5, 2.0, -1.0]), 0.5, 2.5, np.array([3.0, 1.0, 2.0])
PRIOR = {"loc": LOC, "strength": STRENGTH, "shape": SHAPE, "rate": RATE}
MODEL = nb.NaiveBayes(nb.Normal(**PRIOR), class_concentration=PI, num_classes=K)
SHARED = nb.NaiveBayes(nb.Normal(**PRIOR, variance="shared"), class_concentration=PI, num_classes=K)
VARIANCE = dist.InverseGamma(SHAPE, RATE)


def site(name, variance):
    """The program's sites are mu and this one, of which the variance is a function."""
    return lambda v: {"class_probs": v["pi"], "x_loc": v["mu"], "x_variance": variance(v[name])}


def own(name, variance):
    return accept(MODEL, site(name, variance), REALS)


def shared(name, variance):
    return accept(SHARED, site(name, variance), REALS)


def mean(variance):
    return dist.Normal(LOC, jnp.sqrt(variance / STRENGTH))


@own("tau", lambda tau: 1.0 / tau)
def gamma_on_a_precision(X, y):
    tau = table("tau", dist.Gamma(SHAPE, RATE))
    mu = table("mu", dist.Normal(LOC, 1.0 / jnp.sqrt(STRENGTH * tau)))
    rows(X, y, lambda y: dist.Normal(mu[y], tau[y] ** -0.5))


@own("variance", lambda v: v)
def a_power_of_a_gamma_and_a_shifted_normal(X, y):
    variance = table("variance", dist.TransformedDistribution(dist.Gamma(SHAPE, RATE), PowerTransform(-1.0)))
    unit = dist.TransformedDistribution(dist.Normal(0.0, 1.0), AffineTransform(LOC, jnp.sqrt(variance / STRENGTH)))
    mu = table("mu", unit)
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance)[y]))


@accept(MODEL, lambda v: {"class_probs": v["pi"], "x_loc": v["mu"], "x_variance": v["variance"].T}, REALS)
def one_axis_first_and_one_last(X, y):
    variance = numpyro.sample("variance", dist.InverseGamma(SHAPE, RATE[:, None]).expand([D, K]).to_event(2))
    mu = numpyro.sample("mu", dist.Normal(LOC, jnp.sqrt(variance.T / STRENGTH)).to_event())
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance[:, y]).T))


@own("variance", lambda v: v)
def a_diagonal_covariance(X, y):
    variance = table("variance", VARIANCE)
    mu = table("mu", mean(variance))
    rows(X, y, lambda y: dist.MultivariateNormal(mu[y], variance[y][..., None] * jnp.eye(D)), event=0)


CHI2 = nb.Normal(loc=1.0, strength=2.0, shape=2.5, rate=0.5)


@accept(nb.NaiveBayes(CHI2, class_concentration=PI, num_classes=K), site("tau", lambda tau: 1.0 / tau), REALS)
def chi2_on_a_precision(X, y):
    tau = table("tau", dist.Chi2(5.0))
    mu = table("mu", dist.Normal(1.0, (2.0 * tau) ** -0.5))
    rows(X, y, lambda y: dist.Normal(mu[y], tau[y] ** -0.5))


def columns(X):
    return {f"x{d}": X[:, [d]] for d in range(D)}


BY_COLUMN = {f"x{d}": nb.Normal(LOC[d], STRENGTH, SHAPE, RATE[d]) for d in range(D)}


@accept(
    nb.NaiveBayes(BY_COLUMN, class_concentration=PI, num_classes=K),
    lambda v: {
        "class_probs": v["pi"],
        **{f"x{d}_loc": v[f"mu{d}"][:, None] for d in range(D)},
        **{f"x{d}_variance": 1.0 / v[f"tau{d}"][:, None] for d in range(D)},
    },
    columns(REALS),
    call=lambda X, y: (a_loop_over_columns, (np.concatenate(list(X.values()), axis=1), y), {}),
)
def a_loop_over_columns(X, y):
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    for d in range(D):
        tau = by_class(f"tau{d}", dist.Gamma(SHAPE, RATE[d]))
        mu = by_class(f"mu{d}", dist.Normal(LOC[d], 1.0 / jnp.sqrt(STRENGTH * tau)))
        with numpyro.plate("rows", len(y)):
            numpyro.sample(f"x{d}", dist.Normal(mu[y], 1.0 / jnp.sqrt(tau[y])), obs=X[:, d])


# the same variance in all classes


@shared("variance", lambda v: v)
def shared_variance(X, y):
    variance = by_column("variance", VARIANCE)
    mu = table("mu", mean(variance))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance)))


@shared("variance", lambda v: v)
def shared_variance_of_every_row(X, y):
    variance = by_column("variance", VARIANCE)
    mu = table("mu", mean(variance))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.broadcast_to(jnp.sqrt(variance), (K, D))[y]))


@shared("tau", lambda tau: 1.0 / tau)
def shared_precision(X, y):
    tau = by_column("tau", dist.Gamma(SHAPE, RATE))
    mu = table("mu", dist.Normal(LOC, (STRENGTH * tau) ** -0.5))
    rows(X, y, lambda y: dist.Normal(jax.nn.one_hot(y, K) @ mu, tau**-0.5))


@accept(SHARED, lambda v: {"class_probs": v["pi"], "x_loc": v["mu"].T, "x_variance": v["variance"]}, REALS)
def shared_variance_and_class_axis_last(X, y):
    variance = numpyro.sample("variance", VARIANCE.to_event(1))
    law = dist.Normal(LOC[:, None], jnp.sqrt(variance / STRENGTH)[:, None])
    mu = numpyro.sample("mu", law.expand([D, K]).to_event(2))
    rows(X, y, lambda y: dist.Normal(mu.T[y], jnp.sqrt(variance)))


@accept(
    SHARED,
    lambda v: {"class_probs": v["pi"], "x_loc": jnp.stack([v["mu0"], v["mu1"]]), "x_variance": v["variance"]},
    REALS,
)
def shared_variance_and_a_site_a_class(X, y):
    variance = by_column("variance", VARIANCE)
    mu = jnp.stack([by_column(f"mu{k}", mean(variance)) for k in range(K)])
    rows(X, y, lambda y: dist.Normal(jnp.where((y == 1)[:, None], mu[1], mu[0]), jnp.sqrt(variance)))


@shared("variance", lambda v: v)
def shared_diagonal_covariance(X, y):
    variance = by_column("variance", VARIANCE)
    mu = table("mu", mean(variance))
    rows(X, y, lambda y: dist.MultivariateNormal(mu[y], block_diag(*variance)), event=0)
