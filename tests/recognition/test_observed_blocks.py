"""Parameters that columns share are refused, with what to do instead."""

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from tests import cases
from tests.recognition.agreement import refusal
from tests.recognition.case import REALS, D, Y
from tests.recognition.programs.parts import by_class, rows, table

UNIT = dist.Normal(0.0, 1.0)


@pytest.mark.parametrize("scale", cases.by_default(["of all", "of a class"], "of a class"))
def test_one_scale_for_all_columns(scale):
    def program(X, y):
        mu = table("mu", UNIT)
        if scale == "of all":
            sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
            rows(X, y, lambda y: dist.Normal(mu[y], sigma))
        else:
            sigma = by_class("sigma", dist.HalfNormal(1.0))
            rows(X, y, lambda y: dist.Normal(mu[y], sigma[y][:, None]))

    assert "site 'sigma': one element is used for several classes or columns" in str(refusal(program, REALS, Y))
    assert "give each its own, or sample the program as it is with numpyro.infer.MCMC" in str(
        refusal(program, REALS, Y)
    )


def test_one_mean_for_all_columns_of_known_variance():
    def program(X, y):
        mu = by_class("mu", UNIT)
        rows(X, y, lambda y: dist.Normal(mu[y][:, None], np.ones(D)))

    assert "site 'mu': one element is used for several classes or columns" in str(refusal(program, REALS, Y))
