"""What rows are generated from: keys, totals, parameters at their limits, JAX arrays, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests.core.results.generated import FAMILIES, REALS, X, Y, fitted

# keys


@pytest.mark.parametrize("fit", [nb.fit_map, nb.fit_posterior])
def test_one_key_gives_the_same_rows_and_another_key_others(fit):
    result = fitted("own", fit)
    one, same, other = (result.generate(key=jax.random.key(seed), num_rows=1024) for seed in (0, 0, 1))
    assert_array_equal(one[0], same[0])
    assert_array_equal(one[1], same[1])
    assert not np.isin(one[0], other[0]).any()


def test_an_old_style_key_will_do():
    fit = fitted("own")
    x, _ = fit.generate(key=jax.random.PRNGKey(3), num_rows=5)
    assert x.shape == (5, 2)


# parameters at their limits


def test_a_class_of_probability_zero_is_never_drawn(key):
    fit = fitted("flags").with_class_probs([0.5, 0.0, 0.5])
    _, y = fit.generate(key=key, num_rows=3000)
    assert set(np.unique(y)) == {0, 2}


def test_a_probability_of_zero_is_never_drawn(key):
    model = nb.NaiveBayes({"coin": nb.Bernoulli(), "die": nb.Categorical(3), "words": nb.Multinomial()})
    params = {
        "class_probs": [1.0],
        "coin_probs": [[0.0, 1.0]],
        "die_probs": [[[0.5, 0.0, 0.5]]],
        "words_probs": [[0.0, 1.0]],
    }
    X, _ = nb.PointEstimate(model, params).generate(key=key, num_rows=2000, total_count={"words": 4})
    assert_array_equal(X["coin"], np.tile([0, 1], (2000, 1)))
    assert set(np.unique(X["die"])) == {0, 2}
    assert_array_equal(X["words"], np.tile([0, 4], (2000, 1)))


@pytest.mark.parametrize("family", [nb.Normal(), nb.Normal(variance="shared"), nb.MultivariateNormal()])
@pytest.mark.parametrize("fit", [nb.fit_map, pytest.param(nb.fit_posterior, marks=pytest.mark.slow)])
def test_a_constant_column_is_generated_as_its_constant(family, fit, key):
    constant = np.insert(REALS[:, :1], 1, 7.5, axis=1)
    x, _ = fit(nb.NaiveBayes(family), constant, Y).generate(key=key, num_rows=1024)
    assert_allclose(x[:, 1], 7.5, rtol=1e-4)
    assert np.ptp(x[:, 0]) > 0.5


# totals


def test_totals_may_differ_by_row(key):
    totals = np.arange(1, 41)
    words, _ = fitted("words").generate(key=key, num_rows=40, total_count=totals)
    assert_array_equal(words.sum(axis=1), totals)
    (_, tried), _ = fitted("trials").generate(key=key, num_rows=40, total_count=totals)
    assert_array_equal(tried, np.stack([totals, totals], axis=1))
    sets, _ = fitted("words").generate(key=key, num_rows=40, num_datasets=3, total_count=totals)
    assert_array_equal(sets.sum(axis=2), np.tile(totals, (3, 1)))


@pytest.mark.slow
def test_totals_of_more_independent_rows_than_fit_in_memory(key):
    totals = np.arange(2048) % 7 + 1
    words, _ = fitted("words", nb.fit_posterior).generate(key=key, num_rows=2048, total_count=totals)
    assert_array_equal(words.sum(axis=1), totals)


def test_totals_known_to_the_model_need_not_be_given(key):
    wins, _ = fitted("wins").generate(key=key, num_rows=500)
    assert (wins.max(axis=0) <= [3, 9]).all()


# on a device


@pytest.mark.slow
def test_jax_fits_generate_inside_jit(key):
    """With the key traced; numpy fits give numpy rows, JAX fits JAX rows."""
    names = ["flags", "own", "plane"]
    rows = {name: jnp.asarray(X[name]) for name in names}
    model = nb.NaiveBayes({name: FAMILIES[name] for name in names})
    fit = nb.fit_map(model, rows, jnp.asarray(Y))
    x, y = jax.jit(lambda key: fit.generate(key=key, num_rows=6))(key)
    plain, labels = fit.generate(key=key, num_rows=6)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves((plain, labels)))
    assert_array_equal(y, labels)
    for name in names:
        assert_allclose(x[name], plain[name], rtol=1e-4, atol=1e-5)
    host, _ = nb.fit_map(model, jax.tree.map(np.asarray, rows), Y).generate(key=key, num_rows=6)
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(host))
    assert host["own"].dtype == np.float64


@pytest.mark.slow
def test_keys_map(key):
    """One data set a key."""
    fit = nb.fit_map(nb.NaiveBayes(nb.Normal()), jnp.asarray(REALS), jnp.asarray(Y))
    x, y = jax.vmap(lambda key: fit.generate(key=key, num_rows=6))(jax.random.split(key, 4))
    assert x.shape == (4, 6, 2)
    assert y.shape == (4, 6)


# what is refused


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"num_rows": 0}, "num_rows must be a positive int, got 0"),
        ({"num_rows": 2.5}, "num_rows must be a positive int"),
        ({"num_rows": 4, "num_datasets": 0}, "num_datasets must be a positive int, got 0"),
        ({"num_rows": 4, "num_datasets": -1}, "num_datasets must be a positive int"),
        ({"num_rows": 4, "key": 0}, r"such as jax.random.key\(0\)"),
    ],
)
def test_what_is_no_number_and_no_key(options, says):
    with pytest.raises(ValueError, match=says):
        fitted("flags").generate(**{"key": jax.random.key(0), **options})


@pytest.mark.parametrize("name", ["words", "trials"])
@pytest.mark.parametrize(
    ("total", "says"),
    [
        (None, r"give total_count"),
        ({"other": 3}, r"give total_count|other"),
        (-3, r"total_count.*-3"),
        (2.5, r"total_count.*2.5"),
        ([1, 2], r"total_count"),
        ("six", r"total_count"),
    ],
)
def test_totals_that_are_none(name, total, says):
    fit = nb.fit_map(nb.NaiveBayes({name: FAMILIES[name]}), {name: X[name]}, Y)
    with pytest.raises(ValueError, match=says):
        fit.generate(key=jax.random.key(0), num_rows=3, total_count=total)
