"""Nested training sets: every fit from shared statistics equals one of its own, with leave-one-out and evidence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.studies.comparison._nested import fit_nested, share_statistics
from tests import cases

SIZES = [3, 9, 20]


def case(kind, seed=0):
    """A model, its rows with missing cells, and labels of which the first rows lack class 2."""
    rng = np.random.default_rng(seed)
    y = np.r_[[0, 1, 0, 1], rng.integers(0, 3, 26)]
    numbers = rng.normal(size=(30, 3)) + y[:, None]
    codes, flags = rng.integers(0, 4, (30, 2)).astype(float), (rng.random((30, 3)) < 0.4).astype(float)
    numbers[2, 1] = codes[5, 0] = flags[4, 2] = np.nan
    counts = rng.poisson(2.0, (30, 4)).astype(float)
    match kind:
        case "normal":
            return nb.NaiveBayes(nb.Normal(), num_classes=3), numbers, y
        case "shared":
            return nb.NaiveBayes(nb.Normal(variance="shared"), num_classes=3), numbers, y
        case "multinomial":
            return nb.NaiveBayes(nb.Multinomial(0.5), num_classes=3), counts, y
        case "multivariate":
            return nb.NaiveBayes(nb.MultivariateNormal(), num_classes=3), np.nan_to_num(numbers), y
        case "poisson":
            return nb.NaiveBayes(nb.Poisson(), class_probs=[0.2, 0.3, 0.5]), counts, y
    families = {"flags": nb.Bernoulli(), "codes": nb.Categorical(4, 2.0), "numbers": nb.Normal()}
    return nb.NaiveBayes(families, num_classes=3), {"flags": flags, "codes": codes, "numbers": numbers}, y


def part(X, rows):
    return {block: x[rows] for block, x in X.items()} if isinstance(X, dict) else X[rows]


@pytest.mark.parametrize("kind", ["normal", "shared", "multinomial", "multivariate", "poisson", "mixed"])
@pytest.mark.parametrize("fit", cases.by_default([nb.fit_mle, nb.fit_map, nb.fit_posterior], nb.fit_posterior))
def test_every_fit_equals_one_of_its_own(kind, fit):
    model, X, y = case(kind)
    blocks = X if isinstance(X, dict) else {"x": X}
    rows = share_statistics(model, part(X, slice(20)), y[:20])
    found = fit_nested([model], rows, SIZES, part(blocks, slice(20, 30)), fit)
    for s, n in enumerate(SIZES):
        if (s, 0) in found.failed:
            with pytest.raises(ValueError, match="is singular"):
                fit(model, part(X, slice(n)), y[:n])
            continue
        own = fit(model, part(X, slice(n)), y[:n])
        log_proba = own.predict_log_proba(part(X, slice(20, 30)))
        seen = log_proba > -600  # beyond, variances near zero lose digits
        assert_allclose(found.log_proba[s, 0][seen], log_proba[seen], rtol=1e-9, atol=1e-9)
        assert (found.log_proba[s, 0][~seen] < -590).all()
        if fit is nb.fit_posterior:
            left_out = nb.leave_one_out(model, part(X, slice(n)), y[:n])[np.arange(n), y[:n]]
            assert_allclose(found.exact["loo_log_loss"][s, 0], -left_out.mean(), rtol=1e-9)
            assert_allclose(found.exact["log_evidence"][s, 0], own.log_evidence, rtol=1e-9)


def test_models_that_differ_in_smoothing_are_fitted_together():
    models = [nb.NaiveBayes(nb.Normal(strength=s, shape=s), num_classes=3) for s in (0.1, 1.0, 10.0)]
    _, X, y = case("normal")
    rows = share_statistics(models[0], X[:20], y[:20])
    found = fit_nested(models, rows, SIZES, {"x": X[20:]})
    for s, n in enumerate(SIZES):
        for g, model in enumerate(models):
            own = nb.fit_posterior(model, X[:n], y[:n])
            assert_allclose(found.log_proba[s, g], own.predict_log_proba(X[20:]), rtol=1e-9, atol=1e-9)
            left_out = nb.leave_one_out(model, X[:n], y[:n])[np.arange(n), y[:n]]
            assert_allclose(found.exact["loo_log_loss"][s, g], -left_out.mean(), rtol=1e-9)


def test_a_histogram_whose_edges_come_from_the_rows_shares_no_statistics():
    _, X, y = case("normal")
    assert share_statistics(nb.NaiveBayes(nb.Histogram(), num_classes=3), X, y) is None
