"""Sets of decisions: the printed figures of JNCC2, and what must hold of any set."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays._compute import interpret
from bayesnb.core.results._bounds import class_weights, sites_of
from bayesnb.inspection.sensitivity._decide_set import _margins
from tests.inspection.sensitivity.credal_sets import fitted, read, tables

X, Y = tables(rows=24)
POST = fitted(X, Y)
NEW = tables(1, rows=40)[0]
PRIORS = pytest.mark.parametrize("prior", [None, "vacuous"])

PRINTED = {
    "contact-lenses": (3, 66.67, 25.00, 100.00, 100.00, 2.3, 100.00, 55.56),
    "iris": (3, 96.00, 98.67, 95.95, 100.00, 2.0, 95.95, 100.00),
    "glass": (7, 64.49, 51.40, 74.55, 90.38, 4.0, 74.55, 53.85),
}
"""Classes; accuracy, determinacy, single and set accuracy in percent, set size, accuracy on determinate rows and rest:
Corani and Zaffalon, JNCC2: the Java implementation of naive credal classifier 2 (2008).
"""


@pytest.mark.parametrize("name", PRINTED)
def test_the_figures_of_jncc2(data, name):
    num_classes, *printed = PRINTED[name]
    post, rows, y = read(data, name, num_classes)
    sets = nb.decide_set(post, rows, s=1.0, prior="vacuous").sets
    right, hit, sure = post.predict(rows) == y, sets[np.arange(len(y)), y], sets.sum(axis=1) == 1
    shares = right, sure, hit[sure], hit[~sure], right[sure], right[~sure]
    accuracy, determinacy, single, of_sets, determinate, rest = (round(100 * s.mean(), 2) for s in shares)
    found = accuracy, determinacy, single, of_sets, round(sets[~sure].sum(axis=1).mean(), 1), determinate, rest
    assert found == tuple(printed)


def dominated(n, cells, s, row, rng):
    """Whether a class is less probable than some other under every one of 10,000 priors, [K]."""
    for_classes, alpha = s * rng.dirichlet([0.5] * 3, 10_000), rng.choice([0.05, 1.0])
    for_cells = for_classes[:, :, None] * rng.beta(alpha, alpha, (10_000, 3, 4))  # a class's pseudo-rows in all columns
    own = np.take_along_axis(cells, row[None, :, None], axis=2)[..., 0]
    logs = np.log(n + for_classes) + (
        np.log(own + for_cells) - np.log(cells.sum(axis=2) + for_classes[:, :, None])
    ).sum(axis=2)
    return logs


@PRIORS
def test_the_decision_of_every_prior_is_in_the_set(prior):
    rng = np.random.default_rng(0)
    found = POST.statistics if prior else POST.model
    n = found.class_counts if prior else found.class_concentration
    cells = (found.blocks["x"].counts if prior else found.families["x"].concentration).reshape(3, 4, 3)
    for s in (0.5, 3.0):
        sets = nb.decide_set(POST, NEW, s, prior=prior).sets
        for row, allowed in zip(NEW[:12], sets, strict=False):
            with np.errstate(divide="ignore"):
                assert allowed[np.unique(dominated(n, cells, s, row, rng).argmax(axis=1))].all()


@PRIORS
def test_sets_are_nested_and_never_empty(prior):
    before = np.zeros((len(NEW), 3), bool)
    for s in (1e-6, 0.2, 1.0, 3.0, 10.0, 100.0):
        sets = nb.decide_set(POST, NEW, s, prior=prior).sets
        assert sets.any(axis=1).all()
        assert (sets >= before).all()
        before = sets
    assert sets.all()


def test_no_pseudo_rows_leave_the_decision_of_the_fit():
    proba, sets = POST.predict_proba(NEW), nb.decide_set(POST, NEW, 0.0).sets
    assert_array_equal(sets, np.isclose(proba, proba.max(axis=1, keepdims=True)))


def test_with_few_pseudo_rows_in_the_place_of_the_prior_it_is_the_decision_of_the_mle():
    known = (POST.statistics.blocks["x"].counts.reshape(3, 4, 3)[:, np.arange(4), NEW] > 0).all(axis=(0, 2))
    logs = nb.fit_mle(nb.NaiveBayes(nb.Categorical(3), num_classes=3), X, Y).predict_log_proba(NEW[known])
    assert known.sum() > 5
    few = nb.decide_set(POST, NEW[known], 1e-9, prior="vacuous").sets
    assert_array_equal(few, np.isclose(logs, logs.max(axis=1, keepdims=True), atol=1e-6))


@PRIORS
def test_dominance_is_transitive(prior):
    given = sites_of(POST, prior), class_weights(POST, prior)
    for s in (0.05, 0.3, 1.0):
        odds, *_ = interpret(_margins, *given, s, {"x": NEW})
        above = odds > 0
        assert above.any() or s > 0.05
        assert not (above & above.transpose(0, 2, 1)).any()
        assert (np.einsum("nab,nbc->nac", above, above) <= above).all()


@PRIORS
def test_intervals_of_probabilities_decide_no_more(prior):
    """predict_bounds has the pseudo-rows of each site apart: a wider set of priors."""
    for s in (0.5, 2.0):
        low, high = POST.predict_bounds(NEW, s, prior)
        assert (nb.decide_set(POST, NEW, s, prior=prior).sets <= (high >= low.max(axis=1, keepdims=True))).all()


def test_classes_columns_and_categories_in_another_order():
    expected = nb.decide_set(POST, NEW, 2.0).sets
    classes, columns, codes = np.array([2, 0, 1]), [3, 1, 0, 2], np.array([1, 2, 0])
    other = nb.decide_set(fitted(codes[X][:, columns], classes[Y]), codes[NEW][:, columns], 2.0).sets
    assert_array_equal(other[:, classes], expected)


def test_costs_of_errors_are_the_same_as_none():
    for s in (0.5, 2.0):
        given = nb.decide_set(POST, NEW, s, costs=1.0 - np.eye(3))
        assert_array_equal(given.sets, nb.decide_set(POST, NEW, s).sets)
        assert given.exact


def test_costs_decide_by_the_odds_of_two_classes():
    """Cost c of missing class 1: decision 1 dominates where the odds of class 1 are above 1 / c under every prior."""
    two = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(3)), X, Y > 0)
    sets = nb.decide_set(two, NEW, 1.0, costs=[[0.0, 1.0], [5.0, 0.0]]).sets
    alone = nb.decide_set(two, NEW, 1.0).sets
    assert (sets[:, 1] >= alone[:, 1]).all()
    assert (sets[:, 0] <= alone[:, 0]).all()
    assert (sets != alone).any()
    none = nb.decide_set(two, NEW, 0.0, costs=[[0.0, 1.0], [5.0, 0.0]]).sets
    assert_array_equal(none.argmax(axis=1), nb.decide(two.predict_proba(NEW), [[0.0, 1.0], [5.0, 0.0]]).labels)


def test_decisions_whose_costs_differ_in_many_classes_are_bounded():
    costs = np.array([[0.0, 3.0, 1.0], [2.0, 0.0, 1.0], [4.0, 2.0, 1.0]])
    rng = np.random.default_rng(0)
    found = nb.decide_set(POST, NEW, 1.0, costs=costs)
    assert not found.exact
    cells, n = POST.model.families["x"].concentration.reshape(3, 4, 3), POST.model.class_concentration
    for row, allowed in zip(NEW[:12], found.sets, strict=False):
        logs = dominated(n, cells, 1.0, row, rng)
        proba = np.exp(logs - logs.max(axis=1, keepdims=True))
        assert allowed[np.unique((proba @ costs).argmin(axis=1))].all()
    sure = nb.decide_set(POST, NEW, 0.0, costs=costs).sets
    assert_array_equal(sure.argmax(axis=1), nb.decide(POST.predict_proba(NEW), costs).labels)


def test_an_estimator_and_its_rows():
    clf = nb.NaiveBayesClassifier(method="posterior", likelihoods="categorical").fit(X, Y)
    assert_array_equal(nb.decide_set(clf, NEW, 2.0).sets, nb.decide_set(clf.fit_, clf.encoded(NEW), 2.0).sets)


def test_an_estimator_names_its_labels():
    clf = nb.NaiveBayesClassifier(method="posterior", likelihoods="categorical").fit(X, np.array(["a", "b", "c"])[Y])
    found, sets = clf.predict_set(NEW, 2.0), nb.decide_set(clf, NEW, 2.0).sets
    assert [set(own) for own in found] == [
        {name for name, there in zip("abc", own, strict=True) if there} for own in sets
    ]
    assert_array_equal(clf.robustness(NEW), nb.robustness(clf, NEW).s_star)


@pytest.mark.slow
def test_inside_jit_and_vmap():
    expected = nb.decide_set(POST, NEW, 1.5).sets
    inside = jax.jit(lambda post, x, s: nb.decide_set(post, x, s).sets)(POST, NEW, 1.5)
    assert_array_equal(inside, expected)
    several = jax.vmap(lambda s: nb.decide_set(POST, NEW, s).sets)(np.array([0.2, 1.5]))
    assert_array_equal(several[1], expected)


def test_a_wrong_s_and_wrong_costs():
    with pytest.raises(ValueError, match="s must be a number of pseudo-rows, finite and 0 or more, got -1"):
        nb.decide_set(POST, NEW, -1)
    with pytest.raises(ValueError, match="costs must be numbers"):
        nb.decide_set(POST, NEW, costs=[1.0, 2.0])
