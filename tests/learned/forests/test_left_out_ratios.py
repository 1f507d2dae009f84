"""Forests with each row left out, against refits; and forests with powers."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from tests.learned.forests.rows import MODEL, N, Y, copies, log_loss, part
from tests.learned.forests.rows import X as COMPLETE


def rows(missing: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {name: np.where(rng.random(x.shape) < missing, np.nan, x) for name, x in COMPLETE.items()}


@pytest.mark.parametrize("structure", ["average", "best", "aode"])
@pytest.mark.parametrize(
    ("missing", "heaviest"), [(0.2, 3), *(pytest.param(gap, 1, marks=pytest.mark.slow) for gap in (0.0, 0.2))]
)
def test_a_row_leaves_as_if_it_had_never_been(structure, missing, heaviest):
    X, weight = rows(missing), np.random.default_rng(5).integers(1, heaviest + 1, N).astype(float)
    prior = MODEL.resolve(X, Y, sample_weight=weight)
    fit = nb.fit_forests(MODEL, X, Y, sample_weight=weight, structure=structure)
    joint = nb.leave_one_out(fit, X, Y, sample_weight=weight, joint=True)
    label = nb.leave_one_out(fit, X, Y, sample_weight=weight)
    for n in range(0, N, 3):
        others = np.arange(N) != n
        refit = nb.fit_forests(prior, part(others, X), Y[others], sample_weight=weight[others], structure=structure)
        refit = replace(refit, parents=fit.parents)
        assert_allclose(joint[n], refit.log_joint(part([n], X))[0], rtol=1e-9, atol=1e-11)
        assert_allclose(label[n], refit.predict_log_proba(part([n], X))[0], rtol=1e-9, atol=1e-11)


@pytest.mark.slow
def test_forests_see_dependence_and_powers_what_is_left_of_it(rng):
    (x, y), (new, truth) = copies(rng, 200), copies(rng, 1000)
    fit = nb.fit_forests(nb.NaiveBayes(nb.Normal()), x, y)
    assert log_loss(fit, new, truth) < log_loss(fit.posterior, new, truth) - 0.1
    one, many = (nb.temper(fit, x, y, per_feature=per_feature) for per_feature in (False, True))
    assert np.ptp(one.posterior.powers["x"]) == 0.0
    assert one.power != one.posterior.powers["x"][0]
    for tempered in (one, many):
        assert log_loss(tempered, new, truth) < log_loss(fit, new, truth)
        assert tempered.log_evidence == fit.log_evidence
        assert_allclose(tempered.log_density(new), fit.log_density(new), rtol=1e-9)
    weights, ratio = many.posterior.powers["x"], fit.log_joint(new) - fit.posterior.log_joint(new)
    terms = fit.posterior.model.families["x"].log_predictive_terms(new)
    scores = np.asarray(terms) @ weights + many.power * ratio
    assert_allclose(np.diff(many.predict_log_proba(new)), np.diff(scores), rtol=1e-3, atol=1e-3)


def test_powers_maximise_what_they_are_learned_on(rng):
    """The common power of the table of all features and the forests' ratio, as of any other features."""
    x, y = copies(rng, 60)
    fit = nb.fit_forests(nb.NaiveBayes(nb.Normal()), x, y)
    tempered = nb.temper(fit, x, y)
    left_out = nb.leave_one_out(fit, x, y, joint=True)
    plain = nb.leave_one_out(nb.NaiveBayes(nb.Normal()), x, y, joint=True)
    prior = np.log(np.bincount(y)[None] + 1.0 - np.eye(2)[y])

    def loss(features, ratio):
        table = prior + features * (plain - prior) + ratio * (left_out - plain)
        return (np.logaddexp(*table.T) - table[np.arange(len(y)), y]).sum()

    best = loss(tempered.posterior.powers["x"][0], tempered.power)
    assert best < loss(1.0, 1.0)
    assert best < loss(tempered.posterior.powers["x"][0], 0.0)


@pytest.mark.parametrize("structure", ["average", "best", "aode"])
@pytest.mark.parametrize("num_columns", [0, 1])
def test_without_pairs_a_row_leaves_naive_bayes(structure, num_columns):
    model, rows = nb.NaiveBayes(nb.Categorical(3)), COMPLETE["kinds"][:, :num_columns]
    found = nb.leave_one_out(nb.fit_forests(model, rows, Y, structure=structure), rows, Y)
    assert_allclose(found, nb.leave_one_out(model, rows, Y), rtol=1e-12)


def test_what_is_refused():
    fit = nb.fit_forests(MODEL, COMPLETE, Y)
    with pytest.raises(ValueError, match="must be the rows that the posterior was fitted to"):
        nb.leave_one_out(fit, part(slice(1, None)), Y[1:])
    with pytest.raises(ValueError, match="integer labels"):
        nb.leave_one_out(fit, COMPLETE, np.eye(2)[Y])
    with pytest.raises(ValueError, match="integer labels"):
        nb.temper(fit, COMPLETE, np.eye(2)[Y])
