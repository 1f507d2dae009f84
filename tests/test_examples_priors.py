"""The examples of priors run, draw their pictures and find their known answers."""

import re

import jax
import numpy as np
import pytest


@pytest.mark.parametrize(
    ("name", "repeats", "answers"),
    [
        ("full_bayes", 40, ["the exact prediction has the least expected log loss on rows of the program, by up to"]),
        (
            "smoothing",
            2,
            [r"fit_empirical learns l = \S+ from the first digits, scipy \S+\n", "of rows of the program it learns"],
        ),
        (
            "semi_supervised",
            2,
            ["the log posterior never fell, and with every row labelled fit_em is fit_map", "on rows of the model"],
        ),
    ],
)
def test_known_answers(run, name, repeats, answers):
    out = run(name, "--repeats", repeats)
    assert all(re.search(answer, out) for answer in answers)


@pytest.mark.slow
def test_borrowing(run):
    out = run("borrowing")
    assert "known answer: the 24 means of a and b by NUTS are those by quadrature" in out
    laplace, learnt = (np.array(line[24:].split(), float) for line in out.splitlines()[2:4])
    assert learnt[-1] < laplace[-1]
    assert learnt[0] < laplace[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws yet")
def test_bring_your_own_model(run):
    with jax.numpy_rank_promotion("allow"):  # as it is for users; NumPyro's samplers promote ranks
        out = run("bring_your_own_model", "--rows", 60, "--samples", 100)
    assert "variance: identity of site 'variance', conjugate" in out
    assert "variance: square of site 'scale', a prior of its own" in out
    assert out.count("Monte Carlo standard errors") == 2
