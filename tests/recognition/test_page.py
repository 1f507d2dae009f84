"""The page on recognition: its code runs, and its table of refusals is what the programs of the corpus are told."""

from __future__ import annotations

import re
from pathlib import Path

import jax
import pytest

import bayesnb as nb
from tests.recognition.agreement import message
from tests.recognition.programs import CASES

PAGE = (Path(__file__).parents[2] / "docs" / "recognition.md").read_text(encoding="utf-8")
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
SENTENCES = re.findall(r"^\| [^|]+ \| (.+) \|$", PAGE.partition("What is refused")[2], flags=re.MULTILINE)[1:]
REFUSED = [case for case in CASES if case.answer in ("refused", "bad input")]
QUICK = ("not accepted: a factor", "not naive: two labels", "tied: a variance without the mean")


def general(sentence: str) -> str:
    """The sentence without the names and numbers of one program."""
    sentence = re.sub(r"(?<!\w)'[^']*'(, '[^']*')*", "'name'", sentence.replace("`", ""))
    sentence = re.sub(r"\b(is a|is an) [A-Z]\w+", "is a Law", sentence)
    return re.sub(r"\d+", "1", sentence)


def told(case) -> str:
    with jax.numpy_rank_promotion("allow"), pytest.raises(nb.NotNaiveBayes) as caught:
        case.recognise()
    return message(caught.value)


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name, marks=[] if c.name in QUICK else pytest.mark.slow) for c in REFUSED]
)
def test_each_refusal_is_on_the_page(case):
    found = general(told(case))
    assert any(found.startswith(general(sentence)) for sentence in SENTENCES), found


@pytest.mark.slow
def test_each_line_of_the_page_is_a_refusal():
    found = [general(told(case)) for case in REFUSED]
    assert [one for one in SENTENCES if not any(text.startswith(general(one)) for text in found)] == []


def test_the_code_of_the_page_runs(capsys):
    scope = {}
    for block in CODE:
        exec(block, scope)
    printed = capsys.readouterr().out
    assert "Certificate" in printed
    assert "non-conjugate priors for rate" in printed
