"""The words of a report: what they mean, and the links to it."""

import re

from bayesnb.studies.report._glossary import anchor, linked, read_words
from tests.conftest import DOCS


def test_each_word_has_one_paragraph():
    words = read_words()
    assert {"Interval", "Crossed", "Corrected resampled t", "Equivalent", "Clearly", "ECE"} <= {*words}
    assert all(re.fullmatch(r"[A-Z].{80,}\.", text) for text in words.values())
    assert len({anchor(word) for word in words}) == len(words)


def test_words_are_linked_once_and_all_else_is_text():
    text = linked("<b> crossed ±.1 ±.2: Crossed; corrected resampled t; 20 splits, splitting & x_crossed")
    assert text == (
        '&lt;b&gt; <a href="#word-crossed">crossed</a>\u00a0<a href="#word-interval">±</a>.1\u00a0±.2: Crossed; '
        '<a href="#word-corrected-resampled-t">corrected resampled t</a>; 20 <a href="#word-split">splits</a>, '
        "splitting &amp; x_crossed"
    )


def test_a_longer_word_is_not_taken_for_a_shorter_one_in_it():
    assert linked("no interval here") == '<a href="#word-no-interval">no interval</a> here'


def test_the_documentation_shows_the_same_words():
    page = (DOCS / "how_to" / "read_a_report.md").read_text(encoding="utf-8")
    (path,) = re.findall(r"^```\{include\} (\S+)\n```$", page, re.M)
    shown = re.findall(r"^## (.+)$", (DOCS / "how_to" / path).read_text(encoding="utf-8"), re.M)
    assert shown == [*read_words()]
