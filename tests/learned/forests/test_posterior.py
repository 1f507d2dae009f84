"""The posterior over forests: its statistics are all that it knows of the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.learned.forests.rows import MODEL, X, Y
from tests.served import served


@pytest.mark.parametrize("structure", ["average", "best"])
def test_statistics_of_parts_are_enough(structure):
    fit = nb.fit_forests(MODEL, X, Y, structure=structure)
    first, second = ({b: x[rows] for b, x in X.items()} for rows in (slice(0, 7), slice(7, None)))
    parts = [nb.fit_forests(fit.posterior.prior, x, y).statistics for x, y in ((first, Y[:7]), (second, Y[7:]))]
    again = nb.fit_forests(fit.posterior.prior, statistics=nb.merge(*parts), structure=structure)
    assert_allclose(again.predict_proba(X), fit.predict_proba(X), rtol=1e-9)
    assert np.isfinite(again.log_evidence)


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["average", "best"])
def test_an_exported_forest_predicts_the_same(structure):
    fit = nb.fit_forests(MODEL, X, Y, structure=structure)
    assert_allclose(served(fit.predict_proba, X)(X), fit.predict_proba(X), atol=1e-5)
