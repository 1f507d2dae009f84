"""The page docs/recognition.md: its programs run, and each refusal of the corpus stands there as it is raised."""

import re
from functools import cache
from pathlib import Path

import pytest

import bayesnb as nb
from bayesnb.recognition._certificate import FAR_OUT
from tests.recognition.programs import CASES

PAGE = (Path(__file__).parents[2] / "docs" / "recognition.md").read_text(encoding="utf-8")
REFUSED = {case.name.partition(": ")[2]: case for case in CASES if not case.accepted}
QUICK = ("a factor", "logistic regression", "no such site", "known rates")


@cache
def sentences() -> dict[str, tuple[str, bool]]:
    """By program, the sentence of its line of a table, and whether the program is the line's first."""
    lines = re.findall(r"^\| (.*?) \| (.*) \|$", PAGE, re.M)
    programs = [(name, sentence, n == 0) for names, sentence in lines for n, name in enumerate(names.split("; "))]
    return {name: (sentence, first) for name, sentence, first in programs if sentence != "the sentence"}


def without_names(sentence: str) -> str:
    """The sentence without what differs between programs of one line: sites, numbers, parameters and distributions."""
    sentence = re.sub(r"'\w+'((,| or) '\w+')*", "'site'", sentence)
    sentence = re.sub(r"\b(loc|probs|rate|variance)\b", "parameter", sentence)
    return re.sub(r"\d+", "0", re.sub(r"\b(is|and) an? [A-Z]\w+", "a distribution", sentence))


def test_every_refused_program_of_the_corpus_has_its_line():
    assert sentences().keys() == REFUSED.keys()


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in REFUSED])
def test_the_sentence_is_the_one_that_is_raised(name):
    (sentence, first), change = sentences()[name], without_names
    with pytest.raises(nb.NotNaiveBayes) as caught:
        REFUSED[name].recognise()
    raised = caught.value.obstacles[0]
    if first:
        start, more, _ = sentence.partition(" ...")  # JAX's own words are left out
        # densities are random numbers
        raised, sentence = (re.sub(r"-?\d+\.\d+", "density", text) for text in (raised, sentence))
        assert raised.startswith(start) if more else raised == sentence
    else:
        assert change(raised) == change(sentence)


def test_sentences_with_numbers_that_differ():
    assert FAR_OUT.removeprefix(", ") in " ".join(PAGE.split())


@pytest.mark.slow
def test_the_programs_run_and_the_refusal_of_closed_forms_is_the_one_that_is_raised(capsys):
    scope: dict = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(program, scope)
    printed = capsys.readouterr().out
    assert "site 'words': Bernoulli, 3 columns" in printed
    assert "variance: reciprocal of site 'tau', conjugate" in printed
    assert "site 'waits': Likelihood(Gamma), 2 columns, sampled, from sums that are off by" in printed
    assert scope["draws"]["theta"].shape == (1000, 3, 2)
    assert scope["proba"].shape == scope["table"].shape == (100, 2)
    assert set(scope["fit"].params) == {"pi", "scale", "mean"}
    with pytest.raises(ValueError, match="no closed form") as caught:
        nb.fit_posterior(scope["model"], scope["X"], scope["y"])
    assert f"> {caught.value}\n" in PAGE
