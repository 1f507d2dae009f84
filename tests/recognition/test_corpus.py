"""The corpus is right: each program has the density of the model that was composed by hand for it."""

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.recognition import oracle
from tests.recognition.programs import CASES

pytestmark = pytest.mark.usefixtures("in_float64")


def some(cases):
    """One in six as slow tests, the others with ``-m fuzz``: the corpus changes seldom, and every program compiles."""
    marks = [pytest.mark.slow if n % 6 == 0 else pytest.mark.fuzz for n in range(len(cases))]
    return [pytest.param(case, id=case.name, marks=mark) for case, mark in zip(cases, marks, strict=True)]


ACCEPTED = some([case for case in CASES if case.accepted])
OTHERS = some([case for case in CASES if not case.accepted])


@pytest.mark.parametrize("case", ACCEPTED)
def test_the_program_has_the_density_of_the_expected_model(case):
    values = oracle.draw(case.call(case.X, case.y), case.label, seed=1)
    program, expected = [], []
    for labels in (case.y, np.roll(case.y, 1, axis=0)):
        program.append(oracle.log_density(case.call(case.X, labels), values))
        expected.append(oracle.expected_log_density(case, case.X, labels, values))
    if case.answer == "either":  # the priors are the program's
        program, expected = np.diff(program), np.diff(expected)
    assert_allclose(program, expected, rtol=1e-9)


@pytest.mark.parametrize("case", OTHERS)
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
