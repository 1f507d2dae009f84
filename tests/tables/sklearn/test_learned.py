"""``learned_``: powers by column and view, and parts of the average, with losses that leave-one-out confirms."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.sklearn._learned import Part
from tests import cases

N = 90
RNG = np.random.default_rng(6)
Y = np.arange(N) % 3
FRAME = pd.DataFrame({"a": RNG.normal(Y), "b": RNG.choice([*"uvw"], N), "d": RNG.gamma(1.0 + Y)})
FRAME["c"] = np.where(RNG.random(N) < 0.7, FRAME["b"], "w")


def clf():
    return nb.NaiveBayesClassifier().fit(FRAME, Y)


def test_powers_are_those_of_columns_and_their_views():
    fitted = clf()
    learned = fitted.learned_
    by_view = np.asarray(fitted.fit_.powers["numeric"]).reshape(3, 2)  # of 3 views of 2 columns
    assert {name: power.shape for name, power in learned.powers.items()} == {
        "a": (3,), "b": (1,), "c": (1,), "d": (3,),
    }  # fmt: skip
    assert_allclose(learned.powers["a"], by_view[:, 0], rtol=1e-6)
    assert_allclose(learned.powers["d"], by_view[:, 1], rtol=1e-6)
    assert_allclose([*learned.powers["b"], *learned.powers["c"]], fitted.fit_.powers["categorical"], rtol=1e-6)
    assert learned.summary == "3 views of 2 numbers, dependence, powers learned on 90 of 90 rows"
    assert repr(fitted) == f"NaiveBayesClassifier(): 2 normal, 2 categorical; {learned.summary}"


@pytest.mark.parametrize("most", ["MOST_PAIRS", "MOST_PAIR_RATIOS"])
def test_it_is_said_that_pairs_are_too_many(monkeypatch, tmp_path, most):
    """Those of columns that can depend: numbers beside categories can, sparse flags cannot, however many they are."""
    monkeypatch.setattr(limits, most, 10)
    fits = [nb.NaiveBayesClassifier(dependence=how).fit(FRAME, Y) for how in (None, False)]
    nb.save(fits[0], tmp_path / "fit.nb")
    said = [fit.learned_.summary for fit in (*fits, nb.load(tmp_path / "fit.nb"))]
    many = "no dependence as its pairs are too many, "
    learned = "3 views of 2 numbers, {}powers learned on 90 of 90 rows"
    alone = learned.format("dependence of numbers alone as pairs of columns are too many, ")
    assert said == [alone, learned.format(""), alone]
    monkeypatch.setattr(limits, "MOST_PAIRS", 40)  # 3 x 3 x 3 of the categories, 3 x 3 x 5 with both columns of numbers
    fit = nb.NaiveBayesClassifier({"a": "normal", "b": "categorical", "d": "normal"}).fit(FRAME[["a", "b", "d"]], Y)
    assert fit.learned_.summary == many + "powers learned on 90 of 90 rows"
    flags = scipy.sparse.csr_array(RNG.random((N, 6)) < 0.3, dtype=float)
    assert nb.NaiveBayesClassifier("bernoulli").fit(flags, Y).learned_.summary == "powers learned on 90 of 90 rows"


def test_columns_of_a_block_share_its_power():
    words = scipy.sparse.csr_array(RNG.poisson(0.5 + 0.3 * Y[:, None], (N, 4)))
    learned = nb.NaiveBayesClassifier("multinomial").fit(words, Y).learned_
    assert len({power.item() for power in learned.powers.values()}) == 1
    assert learned.powers.keys() == {"x0", "x1", "x2", "x3"}
    assert learned.parts == {}
    assert learned.summary == "powers learned on 90 of 90 rows"


def test_shares_add_up_and_the_average_is_theirs():
    fitted = clf()
    parts = fitted.learned_.parts
    assert [*parts] == ["columns", "best", "aode", "lda", "qda"]
    assert sum(part.share for part in parts.values()) == pytest.approx(1.0, abs=1e-12)
    assert all(isinstance(part, Part) and 0 < part.share < 1 for part in parts.values())
    rows = fitted.encoded(FRAME)
    each = [fitted.fit_.alone, *fitted.fit_.forests.values(), *fitted.fit_.normals.values()]
    average = sum(part.share * fit.predict_proba(rows) for part, fit in zip(parts.values(), each, strict=True))
    assert_allclose(fitted.predict_proba(FRAME), average, rtol=1e-9)


@pytest.mark.parametrize("part", cases.by_default(["columns", "best", "aode"], "columns"))
def test_losses_are_those_of_leave_one_out(part, monkeypatch):
    """Each row is left out of the statistics of the posterior, while powers, the forest and the cells stay."""
    monkeypatch.setattr(limits, "FEW_ROWS", 0)
    kinds = {"a": "normal", "b": "categorical", "c": "categorical", "d": "normal"}
    fitted = nb.NaiveBayesClassifier(kinds).fit(FRAME, Y)
    stacked, rows = fitted.fit_, fitted.encoded(FRAME)
    found = stacked.alone if part == "columns" else stacked.forests[part]
    nats = []
    for out in range(N):
        keep = np.arange(N) != out
        given = {block: x[keep] for block, x in rows.items()}
        posterior = nb.fit_posterior(stacked.prior, given, Y[keep])
        if part == "columns":
            fit = posterior.with_powers(found.powers)
        else:
            forest = nb.fit_forests(stacked.prior, given, Y[keep], structure=part)
            own = posterior.with_powers(found.posterior.powers)
            fit = replace(forest, posterior=own, power=found.power, parents=found.parents)
        nats.append(-fit.predict_log_proba({block: x[[out]] for block, x in rows.items()})[0, Y[out]])
    assert fitted.learned_.parts[part].log_loss == pytest.approx(np.mean(nats), rel=1e-6)


@pytest.mark.parametrize("options", [{"method": "posterior"}, {"method": "map"}, {"temper": False}])
def test_what_learns_nothing_says_nothing(options):
    fitted = nb.NaiveBayesClassifier(**options).fit(FRAME, Y)
    assert fitted.learned_ == ("", {}, {})
    assert repr(fitted).endswith(": 2 normal, 2 categorical")


def test_a_single_forest_is_no_average():
    learned = nb.NaiveBayesClassifier(dependence="forest").fit(FRAME, Y).learned_
    assert learned.parts == {}
    assert learned.powers.keys() == {*FRAME}
    assert "dependence" in learned.summary


def test_one_of_a_kind_is_said_in_the_singular():
    one = nb.NaiveBayesClassifier().fit([[0.5]], ["only"])
    assert one.learned_.summary == "3 views of 1 number, powers learned on 1 of 1 row"
