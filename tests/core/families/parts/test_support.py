"""Mistakes in counts, totals and covariances end in a ValueError of one line, from numpy and from JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesnb as nb

Y = np.array([0, 1, 1])

COUNTS = np.array([[0.0, 3.0], [2.0, 5.0], [1.0, 0.0]])
PAIRS = nb.NaiveBayes(nb.Binomial(None))
FIVE = nb.NaiveBayes(nb.Binomial(5))
EVENTS = nb.NaiveBayes(nb.Poisson())
PLANE = nb.NaiveBayes(nb.MultivariateNormal())


def one_line(caught):
    return "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "X", "says"),
    [
        (
            FIVE,
            COUNTS + 1,
            r"column 1: a Binomial cell is a whole number of successes between 0 and its total.*6.0 of 5",
        ),
        (FIVE, COUNTS - 1, r"column 0: a Binomial cell .*got -1.0 of 5.0"),
        (FIVE, COUNTS + 0.5, r"column 0: a Binomial cell .*got 0.5 of 5.0"),
        (FIVE, np.where(COUNTS == 2, np.inf, COUNTS), r"column 0: a Binomial cell .*got inf of 5.0"),
        (FIVE, (COUNTS, COUNTS), r"block 'x' must be one array, as total_count is given, got 2 arrays"),
        (nb.NaiveBayes(nb.Binomial((5, 4))), COUNTS, r"column 1: a Binomial cell .*got 5.0 of 4.0"),
        (nb.NaiveBayes(nb.Binomial((5, 4, 3))), COUNTS, r"block 'x'"),
        (PAIRS, COUNTS, r"block 'x' must be a pair \(successes, totals\), got 1 array"),
        (PAIRS, (COUNTS,), r"a pair \(successes, totals\), got 1 array"),
        (PAIRS, (COUNTS, COUNTS, COUNTS), r"a pair \(successes, totals\), got 3 arrays"),
        (PAIRS, (COUNTS, COUNTS[:, :1]), r"successes and totals must have one shape, got \(3, 2\) and \(3, 1\)"),
        (PAIRS, (COUNTS, COUNTS[:2]), r"successes and totals must have one shape"),
        (PAIRS, (COUNTS, COUNTS[0]), r"must be an array \[N, D\], got shape \(2,\)"),
        (PAIRS, (COUNTS, COUNTS - 1), r"a Binomial cell .*got 0.0 of -1.0"),
        (PAIRS, (COUNTS, COUNTS + 0.5), r"a Binomial cell .*got 0.0 of 0.5"),
        (PAIRS, (COUNTS, COUNTS + np.inf), r"a Binomial cell .*got 0.0 of inf"),
        (EVENTS, COUNTS - 1, r"column 0: a Poisson cell is a count 0, 1, 2, ... or NaN \(missing\), got -1.0"),
        (EVENTS, COUNTS + 0.5, r"column 0: a Poisson cell .*got 0.5; use Normal for measurements"),
        (EVENTS, np.where(COUNTS == 5, np.inf, COUNTS), r"column 1: a Poisson cell .*got inf"),
        (EVENTS, (COUNTS, COUNTS), r"must be one array \[N, D\], got a tuple of 2"),
        (
            PLANE,
            np.where(COUNTS == 5, np.inf, COUNTS),
            r"column 1: a MultivariateNormal cell is a finite number.*got inf",
        ),
        (PLANE, np.where(COUNTS == 5, np.nan, COUNTS), r"no closed form .*leave such rows out.*or use Normal"),
        (nb.NaiveBayes(nb.MultivariateNormal(df=1.0)), COUNTS, r"df must be above D - 1 = 1, got 1.0"),
        (nb.NaiveBayes(nb.MultivariateNormal(df=[3.0, 0.5])), COUNTS, r"df must be above D - 1 = 1"),
        (nb.NaiveBayes(nb.MultivariateNormal(scale=np.eye(3))), COUNTS, r"2 columns, the model has 3"),
    ],
)
def test_counts_and_covariances_that_do_not_fit(model, X, says):
    """From rows of numpy and of JAX."""
    for rows in (X, jax.tree.map(jnp.asarray, X)):
        for fit in (nb.fit_map, nb.sufficient_statistics):
            with pytest.raises(ValueError, match=says) as caught:
                fit(model, rows, Y)
            assert one_line(caught)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (nb.MultivariateNormal(loc=[0.0, 1.0, 2.0]), "loc"),
        (nb.MultivariateNormal("shared", scale=np.stack([np.eye(2)] * 2)), "scale"),
        (nb.Normal(variance="shared", rate=np.ones((2, 2))), "rate"),
        (nb.Poisson(rate=[1.0, 2.0, 3.0]), "rate"),
        (nb.Binomial(5, a=[1.0, 2.0, 3.0]), "a"),
    ],
)
def test_hyperparameters_of_another_shape(family, name):
    with pytest.raises(ValueError, match=rf"'{name}' has shape .*, which does not broadcast to") as caught:
        nb.fit_map(nb.NaiveBayes(family), COUNTS, Y)
    assert one_line(caught)


@pytest.mark.parametrize("make", [nb.fit_map, nb.fit_posterior])
@pytest.mark.parametrize(
    ("model", "X", "bad", "says"),
    [
        (FIVE, COUNTS, COUNTS + 1, "Binomial cell"),
        (PAIRS, (COUNTS, COUNTS), COUNTS, "a pair"),
        (PAIRS, (COUNTS, COUNTS), (COUNTS + 1, COUNTS), "got 1.0 of 0.0"),
        (PAIRS, (COUNTS, COUNTS), (COUNTS[:, :1], COUNTS[:, :1]), "1 columns, the model has 2"),
        (EVENTS, COUNTS, COUNTS - 1, "Poisson cell"),
        (PLANE, COUNTS, COUNTS + np.inf, "MultivariateNormal cell"),
        (PLANE, COUNTS, COUNTS[:, :1], "1 columns, the model has 2"),
    ],
)
def test_new_counts_that_do_not_fit(make, model, X, bad, says):
    fit = make(model, X, Y)
    for rows in (bad, jax.tree.map(jnp.asarray, bad)):
        with pytest.raises(ValueError, match=says):
            fit.predict_proba(rows)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nb.Binomial(0), r"Binomial: total_count must be a positive int .*, one per column, or None, got 0"),
        (lambda: nb.Binomial(2.5), r"got 2.5"),
        (lambda: nb.Binomial("five"), r"got 'five'"),
        (lambda: nb.Binomial((3, -1)), r"got \(3, -1\)"),
        (lambda: nb.Binomial(()), r"total_count must be a positive int"),
        (lambda: nb.Binomial([[1, 2]]), r"total_count must be a positive int"),
        (lambda: nb.Binomial(True), r"total_count must be a positive int"),
        (lambda: nb.Binomial(5, a=0), r"Binomial: a must be positive and finite, got 0"),
        (lambda: nb.Binomial(5, b=[1, -2]), r"with -2 in it"),
        (lambda: nb.Binomial.laplace(5, -1.0), r"Binomial: a must be positive"),
        (lambda: nb.Poisson(shape=0), r"Poisson: shape must be positive and finite, got 0"),
        (lambda: nb.Poisson(shape=None), r"Poisson: shape must be"),
        (lambda: nb.Poisson(rate=-1.0), r"Poisson: rate must be positive and finite, got -1.0"),
        (lambda: nb.Poisson(rate="fast"), r"must be a number or an array of numbers, got 'fast'"),
        (lambda: nb.Normal(variance="common"), r"Normal: variance must be 'own' or 'shared', got 'common'"),
        (lambda: nb.Normal(variance=1.0), r"Normal: variance must be 'own' or 'shared', got 1.0"),
        (lambda: nb.Normal(variance=np.ones(2)), r"Normal: variance must be 'own' or 'shared'"),
        (lambda: nb.MultivariateNormal("diag"), r"covariance must be 'full' or 'shared', got 'diag'"),
        (lambda: nb.MultivariateNormal(np.eye(2)), r"covariance must be 'full' or 'shared'"),
        (lambda: nb.MultivariateNormal(smoothing=-1.0), r"smoothing is a number, 0 or more, got -1.0"),
        (lambda: nb.MultivariateNormal(smoothing=[1.0, 2.0]), r"smoothing is a number, 0 or more"),
        (lambda: nb.MultivariateNormal(smoothing=np.nan), r"smoothing .*got nan"),
        (lambda: nb.MultivariateNormal(smoothing="some"), r"smoothing .*got 'some'"),
        (lambda: nb.MultivariateNormal(smoothing=None), r"smoothing .*got None"),
        (lambda: nb.MultivariateNormal(df=-1.0), r"df must be positive and finite, got -1.0"),
        (lambda: nb.MultivariateNormal("shared", df=[3.0, 4.0]), r"df is a number.*got shape \(2,\)"),
        (lambda: nb.MultivariateNormal(strength=np.ones((2, 2))), r"strength has at most 1 axes, got shape \(2, 2\)"),
        (lambda: nb.MultivariateNormal(strength=0.0), r"strength must be positive and finite, got 0.0"),
        (lambda: nb.MultivariateNormal(loc=np.nan), r"loc must be finite, got nan"),
        (lambda: nb.MultivariateNormal(scale=2.0), r"scale must be an array \[D, D\] or \[K, D, D\], got shape \(\)"),
        (lambda: nb.MultivariateNormal(scale=[1.0, 2.0]), r"scale must be an array \[D, D\]"),
        (lambda: nb.MultivariateNormal(scale=np.ones((2, 3))), r"scale must be an array \[D, D\]"),
        (lambda: nb.MultivariateNormal(scale=[[1.0, 2.0], [2.0, 1.0]]), r"scale must be positive definite: add"),
        (lambda: nb.MultivariateNormal(scale=[[-1.0, 0.0], [0.0, 1.0]]), r"scale must be positive definite"),
        (
            lambda: nb.MultivariateNormal(scale=[[1.0, 0.5], [0.0, 1.0]]),
            r"scale must be symmetric: use \(S \+ S.T\) / 2",
        ),
        (lambda: nb.MultivariateNormal(scale=[[1.0, np.nan], [np.nan, 1.0]]), r"scale must be finite"),
        (
            lambda: nb.NaiveBayes(nb.MultivariateNormal(loc=np.zeros((3, 2)), strength=[1.0, 2.0])),
            r"different numbers of classes, \[2, 3\]",
        ),
    ],
)
def test_families_that_are_none(make, says):
    with pytest.raises(ValueError, match=says) as caught:
        make()
    assert one_line(caught)


def known(family, **params):
    return nb.PointEstimate(
        nb.NaiveBayes(family), {"class_probs": [0.5, 0.5], **{f"x_{site}": value for site, value in params.items()}}
    )


LOC, EYE = np.zeros((2, 2)), np.eye(2)


@pytest.mark.parametrize(
    ("family", "params", "says"),
    [
        (nb.Poisson(), {"rate": [[1.0], [-1.0]]}, r"params\['x_rate'\] must be finite and not negative"),
        (nb.Poisson(), {"rate": [[1.0], [np.nan]]}, r"must be finite and not negative"),
        (nb.Poisson(), {"rate": [[1.0], [np.inf]]}, r"must be finite and not negative"),
        (nb.Poisson(), {"rate": [1.0, 2.0]}, r"must be an array \[K, D\], got shape \(2,\)"),
        (nb.Binomial((3, 4)), {"probs": [[0.1], [0.2]]}, r"1 columns, the model 2"),
        (nb.Binomial(3), {"probs": [[0.1], [1.2]]}, r"must be probabilities in \[0, 1\], got 1.2"),
        (
            nb.Normal(variance="shared"),
            {"loc": LOC, "variance": LOC + 1},
            r"must be an array \[D\], got shape \(2, 2\)",
        ),
        (nb.Normal(variance="shared"), {"loc": LOC, "variance": [1.0]}, r"\[K, D\], .* \[D\]: got \(2, 2\), \(1,\)"),
        (nb.Normal(variance="shared"), {"loc": LOC, "variance": [1.0, -1.0]}, r"must be positive"),
        (nb.Normal(), {"loc": LOC, "variance": [1.0, 1.0]}, r"must be an array \[K, D\], got shape \(2,\)"),
        (nb.MultivariateNormal(), {"loc": LOC, "covariance": EYE}, r"must be an array \[K, D, D\], got shape \(2, 2\)"),
        (nb.MultivariateNormal(), {"loc": LOC, "covariance": [EYE] * 3}, r"must have 2 classes on its first axis"),
        (nb.MultivariateNormal(), {"loc": LOC, "covariance": [np.eye(3)] * 2}, r"got \(2, 2\), \(2, 3, 3\)"),
        (nb.MultivariateNormal("shared"), {"loc": LOC, "covariance": [EYE] * 2}, r"must be an array \[D, D\]"),
        (nb.MultivariateNormal(), {"loc": LOC, "covariance": [EYE, -EYE]}, r"must be positive definite: add a small"),
        (nb.MultivariateNormal(), {"loc": LOC, "covariance": [EYE, EYE * 0 + 1]}, r"must be positive definite"),
        (nb.MultivariateNormal(), {"loc": LOC, "covariance": [EYE, np.diag([1.0, 0.0])]}, r"must be positive definite"),
        (
            nb.MultivariateNormal(),
            {"loc": LOC, "covariance": [EYE, [[1.0, 0.5], [0.0, 1.0]]]},
            r"must be symmetric: use",
        ),
        (nb.MultivariateNormal(), {"loc": LOC, "covariance": [EYE, EYE * np.nan]}, r"covariance must be finite"),
        (nb.MultivariateNormal(), {"loc": LOC + np.inf, "covariance": [EYE, EYE]}, r"loc must be finite"),
    ],
)
def test_parameters_of_counts_and_covariances_that_are_none(family, params, says):
    for convert in (np.asarray, jnp.asarray):
        with pytest.raises(ValueError, match=says) as caught:
            known(family, **{site: convert(value) for site, value in params.items()})
        assert one_line(caught)


def test_a_column_that_says_nothing_is_no_mistake():
    flat = np.diag([1.0, 0.0])
    fit = known(nb.MultivariateNormal(), loc=[[0.0, 3.0], [1.0, 3.0]], covariance=[flat, flat])
    alone = known(nb.Normal(), loc=[[0.0], [1.0]], variance=[[1.0], [1.0]])
    assert (fit.predict_proba(COUNTS) == alone.predict_proba(COUNTS[:, :1])).all()
