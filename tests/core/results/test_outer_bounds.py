"""Outer bounds contain the predictive of every refit with pseudo-rows in their range, and without any they are it."""

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays._compute import compute, interpret
from bayesnb.core.results._outer_bounds import outer_terms, usual_content
from tests.inspection.sensitivity.mixed import PRIORS, rows

X, Y = rows()
BLOCKS = {
    **PRIORS,
    "s": nb.Normal(variance="shared"),
    "v": nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram(cells=4)),
}
X = {**X, "s": X["n"], "v": X["n"]}
POST = nb.fit_posterior(nb.NaiveBayes(BLOCKS), X, Y)
NEW = POST.arrays({b: x[:6] for b, x in X.items()})


def terms_of(block, s):
    family = POST.model.families[block]
    content = compute(usual_content, family, POST.statistics.blocks[block], np.array(40.0))
    return interpret(outer_terms, family, np.full((1, 1, 1), s), content, NEW[block]), content


def predictive(family, block):
    own = getattr(family, "generative", family)
    terms = interpret(type(own).log_predictive_terms, own, NEW[block])
    if block != "v":
        return terms
    several = interpret(type(family).side_by_side, family, terms, NEW[block])
    return several.reshape(*several.shape[:2], -1)


@pytest.mark.parametrize("block", BLOCKS)
def test_without_pseudo_rows_both_are_the_predictive(block):
    (low, high), _ = terms_of(block, 0.0)
    expected = predictive(POST.model.families[block], block)
    assert_allclose(low, expected, atol=1e-10)
    assert_allclose(high, expected, atol=1e-10)


@pytest.mark.parametrize("block", ["n", "s", "p", "b", "w"])
@pytest.mark.parametrize("s", [0.3, 5.0])
def test_refits_with_random_pseudo_rows_are_inside(block, s):
    (low, high), (least, most) = terms_of(block, s)
    family, rng = POST.model.families[block], np.random.default_rng(0)
    for _ in range(300):
        n, total, k = rng.integers(1, 5), s * rng.choice([1.0, rng.random()]), rng.integers(3)
        weight = rng.dirichlet(np.ones(n)) * total
        where = [rng.random((n, least.shape[1])), rng.integers(0, 2, (n, least.shape[1]))][rng.integers(2)]
        content = least + (most - least) * where
        if block == "w":
            content = most * rng.dirichlet(np.full(4, 0.3), n)
            own = family._replace(concentration=added(family.concentration, k, weight @ content))
        elif block == "b":
            own = family._replace(
                a=added(family.a, k, weight @ content), b=added(family.b, k, weight @ (most - content))
            )
        elif block == "p":
            own = family._replace(shape=added(family.shape, k, weight @ content), rate=added(family.rate, k, total))
        else:
            mean = weight @ content / total
            zeros = np.zeros((3, 2))
            parts = added(zeros, k, total), added(zeros, k, mean), added(zeros, k, weight @ (content - mean) ** 2)
            own = interpret(type(family).update, family, POST.statistics.blocks[block].__class__(*parts))
        found = predictive(own, block)[:, k]
        assert (found >= low[:, k] - 1e-9).all()
        assert (found <= high[:, k] + 1e-9).all()


def added(table, k, more):
    out = np.array(table, float)
    out[k] += more
    return out


def test_they_widen_with_s():
    for block in BLOCKS:
        ends = [terms_of(block, s)[0] for s in (0.1, 1.0, 10.0)]
        for (low, high), (lower, higher) in zip(ends, ends[1:], strict=False):  # noqa: RUF007
            assert (lower <= low + 1e-12).all()
            assert (high <= higher + 1e-12).all()


def test_bounds_of_a_mixed_model():
    low, high = POST.predict_bounds({b: x[:6] for b, x in X.items()}, 0.0)
    assert_allclose(low, POST.predict_proba({b: x[:6] for b, x in X.items()}), rtol=1e-8)
    assert_allclose(high, low, rtol=1e-8)


@pytest.mark.slow
def test_sets_of_a_mixed_model_grow_at_s_star():
    found = nb.robustness(POST, {b: x[:6] for b, x in X.items()})
    assert not found.exact
    for n, s in enumerate(found.s_star):
        row = {b: x[n : n + 1] for b, x in X.items()}
        assert nb.decide_set(POST, row, 0.999 * s).sizes[0] == 1 < nb.decide_set(POST, row, 1.001 * s).sizes[0]


def test_ranges():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X["n"], Y)
    usual, wide = (nb.robustness(post, X["n"][:6], ranges=r).s_star for r in (None, (-100.0, 100.0)))
    assert (wide < usual).all()
    for wrong in ((50.0, 60.0), (0.0, np.inf), 3.0, {"y": (0.0, 1.0)}):
        with pytest.raises(ValueError, match="range"):
            post.predict_bounds(X["n"], ranges=wrong)
    with pytest.raises(ValueError, match="imprecise Dirichlet model"):
        post.predict_bounds(X["n"], prior="vacuous")
    with pytest.raises(ValueError, match="have no bounds"):
        nb.fit_posterior(nb.NaiveBayes(nb.MultivariateNormal()), X["n"], Y).predict_bounds(X["n"])


def test_the_default_estimator_is_answered_without_its_dependence():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    numbers = rng.normal(size=(80, 3)) + y[:, None]
    clf = nb.NaiveBayesClassifier().fit(numbers, y)
    found = nb.robustness(clf, numbers[:5])
    assert found.ignores_dependence
    assert not found.exact
    alone = clf.fit_.alone
    low, high = alone.predict_bounds(numbers[:5], 1.0)
    assert (low <= alone.predict_proba(numbers[:5])).all()
    assert (alone.predict_proba(numbers[:5]) <= high).all()
    assert_allclose(clf.fit_.predict_bounds(numbers[:5], 0.0).low, alone.predict_proba(numbers[:5]), rtol=1e-6)


def test_tempered_texts():
    words = rows()[0]["w"].astype(float)
    post = nb.temper(nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), words, Y), words, Y)
    assert_allclose(post.predict_bounds(words, 0.0).low, post.predict_proba(words), rtol=1e-6)
    assert (nb.robustness(post, words).s_star > 0).all()


def test_inside_jit():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X["n"], Y)
    found = jax.jit(lambda post, x: post.predict_bounds(x, 1.0))(post, X["n"][:5])
    assert_allclose(found.low, post.predict_bounds(X["n"][:5], 1.0).low, rtol=1e-3)
