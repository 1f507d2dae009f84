"""Programs that are wrong, or are written with what recognition does not read, and calls that cannot succeed."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers

from tests.recognition.case import COUNTS, FLAGS, PI, REALS, Y3, D, K, N, refuse
from tests.recognition.programs.parts import rows, table

BETA = dist.Beta(2.0, 2.5)


@refuse("w", r"param", FLAGS)
def a_parameter_without_prior(X, y):
    w = numpyro.param("w", 2.0, constraint=dist.constraints.positive)
    theta = table("theta", dist.Beta(w, 1.0))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("shrink", r"factor", FLAGS)
def a_factor(X, y):
    theta = table("theta", BETA)
    numpyro.factor("shrink", -jnp.square(theta).sum())
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("x", r"BetaBinomial", COUNTS)
def beta_binomial_cells(X, y):
    a = table("a", dist.Gamma(2.0, 0.5))
    rows(X, y, lambda y: dist.BetaBinomial(a[y], 1.0, 15))


RATES = np.array([[1.0, 2.0, 0.5], [3.0, 1.0, 1.0]])


@refuse("x", r"no latent .* nothing is to be learned there; give 'rate' a prior", COUNTS)
def known_rates(X, y):
    rows(X, y, lambda y: dist.Poisson(jnp.asarray(RATES)[y]))


@refuse("x", r"no latent .* give 'loc' or 'variance' a prior", REALS)
def known_means_and_variances(X, y):
    rows(X, y, lambda y: dist.Normal(jnp.asarray(RATES)[y], 1.0))


@refuse("x", r"known loc: only likelihoods whose parameters all have priors", REALS)
def known_mean(X, y):
    variance = table("variance", dist.InverseGamma(2.5, 3.0))
    rows(X, y, lambda y: dist.Normal(1.0, jnp.sqrt(variance)[y]))


@refuse("x", r"known variance", REALS)
def a_variance_that_is_known_in_one_column(X, y):
    variance = table("variance", dist.InverseGamma(2.5, 3.0))
    mu = table("mu", dist.Normal(0.0, jnp.sqrt(variance)))
    rows(X, y, lambda y: dist.Normal(mu[y], jnp.sqrt(variance * jnp.array([0, 1, 1]) + jnp.array([1, 0, 0]))[y]))


@refuse("rows", r"subsampl", FLAGS)
def a_subsample_of_rows(X, y):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", N, subsample_size=6) as index:
        y = numpyro.sample("y", dist.Categorical(pi), obs=jnp.asarray(y)[index])
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=jnp.asarray(X)[index])


@refuse("y", r"times|\[N, 1\]|counts|\[12, 1\]|\(12, 1\)", FLAGS)
def a_label_that_counts_n_times(X, y):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y), dim=-2):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        with numpyro.plate("words", D, dim=-1):
            numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)


@refuse("x", r"index|axis|clamp|entr|class", FLAGS, Y3)
def an_index_beyond_the_axis(X, y):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(3)))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


@refuse("x", r"index|axis|clamp|entr|class", FLAGS)
def an_index_that_is_one_too_far(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y + 1]))


@refuse("x", r"shape|label|differ|change|rais", FLAGS)
def a_shape_that_follows_the_label(X, y):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    first = np.asarray(y) == 0
    numpyro.sample("x", dist.Bernoulli(jnp.broadcast_to(theta[0], X[first].shape)), obs=X[first])


TURNS = iter(range(10**6))


@refuse("", r"differ|global|state|own key|random|something else", FLAGS)
def global_state(X, y):
    theta = table("theta", dist.Beta(2.0 + next(TURNS), 2.5))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("", r"differ|global|state|own key|random|something else", FLAGS)
def a_draw_of_its_own(X, y):
    absent = jax.random.bernoulli(jax.random.key(next(TURNS)), 0.5, X.shape)
    theta = table("theta", BETA)
    rows(jnp.where(absent, 0.0, X), y, lambda y: dist.Bernoulli(theta[y]))


@refuse("x", r"observed", FLAGS, answer="bad input", call=lambda *_: (nothing_observed, (), {}))
def nothing_observed():
    theta = table("theta", BETA)
    rows(None, None, lambda y: dist.Bernoulli(theta[y]))


@refuse(
    "x",
    r"observed",
    FLAGS,
    answer="bad input",
    call=lambda *rows: (rows_without_cells, (None, rows[1]), {}),
)
def rows_without_cells(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("class_of_row", r"site|argument", FLAGS, answer="bad input", label="class_of_row")
def no_such_site(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("", r"rows?|empty", FLAGS[:0], np.zeros(0, int), answer="bad input")
def no_rows(X, y):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    y = numpyro.sample("y", dist.Categorical(pi), obs=y)
    numpyro.sample("x", dist.Bernoulli(theta[y]), obs=X)


@refuse("", r"\(12, 3\)|\[12, 3\]|12", FLAGS, answer="bad input")
def a_program_that_raises(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y] @ jnp.ones(K + D)))


@refuse("x", r"one value for each row, \[N\] or \[N, 1\], got shape \(12, 3\)", FLAGS, answer="bad input", label="x")
def a_label_of_several_columns(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("y", r"Normal|integer|class|discrete|Categorical", FLAGS)
def a_label_of_real_numbers(X, y):
    theta = table("theta", BETA)
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Normal(mean, 1.0), obs=y.astype(float))
        numpyro.sample("x", dist.Bernoulli(theta[y.astype(int)]).to_event(1), obs=X)


@refuse("y", r"Poisson|integer|class|Categorical", FLAGS)
def a_label_that_is_a_count(X, y):
    theta = table("theta", BETA)
    rate = numpyro.sample("rate", dist.Gamma(1.0, 1.0))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Poisson(rate), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


# refused, or with the program's own density


@refuse("y", r"scale|weight", FLAGS, answer="honoured")
def weights_of_rows(X, y):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)), handlers.scale(scale=jnp.linspace(0.5, 2.0, len(y))):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


@refuse("x", r"scale|weight|power", FLAGS, answer="honoured")
def a_tempered_block(X, y):
    theta = table("theta", BETA)
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        with handlers.scale(scale=0.5):
            numpyro.sample("x", dist.Bernoulli(theta[y]).to_event(1), obs=X)


@refuse("theta", r"scale|weight|power", FLAGS, answer="honoured")
def a_tempered_prior(X, y):
    with handlers.scale(scale=0.5):
        theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))


@refuse("x", r"the mask leaves out every cell of column 2", FLAGS)
def a_column_that_is_masked_always(X, y):
    theta = table("theta", dist.Beta(2.0, 2.5))
    rows(X, y, lambda y: dist.Bernoulli(theta[y]).mask(jnp.array([True, True, False])))


@refuse("x", r"mask|label|class", FLAGS, answer="honoured")
def a_mask_that_follows_the_label(X, y):
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]).mask((y == 0)[:, None]))


@refuse("idle", r"used|feed|nothing|no observed|depend", FLAGS, answer="honoured")
def a_latent_without_use(X, y):
    numpyro.sample("idle", dist.Normal(0.0, 1.0))
    theta = table("theta", BETA)
    rows(X, y, lambda y: dist.Bernoulli(theta[y]))
