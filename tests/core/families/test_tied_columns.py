"""Columns that share parameters: by families that say the same of the data in another way."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

import bayesnb as nb
from bayesnb.families import TiedBernoulli, TiedCategorical, TiedNormal, TiedPoisson

N, D, K = 60, 4, 3
RNG = np.random.default_rng(3)
Y = RNG.integers(0, K, N)
FLAGS = (RNG.random((N, D)) < 0.2 + 0.2 * Y[:, None]).astype(float)
COUNTS = RNG.poisson(1.0 + Y[:, None], (N, D)).astype(float)
ALONE = tuple(range(D))


def model_of(family):
    return nb.NaiveBayes(family, num_classes=K)


@pytest.mark.parametrize(
    ("tied", "plain", "X"),
    [
        pytest.param(TiedBernoulli(2.0, 0.5, columns=ALONE), nb.Bernoulli(2.0, 0.5), FLAGS, marks=pytest.mark.slow),
        (TiedCategorical(8, 0.5, columns=ALONE), nb.Categorical(8, 0.5), np.minimum(COUNTS, 7)),
        pytest.param(TiedPoisson(2.0, None, columns=ALONE), nb.Poisson(2.0, None), COUNTS, marks=pytest.mark.slow),
        (TiedNormal(columns=ALONE), nb.Normal(), COUNTS + RNG.normal(size=(N, D))),
    ],
)
def test_groups_of_one_column_each_are_the_plain_family(tied, plain, X):
    X = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    weight = RNG.uniform(0.5, 2.0, N)
    fits = [nb.fit_posterior(model_of(family), X, Y, sample_weight=weight) for family in (tied, plain)]
    assert_allclose(fits[0].log_evidence, fits[1].log_evidence, rtol=1e-10)
    assert_allclose(fits[0].log_joint(X), fits[1].log_joint(X), rtol=1e-9)
    left_out = [nb.leave_one_out(model_of(family), X, Y, sample_weight=weight) for family in (tied, plain)]
    assert_allclose(*left_out, rtol=1e-8)


def test_flags_with_one_probability_are_trials():
    ones = FLAGS.sum(axis=1, keepdims=True)
    flags = nb.fit_posterior(model_of(TiedBernoulli(2.0, 0.5, columns=(0,) * D)), FLAGS, Y)
    trials = nb.fit_posterior(model_of(nb.Binomial(D, 2.0, 0.5)), ones, Y)
    orders = gammaln(D + 1) - gammaln(ones + 1) - gammaln(D - ones + 1)
    assert_allclose(flags.log_evidence, trials.log_evidence - orders.sum(), rtol=1e-10)
    assert_allclose(flags.log_joint(FLAGS), trials.log_joint(ones) - orders, rtol=1e-10)
    assert_allclose(
        nb.fit_mle(flags.prior, FLAGS, Y).params["x_probs"], nb.fit_mle(trials.prior, ones, Y).params["x_probs"]
    )


def test_a_group_is_as_if_its_columns_were_rows():
    """Mean and variance of a group are those of all its cells."""
    columns, X = (0, 1, 0, 0), COUNTS
    params = nb.fit_mle(model_of(TiedNormal(columns=columns)), X, Y).params
    for k in range(K):
        for group in (0, 1):
            cells = X[k == Y][:, np.array(columns) == group]
            assert_allclose(params["x_loc"][k, group], cells.mean(), rtol=1e-12)
            assert_allclose(params["x_variance"][k, group], cells.var(), rtol=1e-10)


def test_evidence_compares_tied_columns_with_free_ones():
    fits = {"tied": TiedPoisson(columns=(0,) * D), "free": nb.Poisson()}
    found = nb.compare_evidence({name: nb.fit_posterior(model_of(family), COUNTS, Y) for name, family in fits.items()})
    assert "tied" in repr(found).splitlines()[1]  # the columns have one rate, and the prior pays for four


def test_generated_rows_fit_again():
    model = model_of(TiedCategorical(3, columns=(0, 0, 1)))
    fit = nb.fit_posterior(model, np.minimum(COUNTS[:, :3], 2), Y)
    X, y = fit.generate(key=jax.random.key(0), num_rows=2000)
    again = nb.fit_mle(model, X, y).params["x_probs"]
    assert again.shape == (K, 2, 3)
    assert_allclose(nb.fit_mle(model, np.asarray(X)[:, ::-1][:, [2, 1, 0]], y).params["x_probs"], again)


@pytest.mark.parametrize("columns", [(), (1, 0), (0, 2), [0, 0], (0.0, 1.0)])
def test_groups_are_numbered_in_order(columns):
    with pytest.raises(ValueError, match="TiedBernoulli: columns is a tuple with the group of each column"):
        TiedBernoulli(columns=columns)


def test_parameters_have_a_column_for_each_group():
    with pytest.raises(ValueError, match=r"params\['x_probs'\] must have 1 columns, one for each group"):
        nb.PointEstimate(
            model_of(TiedBernoulli(columns=(0, 0))), {"class_probs": np.full(3, 1 / 3), "x_probs": np.full((3, 2), 0.5)}
        )
