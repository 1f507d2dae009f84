"""Small pictures that link to the sections of a page: ``{thumbnails}`` shows the first picture of each section."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx


class thumbnails(nodes.General, nodes.Element):
    """The place of the pictures, which are known once the page's code has run."""


class Thumbnails(Directive):
    """``{thumbnails}``."""

    def run(self) -> list[nodes.Node]:
        """The place, still empty."""
        return [thumbnails()]


def link(section: nodes.section) -> nodes.list_item | None:
    """The section's first picture and its title as a link; None for a section without a picture."""
    picture = next(iter(section.findall(nodes.image)), None)
    if picture is None:
        return None
    picture = picture.deepcopy()
    picture["alt"] = ""  # the title beside it says what it is
    title = nodes.inline("", section[0].astext())
    reference = nodes.reference("", "", picture, title, refid=section["ids"][0], internal=True)
    return nodes.list_item("", nodes.paragraph("", "", reference))


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Called for each page, when its pictures are files."""
    del app, docname
    for place in list(doctree.findall(thumbnails)):
        sections = [one for one in doctree.findall(nodes.section) if isinstance(one.parent, nodes.section)]
        links = [one for one in map(link, sections) if one is not None]
        place.replace_self([nodes.bullet_list("", *links, classes=["thumbnails"])] if links else [])


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_node(thumbnails)
    app.add_directive("thumbnails", Thumbnails)
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
