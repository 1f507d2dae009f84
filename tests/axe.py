"""The accessibility check of axe-core, from a package, in a page that a browser shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def violations(browser: Any) -> list[str]:
    """What axe-core finds wrong with the page: the rule, what it wants, and the first element."""
    import axe_core_python

    browser.execute_script((Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[0])")["violations"]
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:150]}" for one in found]
