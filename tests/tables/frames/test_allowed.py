"""The words that are looked up before JAX is loaded are those that there are."""

from bayesnb.core.families import FAMILIES
from bayesnb.studies.cli._model_commands import FIT_METHODS
from bayesnb.tables.frames._allowed import COMPARED_AS, LIKELIHOODS, METHODS
from bayesnb.tables.frames._words import WORDS
from bayesnb.tables.sklearn._settings import FITS


def test_words_are_those_of_what_they_name():
    assert (*FAMILIES, *WORDS) == LIKELIHOODS
    assert METHODS == (*FITS,) == FIT_METHODS
    assert {*COMPARED_AS.values()} < {*METHODS}
