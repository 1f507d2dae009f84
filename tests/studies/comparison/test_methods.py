"""The names, priors and meanings of methods."""

import pytest

from bayesnb.studies.comparison._method_fits import FIT_OF
from bayesnb.studies.comparison._methods import (
    COMPARED,
    CURES,
    NAIVE_BAYES,
    PRIOR_MEANINGS,
    REFERENCE,
    RIVALS,
    check_methods,
)
from bayesnb.tables.frames._values import DataError


def test_every_method_has_a_fit_and_a_prior_with_a_meaning():
    assert (*NAIVE_BAYES, *RIVALS) == tuple(COMPARED) == tuple(FIT_OF)
    assert {REFERENCE, *CURES} <= {*NAIVE_BAYES}
    assert COMPARED["tempered"].full_prior(numeric=True) == "Dirichlet 1, NIG"
    assert COMPARED["averaged"].full_prior(numeric=False) == "Dirichlet 1"
    assert COMPARED["learned prior"].full_prior(numeric=True) == "learned"
    assert {method.prior for method in COMPARED.values()} | {"NIG"} == {*PRIOR_MEANINGS, "none"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fit_mle", "here it is called 'MLE'"),
        ("nuts", "--nuts checks the exact posterior with it"),
        ("Full bayes", "did you mean 'full Bayes'"),
        ("MLE", "the methods must include 'full Bayes'"),
    ],
)
def test_a_comparison_without_the_method_is_refused(name, words):
    with pytest.raises(DataError, match=words):
        check_methods([name])
