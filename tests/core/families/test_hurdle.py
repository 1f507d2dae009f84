"""Values of their own beside a family: the two blocks that users made by hand, as one feature."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.core.families.mapped_rows import INCOMES, SIZES, N, fit, y


def by_hand(X, at):
    """The place of each cell's value among these, and the cells of other values."""
    code = np.where(np.isnan(X), np.nan, float(len(at)))
    for place, value in enumerate(at):
        code[np.isnan(X) if np.isnan(value) else value == X] = place
    return {"which": code, "rest": np.where(code == len(at), X, np.nan)}


@pytest.mark.parametrize("at", [(0.0,), (0.0, 99.0), (np.nan,), (np.nan, 0.0)])
@pytest.mark.parametrize("variance", ["own", "shared"])
def test_a_hurdle_is_two_blocks(at, variance):
    X = np.where(INCOMES == 0.0, 2.5, INCOMES) if 0.0 not in at else INCOMES
    rows = by_hand(X, at)
    logs = rows["rest"] = np.log(rows["rest"])
    slopes = -np.nansum(logs, axis=1)
    weights = [0.5] * len(at) + [2.0]
    ours = fit(nb.Hurdle(nb.LogNormal(variance=variance), at=at if len(at) > 1 else at[0], concentration=weights), X)
    hand = {"which": nb.Categorical(len(at) + 1, concentration=weights), "rest": nb.Normal(variance=variance)}
    theirs = nb.fit_posterior(nb.NaiveBayes(hand), rows, y)
    assert_allclose(ours.log_joint(X), theirs.log_joint(rows) + slopes[:, None], rtol=1e-9)
    assert_allclose(ours.log_evidence, theirs.log_evidence + slopes.sum(), rtol=1e-9)
    left_out = nb.leave_one_out(ours.prior, X, y), nb.leave_one_out(theirs.prior, rows, y)
    assert_allclose(*left_out, rtol=1e-9)
    for estimate in (nb.fit_mle, nb.fit_map):
        found, wanted = (estimate(one.prior, x, y).log_joint(x) for one, x in ((ours, X), (theirs, rows)))
        assert_allclose(found, wanted + slopes[:, None], rtol=1e-9)


def test_a_missing_cell_speaks_if_it_is_a_value():
    X = np.where((y == 0)[:, None] & (np.arange(N) % 2 == 0)[:, None], np.nan, SIZES)
    silent, speaks = fit(nb.LogNormal(), X), fit(nb.Hurdle(nb.LogNormal(), at=np.nan), X)
    nothing = np.full((1, 2), np.nan)
    assert_allclose(silent.predict_proba(nothing), 1 / 3, rtol=1e-9)
    assert speaks.predict_proba(nothing)[0, 0] > 0.9


def test_counts_have_missing_cells_as_a_value():
    X = np.floor(SIZES)
    ours, rows = fit(nb.Hurdle(nb.Poisson(), at=np.nan), X), by_hand(X, (np.nan,))
    theirs = nb.fit_posterior(nb.NaiveBayes({"which": nb.Categorical(2), "rest": nb.Poisson()}), rows, y)
    assert_allclose(ours.log_joint(X), theirs.log_joint(rows), rtol=1e-9)
    found, _ = ours.generate(key=jax.random.key(0), num_rows=500)
    assert np.isnan(found).any()


REFUSED = [
    (lambda: nb.Hurdle(nb.Poisson(), at=0), "a family with a density.*got Poisson"),
    (lambda: nb.Hurdle(nb.Categorical(2), at=np.nan), "a family with a density.*one code more"),
    (lambda: nb.Hurdle(nb.Hurdle(nb.Normal(), 0), np.nan), "a family with a density.*got Hurdle"),
    (lambda: nb.Hurdle(nb.Views(nb.Normal(), nb.Histogram()), 1), "a family of single numbers"),
    (lambda: nb.Hurdle(nb.Binomial(3), np.nan), "a family of single numbers"),
    (lambda: nb.Hurdle(nb.Normal(), at=()), "at must be a finite number"),
    (lambda: nb.Hurdle(nb.Normal(), at=(0, 0.0)), r"several that differ, got \(0, 0.0\)"),
    (lambda: nb.Hurdle(nb.Normal(), at=np.inf), "at must be a finite number"),
    (lambda: nb.Hurdle(nb.Normal(), at="zero"), "at must be a finite number.*got 'zero'"),
    (lambda: nb.Hurdle(nb.Normal(), 0, concentration=-1.0), "concentration must be positive"),
    (lambda: fit(nb.Hurdle(nb.LogNormal(), at=99.0), INCOMES), "a LogNormal cell is a number above 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), REFUSED)
def test_what_does_not_fit_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
