"""The mathematics of the models, from the docstrings of ``models/``: ``{model} normal`` is what stands before the first
heading, and with ``:part: Update`` what stands below that heading.

A heading is a line underlined with dashes; formulas are LaTeX between dollars.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx

MODELS = Path(__file__).parents[2] / "models"
INTRODUCTION = ""


def parts(name: str) -> dict[str, str]:
    """The docstring of a model, by heading; the introduction, which has none, is first."""
    text = ast.get_docstring(ast.parse((MODELS / f"{name}.py").read_text(encoding="utf-8"))) or ""
    first, *rest = re.split(r"^(.+)\n-{3,}\n", text, flags=re.M)
    return {INTRODUCTION: first.strip()} | dict(zip(rest[::2], (part.strip() for part in rest[1::2]), strict=True))


class Model(Directive):
    """``{model} name``, with the option ``part``."""

    required_arguments = 1
    option_spec: ClassVar = {"part": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """The text, read as that of the page."""
        name, part = self.arguments[0], self.options.get("part", INTRODUCTION)
        found = parts(name)
        if part not in found:
            raise self.error(f"models/{name}.py has no heading {part!r}, only {[*found][1:]}")
        path = MODELS / f"{name}.py"
        self.state.document.settings.record_dependencies.add(str(path))  # the page is made again if it changes
        node = nodes.Element()
        self.state.nested_parse(StringList(found[part].splitlines(), source=str(path)), 0, node)
        return node.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("model", Model)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
