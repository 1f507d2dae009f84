"""A Gaussian with a covariance scores a row by its observed cells; a fit takes rows that are whole or empty."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from tests import cases, laws
from tests.families.gaussian_rows import FITS, KINDS, NEW, PRIOR, D, K, N, X, Y, fits, gaussian, kinds, model, student


def patterns():
    """Rows with every subset of their cells missing, and which cells they are."""
    seen = np.array(list(itertools.product([True, False], repeat=D)))
    return np.where(seen, NEW[: len(seen)], np.nan), seen


def expected_of_patterns(kind, fit):
    rows, seen = patterns()
    table = np.zeros((len(rows), K))
    for row, (x, columns) in enumerate(zip(rows, seen, strict=True)):
        if not columns.any():
            continue
        if fit is nb.fit_posterior:
            table[row] = student(x[None], X, Y, kind, columns=columns, **PRIOR)[0]
            continue
        params = fit(model(kind, **PRIOR), X, Y).params
        covariance = np.broadcast_to(params["x_covariance"], (K, D, D))[:, columns][:, :, columns]
        table[row] = gaussian(x[None, columns], params["x_loc"][:, columns], covariance)[0]
    return table


@kinds
@fits
def test_a_row_is_scored_by_its_observed_cells(kind, fit):
    rows, _ = patterns()
    result = fit(model(kind, **PRIOR), X, Y).with_class_probs([0.2, 0.3, 0.5])
    expected = expected_of_patterns(kind, fit) + np.log([0.2, 0.3, 0.5])
    assert_allclose(result.log_joint(rows), expected, rtol=1e-9)
    assert_allclose(jax.jit(result.log_joint)(rows), expected, rtol=2e-5, atol=2e-5)


def test_many_rows_with_many_patterns(rng):
    """Each of 12 columns missing by chance; row by row, and in any order."""
    x = rng.normal(size=(500, 12)) @ rng.normal(size=(12, 12))
    y = np.arange(500) % 2
    fit = nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal()), x, y)
    holes = np.where(rng.random(x.shape) < 0.3, np.nan, x)
    table, order = fit.log_joint(holes), rng.permutation(500)
    assert_allclose(fit.log_joint(holes[order]), table[order], rtol=1e-12)
    params = fit.model.families["x"]
    for row in range(0, 500, 125):
        seen = ~np.isnan(holes[row])
        for k in range(2):
            free = params.df[k] - 11
            shape = params.scale[k] * (params.strength[k] + 1) / (params.strength[k] * free)
            law = stats.multivariate_t(params.loc[k, seen], shape[np.ix_(seen, seen)], free)
            expected = law.logpdf(holes[row, seen]) + np.log(0.5)
            assert_allclose(table[row, k], expected, rtol=1e-9)


@kinds
def test_a_row_without_cells_is_no_row(kind):
    gone = np.arange(N) % 5 == 2
    holes = np.where(gone[:, None], np.nan, X)
    whole = nb.fit_posterior(model(kind, **PRIOR), holes, Y)
    fewer = nb.fit_posterior(model(kind, **PRIOR), X[~gone], Y[~gone])
    probs = [0.2, 0.3, 0.5]
    assert_allclose(
        whole.with_class_probs(probs).log_joint(NEW), fewer.with_class_probs(probs).log_joint(NEW), rtol=1e-11
    )


def test_some_missing_cells_in_a_fit_are_refused():
    holes = X.copy()
    holes[3, 1] = np.nan
    for fit in FITS:
        for x in (holes, jnp.asarray(holes)):
            with pytest.raises(ValueError, match=r"no closed form.*some cells.*missing; leave such rows out"):
                fit(model("full"), x, Y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases.by_default(KINDS, "full"))
@pytest.mark.parametrize("x64", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_program_marginalises_missing_cells_too(kind, x64):
    """NumPyro's density of the program at the fitted parameters, in either precision."""
    rows, _ = patterns()
    y = np.arange(len(rows)) % K
    fit = nb.fit_map(model(kind, **PRIOR), X, Y)
    expected = fit.log_joint(rows)[np.arange(len(rows)), y].sum()
    with jax.enable_x64(x64):
        params = {site: jnp.asarray(value) for site, value in fit.params.items()}
        program = laws.program_density(fit.model, rows, y, params) - laws.prior_density(fit.model, params)
    assert_allclose(program, expected, rtol=1e-9 if x64 else 1e-4)
