"""Tutorials are the files of ``examples/`` that are written in percent cells: each is a page, and there is no copy."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from sphinx.application import Sphinx

HERE = Path(__file__).parents[1]
EXAMPLES, PAGES = HERE.parent / "examples", HERE / "_tutorials"


def in_cells() -> list[Path]:
    """The examples that begin with a cell of text."""
    return [path for path in sorted(EXAMPLES.glob("*.py")) if path.read_text(encoding="utf-8").startswith("# %% [m")]


def collect() -> None:
    """Put the examples where Sphinx looks for pages; a page whose example is unchanged is not written again."""
    PAGES.mkdir(exist_ok=True)
    names = {path.name for path in in_cells()}
    for old in PAGES.glob("*.py"):
        if old.name not in names:
            old.unlink()
    shutil.copytree(EXAMPLES / "images", PAGES / "images", dirs_exist_ok=True)  # which cells of text show
    for path in in_cells():
        page = PAGES / path.name
        if not page.exists() or page.read_bytes() != path.read_bytes():
            shutil.copyfile(path, page)


def read(text: str) -> NotebookNode:
    """The notebook of an example; its first sentence, up to a colon, is the title."""
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    first = notebook.cells[0]
    title, _, rest = first.source.partition("\n")
    head, _, tail = title.rstrip(".").partition(": ")
    lead = f"\n{tail[:1].upper()}{tail[1:]}.\n" if tail else ""
    first.source = f"# {head}\n{lead}{rest}".replace("``", "`")
    cells = []
    for cell in notebook.cells:
        if heading := cell.metadata.pop("title", None):  # ``# %% A heading``
            cells.append(new_markdown_cell(f"**{heading}.**"))
        if cell.cell_type == "code" and ends_in_text(cell.source):
            cell.metadata["tags"] = ["remove-output"]
        cells.append(cell)
    notebook.cells = cells
    return notebook


def ends_in_text(source: str) -> bool:
    """True for a cell whose last line documents a name: a notebook would show it as an answer."""
    last = ast.parse(source).body[-1:]
    return bool(last) and isinstance(last[0], ast.Expr) and isinstance(last[0].value, ast.Constant)


def setup(app: Sphinx) -> dict[str, Any]:
    """Collect the pages before Sphinx looks for them."""
    collect()
    del app
    return {"parallel_read_safe": True, "parallel_write_safe": True}
