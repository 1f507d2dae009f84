"""Every program in models/ is recognised as the model that we compose for it; ``compare`` tries one by default."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tests.recognition.agreement import assert_same_model
from tests.recognition.case import Case
from tests.test_models import PROGRAMS, ROWS_OF, SAME, Y

FILES = {f"{name} {number}": (name, given, model) for number, (name, given, model) in enumerate(SAME)}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_model_file_is_recognised(file):
    name, hyperparameters, expected = FILES[file]
    program, args = PROGRAMS[name]
    X, y = jax.tree.map(np.asarray, (ROWS_OF[name], Y))
    case = Case(name, lambda *_: (program, args, hyperparameters), X, y, "conjugate", "label", expected)
    assert_same_model(case.recognise(), case)
