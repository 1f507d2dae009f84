"""Forests come back from files to the bit, and what no fit can be is refused."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from tests.identical import assert_identical, saved
from tests.learned.forests.rows import MODEL, X, Y

FITS = {
    "average": lambda: nb.fit_forests(MODEL, X, Y),
    "aode": lambda: nb.fit_forests(MODEL, X, Y, structure="aode"),
    "best, tempered": lambda: nb.temper(nb.fit_forests(MODEL, X, Y, structure="best"), X, Y, per_feature=True),
    "statistics": lambda: nb.fit_forests(MODEL, X, Y).statistics,
}


@pytest.mark.parametrize("kind", FITS)
def test_every_structure_comes_back_to_the_bit(kind, tmp_path):
    fit = FITS[kind]()
    again = nb.load(saved(fit, tmp_path))
    assert repr(again) == repr(fit)
    assert_identical(again, fit)
    if kind != "statistics":
        assert_array_equal(again.predict_proba(X), fit.predict_proba(X))


def altered():
    average, best = nb.fit_forests(MODEL, X, Y), nb.fit_forests(MODEL, X, Y, structure="best")
    flags = nb.fit_forests(nb.NaiveBayes(nb.Bernoulli()), X["flags"], Y).pairs
    words = nb.fit_posterior(nb.NaiveBayes(nb.Poisson()), X["flags"], Y)
    counts = average.pairs.categories.counts.copy()
    counts[0, 0] = -1.0
    negative = replace(average.pairs, categories=replace(average.pairs.categories, counts=counts))
    circle = best.parents.copy()
    circle[:2] = 1, 0
    return {
        "pairs must be those of the model's columns": replace(average, pairs=flags),
        "counts must not be negative": replace(average, pairs=negative),
        "structure must be one of": replace(average, structure="tree"),
        "some part of it would change when loaded": replace(best, parents=circle),
        "power of the forests and the powers of the features belong together": replace(best, power=np.float64(0.5)),
        "pairs must be those of the model's columns and classes": replace(average, posterior=words, pairs=flags),
    }


def test_what_no_fit_can_be_is_refused(tmp_path):
    for problem, fit in altered().items():
        with pytest.raises(nb.StorageError, match=problem):
            nb.save(fit, tmp_path / "fit")
