"""The browser of the tests, and the accessibility check of axe-core, from a package, in a page that it shows."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


@contextmanager
def open_browser(profile: Path, **logs: str) -> Iterator[Any]:
    """A browser that logs what it asks for."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (*QUIET, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", **logs})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))  # a path given is no path downloaded
    yield driver
    driver.quit()


def show(browser: Any, url: str) -> None:
    """Show a page, whole: on a busy machine the driver may come back while it is still read."""
    browser.get(url)
    browser.execute_async_script(
        "const done = arguments[0], frames = () => requestAnimationFrame(() => requestAnimationFrame(done));"
        "if (document.readyState === 'complete') frames(); else addEventListener('load', frames)"
    )


def beyond_window(browser: Any) -> list[str]:
    """What of the page reaches beyond the window, and does not scroll."""
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('main *, header *')]"
        ".filter(e => !e.parentElement.closest('.scroll') && e.getBoundingClientRect().right > window.innerWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    return found


def violations(browser: Any) -> list[str]:
    """What axe-core finds wrong with the page: the rule, what it wants, and the first element."""
    import axe_core_python

    browser.execute_script((Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[0])")["violations"]
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:150]}" for one in found]
