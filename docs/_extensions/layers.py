"""The picture of the layers, made from the imports: ``:::{layers}`` draws them as an SVG in the page."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
ROW, WIDTH, LEFT, BOX = 34, 760, 90, 190


@cache
def layers() -> list[str]:
    """From the top down, as CONTRIBUTING lists them."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The layers")[2]
    return re.findall(r"^\| `([\w/]+)` \|", table.partition("## ")[0], flags=re.M)


def layer_of(parts: tuple[str, ...]) -> str:
    """The layer of a module, from the folders below ``bayesnb``: two of them, or one."""
    return next(layer for layer in ("/".join(parts[:2]), parts[0]) if layer in layers())


def modules() -> list[Path]:
    """Those that lie in a layer."""
    return [
        path
        for path in ROOT.glob("bayesnb/*/**/*.py")
        if path.parent.parent != ROOT / "bayesnb" or path.parent.name in layers()
    ]


def imports() -> Counter[tuple[str, str]]:
    """How many modules of one layer import from another."""
    found: Counter[tuple[str, str]] = Counter()
    for path in modules():
        own = layer_of(path.relative_to(ROOT / "bayesnb").parent.parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        of = {layer_of(tuple(name.split(".")[1:])) for name in named if name.startswith("bayesnb.")}
        found.update((own, layer) for layer in of - {own})
    return found


def sizes() -> Counter[str]:
    """Modules of each layer."""
    return Counter(layer_of(path.relative_to(ROOT / "bayesnb").parent.parts) for path in modules())


def svg() -> str:
    """A row for each layer; a bow to each layer below that it imports from, the wider the more modules do."""
    names, found, files = layers(), imports(), sizes()
    place = {name: number * ROW + ROW // 2 for number, name in enumerate(names)}
    right = LEFT + BOX
    parts = []
    for (upper, lower), count in sorted(found.items(), key=lambda item: place[item[0][1]] - place[item[0][0]]):
        a, b = place[upper], place[lower]
        out = right + 20 + 24 * (names.index(lower) - names.index(upper))
        label = escape(f"{upper} imports from {lower} in {count} modules")
        parts.append(
            f'<path d="M{right},{a} C{out},{a} {out},{b} {right},{b}" stroke-width="{min(0.5 + count / 8, 4):.1f}">'
            f"<title>{label}</title></path>"
        )
    for name, y in place.items():
        parts.append(
            f'<rect x="{LEFT}" y="{y - 13}" width="{BOX}" height="26" rx="4"/>'
            f'<text x="{LEFT + 10}" y="{y + 5}">{name}</text>'
            f'<text class="count" x="{LEFT - 10}" y="{y + 5}" text-anchor="end">{files[name]} files</text>'
        )
    height = ROW * len(names)
    title = f"{len(names)} layers; each imports only from those below it"
    return f'<svg class="layers" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}">{"".join(parts)}</svg>'


class Layers(Directive):
    """``:::{layers}``."""

    def run(self) -> list[nodes.Node]:
        """The picture."""
        return [nodes.raw("", svg(), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("layers", Layers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
