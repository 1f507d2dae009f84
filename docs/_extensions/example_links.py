"""Links to examples, which readers of the repository follow, lead to the pages of the tutorials on the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parents[1] / "_tutorials"


def link_pages(page: str, text: str, made: Path = PAGES) -> str:
    """The text of a page with links to the examples that have one in ``made``."""
    up = "../" * page.count("/")

    def link(found: re.Match[str]) -> str:
        return f"]({up}_tutorials/{found[1]}.py)" if (made / f"{found[1]}.py").exists() else found[0]

    return re.sub(r"\]\((?:\.\./)+examples/(\w+)\.py\)", link, text)


def setup(app: Any) -> dict[str, Any]:
    """Change the text of a page as it is read, after ``tutorials`` has collected the pages."""

    def change(_: Any, page: str, source: list[str]) -> None:
        source[0] = link_pages(page, source[0])

    app.connect("source-read", change)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
