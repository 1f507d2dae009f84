"""Parameters under priors that no closed form knows: NUTS through the statistics against quadrature."""

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.infer import util
from scipy import integrate, stats

import bayesnb as nb
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.model._declarations import initial_params
from bayesnb.core.rows._sufficient_statistics import ModelStatistics
from tests.agreement import means_agree

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")

RANDOM = np.random.default_rng(5)
Y = np.arange(24) % 2
FLAGS = (RANDOM.random((24, 2)) < 0.3 + 0.3 * Y[:, None]).astype(int)
REALS = RANDOM.normal(3.0 + Y[:, None], 2.0, (24, 1))
FLAT = nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": dist.Uniform(0.2, 0.5)})
BENT = nb.NaiveBayes(nb.Normal(), priors={"x_loc": dist.Laplace(2.0, 0.5), "x_variance": dist.LogNormal(1.0, 0.3)})


def sample(model, *args, **kwargs):
    return nb.fit_nuts(model, *args, key=jax.random.key(1), progress_bar=False, **kwargs)


@pytest.mark.slow
def test_a_uniform_prior_between_bounds():
    """Its posterior is a Beta cut off at the bounds."""
    draws = sample(FLAT, FLAGS, Y, num_samples=500, num_warmup=500)
    ones = np.array([FLAGS[k == Y].sum(axis=0) for k in (0, 1)])
    beta = stats.beta(1 + ones, 13 - ones)
    mean = [[integrate.quad(lambda p, k=k, d=d: p * beta.pdf(p)[k, d], 0.2, 0.5)[0] for d in (0, 1)] for k in (0, 1)]
    means_agree(draws, {"x_probs": mean / (beta.cdf(0.5) - beta.cdf(0.2)), "class_probs": np.array([0.5, 0.5])})
    assert draws.params["x_probs"].min() > 0.2
    assert draws.params["x_probs"].max() < 0.5
    assert draws.num_divergences == 0


@pytest.mark.slow
def test_mean_and_variance_of_independent_priors():
    """A prior of the mean that does not scale with the variance has no closed form; two dimensions have a grid."""
    draws = sample(BENT, REALS, Y)
    loc, variance = np.meshgrid(np.linspace(-3, 9, 1501), np.linspace(0.3, 25, 1501), indexing="ij")
    mean = {"x_loc": np.empty((2, 1)), "x_variance": np.empty((2, 1))}
    for k in (0, 1):
        x = REALS[k == Y, 0]
        log_density = stats.laplace(2.0, 0.5).logpdf(loc) + stats.lognorm(0.3, scale=np.e).logpdf(variance)
        log_density -= 0.5 * (((x - loc[..., None]) ** 2).sum(axis=-1) / variance + len(x) * np.log(variance))
        share = np.exp(log_density - log_density.max())
        mean["x_loc"][k] = (share * loc).sum() / share.sum()
        mean["x_variance"][k] = (share * variance).sum() / share.sum()
    means_agree(draws, mean)


@pytest.mark.slow
def test_as_many_rows_as_you_like():
    """At 1e8 rows the prior is forgotten; the density, in units of its own, must still be resolved."""
    n = np.array([3e7, 7e7])
    cells = np.repeat(n[:, None], 2, axis=1)
    blocks = {"x": NormalStatistics(cells, np.array([[0.0, 1e4], [1.0, 1e4 + 1]]), cells * [1.0, 4.0])}
    model = nb.NaiveBayes(nb.Normal(), priors={"x_loc": dist.StudentT(3.0, 0.0, 1e4)})
    draws = sample(model, statistics=ModelStatistics(n, blocks))
    means_agree(draws, {"x_loc": blocks["x"].mean, "class_probs": np.array([0.3, 0.7])})
    assert draws.max_r_hat < 1.01


@pytest.mark.parametrize(
    ("model", "X"),
    [pytest.param(FLAT, FLAGS, id="flags", marks=pytest.mark.slow), pytest.param(BENT, REALS, id="reals")],
)
def test_the_row_by_row_program_has_the_same_density(model, X):
    """Both programs, up to a constant, at two points."""
    resolved = model.resolve(X, Y)
    statistics = nb.sufficient_statistics(model, X, Y)
    with jax.enable_x64(True):
        reference = resolved.conjugate().update(statistics).reference()

    def through_statistics():
        params = resolved.params()
        numpyro.factor("rows", resolved.log_likelihood_ratio(statistics, params, reference))

    with jax.enable_x64(True):
        points = []
        for seed in (0, 1):
            with handlers.block(), handlers.seed(rng_seed=seed):
                points.append(resolved.params())
        densities = [
            jax.jit(lambda p, f=program, a=args: util.log_density(f, a, {}, p)[0])
            for program, args in [(resolved, (X, Y)), (through_statistics, ())]
        ]
        one, other = ([float(density(point)) for point in points] for density in densities)
    np.testing.assert_allclose(one[1] - one[0], other[1] - other[0], rtol=1e-9)


@pytest.mark.slow
def test_where_the_conjugate_start_lies_on_the_edge():
    """No row of class 2: its conjugate mean is 1/2, where this prior's support begins. The class prior is fixed."""
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.3, 0.3, 0.4], priors={"x_probs": dist.Uniform(0.5, 1.0)})
    draws = sample(model, FLAGS, Y)
    means_agree(draws, {"x_probs": np.vstack([draws.params["x_probs"][:, :2].mean(axis=0), [[0.75, 0.75]]])})
    assert draws.num_divergences == 0


def test_starts_lie_inside():
    """Of the conjugate means those that the priors allow, with a finite unconstrained point; fixed sites are kept."""
    edge = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.5, 0.5], priors={"x_probs": dist.Uniform(0.5, 1.0)})
    model = edge.resolve(FLAGS, Y)
    middle = {"class_probs": model.class_probs, "x_probs": np.full((2, 2), 0.75)}
    assert initial_params(model, middle).keys() == {"class_probs", "x_probs"}
    for value in (0.5, 0.4):
        assert initial_params(model, middle | {"x_probs": np.full((2, 2), value)}).keys() == {"class_probs"}


def test_closed_forms_say_that_they_have_none():
    for fit in (nb.fit_map, nb.fit_posterior, nb.leave_one_out, nb.cross_validate, nb.fit_em, nb.fit_empirical):
        with pytest.raises(ValueError, match=r"non-conjugate priors for x_probs.*use fit_nuts"):
            fit(FLAT, FLAGS, Y)
    nb.fit_multilabel(FLAT, FLAGS, np.stack([Y, 1 - Y], axis=1), fit=nb.fit_mle)
    np.testing.assert_array_equal(
        nb.fit_mle(FLAT, FLAGS, Y).params["x_probs"], nb.fit_mle(FLAT.conjugate(), FLAGS, Y).params["x_probs"]
    )


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        (dist.Normal(0.0, 1.0), "support Real.*not inside the parameters"),
        (dist.Uniform(0.5, 1.5), "not inside the parameters"),
        (dist.Dirichlet(np.ones(2)), "event shape"),
        (dist.Beta(np.ones(7), 1.0), "batch shape"),
    ],
    ids=["real", "interval", "event", "batch"],
)
def test_priors_that_do_not_fit_their_site(prior, sentence):
    with pytest.raises(ValueError, match=sentence):
        sample(nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": prior}), FLAGS, Y)


def test_what_is_no_prior():
    with pytest.raises(ValueError, match="unknown site 'probs'; the sites of this model are"):
        nb.NaiveBayes(nb.Bernoulli(), priors={"probs": dist.Beta(1.0, 1.0)})
    for wrong in (2.0, dist.Poisson(1.0), dist.Delta(0.5)):
        with pytest.raises(ValueError, match="must be a continuous NumPyro distribution"):
            nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": wrong})
    with pytest.raises(ValueError, match="priors must be a dict of NumPyro distributions by site"):
        nb.NaiveBayes(nb.Bernoulli(), priors=dist.Uniform(0.2, 0.8))
    with pytest.raises(ValueError, match="class_probs is fixed"):
        nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.5, 0.5], priors={"class_probs": dist.Dirichlet(np.ones(2))})
    with pytest.raises(ValueError, match="hyperpriors cannot be combined with priors"):
        sample(nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0)), priors=FLAT.priors), FLAGS, Y)


def test_the_model_with_priors_is_a_pytree_that_shows_them():
    again = jax.tree.unflatten(*reversed(jax.tree.flatten(FLAT)))
    assert again.priors.keys() == FLAT.priors.keys()
    assert "priors={'x_probs': Uniform}" in repr(FLAT)
    assert "priors" not in repr(FLAT.conjugate())
