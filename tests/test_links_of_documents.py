"""Links of pages and of the README: files and headings exist; links to elsewhere are few, and listed here.

Nothing is fetched. The build of the site, ``sphinx-build -nW``, checks references between pages and to docstrings.
"""

import ast
import re
import runpy
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
    """The links of a page that lead nowhere in the repository, where no site was built."""
    found = []
    for target in links(text):
        if re.match(r"\w+:", target):
            if target not in ELSEWHERE:
                found.append(target)
            continue
        name, _, anchor = target.partition("#")
        place = (path.parent / name).resolve() if name else path
        if (
            {*MADE} & {*place.parts}
            or not place.exists()
            or (anchor and anchor not in anchors(place.read_text(encoding="utf-8")))
        ):
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


QUOTED = re.compile(r"^```\{literalinclude\} (\S+)\n:pyobject: (\S+)$", re.M)


def test_code_that_pages_quote_exists():
    quotes = [(path, *quote) for path in PAGES for quote in QUOTED.findall(path.read_text(encoding="utf-8"))]
    assert len(quotes) > 50
    for path, file, name in quotes:
        nodes = ast.parse((path.parent / file).read_text(encoding="utf-8")).body
        for part in name.split("."):
            found = [node for node in nodes if getattr(node, "name", "") == part]
            assert found, f"{path.name} quotes {name} of {file}"
            nodes = getattr(found[0], "body", [])


TREE = re.compile(r"^```\{toctree\}\n((?::[^\n]*\n)*)\n(.*?)^```$", re.M | re.S)


def only_on_the_site(path: Path, text: str) -> list[str]:
    """Links that only the built site has: those that get their words there, and entries of a table of contents.

    The first page, whose cards the site draws, is the README in the repository.
    """
    found = re.findall(r"\[\]\([^()\s]*\)", re.sub(r"`[^`]*`", "code", text))
    shown = {Path(target).stem for target in links(text)}
    entries = [entry for _, tree in TREE.findall(text) for entry in tree.split("\n") if entry]
    names = [entry.split("<")[-1].rstrip(">").split("/")[-1] for entry in entries]
    return found + [name for name in names if name not in shown and path != ROOT / "docs" / "index.md"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_link_is_one_before_the_site_is_built(path):
    assert only_on_the_site(path, path.read_text(encoding="utf-8")) == []


def test_a_link_that_only_the_site_has_is_found():
    page = "[](tour.md) `[](code)`\n```{toctree}\n:hidden:\n\nwhy\nTalk <_tutorials/talk>\n```\n[Why](why.md)\n"
    assert only_on_the_site(ROOT / "docs" / "tour.md", page) == ["[](tour.md)", "talk"]
    assert broken(ROOT / "docs" / "tour.md", "[a](_tutorials/migrating.py)") == ["_tutorials/migrating.py"]


def test_links_to_examples_are_links_to_pages_on_the_site(tmp_path):
    (tmp_path / "streams.py").touch()
    link_pages = runpy.run_path(str(ROOT / "docs" / "_extensions" / "example_links.py"))["link_pages"]
    text = "[a](../../examples/streams.py) [b](../../examples/shared.py) ![c](../../examples/images/d.png)"
    made = text.replace("../../examples/streams.py", "../_tutorials/streams.py")
    assert link_pages("how_to/page", text, tmp_path) == made
