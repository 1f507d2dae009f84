"""The built pages in a browser: axe-core finds nothing wrong, light and dark, and nothing is loaded from elsewhere.

The tutorials are not executed here; ``.ci/run`` builds the site as its readers see it.
"""

import json
import subprocess
import sys

import pytest

from tests.chromium import CHROMIUM, DRIVER, open_browser, show, violations
from tests.conftest import DOCS

pytestmark = pytest.mark.slow
SHOWN = ["index", "why", "start", "tutorials", "theory/normal", "theory/powers", "how_to/from_r", "gallery"]
SHOWN += [
    "troubleshooting",
    "design",
    "full_bayes_or_map",
    "theory/differences",
    "how_to/compare_for_a_paper",
    "api/fits",
    "api/sklearn",
    "_tutorials/quick_start",
    "probabilities",
    "search",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site."""
    for needed in ("sphinx", "furo", "myst_nb", "sphinx_design", "latex2mathml", "axe_core_python"):
        pytest.importorskip(needed, reason=f"{needed} is not installed: pip install -e '.[docs]'")
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromedriver are not both on the machine")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-qnD", "nb_execution_mode=off", str(DOCS), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_is_accessible_whole_and_asks_nobody_for_anything(site, browser, name):
    browser.get_log("performance")
    show(browser, (site / f"{name}.html").as_uri())
    for theme in ("light", "dark"):
        browser.execute_script("document.body.dataset.theme = arguments[0]", theme)
        assert violations(browser) == []
    browser.set_window_size(1300, 900)
    cut = "return [...document.querySelectorAll('pre')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert browser.execute_script(cut) == 0
    log = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in log if e["method"] == "Network.requestWillBeSent"}
    assert not [url for url in asked if not url.startswith(("file:", "data:", "chrome"))]
