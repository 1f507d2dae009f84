"""How many pseudo-rows change a decision: golden numbers, refits with exactly those rows, and copies."""

import itertools
import re
from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from tests import cases
from tests.inspection.sensitivity.credal_sets import fitted, read, tables

X, Y = tables(rows=24)
POST = fitted(X, Y)
NEW = tables(1, rows=30)[0]

IRIS = {
    (4.9, 3.0, 1.4, 0.2): 20.7361,
    (5.9, 3.0, 4.2, 1.5): 22.31,
    (6.0, 2.7, 5.1, 1.6): 1.3035,  # this and the next are decided wrong
    (5.6, 2.8, 4.9, 2.0): 1.5992,
    (6.0, 3.4, 4.5, 1.6): 0.0160,
}
LENSES = [0.2137, 0.9323, 0.6873, 1.4144, 1.1365, 0.3100, 1.1642, 0.3654, 0.5748, 0.0362, 0.1055, 0.2137]


def test_golden_numbers(data):
    post, rows, _ = read(data, "contact-lenses", 3)
    assert_allclose(nb.robustness(post, rows, prior="vacuous").s_star, LENSES, atol=6e-5)
    post, rows, _ = read(data, "iris", 3)
    found = nb.robustness(post, rows, prior="vacuous").s_star
    assert_allclose(np.quantile(found, [0, 0.25, 0.5, 0.75, 1]), [0.016, 20.74, 25.63, 29.21, 39.36], atol=6e-3)
    assert (found > 1).sum() == 74
    flowers = [*map(tuple, pd.read_csv(data / "credal" / "iris.test.csv").to_numpy()[:, :4].astype(float))]
    for flower, expected in IRIS.items():
        assert_allclose(found[flowers.index(flower)], expected, atol=6e-5 if expected < 22 else 6e-3)
    post, rows, _ = read(data, "glass", 7)
    found = nb.robustness(post, rows, prior="vacuous").s_star
    assert ((found > 1).sum(), (found == 0).sum()) == (55, 16)  # a cell that the class lacks


@pytest.mark.parametrize("family", [nb.Categorical(3), nb.Bernoulli(), nb.Categorical(3, concentration=0.3)], ids=str)
def test_a_refit_with_these_rows_changes_the_decision_and_with_fewer_it_does_not(family):
    rows = np.minimum(NEW, 1) if isinstance(family, nb.Bernoulli) else NEW
    known = np.minimum(X, 1) if isinstance(family, nb.Bernoulli) else X
    model = nb.NaiveBayes(family, num_classes=3)
    found = nb.robustness(nb.fit_posterior(model, known, Y), rows)
    for n, row in enumerate(rows[:10]):
        unlike = (row + 1) % (2 if isinstance(family, nb.Bernoulli) else 3)
        more, labels = [*known, row, unlike], [*Y, found.rivals[n], found.labels[n]]

        def odds(s, n=n, row=row, more=more, labels=labels):
            shares = found.support[n], 1.0 - found.support[n]
            weight = [1.0] * len(Y) + [s * share for share in shares]
            fit = nb.fit_posterior(model, more, labels, sample_weight=weight)
            logs = fit.predict_log_proba(row[None])[0]
            return logs[found.labels[n]] - logs[found.rivals[n]]

        assert abs(odds(found.s_star[n])) < 1e-6
        assert odds(0.99 * found.s_star[n]) > 0 > odds(1.01 * found.s_star[n])


@pytest.mark.parametrize("prior", [None, pytest.param("vacuous", marks=pytest.mark.slow)])
def test_it_is_where_the_set_grows(prior):
    found = nb.robustness(POST, NEW, prior).s_star
    for n, s in enumerate(found):
        if s > 0:
            sizes = [nb.decide_set(POST, NEW[n : n + 1], s * f, prior=prior).sizes[0] for f in (1 - 1e-6, 1 + 1e-6)]
            assert sizes == [1, 2]


WHOLE = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@pytest.mark.parametrize("prior", cases.by_default([None, "vacuous"], "vacuous"))
@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Categorical(3)], ids=str)
@pytest.mark.parametrize("num_classes", cases.by_default([2, 3], 3))
def test_fewer_pseudo_rows_leave_one_class_and_as_many_do_not(family, num_classes, prior, rng):
    size = 3 if isinstance(family, nb.Categorical) else 2
    rows = np.array([*itertools.product([*range(size), np.nan], repeat=2)])
    X = rng.choice([*range(size), np.nan], (9, 2))
    y = np.arange(9) * num_classes // 9
    whole = 0
    for weight in (None, rng.integers(1, 5, 9), rng.random(9)):
        post = nb.fit_posterior(nb.NaiveBayes(family, num_classes=num_classes), X, y, sample_weight=weight)
        s_star = nb.robustness(post, rows, prior).s_star
        whole += np.isclose(s_star[:, None], WHOLE, rtol=1e-9).any(axis=1).sum()
        # all rows beside the whole numbers where counts tie, and each beside its own end
        for s in (1e-9, *(tie * (1 + change) for tie in WHOLE for change in (-1e-6, 1e-6)), 1e9):
            assert_array_equal(nb.decide_set(post, rows, s, prior=prior).sizes == 1, s < s_star)
        for n in np.flatnonzero((s_star > 0) & np.isfinite(s_star))[:3]:
            near = [nb.decide_set(post, rows[n][None], s_star[n] * f, prior=prior) for f in (1 - 1e-6, 1 + 1e-6)]
            assert [found.sizes[0] == 1 for found in near] == [True, False]
    assert whole


def test_a_tie_at_the_first_number_tried():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[0], [0], [1]], [0, 0, 1])
    assert_allclose(nb.robustness(post, [[np.nan]]).s_star, [1.0], rtol=1e-12)  # class counts 3 : 2 + s


def test_copies_of_rows_and_of_the_prior_multiply_it():
    many = fitted(np.repeat(X, 5, axis=0), np.repeat(Y, 5))
    once, often = (nb.robustness(post, NEW, "vacuous").s_star for post in (POST, many))
    assert_allclose(often, 5 * once, rtol=1e-6)
    both = nb.NaiveBayes(nb.Categorical(3, concentration=5.0), num_classes=3, class_concentration=5.0)
    often = nb.robustness(nb.fit_posterior(both, np.repeat(X, 5, axis=0), np.repeat(Y, 5)), NEW).s_star
    assert_allclose(often, 5 * nb.robustness(POST, NEW).s_star, rtol=1e-6)


def test_classes_columns_and_categories_in_another_order():
    classes, columns, codes = np.array([2, 0, 1]), [3, 1, 0, 2], np.array([1, 2, 0])
    other, rows = fitted(codes[X][:, columns], classes[Y]), codes[NEW][:, columns]
    assert_allclose(nb.robustness(other, rows).s_star, nb.robustness(POST, NEW).s_star, rtol=1e-9)
    for one, same in zip(other.predict_bounds(rows), POST.predict_bounds(NEW), strict=True):
        assert_allclose(one[:, classes], same, rtol=1e-12)


def test_a_tie_takes_no_pseudo_row():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[0], [1]], [0, 1])
    missing = nb.robustness(post, [[np.nan]])
    assert missing.s_star.tolist() == [0.0]


def test_class_probabilities_that_are_known_without_features():
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.9, 0.1]), [[0], [1]], [0, 1])
    assert nb.robustness(post, [[np.nan]]).s_star.tolist() == [np.inf]
    assert np.isfinite(nb.robustness(post, [[1.0]]).s_star).all()


def test_soft_labels_and_powers():
    soft = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], len(X))
    post = nb.fit_posterior(nb.NaiveBayes(nb.Categorical(3)), X, soft)
    assert (nb.robustness(post, NEW).s_star > 0).all()
    halved = nb.robustness(POST.with_powers(0.5), NEW)
    assert_array_equal(halved.labels, POST.with_powers(0.5).predict(NEW))


@pytest.mark.slow
def test_inside_jit_and_vmap():
    expected = nb.robustness(POST, NEW)
    inside = jax.jit(nb.robustness)(POST, NEW)
    assert_allclose(inside.s_star, expected.s_star, rtol=2e-3)
    assert_array_equal(inside.labels, expected.labels)
    each = jax.vmap(lambda x: nb.robustness(POST, x[None]).s_star[0])(NEW)
    assert_allclose(each, expected.s_star, rtol=2e-3)


def test_a_wrong_prior():
    with pytest.raises(ValueError, match="prior must be None"):
        nb.robustness(POST, NEW, prior="idm")


@pytest.mark.parametrize(
    ("s_star", "options", "sentence"),
    [
        (
            [4.19, 12.0, np.inf],
            {},
            "no decision on 3 rows changes if up to 4.1 pseudo-rows of any content are added; 66 % stay",
        ),
        ([0.04, 12.0], {}, "50 % of the decisions on 2 rows stay if up to 10 pseudo-rows of any content are added"),
        (
            [1.0] * 71 + [20.0] * 29,
            {},
            "no decision on 100 rows changes if up to 1 pseudo-rows of any content are added; 29 %",
        ),
        (
            [2345678.94],
            {},
            "no decision on 1 row changes if up to 2,345,678.9 pseudo-rows of any content are added; 100 %",
        ),
        ([2.0] * 1200, {"ignores_dependence": True}, "without dependence, no decision on 1,200 rows changes if"),
    ],
)
def test_the_sentence_for_a_paper_rounds_down(s_star, options, sentence):
    places = np.zeros(len(s_star), int)
    found = nb.results.Robustness(np.array(s_star), places, places, 1.0 * places, **options)
    assert found.sentence().startswith(sentence)
    assert found.sentence(3).endswith((" stay with up to 3", "if up to 3 pseudo-rows of any content are added"))


def test_the_sentence_of_decisions_that_nothing_changes_and_of_what_is_no_question():
    found = nb.robustness(POST, NEW)
    never = replace(found, s_star=np.full(len(NEW), np.inf))
    assert (
        never.sentence() == f"no decision on {len(NEW)} rows changes, however many pseudo-rows of any content are added"
    )
    for wrong in (-1, np.nan, "10"):
        with pytest.raises(ValueError, match="s must be a number of pseudo-rows"):
            found.sentence(wrong)
    with pytest.raises(ValueError, match="of one row or more"):
        nb.robustness(POST, NEW[:0]).sentence()


def test_the_sentence_holds():
    rows = NEW[nb.robustness(POST, NEW).s_star > 0.1]
    sentence = nb.robustness(POST, rows).sentence(1)
    words = r"no decision .* up to ([\d.]+) pseudo-rows .*; (\d+) % stay with up to 1"
    least, percent = re.fullmatch(words, sentence).groups()
    assert (nb.decide_set(POST, rows, s=float(least)).sizes == 1).all()
    alone = (nb.decide_set(POST, rows, s=1.0).sizes == 1).mean()
    assert int(percent) / 100 <= alone < int(percent) / 100 + 0.01
