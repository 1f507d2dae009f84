"""Bugs seen in other Naive Bayes systems: counts, weights, categories, classes, missing cells, blocks, gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import betaln

import bayesnb as nb
from bayesnb.results.draws import Draws
from tests.agreement import predictions_agree
from tests.both_lanes import FAMILIES, FITS, PAIR, both, on_numpy

# counts and weights


def test_counting_past_2_to_the_24_in_batches():
    """float32 stops counting at 2^24 = 16,777,216: single rows that come later would be lost."""
    model, row = nb.NaiveBayes(nb.Bernoulli(), num_classes=2), np.ones((1, 1), np.float32)
    statistics = nb.sufficient_statistics(model, row, [0], sample_weight=[2.0**24])
    for _ in range(50):
        statistics = nb.merge(statistics, nb.sufficient_statistics(model, row, [0]))
    assert_array_equal(statistics.class_counts, [2**24 + 50, 0])
    assert_array_equal(statistics.blocks["x"].successes, [[2**24 + 50], [0]])


def test_counting_past_2_to_the_24_inside_jit():
    model, rows = nb.NaiveBayes(nb.Bernoulli(), num_classes=2), 2**24 + 3
    count = jax.jit(lambda X, y: nb.sufficient_statistics(model, X, y))
    statistics = count(jnp.ones((rows, 1), bool), jnp.zeros(rows, jnp.int8))
    assert_array_equal(statistics.class_counts, [rows, 0])
    assert_array_equal(statistics.blocks["x"].successes, [[rows], [0]])
    assert_array_equal(statistics.blocks["x"].trials, [[rows], [0]])


@both
def test_the_scale_of_the_weights_plays_no_part(lane, rng):
    """A class whose weights sum to less than 1e-8 must not be taken for an empty one."""
    X, y = rng.normal(5.0, 1.0, (6, 2)), np.array([0, 0, 0, 1, 1, 1])
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)

    def params(X, y, weight):
        return nb.fit_mle(model, X, y, sample_weight=weight).params

    plain, tiny = (lane(params, X, y, np.full(6, scale)) for scale in (1.0, 1e-12))
    for site, value in plain.items():
        assert_allclose(tiny[site], value, rtol=1e-5, err_msg=site)


@both
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_repetitions(lane, family):
    """An integer weight is as many rows, a zero weight no row, and a class of weight zero a class without rows.
    https://github.com/scikit-learn/scikit-learn/issues/16298"""
    X, y, weight = np.concatenate([PAIR, PAIR, PAIR]), np.array([0, 0, 0, 1, 1, 2]), np.array([2, 1, 0, 3, 1, 0])
    repeated = np.repeat(np.arange(6), weight)
    model = nb.NaiveBayes(family, num_classes=3)

    def predict(X, y, weight):
        return [fit(model, X, y, sample_weight=weight).predict_proba(PAIR) for fit in FITS]

    weighted = lane(predict, X, y, weight)
    for one, other in zip(weighted, on_numpy(predict, X[repeated], y[repeated], None), strict=True):
        assert_allclose(one, other, rtol=1e-5)
    assert_array_equal(weighted[0][:, 2], 0)


# categories


@pytest.mark.parametrize("fit", [nb.fit_mle, nb.fit_map])
@pytest.mark.parametrize(
    "family", [nb.Categorical.laplace(3), nb.Categorical.laplace((2, 5)), nb.Multinomial.laplace()]
)
def test_every_table_sums_to_one(fit, family):
    """The denominator is count + l · categories, not l · columns.
    https://github.com/quanteda/quanteda.textmodels/pull/21"""
    params = fit(nb.NaiveBayes(family, num_classes=3), PAIR, [0, 1]).params
    for site, table in params.items():
        assert_allclose(table.sum(axis=-1), 1, rtol=1e-12, err_msg=site)


# classes


@both
def test_rows_of_one_class(lane):
    """y shows a single class, and the class probabilities are given.
    https://github.com/scikit-learn/scikit-learn/issues/17926"""
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.5, 0.5])
    proba = lane(lambda X, y: [fit(model, X, y).predict_proba(X) for fit in FITS], PAIR, np.array([1, 1]))
    assert_allclose(proba, np.full((3, 2, 2), 0.5), rtol=1e-6)  # each column was 1 half of the time


@pytest.mark.parametrize("probs", [[0.2, 0.2], [1.2, -0.2], [0.5, np.nan]])
def test_class_probs_must_be_probabilities(probs):
    with pytest.raises(ValueError, match="sum to 1"):
        nb.NaiveBayes(nb.Multinomial(), class_probs=probs)


@both
@pytest.mark.parametrize(("K", "D"), [(3, 1), (2, 5)])
def test_the_class_prior_counts(lane, K, D):
    """p(y) is the share of rows in the class, one number a class whatever the number of columns, and it is in the
    prediction. https://github.com/scikit-learn/scikit-learn/pull/731"""
    y = np.array([*range(K), *[0] * 7])
    X = np.zeros((len(y), D))
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=K)
    share = np.bincount(y) / len(y)
    params, proba = lane(lambda X, y: (nb.fit_mle(model, X, y).params, nb.fit_mle(model, X, y).predict_proba(X)), X, y)
    assert_allclose(params["class_probs"], share, rtol=1e-6)
    assert_allclose(proba, np.broadcast_to(share, proba.shape), rtol=1e-6)


# missing cells and blocks


@both
def test_a_missing_cell_is_marginalised(lane):
    """Leaving a cell out is summing over all that it could be. https://github.com/biolab/orange3/issues/6553"""
    X, y = np.array([[0, 2], [1, 2], [2, 0], [2, 1], [0, 0]], float), np.array([0, 0, 1, 1, 1])
    model = nb.NaiveBayes(nb.Categorical(3), num_classes=2)
    hole, filled = np.array([[np.nan, 2.0]]), np.array([[0.0, 2.0], [1.0, 2.0], [2.0, 2.0]])

    def log_joints(X, y, *news):
        return [[fit(model, X, y).log_joint(new) for new in news] for fit in FITS]

    for missing, whole in lane(log_joints, X, y, hole, filled):
        assert_allclose(np.exp(missing[0]), np.exp(whole).sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize("fit", FITS)
def test_a_missing_normal_cell_is_marginalised(fit, rng):
    y = np.arange(12) % 2
    X = rng.normal(y[:, None], 1.0, (12, 2))
    fitted = fit(nb.NaiveBayes(nb.Normal()), X, y)
    # x = sinh(u) spreads the nodes over the long tails
    u = np.linspace(-18, 18, 20_001)
    rows = np.stack([np.sinh(u), np.full(u.shape, 0.3)], axis=1)
    integral = np.trapezoid(np.exp(fitted.log_joint(rows)) * np.cosh(u)[:, None], u, axis=0)
    assert_allclose(np.exp(fitted.log_joint(np.array([[np.nan, 0.3]]))[0]), integral, rtol=1e-5)


@pytest.mark.parametrize("fit", FITS)
def test_blocks_share_one_class_prior(fit, rng):
    """The joint of two blocks is the product of theirs over p(y), which is in both.
    https://github.com/scikit-learn/scikit-learn/issues/15077"""
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 1])
    X = {"flags": rng.integers(0, 2, (10, 2)), "reals": rng.normal(size=(10, 2))}
    families = {"flags": nb.Bernoulli.laplace(), "reals": nb.Normal()}
    mixed = fit(nb.NaiveBayes(families), X, y).log_joint(X)
    parts = [fit(nb.NaiveBayes(family), X[name], y) for name, family in families.items()]
    prior = parts[0].log_joint(np.full((1, 2), np.nan))
    assert_allclose(mixed, parts[0].log_joint(X["flags"]) + parts[1].log_joint(X["reals"]) - prior, rtol=1e-10)


# JAX


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Categorical(2), nb.Multinomial()])
def test_gradients_at_a_zero_probability(family):
    """The gradients of 0 · log p and of xlogy(0, p) at p = 0 are NaN; those of a possible row are finite, and right."""
    model = nb.NaiveBayes(family, num_classes=2)
    params = jax.tree.map(jnp.asarray, nb.fit_mle(model, PAIR, [0, 1]).params)
    rows = jnp.asarray(PAIR[:1])

    def density(params):
        return nb.PointEstimate(model, params).log_density(rows)[0]

    gradient = jax.grad(density)(params)
    for site, value in gradient.items():
        assert np.isfinite(value).all(), site
    # log p(x) = log p(y = 0) + ..., since class 1 is impossible
    assert_allclose(gradient["class_probs"], [2, 0], rtol=1e-5)


def test_many_fits_under_vmap(rng):
    """Bootstrap weights: a batch of fits is those fits, one by one."""
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    weights = rng.integers(0, 4, (5, 20))
    model = nb.NaiveBayes({"reals": nb.Normal(), "flags": nb.Bernoulli()}, num_classes=2)
    rows = {"reals": jnp.asarray(X), "flags": jnp.asarray(X > 0)}

    def proba(weight):
        return nb.fit_posterior(model, rows, jnp.asarray(y), sample_weight=weight).predict_proba(rows)

    batch = jax.vmap(proba)(jnp.asarray(weights))
    host = {"reals": X, "flags": X > 0}
    for weight, found in zip(weights, batch, strict=True):
        expected = nb.fit_posterior(model, host, y, sample_weight=weight).predict_proba(host)
        assert_allclose(found, expected, rtol=1e-4)


def test_a_new_number_of_rows_compiles_nothing_new(rng, compilations):
    """Fifty sizes of test set cost a handful of compilations; one each made it 318 times slower."""
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), rng.normal(size=(20, 7)), np.arange(20) % 2)
    del compilations[:]
    for rows in range(1, 51):
        assert fit.predict_proba(np.zeros((rows, 7))).shape == (rows, 2)
    jax.jit(lambda x: 7.0 * x)(1.0)  # is noticed
    assert 1 <= len(compilations) <= 12


@pytest.mark.parametrize("rows", [1e3, 1e6, 1e8])
def test_evidence_of_many_rows(rows):
    """The log evidence is a small difference of huge log-gammas: naive float32 is 103 nats off at 1e8 rows."""
    model = nb.NaiveBayes(nb.Bernoulli(a=2.0, b=3.0), class_probs=[1.0])
    ones = 0.3 * rows
    fit = nb.fit_posterior(model, np.array([[1], [0]]), [0, 0], sample_weight=[ones, rows - ones])
    assert_allclose(fit.log_evidence, betaln(2.0 + ones, 3.0 + rows - ones) - betaln(2.0, 3.0), rtol=0, atol=1e-3)


def test_draws_average_joint_densities(key):
    """p(y | x, rows) is the mean of p(y, x | theta) over draws, normalised at the end; averaging p(y | x, theta) is
    another number, as few rows a class show."""
    rows, y, new = np.array([[0.1], [1.0], [2.2], [2.9], [4.0], [5.3]]), np.repeat([0, 1], 3), np.array([[9.0]])
    exact = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), rows, y)
    draws = Draws(exact.model, exact.sample(key, 8192), {}, 1)
    predictions_agree(draws, exact.predict_proba(new), new)
    one_by_one = jax.vmap(lambda draw: nb.PointEstimate.trust(exact.model, draw).predict_proba(new))
    assert jax.jit(one_by_one)(draws.params).mean(axis=0)[0, 1] < exact.predict_proba(new)[0, 1] - 0.05


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([1, "1", 1, "1"], "several types, 'int', 'str'"),
        (["a", "b", np.nan, "a"], "missing label in row 2"),
        ([True, 2, True, 2], "several types, 'bool', 'int'"),
        ([2**53, 2**53 + 1, 1.0, 1.0], "several types, 'float', 'int'"),
        (["x", "x\0", "y", "y"], "ends in a NUL character"),
    ],
)
def test_labels_of_a_list_do_not_become_each_other(labels, sentence):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match=sentence):
        nb.NaiveBayesClassifier().fit(X, labels)


def test_whole_numbers_among_floats_are_labels():
    X = np.arange(8.0).reshape(4, 2)
    assert nb.NaiveBayesClassifier().fit(X, [1, 2.0, 1.0, 2]).classes_.tolist() == [1.0, 2.0]
