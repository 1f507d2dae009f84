"""The browser of the tests, and the accessibility check of axe-core, from a package, in a page that it shows."""

import shutil
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


def violations(browser: Any) -> list[str]:
    """What axe-core finds wrong with the page: the rule, what it wants, and the first element."""
    import axe_core_python

    browser.execute_script((Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[0])")["violations"]
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:150]}" for one in found]
