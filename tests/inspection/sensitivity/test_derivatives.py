"""Derivatives by hyperparameters: finite differences, and identities."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.inspection.sensitivity.mixed import PRIORS, fitted, rows

POST = fitted()
X = {block: x[:4] for block, x in rows(1)[0].items()}


def test_finite_differences():
    found = nb.prior_gradient(POST, X)
    rng = np.random.default_rng(0)
    for block, family in POST.prior.families.items():
        assert {*found[block]} == {*family.positive, *family.squared}
        for name, table in found[block].items():
            value = np.asarray(getattr(family, name), float)
            for place in map(tuple, rng.integers(0, value.shape, (3, value.ndim))):
                logs = []
                for step in (1e-5, -1e-5):
                    moved = value.copy()
                    moved[place] += step
                    families = {**POST.prior.families, block: family._replace(**{name: moved})}
                    model = POST.prior.with_hyperparameters(families, POST.prior.class_concentration)
                    logs.append(nb.fit_posterior(model, statistics=POST.statistics).predict_log_proba(X))
                assert_allclose(table[(..., *place)], (logs[0] - logs[1]) / 2e-5, atol=2e-6)


@pytest.mark.parametrize("fit", [POST, POST.with_powers(0.5), POST.with_class_probs([0.2, 0.3, 0.5])])
def test_probabilities_sum_to_one(fit):
    proba = fit.predict_proba(X)
    for tables in nb.prior_gradient(fit, X).values():
        for table in tables.values():
            weighed = proba.reshape(*proba.shape, *[1] * (table.ndim - 2)) * table
            assert_allclose(weighed.sum(axis=1), 0.0, atol=1e-12)


def test_class_probabilities_and_bins():
    assert {*nb.prior_gradient(POST, X)} == {*PRIORS, "class_probs"}
    assert "class_probs" not in nb.prior_gradient(POST.with_class_probs([0.2, 0.3, 0.5]), X)


@pytest.mark.slow
def test_inside_jit():
    found = jax.jit(nb.prior_gradient)(POST, X)
    assert_allclose(found["f"]["a"], nb.prior_gradient(POST, X)["f"]["a"], rtol=1e-3, atol=1e-5)
