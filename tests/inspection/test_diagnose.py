"""A diagnosis of draws says what is wrong and what to do."""

import numpy as np
import numpyro.distributions as dist
import pytest

import bayesnb as nb
from bayesnb.inspection._arviz import library, to_arviz
from bayesnb.inspection._diagnose import diagnose
from tests.inspection.coins import MODEL, NAMES, RANDOM, X, Y, by_hand


def test_constants_say_nothing(capsys):
    found = diagnose(by_hand(np.where([True, False], RANDOM, 0.5)))
    assert found.ok
    assert np.isfinite([worst.value for worst in found[:3]]).all()
    assert [worst.parameter for worst in found[:3]] == ["x_probs[0, 0]"] * 3
    nothing = diagnose(by_hand(np.full((800, 2), 0.5)))
    assert [worst.value for worst in nothing[:3]] == [1.0, 800.0, 800.0]
    assert nothing.r_hat.parameter is None
    assert "parameters that vary: 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: by_hand(RANDOM + np.repeat([0.0, 0.0, 0.0, 0.3], 200)[:, None]), ["R-hat is above 1.01"]),
        (lambda: by_hand(RANDOM[:200]), ["The bulk ESS is below 400", "The tail ESS is below"]),
        (lambda: by_hand(np.repeat(RANDOM[:4], 200, axis=0)), ["R-hat is above", "The bulk", "The tail"]),
        (
            lambda: by_hand(np.where(np.arange(800)[:, None] == 7, np.nan, RANDOM)),
            ["R-hat is above", "The bulk", "The tail"],
        ),
        (lambda: by_hand(RANDOM, num_chains=1), ["A single chain"]),
        (lambda: by_hand(RANDOM[:5], num_chains=1), ["A single chain", "R-hat", "The bulk", "The tail ESS"]),
        (lambda: by_hand(RANDOM, diverging=True), ["Transitions diverged"]),
    ],
    ids=["apart", "few", "stuck", "nan", "one", "five", "diverging"],
)
def test_a_diagnosis_says_what_to_do(make, said, capsys):
    found = diagnose(make())
    assert not found.ok
    assert not np.isnan([worst.value for worst in found[:3]]).any()
    assert found.r_hat.parameter.startswith("x_probs[")
    printed = " ".join(capsys.readouterr().out.split())
    assert all(any(advice.startswith(start) for advice in found.advice) for start in said)
    assert all(advice in printed for advice in found.advice)


def test_advice_on_divergences_fits_the_model():
    """``fit_posterior`` refuses priors of one's own and hyperpriors, so it is no remedy for them."""
    conjugate = by_hand(RANDOM, diverging=True)
    assert "fit_posterior" in diagnose(conjugate).advice[0]
    own = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.4, 0.6], priors={"x_probs": dist.Uniform(0.0, 1.0)})
    hierarchical = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0)), class_probs=[0.4, 0.6])
    parts = conjugate.params, conjugate.sample_stats, 4
    for draws in (
        nb.Draws(own.resolve(X[:, :1], Y), *parts),
        nb.results.HierarchicalDraws(
            conjugate.model, *parts, hierarchical, nb.sufficient_statistics(conjugate.model, X[:, :1], Y)
        ),
    ):
        advice = diagnose(draws).advice[0]
        assert "take more num_warmup, or a smoother or narrower prior" in advice
        assert "fit_posterior" not in advice


@pytest.mark.parametrize("kind", ["exact", pytest.param("NUTS", marks=pytest.mark.slow)])
def test_a_diagnosis_is_what_arviz_says(kind, request, key, capsys):
    if kind == "exact":
        fit = nb.fit_posterior(MODEL, X, Y)
        draws = nb.Draws(fit.prior, fit.sample(key, 2000), {"diverging": np.zeros(2000, bool)}, 4)
    else:
        draws = request.getfixturevalue("draws")
    found = diagnose(draws, **NAMES)
    arviz, posterior = library("a test"), to_arviz(draws, **NAMES)["posterior"]
    tables = arviz.rhat(posterior), arviz.ess(posterior), arviz.ess(posterior, method="tail")
    for worst, table, extreme in zip(found[:3], tables, (np.max, np.min, np.min), strict=True):
        assert worst.value == pytest.approx(extreme([extreme(table[s].values) for s in table.data_vars]))
        site, labels = worst.parameter.rstrip("]").split("[")
        at = dict(zip(table[site].dims, labels.split(", "), strict=True))
        assert float(table[site].sel(at)) == pytest.approx(worst.value)
    assert found.ok
    assert found.num_divergences == 0
    printed = capsys.readouterr().out
    assert "4 chains of 500 draws; parameters that vary: 6" in printed
    assert found.bulk_ess.parameter in printed
    assert "No problem was found." in printed
