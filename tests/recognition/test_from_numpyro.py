"""``from_numpyro`` over the corpus, whose programs are right: the model is the expected one, and its answers theirs."""

import re
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

import bayesnb as nb
from tests.recognition import oracle
from tests.recognition.agreement import assert_same_model, message
from tests.recognition.case import Case
from tests.recognition.programs import CASES

pytestmark = pytest.mark.usefixtures("in_float64")

QUICK = (
    "bernoulli: flipped",
    "normal: gamma on a precision",
    "labels: label is an argument",
    "own priors: lognormal scale",
    "one rate: exponential by its mean",
)
"""The cases of the default tests."""

SLOW = ("several: four likelihoods", "own priors: lognormal scale")
"""Cases of the slow tests, beside one in FEW of the others."""

FEW = 24


def some(*answers: str, simple: bool = False, costly: bool = False) -> Any:
    """A parametrization over the cases with these answers; ``simple`` leaves hyperpriors out.

    Every program compiles anew: those of ``QUICK`` are default tests unless the test is ``costly``, one in ``FEW`` is a
    slow test, and the rest run with ``-m fuzz``.
    """
    found = [case for case in CASES if case.answer in answers and not (simple and case.hierarchical)]
    rest = [case for case in found if costly or case.name not in QUICK]
    quick = [case for case in found if case not in rest] or ([] if costly else [rest.pop(0)])
    slow = [*rest[::FEW], *(case for case in rest if case.name in SLOW)]
    marked = [(case, ()) for case in quick]
    marked += [(case, pytest.mark.slow if case in slow else pytest.mark.fuzz) for case in rest]
    params = [pytest.param(case, id=case.name, marks=mark) for case, mark in marked]
    return pytest.mark.parametrize("case", params)


def program(case: Case, y: Any = None) -> Any:
    return case.call(case.X, case.y if y is None else y)


def assert_refuses(case: Case, error: BaseException) -> None:
    """A line that names the site and the reason, and one for each other obstacle."""
    text = message(error)
    assert case.sites[0] in text, text
    assert re.search(case.reason, text), text
    assert not any("\n" in text for text in getattr(error, "obstacles", (str(error),)))


@some("conjugate", "own priors")
def test_the_model_is_the_one_composed_by_hand(case):
    model = case.recognise()
    assert_same_model(model, case)
    if case.answer == "conjugate":
        assert not model.priors
    text = repr(model.certificate)
    observed = case.X if isinstance(case.X, dict) else ["x"]
    families = {type(family).__name__ for family in case.expected.families.values()}
    assert all(part in text for part in (*observed, *families)), text


@some("refused")
def test_what_is_not_naive_bayes_is_refused_by_name(case):
    with pytest.raises(nb.NotNaiveBayes) as caught:
        case.recognise()
    assert_refuses(case, caught.value)


@some("bad input")
def test_bad_input_is_refused_in_a_sentence(case):
    error = TypeError if case.name.endswith("raises") else ValueError
    with pytest.raises((error, ValueError)) as caught:
        case.recognise()
    assert_refuses(case, caught.value)


def assert_same_density(case: Case) -> None:
    """The model's program has the sites and the density of the program, up to a class prior that is ours."""
    own, difference = case.label not in oracle.trace(program(case)), []
    relabelled = np.roll(case.y, 1, axis=0)
    for labels in (case.y, relabelled):
        ours = (case.recognise(), (case.observed(), labels), {})
        values = oracle.draw(ours, case.label, seed=2)
        theirs = oracle.draw(program(case, labels), case.label, seed=2)
        assert values.keys() - theirs.keys() == ({"class_probs"} if own else set())
        assert {site: values[site].shape for site in theirs} == {site: theirs[site].shape for site in theirs}
        own_sites = {site: values[site] for site in theirs}
        difference.append(oracle.log_density(ours, values) - oracle.log_density(program(case, labels), own_sites))
    if own:  # as often each class: ours is the same for both labellings
        difference = np.diff(difference)
    assert_allclose(difference, 0.0, atol=1e-7)


@some("conjugate", "own priors", "either", costly=True)
def test_the_model_runs_with_the_density_of_the_program(case):
    assert_same_density(case)


@some("honoured")
def test_what_is_not_ours_is_refused_or_honoured(case):
    try:
        case.recognise()
    except nb.NotNaiveBayes as error:
        assert_refuses(case, error)
    else:
        assert_same_density(case)


@some("own priors")
def test_without_conjugacy_closed_forms_refuse_naming_the_site(case):
    assert case.recognise().priors
    for fit in (nb.fit_posterior, nb.fit_map):
        with pytest.raises(ValueError) as caught:
            fit(case.recognise(), case.X, case.y)
        assert all(site in str(caught.value) for site in case.sites)


@some("conjugate", "own priors", simple=True)
def test_the_mle_is_that_of_the_expected_model(case):
    params = nb.fit_mle(case.recognise(), case.observed(), case.y).params
    expected = nb.fit_mle(case.expected, case.X, np.reshape(case.y, -1)).params
    for site, value in case.canonical(params).items():
        assert_allclose(value, expected[site], rtol=1e-6, err_msg=site)


def unconstrained(call: Any, label: str) -> tuple[Any, Any]:
    """From values of the latents to real numbers, and back with the log of the Jacobian."""
    maps = {site: oracle.dist.biject_to(support) for site, support in oracle.latent_supports(call, label).items()}

    def restore(reals: Any) -> tuple[Any, jax.Array]:
        values = {site: maps[site](u) for site, u in reals.items()}
        change = [maps[site].log_abs_det_jacobian(u, values[site]).sum() for site, u in reals.items()]
        return values, sum(change, jnp.zeros(()))

    return lambda values: {site: to.inv(jnp.asarray(values[site], float)) for site, to in maps.items()}, restore


@some("conjugate", simple=True, costly=True)
def test_the_map_is_a_maximum_of_the_programs_density(case):
    call = program(case)
    from_values, restore = unconstrained(call, case.label)
    reals = from_values(nb.fit_map(case.recognise(), case.observed(), case.y).params)
    slope = jax.jit(jax.grad(lambda reals: oracle.log_density(call, restore(reals)[0])))(reals)
    for site, value in slope.items():
        assert_allclose(value, 0.0, atol=1e-5, err_msg=site)


@some("conjugate", "own priors", simple=True, costly=True)
def test_predictions_are_an_enumeration_of_the_programs_label(case):
    if case.name in ("own priors: uniform in the middle", "scaled: a guess that is right by chance"):
        pytest.skip("the MLE is outside the prior's support")
    model, observed = case.recognise(), case.observed()
    fit = (nb.fit_map if case.answer == "conjugate" else nb.fit_mle)(model, observed, case.y)
    own = case.label not in oracle.trace(program(case))
    values = {site: fit.params[site] for site in oracle.latent_supports(program(case), case.label)}
    rows = [0, 5]
    table = np.empty((len(rows), case.expected.num_classes))
    for i, k in np.ndindex(*table.shape):
        labels = np.array(case.y)
        labels[rows[i]] = k
        prior = np.log(fit.params["class_probs"][k]) if own else 0.0
        table[i, k] = oracle.log_density(program(case, labels), values) + prior
    assert_allclose(fit.predict_proba(observed[np.array(rows)]), softmax(table, axis=1), rtol=1e-6)


@some("conjugate", simple=True, costly=True)
def test_posterior_draws_satisfy_steins_identities(case, key):
    """E[d log p] = 0 and E[u d log p] = -1 under p, in unconstrained coordinates u."""
    call, draws = program(case), 4000
    from_values, restore = unconstrained(call, case.label)
    sampled = nb.fit_posterior(case.recognise(), case.observed(), case.y).sample(key, draws)
    reals = jax.vmap(from_values)({site: sampled[site] for site in oracle.latent_supports(call, case.label)})

    def log_p(reals: Any) -> jax.Array:
        values, change = restore(reals)
        return oracle.log_density(call, values) + change

    slopes = jax.jit(jax.vmap(jax.grad(log_p)))(reals)
    for site, slope in slopes.items():
        centred = reals[site] - reals[site].mean(axis=0)
        for terms, mean in ((slope, 0.0), (centred * slope, -1.0)):
            error = np.std(terms, axis=0) / np.sqrt(draws)
            assert (np.abs(np.mean(terms, axis=0) - mean) < 5.0 * error).all(), site


# the corpus is right: each program has the density of the model that was composed by hand for it


def few(cases):
    """A few as slow tests, the others with ``-m fuzz``: the corpus changes seldom, and every program compiles."""
    marks = [pytest.mark.slow if n % FEW == 0 else pytest.mark.fuzz for n in range(len(cases))]
    return [pytest.param(case, id=case.name, marks=mark) for case, mark in zip(cases, marks, strict=True)]


RARE_ACCEPTED = few([case for case in CASES if case.accepted])
RARE_OTHERS = few([case for case in CASES if not case.accepted])


@pytest.mark.parametrize("case", RARE_ACCEPTED)
def test_the_program_has_the_density_of_the_expected_model(case):
    values = oracle.draw(case.call(case.X, case.y), case.label, seed=1)
    program, expected = [], []
    for labels in (case.y, np.roll(case.y, 1, axis=0)):
        program.append(oracle.log_density(case.call(case.X, labels), values))
        expected.append(oracle.expected_log_density(case, case.X, labels, values))
    if case.answer == "either":  # the priors are the program's
        program, expected = np.diff(program), np.diff(expected)
    assert_allclose(program, expected, rtol=1e-9)


@pytest.mark.parametrize("case", RARE_OTHERS)
def test_a_program_to_refuse_runs_in_numpyro(case):
    call = case.call(case.X, case.y)
    if case.name.endswith("raises"):
        with pytest.raises(TypeError, match="dot_general"):
            oracle.trace(call)
    else:
        assert np.isfinite(sum(oracle.log_probs(call, {}).values()))  # it need not run inside jit


def test_the_corpus_is_as_large_as_promised():
    assert len({case.name for case in CASES}) == len(CASES)
    assert sum(case.accepted for case in CASES) >= 40
    assert sum(case.answer == "refused" for case in CASES) >= 30
    families = Counter(repr(case.expected) for case in CASES if case.answer == "conjugate")
    assert sum(number >= 8 for number in families.values()) >= 8
