"""Formulas as MathML, made while the site is built: browsers draw it without a script or a font from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """One formula in a line of text."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """One formula in lines of its own, which a narrow screen scrolls."""
    rows = convert(aligned(node.astext()), display="block")
    self.body.append(f'<div class="formula" tabindex="0" role="group" aria-label="formula">{rows}</div>\n')
    raise nodes.SkipNode


def aligned(latex: str) -> str:
    r"""A formula of several lines, ``\\``, as one that is aligned at its ``&``."""
    return rf"\begin{{aligned}}{latex}\end{{aligned}}" if r"\\" in latex and r"\begin" not in latex else latex


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
