"""The words of a report that not every reader knows, and links to what they mean; the documentation shows the same."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from markupsafe import Markup, escape

ALIASES = {"±": "Interval", "intervals": "Interval", "splits": "Split"}
"""Other spellings of the words."""


@cache
def read_words() -> dict[str, str]:
    """What each word means, a paragraph, from ``templates/words.md``."""
    text = resources.files(__package__).joinpath("templates", "words.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (.+)\n", text, flags=re.M)
    return {name: " ".join(part.split()) for name, part in zip(parts[::2], parts[1::2], strict=True)}


def anchor(word: str) -> str:
    """The id of a word's paragraph."""
    return f"word-{word.lower().replace(' ', '-')}"


def linked(text: str) -> Markup:
    """A text as HTML in which each of the words, where it comes first, leads to its paragraph."""
    names = {name.lower(): name for name in read_words()} | ALIASES
    longest = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    seen: set[str] = set()

    def link(found: re.Match[str]) -> str:
        name = names[found[0].lower()]
        if name in seen:
            return found[0]
        seen.add(name)
        return f'<a href="#{anchor(name)}">{found[0]}</a>'

    safe = str(escape(text)).replace(" ±", "\u00a0±")
    return Markup(re.sub(rf"(?<!\w)(?:{longest})(?![^\W\d])", link, safe, flags=re.I))
