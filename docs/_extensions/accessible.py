"""What the theme leaves out for readers of screens: the level of captions, names of landmarks, code that scrolls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

MENDED = (
    ('role="heading">', 'role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="pages">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="on this page">'),
    ("<pre>", '<pre tabindex="0">'),  # what is wide scrolls, and the keyboard must reach it
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)


def mend(app: Sphinx, failed: Exception | None) -> None:
    """Called at the end: the theme writes these parts itself, whatever the page."""
    if failed or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = mended = path.read_text(encoding="utf-8")
        for wrong, right in MENDED:
            mended = mended.replace(wrong, right)
        if mended != text:
            path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Mend the pages once they are written."""
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
