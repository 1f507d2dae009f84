"""Links of pages and of the README: files and headings exist; links to elsewhere are few, and listed here.

Nothing is fetched. The build of the site, ``sphinx-build -nW``, checks references between pages and to docstrings.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = ("_build", "_tutorials", "jupyter_execute")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/benchmarks/README.md")),
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if not {*MADE} & {*path.parts}),
]
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
ELSEWHERE = {"https://num.pyro.ai"}
"""Links that a person has followed; a further one is followed, and then written here."""


def links(text: str) -> list[str]:
    """The targets of links and pictures, without those of code."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.M | re.S)
    return LINK.findall(re.sub(r"`[^`]*`", "code", text))


def anchors(text: str) -> set[str]:
    """The places of headings, as the site and other readers of Markdown name them."""
    headings = re.findall(r"^#{1,6} +(.+)$", re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.M | re.S), flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for target in links(text):
        if re.match(r"\w+:", target):
            if target not in ELSEWHERE:
                found.append(target)
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        if place.parent.name == "_tutorials":  # made from the examples as the site is built
            place = ROOT / "examples" / place.name
        if not place.exists() or (anchor and anchor not in anchors(place.read_text(encoding="utf-8"))):
            found.append(target)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    assert broken(path, path.read_text(encoding="utf-8")) == []


def test_a_link_that_leads_nowhere_is_found():
    text = (
        "[a](docs/nothing.md) [](#no-such-heading) [b](https://example.org) ![c](README.md) `[code](x)`\n# A heading\n"
    )
    assert broken(ROOT / "README.md", text) == ["docs/nothing.md", "#no-such-heading", "https://example.org"]
    assert anchors("# Mode and maximum likelihood\n## `fit`: how?\n") == {"mode-and-maximum-likelihood", "fit-how"}
    assert sum(len(links(path.read_text(encoding="utf-8"))) for path in PAGES) > 50
