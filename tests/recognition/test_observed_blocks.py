"""Parameters that columns share: all of a family's, or none."""

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from tests.recognition.agreement import refusal
from tests.recognition.case import REALS, D, Y
from tests.recognition.programs.parts import by_class, rows, table

UNIT = dist.Normal(0.0, 1.0)


@pytest.mark.parametrize("scale", ["of all", "of a class"])
def test_one_scale_for_all_columns(scale):
    def program(X, y):
        mu = table("mu", UNIT)
        if scale == "of all":
            sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
            rows(X, y, lambda y: dist.Normal(mu[y], sigma))
        else:
            sigma = by_class("sigma", dist.HalfNormal(1.0))
            rows(X, y, lambda y: dist.Normal(mu[y], sigma[y][:, None]))

    assert "its columns share their variance, but not their loc" in str(refusal(program, REALS, Y))
    assert str(refusal(program, REALS, Y)).endswith("give each column its own, by a plate of columns")


def test_one_mean_for_all_columns_of_known_variance():
    def program(X, y):
        mu = by_class("mu", UNIT)
        rows(X, y, lambda y: dist.Normal(mu[y][:, None], np.ones(D)))

    assert "columns that share their parameters are recognised of" in str(refusal(program, REALS, Y))
    assert "not of NormalKnownVariance; give each column its own" in str(refusal(program, REALS, Y))
