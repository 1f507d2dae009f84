"""The program of a model, and each program in models/, is recognised as the model it stands for."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import bayesnb as nb
from tests import cases, written_programs
from tests.recognition.agreement import assert_same_model
from tests.recognition.case import FLAGS, Case, K, Y


def case_of(name, call, X, y, expected):
    return Case(name, call, X, y, "conjugate", "label", expected)


CONTINUOUS = [name for name in cases.NAMES if name != "histogram"]
"""The families without discrete latents, which are not recognised."""


@pytest.mark.parametrize("name", cases.by_default(CONTINUOUS, "bernoulli"))
def test_the_program_of_a_resolved_model_is_that_model(name):
    model, X, y = cases.make(name)
    model = model.resolve(X, y)
    case = case_of(name, lambda X, y: (model, (X, y), {}), X, y, model)
    assert_same_model(case.recognise(), case)


@pytest.mark.slow
def test_the_program_of_a_hierarchical_model_is_that_model():
    model = nb.NaiveBayes(nb.Bernoulli(dist.Gamma(2.0, 1.0), 2.5), class_concentration=1.5, num_classes=K)
    case = case_of("hierarchical", lambda X, y: (model, (X, y), {}), FLAGS, Y, model)
    assert_same_model(case.recognise(), case)


SAME = [
    pytest.param(*one, id=f"{one[0]} {i}", marks=[pytest.mark.slow] if i else [])
    for i, one in enumerate(written_programs.SAME)
    if one[0] != "histogram"
]


@pytest.mark.parametrize(("name", "hyperparameters", "composed"), SAME)
def test_each_program_in_models_is_recognised(name, hyperparameters, composed):
    program, args = written_programs.PROGRAMS[name]
    X = jax.tree.map(np.asarray, written_programs.ROWS_OF[name])
    y = np.asarray(written_programs.Y)
    case = case_of(name, lambda *_: (program, args, hyperparameters), X, y, composed.resolve(X, y))
    assert_same_model(case.recognise(), case)


@pytest.mark.slow
def test_discrete_latents_are_refused():
    model, X, y = cases.make("histogram")
    with pytest.raises(nb.NotNaiveBayes, match="site 'x_total' is discrete and not observed"):
        nb.from_numpyro(model.resolve(X, y), model_args=(X, y), label="label")
