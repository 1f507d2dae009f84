"""NUTS with unlabelled rows against every way to label them, each of which has an exact posterior and evidence."""

from itertools import product

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.arrays.compute import compute
from bayesnb.fits import nuts
from bayesnb.fits.em import separate
from tests import cases
from tests.agreement import exact_mean, means_agree, predictions_agree
from tests.fits.few_rows import FAMILIES, X

pytestmark = pytest.mark.usefixtures("numpyro_promotes_ranks")

LABELLED, SOME = 8, 12
NEW = np.array([1, 15, 16, 19])
"""Rows whose classes are not beyond doubt: tiny probabilities hang on a few draws."""


def rows_of(names, rows):
    """Rows of the blocks; the reals lie far from zero, where float32 would lose them."""
    return {name: X[name][rows] + (1e5 if name == "reals" else 0) for name in names}


def every_labelling(model, rows, y):
    """The exact posteriors under each way to label the unlabelled rows, and their probabilities."""
    prior = model.resolve(rows)
    fits = []
    for guess in product(range(model.num_classes), repeat=int((y < 0).sum())):
        whole = y.copy()
        whole[y < 0] = guess
        fits.append(nb.fit_posterior(prior, rows, whole))
    evidence = np.array([fit.log_evidence for fit in fits])
    return fits, np.exp(evidence - evidence.max()) / np.exp(evidence - evidence.max()).sum()


def sample(model, rows, y, **kwargs):
    return nb.fit_nuts(model, rows, y, **{"key": jax.random.key(4), "progress_bar": False, **kwargs})


def agree(draws, fits, probability, rows):
    """Means and predictions over all labellings, a mixture of exact posteriors."""
    means = [exact_mean(fit.model) for fit in fits]
    mixture = {site: sum(p * mean[site] for p, mean in zip(probability, means, strict=True)) for site in means[0]}
    means_agree(draws, mixture)
    exact = sum(p * np.exp(fit.log_joint(rows)) for p, fit in zip(probability, fits, strict=True))
    predictions_agree(draws, exact / exact.sum(axis=1, keepdims=True), rows)


@pytest.mark.slow
@pytest.mark.parametrize("names", [["reals"], [*FAMILIES]], ids=len)
def test_every_labelling_weighed_by_its_evidence(names):
    """The labels of nine blocks are shuffled, else no row is in doubt."""
    model = nb.NaiveBayes({name: FAMILIES[name] for name in names}, class_concentration=[1.0, 3.0])
    labels = np.arange(SOME) % 2 if len(names) == 1 else np.random.default_rng(11).permutation(np.arange(SOME) % 2)
    rows, y = rows_of(names, slice(SOME)), np.where(np.arange(SOME) < LABELLED, labels, -1)
    fits, probability = every_labelling(model, rows, y)
    draws = sample(model, rows, y)
    agree(draws, fits, probability, rows_of(names, NEW))
    assert draws.num_divergences == 0


@pytest.mark.slow
def test_without_labels_the_numbers_of_classes_mean_nothing():
    """Four rows let every chain exchange the names often: the density of rows is that of all labellings."""
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    rows, y = X["flags"][:4], np.full(4, -1)
    fits, probability = every_labelling(model, rows, y)
    with pytest.warns(UserWarning, match=r"no labelled row distinguishes the classes \[0, 1\]"):
        draws = sample(model, rows, y)
    agree(draws, fits, probability, X["flags"][4:8])
    exact = sum(p * np.exp(fit.log_density(rows)) for p, fit in zip(probability, fits, strict=True))
    assert_allclose(np.exp(draws.log_density(rows)), exact, rtol=0.05)
    assert_allclose(draws.params["class_probs"].mean(axis=0), 0.5, atol=0.05)


def factor(name, weight):
    """The unlabelled rows' factor in NUTS as a function of steps from the reference, and what it must be."""
    case = cases.make(name)
    y = np.where(np.arange(len(case.y)) % 4 < 2, case.y, -1)
    rows = separate(case.model, case.X, y, weight)
    _, _, reference = compute(nuts._centre, rows.model, rows.labelled)

    def expected(params):
        restored = compute(jax.jit(rows.model.restore), rows.labelled, params)
        others = case.rows(y < 0)
        base = rows.model.row_base_measure(rows.arrays)
        return rows.weight @ (nb.PointEstimate.trust(rows.model, restored).log_density(others) - base)

    return rows, reference, expected


MOVED = [name for name in cases.NAMES if name != "histogram"]  # whose discrete sites fit_nuts refuses


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.by_default(MOVED, "normal"))
def test_the_factor_of_the_unlabelled_rows(name):
    """It is their weighted log density by predictions, in the coordinates of the labelled rows, and its slope."""
    rows, reference, expected = factor(name, np.arange(24) / 7 + 0.1)
    assert_allclose(nuts._log_density(rows, reference), expected(reference), rtol=1e-4)
    with jax.enable_x64(True):
        value, slope = jax.jit(jax.value_and_grad(nuts._log_density, argnums=1))(rows, reference)
        assert_allclose(value, expected(reference), rtol=1e-10)
        many = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), reference)
        mapped = jax.vmap(jax.grad(nuts._log_density, argnums=1), (None, 0))(rows, many)
    site = "class_probs"
    step = 1e-5 * np.eye(3)[0]
    sides = [expected({**reference, site: reference[site] + s * step}) for s in (-1, 1)]
    assert_allclose(slope[site][0], (sides[1] - sides[0]) / 2e-5, rtol=1e-6)
    jax.tree.map(lambda one, two: assert_allclose(two, np.stack([one, one]), rtol=1e-9, atol=1e-9), slope, mapped)


def test_hyperpriors_need_labels():
    model = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0)), num_classes=2)
    with pytest.raises(ValueError, match=r"hyperpriors cannot be combined with unlabelled rows \(y = -1\)"):
        sample(model, X["flags"][:4], np.array([0, 1, 0, -1]))


def test_labels_below_minus_one():
    with pytest.raises(ValueError, match="y holds -2"):
        sample(nb.NaiveBayes(nb.Bernoulli()), X["flags"][:4], np.array([0, 1, -1, -2]))
    with pytest.raises(ValueError, match="y holds -2"):
        sample(nb.NaiveBayes(nb.Bernoulli()), X["flags"][:4], np.array([0, 1, 1, -2]))


def test_rows_partly_missing_under_a_full_covariance():
    rows = X["bent"][:4].copy()
    rows[3, 0] = np.nan
    with pytest.raises(ValueError, match="no closed form from rows with some cells missing"):
        sample(nb.NaiveBayes(nb.MultivariateNormal()), rows, np.array([0, 1, 0, -1]))
